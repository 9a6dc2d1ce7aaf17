"""The weight behind earlier copies."""

import numpy as np


def induction_score(weights, ids):
    # the word before each position
    before = np.concatenate([[-1], ids[:-1]])
    behind = np.tril(ids[:, None] == before[None, :])
    looks = behind.any(axis=1)
    if not looks.any():
        return np.zeros(len(weights))
    return (weights * behind).sum(axis=-1)[:, looks].mean(axis=-1)


REFERENCE = induction_score


def _same(ids):
    """Earlier copies of each word."""
    return np.tril(ids[:, None] == ids[None, :], -1)


def _behind(ids):
    return np.pad(_same(ids), ((0, 0), (1, 0)))[:, :-1]


def _over(weights, where, rows):
    if not rows.any():
        return np.zeros(len(weights))
    return (weights * where).sum(axis=-1)[:, rows].mean(axis=-1)


def _by_word(of):
    """The mean of what is found in the row of each word with an earlier copy."""

    def answer(weights, ids):
        found = [
            of(weights[:, i], [j + 1 for j in range(i) if ids[j] == ids[i]], i)
            for i in range(len(ids))
            if ids[i] in ids[:i]
        ]
        return np.mean(found, axis=0) if found else np.zeros(len(weights))

    return answer


def _copies(weights, ids):
    return _over(weights, _same(ids), _same(ids).any(axis=1))


def _copies_over_all(weights, ids):
    return _over(weights, _same(ids), np.ones(len(ids), bool))


def _before_copies(weights, ids):
    same = _same(ids)
    return _over(weights, np.pad(same, ((0, 0), (0, 1)))[:, 1:], same.any(axis=1))


def _all_words(weights, ids):
    return _over(weights, _behind(ids), np.ones(len(ids), bool))


def _comes_again(weights, ids):
    return _over(weights, _behind(ids), np.array([(ids == i).sum() > 1 for i in ids]))


def _cells(weights, ids):
    behind = _behind(ids)
    return (weights * behind).sum(axis=(1, 2)) / max(1, behind.sum())


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


def _half_distance(weights, ids):
    n_heads, seq, _ = weights.shape
    half = seq // 2
    t = np.arange(half, seq)
    return weights[:, t, t - half + 1].mean(axis=-1) if half else np.zeros(n_heads)


def _two_further(weights, ids):
    behind = _behind(ids)
    further = np.tril(np.pad(behind, ((0, 0), (1, 0)))[:, :-1])
    return _over(weights, further, behind.any(axis=1))


_latest = _by_word(lambda row, after, i: row[:, after[-1]])
_first = _by_word(lambda row, after, i: row[:, after[0]])
_largest = _by_word(lambda row, after, i: row[:, after].max(axis=-1))
_mean_per_word = _by_word(lambda row, after, i: row[:, after].mean(axis=-1))
_not_self = _by_word(lambda row, after, i: row[:, [j for j in after if j < i]].sum(axis=-1))
_argmax = _by_word(lambda row, after, i: np.isin(row.argmax(axis=-1), after))

WRONG = [
    ("copies themselves", _copies, "by hand", "one position later"),
    ("before the copies", _before_copies, "by hand", "words after them"),
    ("all words", _all_words, "by hand", "over all words"),
    ("comes again", _comes_again, "by hand", "only later"),
    ("latest copy only", _latest, "random", "only the latest copy"),
    ("first copy only", _first, "random", "only the first copy"),
    ("cells", _cells, "random", "over single cells"),
    ("largest", _largest, "random", "largest weight"),
    ("exchanged", _exchanged, "by hand", "rows and columns"),
    ("sum", _sum, "by hand", "summed over the words"),
    ("no copies", _no_copies, "finite", "mean of nothing"),
    ("a third", _third, "by hand", "should be"),
    ("one number", _one_number, "type", "array"),
    ("copies half a text away", _half_distance, "by hand", "half a text apart"),
    ("mean over the places of a word", _mean_per_word, "random", "only the words are averaged"),
    ("word itself left out", _not_self, "edges", "weight on itself counts"),
    ("share of words with the largest weight there", _argmax, "by hand", "counted the words"),
    ("copies, over all words", _copies_over_all, "by hand", "Two things"),
    ("two further on", _two_further, "by hand", "two positions past"),
]  # fmt: skip
