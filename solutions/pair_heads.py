"""The pairs of heads whose means lose least."""

import numpy as np


def _table(*arrays):
    return sum(((x[:, None] - x) ** 2).sum(axis=(2, 3)) for x in arrays)


def _search(loss, heads, best=min):
    """Cost and order of the best way to pair these heads."""
    if not heads:
        return 0.0, []
    first, others = heads[0], heads[1:]
    ways = []
    for partner in others:
        cost, order = _search(loss, [h for h in others if h != partner], best)
        ways.append((cost + loss[first, partner], [first, partner, *order]))
    return best(ways)


def pair_heads(k, v):
    # Replacing two heads by their mean loses |a - b|² / 2, whatever the
    # others do: one table for keys and values holds all there is to
    # know. The nearest pair first may leave two far ones, so every way
    # to pair them is tried.
    return np.array(_search(_table(k, v), list(range(len(k))))[1])


REFERENCE = pair_heads


def _keys(k, v):
    return np.array(_search(_table(k), list(range(len(k))))[1])


def _values(k, v):
    return np.array(_search(_table(v), list(range(len(k))))[1])


def _most_different(k, v):
    return np.array(_search(_table(k, v), list(range(len(k))), max)[1])


def _greedy(k, v):
    loss, left, order = _table(k, v), list(range(len(k))), []
    while left:
        pair = min((loss[i, j], i, j) for i in left for j in left if i < j)[1:]
        order += pair
        left = [h for h in left if h not in pair]
    return np.array(order)


def _sorted(k, v):
    return np.argsort((k**2).sum(axis=(1, 2)) + (v**2).sum(axis=(1, 2)))


def _as_they_came(k, v):
    return np.arange(len(k))


def _halves(k, v):
    """The two of a pair stand half the heads apart."""
    order = pair_heads(k, v)
    return np.concatenate([order[::2], order[1::2]])


def _nearest(k, v):
    loss = _table(k, v) + np.diag(np.full(len(k), np.inf))
    return loss.argmin(axis=1)


def _starter(k, v):
    raise NotImplementedError


def _pairs(k, v):
    return pair_heads(k, v).reshape(-1, 2)


def _floats(k, v):
    return pair_heads(k, v).astype(float)


def _best(loss):
    return np.array(_search(loss, list(range(len(loss))))[1])


def _not_squared(k, v):
    return _best(np.sqrt(_table(k, v)))


def _directions(k, v):
    flat = np.concatenate([k.reshape(len(k), -1), v.reshape(len(v), -1)], axis=1)
    flat = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    return _best(1 - flat @ flat.T)


def _means_over_tokens(k, v):
    return _best(_table(k.mean(axis=1, keepdims=True), v.mean(axis=1, keepdims=True)))


def _one_size(k, v):
    return _best(_table(k) / (k**2).sum() + _table(v) / (v**2).sum())


def _in_turn(k, v):
    loss, left, order = _table(k, v), list(range(len(k))), []
    while left:
        first = left.pop(0)
        partner = min(left, key=lambda head, first=first: loss[first, head])
        left.remove(partner)
        order += [first, partner]
    return np.array(order)


def _chain(k, v):
    loss, left, order = _table(k, v), list(range(1, len(k))), [0]
    while left:
        near = min(left, key=lambda head: loss[order[-1], head])
        left.remove(near)
        order.append(near)
    return np.array(order)


def _keys_nearest_first(k, v):
    return _greedy(k, 0 * v)


WRONG = [
    ("the pairs' first", lambda k, v: pair_heads(k, v) // 2 * 2, "by hand", "once"),
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("a list", lambda k, v: pair_heads(k, v).tolist(), "type", "NumPy array"),
    ("pairs as rows", _pairs, "shape", "shape"),
    ("floats", _floats, "dtype", "whole numbers"),
    ("most different", _most_different, "by hand", "most different"),
    ("as they came", _as_they_came, "by hand", "order they came in"),
    ("partners apart", _halves, "by hand", "is possible"),
    ("nearest of each", _nearest, "by hand", "is possible"),
    ("keys alone", _keys, "random", "values are pooled too"),
    ("values alone", _values, "random", "keys are pooled too"),
    ("nearest first", _greedy, "property", "sum over all pairs"),
    ("each in turn", _in_turn, "property", "in turn"),
    ("a chain", _chain, "property", "on a chain"),
    ("distances", _not_squared, "property", "added up distances"),
    ("directions", _directions, "property", "point the same way"),
    ("means over the tokens", _means_over_tokens, "property", "mean over the tokens"),
    ("sorted by length", _sorted, "property", "similar length"),
    ("one size", _one_size, "random", "to one size"),
    ("keys alone, nearest first", _keys_nearest_first, "random", "Two things"),
    ("larger distance", lambda k, v: _best(np.maximum(_table(k), _table(v))), "property",
     "only the larger"),
    ("keys and values added", lambda k, v: _best(_table(k + v)), "edges", "can cancel"),
    ("sorted by mean", lambda k, v: np.argsort(k.mean((1, 2)) + v.mean((1, 2))), "property",
     "similar means"),
    ("from head 0", lambda k, v: np.argsort(_table(k, v)[0]), "property", "from head 0"),
]  # fmt: skip
