"""Even rows of each head, then its odd rows."""

import numpy as np


def to_half(weight, n_heads):
    # Each row makes one dimension of one head. Before, a pair is two
    # neighboring rows; the half layout has all first ones, then all
    # second ones, within the head.
    rows, d_model = weight.shape
    pairs_first = weight.reshape(n_heads, rows // n_heads // 2, 2, d_model)
    # So the axis that says which of the pair moves in front of the axis
    # of pairs.
    return pairs_first.swapaxes(1, 2).reshape(rows, d_model)


REFERENCE = to_half


def _order(rows, n_heads):
    return np.arange(rows).reshape(n_heads, -1, 2).swapaxes(1, 2).reshape(rows)


def _starter(weight, n_heads):
    raise NotImplementedError


def _back(weight, n_heads):
    return weight[np.argsort(_order(len(weight), n_heads))]


def _all_heads(weight, n_heads):
    return to_half(weight, 1)


def _halves(weight, n_heads):
    rows = len(weight)
    return weight[np.arange(rows).reshape(n_heads, 2, -1)[:, ::-1].reshape(rows)]


def _neighbours(weight, n_heads):
    rows = len(weight)
    return weight[np.arange(rows).reshape(-1, 2)[:, ::-1].reshape(rows)]


def _odd_first(weight, n_heads):
    rows = len(weight)
    order = np.arange(rows).reshape(n_heads, -1, 2)[..., ::-1].swapaxes(1, 2).reshape(rows)
    return weight[order]


def _columns(weight, n_heads):
    columns = weight.shape[1]
    return weight[:, _order(columns, 1)] if columns % 2 == 0 else to_half(weight, n_heads)


def _transposed(weight, n_heads):
    return to_half(weight, n_heads).T


def _not_for_many(weight, n_heads):
    return _back(weight, n_heads) if n_heads == 4 else to_half(weight, n_heads)


def _one_head_only(weight, n_heads):
    out = weight.copy()
    d = len(weight) // n_heads
    out[:d] = np.concatenate([weight[0:d:2], weight[1:d:2]])
    return out


def _heads_innermost(weight, n_heads):
    w = weight.reshape(-1, n_heads, weight.shape[1]).swapaxes(0, 1)
    d = w.shape[1]
    return w[:, np.r_[0:d:2, 1:d:2]].reshape(weight.shape)


def _four(weight, n_heads):
    out = weight.copy()
    for start in range(0, len(weight) - len(weight) % 4, 4):
        out[start : start + 4] = weight[[start, start + 2, start + 1, start + 3]]
    return out


def _sign(weight, n_heads):
    w = weight.reshape(n_heads, -1, weight.shape[1])
    return np.concatenate([w[:, 0::2], -w[:, 1::2]], axis=1).reshape(weight.shape)


def _columns_too(weight, n_heads):
    d = weight.shape[1]
    order = np.r_[0:d:2, 1:d:2]
    return weight[:, order]


def _odd_rows_back(weight, n_heads):
    heads = weight.reshape(n_heads, -1, weight.shape[1])
    return np.concatenate([heads[:, ::2], heads[:, ::-2]], axis=1).reshape(weight.shape)


def _second_half_left(weight, n_heads):
    heads = weight.reshape(n_heads, -1, weight.shape[1]).copy()
    heads[:, : heads.shape[1] // 2] = heads[:, ::2].copy()
    return heads.reshape(weight.shape)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("nothing moved", lambda weight, n_heads: weight, "by hand", "No row has moved"),
    ("halves exchanged", _halves, "by hand", "halves of each head"),
    ("neighbors swapped", _neighbours, "by hand", "swap neighbors"),
    ("upside down", lambda weight, n_heads: weight[::-1], "by hand", "upside down"),
    ("odd ones first", _odd_first, "by hand", "put odd rows first"),
    ("the way back", _back, "random", "the other way"),
    ("columns", _columns, "random", "sort the columns"),
    ("all heads together", _all_heads, "property", "all heads together"),
    ("another way for four heads", _not_for_many, "edges", "the other way"),
    ("transposed", _transposed, "shape", "shape"),
    ("a list", lambda weight, n_heads: to_half(weight, n_heads).tolist(), "type", "NumPy array"),
    ("first head only", _one_head_only, "property", "only head 0"),
    ("every n-th row a head", _heads_innermost, "property", "n_heads-th row"),
    ("right for four numbers", _four, "random", "heads of dimension 4"),
    ("sign of the second", _sign, "by hand", "sign"),
    ("columns", _columns_too, "by hand", "sort the columns"),
    ("back, all heads together", lambda weight, n_heads: _back(weight, 1), "random", "Two things"),
    ("odd rows back", _odd_rows_back, "by hand", "in reverse order"),
    ("second half left", _second_half_left, "by hand", "change the second ones"),
]  # fmt: skip
