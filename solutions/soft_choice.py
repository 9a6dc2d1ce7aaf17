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


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("powers of large scores", _naive, "finite", "NaN"),
    ("not divided", _not_divided, "by hand", "not divided"),
    ("columns", _columns, "by hand", "last axis"),
    ("one sum for all", _whole, "by hand", "sum of its own"),
    ("no powers", _linear, "by hand", "power of e"),
    ("hard choice", _hard, "by hand", "hard choice"),
    ("smallest wins", _smallest, "by hand", "turned round"),
    ("base 2", _base, "by hand", "base is e"),
    ("clipped", _clipped, "property", "should be"),
    ("an empty row shared", _evenly, "edges", "nothing to choose from"),
    ("one row", _one_row, "shape", "shape"),
    ("whole numbers", _whole_numbers, "dtype", "floating point"),
]
