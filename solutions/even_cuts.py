"""Equal steps of the sum of pairs, found by search."""

import numpy as np


def even_cuts(n, ranks):
    tokens = np.arange(1, n + 1, dtype=np.int64)
    pairs = tokens * (tokens + 1) // 2  # of the first so many tokens
    # whole numbers: a square root is sometimes one token off
    wanted = np.arange(1, ranks + 1) * pairs[-1]
    return np.searchsorted(pairs * ranks, wanted) + 1


REFERENCE = even_cuts


def _starter(n, ranks):
    raise NotImplementedError


def _changed(make):
    return lambda n, ranks: make(even_cuts(n, ranks), n, np.arange(1, ranks + 1), ranks)


def _no_own(n, ranks):
    tokens = np.arange(1, n + 1, dtype=np.int64)
    pairs = tokens * (tokens - 1) // 2
    return np.searchsorted(pairs * ranks, np.arange(1, ranks + 1) * pairs[-1]) + 1


def _too_far(n, ranks):
    tokens = np.arange(1, n + 1, dtype=np.int64)
    pairs = tokens * (tokens + 1) // 2
    wanted = np.arange(1, ranks + 1) * pairs[-1]
    return np.minimum(np.searchsorted(pairs * ranks, wanted, side="right") + 1, n)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("same length", _changed(lambda e, n, p, r: p * n // r), "by hand", "same length"),
    ("lengths", _changed(lambda e, n, p, r: np.diff(e, prepend=0)), "by hand", "the lengths"),
    ("beginnings", _changed(lambda e, n, p, r: np.append(0, e[:-1])), "by hand", "beginnings"),
    ("last tokens", _changed(lambda e, n, p, r: e - 1), "by hand", "last token"),
    ("from the back", _changed(lambda e, n, p, r: n - np.append(e[::-1][1:], 0)), "by hand",
     "from the back"),
    ("roots", _changed(lambda e, n, p, r: np.ceil(n * np.sqrt(p / r)).astype(int)), "by hand",
     "square roots"),
    ("roots down", _changed(lambda e, n, p, r: (n * np.sqrt(p / r)).astype(int)), "by hand",
     "square roots"),
    ("no own key", _no_own, "by hand", "own key"),
    ("too far", _too_far, "property", "too far"),
    ("fractions", _changed(lambda e, n, p, r: e / 1), "dtype", "whole numbers"),
    ("a total", _changed(lambda e, n, p, r: e.sum()), "shape", "Axis 0 is missing"),
    ("twice", _changed(lambda e, n, p, r: 2 * e), "by hand", "Add up the pairs"),
]  # fmt: skip
