"""A product in tiles: every tile adds, and the edges belong to it."""

import numpy as np


def tile_product(a, b, tile):
    (m, k), n = a.shape, b.shape[1]
    out = np.zeros((m, n))
    for i in range(0, m, tile):
        for j in range(0, n, tile):
            for p in range(0, k, tile):
                left = a[i : i + tile, p : p + tile]
                right = b[p : p + tile, j : j + tile]
                out[i : i + tile, j : j + tile] += left @ right
    return out


REFERENCE = tile_product


def _starter(a, b, tile, add=False, whole=(True, True, True)):
    (m, k), n = a.shape, b.shape[1]
    out = np.zeros((m, n))
    ends = [size - tile + 1 if cut else size for size, cut in zip((m, n, k), whole, strict=True)]
    for i in range(0, ends[0], tile):
        for j in range(0, ends[1], tile):
            for p in range(0, ends[2], tile):
                part = a[i : i + tile, p : p + tile] @ b[p : p + tile, j : j + tile]
                place = out[i : i + tile, j : j + tile]
                place[...] = place + part if add else part
    return out


def _as_given(a, b, tile):
    return _starter(a, b, tile)


def _overwrites(a, b, tile):
    return _starter(a, b, tile, whole=(False, False, False))


def _edges_dropped(a, b, tile):
    return _starter(a, b, tile, add=True)


def _sum_cut_short(a, b, tile):
    return _starter(a, b, tile, add=True, whole=(False, False, True))


def _rows_dropped(a, b, tile):
    return _starter(a, b, tile, add=True, whole=(True, True, False))


def _first_only(a, b, tile):
    return a[:, :tile] @ b[:tile]


def _transposed(a, b, tile):
    return (a @ b).T.copy() if a.shape[0] != b.shape[1] else a @ b


def _whole_numbers(a, b, tile):
    return (a @ b).astype(int)


def _elementwise(a, b, tile):
    return a * b


def _nothing(a, b, tile):
    tile_product(a, b, tile)


def _random(a, b, tile):
    return a @ b + np.random.default_rng().normal()


def _nan_where_empty(a, b, tile):
    return np.full((a.shape[0], b.shape[1]), np.nan)


def _fails_on_one_row(a, b, tile):
    return a @ b if a.shape[0] > 1 else np.abs(a) @ np.abs(b)


def _loops(m_end, n_end, k_end):
    """The loops with other ends, each a function of m, k, n and tile."""

    def answer(a, b, tile):
        (m, k), n = a.shape, b.shape[1]
        out = np.zeros((m, n))
        for i in range(0, m_end(m, k, n, tile), tile):
            for j in range(0, n_end(m, k, n, tile), tile):
                for p in range(0, k_end(m, k, n, tile), tile):
                    part = a[i : i + tile, p : p + tile] @ b[p : p + tile, j : j + tile]
                    out[i : i + tile, j : j + tile] += part
        return out

    return answer


_before_last = _loops(
    lambda m, k, n, tile: max(m - tile, 1),
    lambda m, k, n, tile: max(n - tile, 1),
    lambda m, k, n, tile: max(k - tile, 1),
)
_inner_to_m = _loops(lambda m, *_: m, lambda m, k, n, tile: n, lambda m, *_: m)


def _smaller_tile(a, b, tile):
    return _starter(a, b, min(tile, *a.shape, b.shape[1]), add=True)


def _moved_back(a, b, tile):
    k = len(b)
    starts = [max(min(p, k - tile), 0) for p in range(0, k, tile)]
    return sum(a[:, p : p + tile] @ b[p : p + tile] for p in starts)


def _own_tile(a, b, tile):
    starts = range(0, b.shape[1], tile)
    parts = [a[:, j : j + tile] @ b[j : j + tile, j : j + tile] for j in starts]
    return np.concatenate(parts, axis=1)


def _cut_to_whole(a, b, tile):
    starts = range(0, len(b), tile)
    return sum(np.trunc(a[:, p : p + tile] @ b[p : p + tile]) for p in starts)


WRONG = [
    ("as given", _as_given, "by hand", "add to it"),
    ("overwrites", _overwrites, "by hand", "add to it"),
    ("edges dropped", _edges_dropped, "property", "tiles at the edge"),
    ("sums cut short", _sum_cut_short, "property", "last terms"),
    ("rows dropped", _rows_dropped, "property", "stay zero"),
    ("first tile only", _first_only, "by hand", "first tile"),
    ("transposed", _transposed, "shape", "shape"),
    ("whole numbers", _whole_numbers, "dtype", "floating"),
    ("entry by entry", _elementwise, "runs", "raised"),
    ("no return", _nothing, "type", "return"),
    ("another one each time", _random, "repeatable", "second time"),
    ("NaN", _nan_where_empty, "finite", "NaN"),
    ("one row", _fails_on_one_row, "edges", "lost the signs"),
    ("before the last tile", _before_last, "by hand", "stops before it"),
    ("inner loop to m", _inner_to_m, "by hand", "inner loop ends at m"),
    ("a smaller tile", _smaller_tile, "property", "tiles at the edge"),
    ("last tile moved back", _moved_back, "property", "count twice"),
    ("one tile each", _own_tile, "by hand", "one product of tiles only"),
    ("cut to whole numbers", _cut_to_whole, "random", "array of floats"),
    (
        "columns dropped",
        _loops(lambda m, *_: m, lambda m, k, n, tile: n - tile + 1, lambda m, k, n, tile: k),
        "property",
        "stay zero",
    ),
    (
        "steps of 1",
        lambda a, b, tile: sum(a[:, p : p + tile] @ b[p : p + tile] for p in range(len(b))),
        "by hand",
        "steps of 1",
    ),
]
