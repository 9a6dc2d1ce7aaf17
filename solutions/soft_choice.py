"""A stable softmax over rows."""

import numpy as np


def soft_choice(scores):
    largest = scores.max(axis=1, keepdims=True)  # (rows, 1)
    largest = np.where(np.isneginf(largest), 0, largest)
    powers = np.exp(scores - largest)
    total = powers.sum(axis=1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


REFERENCE = soft_choice


def _starter(scores):
    raise NotImplementedError


def _naive(scores):
    with np.errstate(all="ignore"):
        powers = np.exp(scores)
        return powers / powers.sum(axis=1, keepdims=True)


def _not_divided(scores):
    return np.exp(scores - scores.max(axis=1, keepdims=True))


def _columns(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum(axis=0, keepdims=True)


def _whole(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def _linear(scores):
    return scores / np.where(
        scores.sum(axis=1, keepdims=True) == 0, 1, scores.sum(axis=1, keepdims=True)
    )


def _hard(scores):
    return (scores == scores.max(axis=1, keepdims=True)).astype(float)


def _smallest(scores):
    return soft_choice(-scores)


def _base(scores):
    return soft_choice(scores * np.log(2.0))


def _clipped(scores):
    return _naive(np.clip(scores, -50, 50))


def _evenly(scores):
    empty = np.isneginf(scores).all(axis=1, keepdims=True)
    return np.where(empty, 1 / scores.shape[1], soft_choice(scores))


def _one_row(scores):
    return soft_choice(scores)[0]


def _whole_numbers(scores):
    return soft_choice(scores).round().astype(int)


def _shared_by(powers):
    """The powers over their sum, with zeros for rows without any."""

    def answer(scores):
        with np.errstate(all="ignore"):
            total = powers(scores).sum(axis=1, keepdims=True)
            return powers(scores) / np.where(total == 0, 1, total)

    return answer


def _mean(scores):
    seen = np.isfinite(scores)
    count = np.maximum(seen.sum(axis=1, keepdims=True), 1)
    return np.exp(scores - np.where(seen, scores, 0).sum(axis=1, keepdims=True) / count)


def _floor(scores):
    empty = np.isneginf(scores).all(axis=1, keepdims=True)
    return np.where(empty, 0, soft_choice(np.maximum(scores, -700.0)))


def _any_empties(scores):
    return np.where(np.isneginf(scores).any(axis=1, keepdims=True), 0, soft_choice(scores))


def _empty_is_nan(scores):
    with np.errstate(all="ignore"):
        return _naive(scores - scores.max(axis=1, keepdims=True))


def _more_below(scores):
    powers = np.exp(scores - np.maximum(scores.max(axis=1, keepdims=True), -1e300))
    return powers / (powers.sum(axis=1, keepdims=True) + 1e-3)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("powers of large scores", _naive, "finite", "e to the 900"),
    ("not divided", _not_divided, "by hand", "didn't divide"),
    ("columns", _columns, "by hand", "last axis"),
    ("one sum for all", _whole, "by hand", "its own sum"),
    ("no powers", _linear, "by hand", "without the exponential"),
    ("hard choice", _hard, "by hand", "hard choice"),
    ("smallest wins", _smallest, "by hand", "reversed"),
    ("base 2", _base, "by hand", "base is e"),
    ("clipped", _clipped, "property", "clip scores"),
    ("an empty row shared", _evenly, "edges", "nothing to choose from"),
    ("one row", _one_row, "shape", "shape"),
    ("whole numbers", _whole_numbers, "dtype", "floating point"),
    ("powers of large scores, zeros for none", _shared_by(np.exp), "finite", "e to the 900"),
    (
        "one maximum",
        _shared_by(lambda s: np.exp(s - s.max())),
        "property",
        "each row needs its own",
    ),
    ("mean subtracted", _shared_by(_mean), "finite", "the mean of each row"),
    ("cut off above", _shared_by(lambda s: np.exp(np.minimum(s, 700))), "property", "clip scores"),
    ("minus infinity as -700", _floor, "property", "for a score of −700"),
    ("an empty row is NaN", _empty_is_nan, "finite", "becomes NaN"),
    ("one minus infinity empties", _any_empties, "edges", "nothing else"),
    ("more below the line", _more_below, "by hand", "added something to the sum"),
    ("NaN made zero", lambda scores: np.nan_to_num(_naive(scores)), "property", "e to the 900"),
    (
        "divided by the largest",
        lambda scores: soft_choice(
            scores
            / np.abs(np.where(np.isfinite(scores), scores, 0))
            .max(axis=1, keepdims=True)
            .clip(1e-300)
        ),
        "by hand",
        "Subtracting the largest doesn't",
    ),
]
