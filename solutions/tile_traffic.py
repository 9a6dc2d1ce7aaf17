"""Numbers read and written by a product in tiles."""

import numpy as np


def tile_traffic(m, k, n, tile):
    across, down = -(-n // tile), -(-m // tile)
    return np.array([m * k * across, k * n * down, m * n])


REFERENCE = tile_traffic


def _swapped(m, k, n, tile):
    return tile_traffic(m, k, n, tile)[[1, 0, 2]]


def _wrong_axis(m, k, n, tile):
    return np.array([m * k * -(-m // tile), k * n * -(-n // tile), m * n])


def _once(m, k, n, tile):
    return np.array([m * k, k * n, m * n])


def _single(m, k, n, tile):
    return np.array([m * k * n, m * k * n, m * n])


def _rewritten(m, k, n, tile):
    return tile_traffic(m, k, n, tile) * np.array([1, 1, -(-k // tile)])


def _rounded_down(m, k, n, tile):
    return np.array([m * k * (n // tile), k * n * (m // tile), m * n])


def _fractions(m, k, n, tile):
    return np.array([m * k * n // tile, k * n * m // tile, m * n])


def _true_division(m, k, n, tile):
    return np.array([m * k * n / tile, k * n * m / tile, m * n])


def _tiles(m, k, n, tile):
    across, down = -(-n // tile), -(-m // tile)
    return np.array([across, down, across * down])


def _tuple(m, k, n, tile):
    return tuple(tile_traffic(m, k, n, tile).tolist())


def _sum(m, k, n, tile):
    return tile_traffic(m, k, n, tile).sum()


def _large_tile(m, k, n, tile):
    return tile_traffic(m, k, n, min(tile, 8)) + (tile > 8)


def _full_tiles(m, k, n, tile):
    across, down, along = -(-n // tile), -(-m // tile), -(-k // tile)
    return tile**2 * np.array([across * down * along, across * down * along, across * down])


def _full_tiles_read(m, k, n, tile):
    return np.array([*_full_tiles(m, k, n, tile)[:2], m * n])


def _one_more(m, k, n, tile):
    return np.array([m * k * (n // tile + 1), k * n * (m // tile + 1), m * n])


def _tiles_moved(m, k, n, tile):
    across, down, along = -(-n // tile), -(-m // tile), -(-k // tile)
    return np.array([across * down * along, across * down * along, across * down])


def _left_stays(m, k, n, tile):
    return np.array([m * k, k * n * -(-m // tile), m * n])


def _right_stays(m, k, n, tile):
    return np.array([m * k * -(-n // tile), k * n, m * n])


def _rounded_last(m, k, n, tile):
    reads = round(m * k * n / tile)
    return np.array([reads, reads, m * n])


def _rounded_down_to_one(m, k, n, tile):
    return np.array([m * k * max(n // tile, 1), k * n * max(m // tile, 1), m * n])


WRONG = [
    ("swapped", _swapped, "property", "swapped"),
    ("wrong axis", _wrong_axis, "by hand", "the other way around"),
    ("each number once", _once, "by hand", "room for everything"),
    ("each multiply-add", _single, "by hand", "read both numbers again"),
    ("written again", _rewritten, "by hand", "write the result too often"),
    ("rounded down", _rounded_down, "property", "Round the number"),
    ("fractions", _fractions, "property", "isn't a fraction"),
    ("floats", _true_division, "dtype", "whole numbers"),
    ("tiles", _tiles, "by hand", "counted tiles"),
    ("a tuple", _tuple, "type", "NumPy array"),
    ("the sum", _sum, "shape", "shape"),
    ("a large tile", _large_tile, "edges", "too many numbers read from a"),
    ("full tiles at the edge", _full_tiles, "property", "as full ones"),
    ("full tiles read", _full_tiles_read, "property", "as full ones"),
    ("one tile more", _one_more, "by hand", "one tile too many"),
    ("tiles that are moved", _tiles_moved, "by hand", "counted tiles"),
    ("left stays", _left_stays, "by hand", "read a only once"),
    ("right stays", _right_stays, "by hand", "read b only once"),
    ("rounded at the end", _rounded_last, "property", "isn't a fraction"),
    ("rounded down, at least 1", _rounded_down_to_one, "property", "Round the number"),
    (
        "result read as well",
        lambda m, k, n, tile: tile_traffic(m, k, n, tile) * np.array([1, 1, 2]),
        "by hand",
        "never read",
    ),
    (
        "along the contracted axis",
        lambda m, k, n, tile: np.array([m * k * -(-k // tile), k * n * -(-k // tile), m * n]),
        "by hand",
        "contracted axis",
    ),
    (
        "both across",
        lambda m, k, n, tile: np.array([m * k * -(-n // tile), k * n * -(-n // tile), m * n]),
        "by hand",
        "across its own",
    ),
    (
        "rounded down, written again",
        lambda m, k, n, tile: np.array(
            [m * k * (n // tile), k * n * (m // tile), m * n * (k // tile)]
        ),
        "by hand",
        "write the result too often",
    ),
]
