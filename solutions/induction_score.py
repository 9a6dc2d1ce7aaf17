"""The weight behind earlier copies."""

import numpy as np


def induction_score(weights, ids):
    before = np.concatenate([[-1], ids[:-1]])  # the word before each position
    behind = np.tril(ids[:, None] == before[None, :])
    looks = behind.any(axis=1)
    if not looks.any():
        return np.zeros(len(weights))
    return (weights * behind).sum(axis=-1)[:, looks].mean(axis=-1)


REFERENCE = induction_score


def _behind(ids):
    before = np.concatenate([[-1], ids[:-1]])
    return np.tril(ids[:, None] == before[None, :])


def _over(weights, where, rows):
    if not rows.any():
        return np.zeros(len(weights))
    return (weights * where).sum(axis=-1)[:, rows].mean(axis=-1)


def _copies(weights, ids):
    same = np.tril(ids[:, None] == ids[None, :], -1)
    return _over(weights, same, same.any(axis=1))


def _before_copies(weights, ids):
    same = np.tril(ids[:, None] == ids[None, :], -1)
    where = np.zeros_like(same)
    where[:, :-1] = same[:, 1:]
    return _over(weights, where, same.any(axis=1))


def _all_words(weights, ids):
    return _over(weights, _behind(ids), np.ones(len(ids), bool))


def _comes_again(weights, ids):
    return _over(weights, _behind(ids), np.array([(ids == i).sum() > 1 for i in ids]))


def _one_copy(which):
    def answer(weights, ids):
        scores, words = np.zeros(len(weights)), 0
        for i in range(len(ids)):
            found = [j for j in range(i) if ids[j] == ids[i]]
            if found:
                scores, words = scores + weights[:, i, found[which] + 1], words + 1
        return scores / max(1, words)

    return answer


def _cells(weights, ids):
    behind = _behind(ids)
    return (weights * behind).sum(axis=(1, 2)) / max(1, behind.sum())


def _largest(weights, ids):
    behind = _behind(ids)
    looks = behind.any(axis=1)
    if not looks.any():
        return np.zeros(len(weights))
    return (weights * behind).max(axis=-1)[:, looks].mean(axis=-1)


def _exchanged(weights, ids):
    return induction_score(weights.swapaxes(1, 2), ids)


def _sum(weights, ids):
    return (weights * _behind(ids)).sum(axis=(1, 2))


def _no_copies(weights, ids):
    behind = _behind(ids)
    return (weights * behind).sum(axis=-1)[:, behind.any(axis=1)].mean(axis=-1)


def _third(weights, ids):
    return induction_score(weights, ids) / 3


def _one_number(weights, ids):
    return float(induction_score(weights, ids).mean())


WRONG = [
    ("copies themselves", _copies, "by hand", "one position further on"),
    ("before the copies", _before_copies, "by hand", "came after them"),
    ("all words", _all_words, "by hand", "over all words"),
    ("comes again", _comes_again, "by hand", "only later"),
    ("latest copy only", _one_copy(-1), "random", "Only the latest copy"),
    ("first copy only", _one_copy(0), "random", "Only the first copy"),
    ("cells", _cells, "random", "over single cells"),
    ("largest", _largest, "random", "largest weight"),
    ("exchanged", _exchanged, "by hand", "Rows and columns"),
    ("sum", _sum, "by hand", "the mean is asked for"),
    ("no copies", _no_copies, "finite", "NaN"),
    ("a third", _third, "by hand", "should be"),
    ("one number", _one_number, "type", "array"),
]
