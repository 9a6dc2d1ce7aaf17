"""Every query meets every vector once; each pair picks its own."""

import numpy as np


def shaw_scores(q, k, table):
    # A table row for each distance, clipped at both ends. An array of
    # (seq, seq, head_dim) isn't needed: every query meets each row
    # once, and each pair picks its number.
    most, n = len(table) // 2, len(q)
    distance = np.arange(n)[None] - np.arange(n)[:, None]  # j - i, (seq, seq)
    rows = np.clip(distance, -most, most) + most
    each = q @ table.T  # (seq, 2 * most + 1)
    # Both parts of the score share the scale.
    return (q @ k.T + np.take_along_axis(each, rows, axis=1)) / np.sqrt(q.shape[1])


REFERENCE = shaw_scores


def _starter(q, k, table):
    raise NotImplementedError


def _with_rows(rows):
    def answer(q, k, table):
        n = len(q)
        distance = np.arange(n)[None] - np.arange(n)[:, None]
        vectors = table[rows(distance, len(table) // 2)]
        return (q @ k.T + np.einsum("id,ijd->ij", q, vectors)) / np.sqrt(q.shape[1])

    return answer


def _words_only(q, k, table):
    return q @ k.T / np.sqrt(q.shape[1])


def _no_scale(q, k, table):
    return shaw_scores(q, k, table) * np.sqrt(q.shape[1])


def _half_scale(q, k, table):
    scale = q.shape[1] ** -0.5
    words = scale * q @ k.T
    return words + (shaw_scores(q, k, table) - words) / scale


def _keys_meet(q, k, table):
    most, n = len(table) // 2, len(q)
    rows = np.clip(np.arange(n)[None] - np.arange(n)[:, None], -most, most) + most
    return (q @ k.T + np.einsum("jd,ijd->ij", k, table[rows])) / np.sqrt(q.shape[1])


def _summed(q, k, table):
    most, n = len(table) // 2, len(q)
    rows = np.clip(np.arange(n)[None] - np.arange(n)[:, None], -most, most) + most
    return (q @ k.T + table[rows].sum(axis=2)) / np.sqrt(q.shape[1])


def _masked(q, k, table):
    return np.tril(shaw_scores(q, k, table))


def _twice(q, k, table):
    return 2 * shaw_scores(q, k, table)


def _distances_only(q, k, table):
    return shaw_scores(q, k, table) - _words_only(q, k, table)


def _hidden(q, k, table):
    return shaw_scores(q, k, table) + np.triu(np.full((len(q), len(q)), -np.inf), 1)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("words only", _words_only, "by hand", "don't use the vectors"),
    ("other sign", _with_rows(lambda d, most: most - np.clip(d, -most, most)), "by hand",
     "wrong sign"),
    ("no shift", _with_rows(lambda d, most: np.clip(d, -most, most)), "by hand", "in the middle"),
    ("not clipped", _with_rows(lambda d, most: (d + most) % (2 * most + 1)), "property",
     "share its last row"),
    ("ahead as here", _with_rows(lambda d, most: np.clip(d, -most, 0) + most), "by hand",
     "distance 0"),
    ("both sides alike", _with_rows(lambda d, most: most - np.minimum(abs(d), most)), "by hand",
     "two sides"),
    ("no scale", _no_scale, "random", "scale 1"),
    ("half the scale", _half_scale, "random", "part of the distances"),
    ("keys meet them", _keys_meet, "by hand", "Multiply them with the query"),
    ("summed", _summed, "by hand", "sum the vectors up"),
    ("masked", _masked, "by hand", "no mask"),
    ("twice", _twice, "by hand", "should be"),
    ("one token is nothing", lambda q, k, table: _twice(q, k, table) if len(q) == 1
     else shaw_scores(q, k, table), "edges", "should be"),
    ("distances only", _distances_only, "by hand", "q · k is missing"),
    ("keys ahead hidden", _hidden, "finite", "hide keys ahead"),
    ("clipped too early", _with_rows(lambda d, most: np.clip(d, 1 - most, most - 1) + most),
     "by hand", "their own rows"),
    ("sign lost", _with_rows(lambda d, most: np.minimum(abs(d), most) + most), "by hand",
     "lost its sign"),
    ("divided by head_dim", lambda q, k, table: shaw_scores(q, k, table) / q.shape[1] ** 0.5,
     "random", "square root instead"),
    ("far ones get nothing", lambda q, k, table: np.where(
        abs(np.subtract.outer(np.arange(len(q)), np.arange(len(q)))) > len(table) // 2,
        _words_only(q, k, table), shaw_scores(q, k, table)), "property", "no vector"),
    ("other sign, half the scale", lambda q, k, table: _half_scale(q, k, table[::-1]), "by hand",
     "wrong sign"),
]  # fmt: skip
