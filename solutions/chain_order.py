"""The cheapest and the most expensive brackets of a chain."""

import functools

import numpy as np


def chain_order(sizes):
    # Whatever product is done last, both parts are shorter chains of
    # their own. So the best of a chain follows from the best of its
    # parts, and each part is worked out once.
    n = len(sizes)
    sizes = [int(size) for size in sizes]
    table = {(i, i + 1): (0, 0) for i in range(n - 1)}  # a single matrix costs nothing
    for length in range(2, n):
        for i in range(n - length):
            j = i + length
            low, high = [], []
            # Every place where the last product can split the chain.
            for k in range(i + 1, j):  # the last product contracts sizes[k]
                last = 2 * sizes[i] * sizes[k] * sizes[j]
                (a, b), (c, d) = table[i, k], table[k, j]
                low.append(a + c + last)
                high.append(b + d + last)
            table[i, j] = min(low), max(high)
    return np.array(table[0, n - 1])


REFERENCE = chain_order


def _steps(sizes, pick):
    sizes, total = [int(size) for size in sizes], 0
    while len(sizes) > 2:
        k = pick(sizes)
        total += 2 * sizes[k - 1] * sizes[k] * sizes[k + 1]
        del sizes[k]
    return total


def _cost(sizes):
    return lambda k: sizes[k - 1] * sizes[k] * sizes[k + 1]


def _inner(sizes):
    return range(1, len(sizes) - 1)


def _left(sizes):
    return _steps(sizes, lambda s: 1)


def _right(sizes):
    return _steps(sizes, lambda s: len(s) - 2)


def _two_ways(sizes):
    return np.sort([_left(sizes), _right(sizes)])


def _cheapest(f):
    return lambda sizes: f(_inner(sizes), key=_cost(sizes))


def _by_inner(f):
    return lambda sizes: f(_inner(sizes), key=lambda k: sizes[k])


def _greedy(sizes):
    return np.array([_steps(sizes, _cheapest(f)) for f in (min, max)])


def _by_size(sizes):
    return np.array([_steps(sizes, _by_inner(f)) for f in (max, min)])


def _peeled(sizes):
    @functools.cache
    def way(i, j, f):
        if j - i < 2:
            return 0
        return f(
            way(i, k, f) + way(k, j, f) + 2 * int(sizes[i]) * int(sizes[k]) * int(sizes[j])
            for k in {i + 1, j - 1}
        )

    return np.array([way(0, len(sizes) - 1, f) for f in (min, max)])


def _every_way(sizes):
    def way(i, j, f):
        if j - i < 2:
            return 0
        best = None
        for k in range(i + 1, j):
            found = way(i, k, f) + way(k, j, f) + 2 * int(sizes[i]) * int(sizes[k]) * int(sizes[j])
            best = found if best is None else f(best, found)
        return best

    return np.array([way(0, len(sizes) - 1, f) for f in (min, max)])


def _table(sizes, inner=lambda k: 2 * k, inside=None):
    """The least and the most, with another count for a product or another choice inside."""

    @functools.cache
    def way(i, j, f):
        if j - i < 2:
            return 0
        pick = f if inside is None or (i, j) == (0, len(sizes) - 1) else inside
        return pick(
            way(i, k, f) + way(k, j, f) + int(sizes[i]) * inner(int(sizes[k])) * int(sizes[j])
            for k in range(i + 1, j)
        )

    return np.array([way(0, len(sizes) - 1, f) for f in (min, max)])


def _last_product(sizes):
    ways = [2 * int(sizes[0]) * int(k) * int(sizes[-1]) for k in sizes[1:-1]] or [0]
    return np.array([min(ways), max(ways)])


def _int32(sizes):
    return chain_order(sizes).astype(np.int32)


def _mixed(first, second):
    return lambda sizes: np.array([first(sizes)[0], second(sizes)[1]])


WRONG = [
    ("multiply-adds", lambda sizes: chain_order(sizes) // 2, "by hand", "counted multiply-adds"),
    ("swapped", lambda sizes: chain_order(sizes)[::-1], "by hand", "swapped"),
    ("from the left", lambda sizes: np.array([_left(sizes)] * 2), "by hand", "left to the right"),
    ("from the right", lambda sizes: np.array([_right(sizes)] * 2), "by hand", "right to the left"),
    ("two ways", _two_ways, "random", "only two ways"),
    (
        "two ways, unsorted",
        lambda sizes: np.array([_left(sizes), _right(sizes)]),
        "random",
        "only two ways",
    ),
    ("cheapest product first", _greedy, "random", "at that moment"),
    ("largest size first", _by_size, "random", "largest inner size"),
    ("smallest size first", lambda sizes: _by_size(sizes)[::-1], "by hand", "large matrices"),
    ("a single matrix on one side", _peeled, "random", "single matrix on one side"),
    ("every way", _every_way, "runs", "too slow"),
    ("the least twice", lambda sizes: chain_order(sizes)[[0, 0]], "by hand", "most expensive way"),
    ("most from the ends", _mixed(chain_order, _two_ways), "random", "one end to the other"),
    ("most peeled", _mixed(chain_order, _peeled), "random", "both sides"),
    ("most greedy", _mixed(chain_order, _greedy), "random", "of each moment"),
    (
        "exact additions",
        lambda sizes: _table(sizes, lambda k: 2 * k - 1),
        "by hand",
        "addition less",
    ),
    ("no contracted size", lambda sizes: _table(sizes, lambda k: 2), "by hand", "contracted size"),
    ("a matrix short", lambda sizes: chain_order(sizes[:-1]), "by hand", "at one end"),
    ("last product alone", _last_product, "by hand", "last product alone"),
    (
        "cheap inside",
        _mixed(chain_order, lambda s: _table(s, inside=min)),
        "random",
        "cheap brackets inside",
    ),
    (
        "expensive inside",
        _mixed(lambda s: _table(s, inside=max), chain_order),
        "random",
        "expensive brackets inside",
    ),
    ("the least alone", lambda sizes: chain_order(sizes)[:1], "shape", "shape"),
    ("a list", lambda sizes: chain_order(sizes).tolist(), "type", "NumPy array"),
    ("floats", lambda sizes: chain_order(sizes).astype(float), "dtype", "whole numbers"),
    ("overflow", _int32, "edges", "negative"),
]
