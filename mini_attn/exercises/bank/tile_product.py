"""Find the bugs: a product in tiles that keeps the last tile and drops the edge."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
This function multiplies `a` of shape `(m, k)` by `b` of shape `(k, n)` in tiles, and it passes one
test. Find inputs for which it's wrong, and repair the loops. Return a float array `(m, n)` that
equals the product for every tile size, even if the tile doesn't divide the sizes or is larger than
they are. (The checks see only the result, so `a @ b` passes too. But the point is the loops.)
"""
STARTER = '''
def tile_product(a, b, tile):
    """The product of a and b, tile by tile."""
    (m, k), n = a.shape, b.shape[1]
    out = np.zeros((m, n))
    for i in range(0, m - tile + 1, tile):
        for j in range(0, n - tile + 1, tile):
            for p in range(0, k - tile + 1, tile):
                left = a[i : i + tile, p : p + tile]
                right = b[p : p + tile, j : j + tile]
                out[i : i + tile, j : j + tile] = left @ right
    return out


a_test, b_test = np.arange(16.0).reshape(4, 4), np.eye(4)
assert np.allclose(tile_product(a_test, b_test, 4), a_test)  # right
'''


def _case(rng: np.random.Generator, m: int, k: int, n: int, tile: int) -> Inputs:
    return {"a": rng.normal(size=(m, k)), "b": rng.normal(size=(k, n)), "tile": tile}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two tiles along the contracted axis. The property: sizes that do not divide."""
    a, b = np.array([[1.0, 2.0, 3.0, 4.0]] * 2), np.array([[1.0, 0.0]] * 2 + [[0.0, 1.0]] * 2)
    return {
        "by hand": [{"a": a, "b": b, "tile": 2}],
        "random": [_case(rng, *sizes) for sizes in ((4, 6, 8, 2), (3, 6, 9, 3))],
        "property": [_case(rng, *sizes) for sizes in ((4, 5, 4, 2), (5, 4, 4, 2), (4, 4, 7, 4))],
        "edges": [_case(rng, *sizes) for sizes in ((1, 1, 1, 1), (2, 3, 2, 8), (1, 7, 5, 3))],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """The product."""
    return {"out": ((inputs["a"].shape[0], inputs["b"].shape[1]), "f")}


def _whole(size: int, tile: int) -> int:
    return size - size % tile


def _tiled(
    inputs: Inputs, m: int, n: int, k: int, *, back: bool = False, whole: bool = False
) -> np.ndarray:
    """The loops of the answer with other ends, or with a last tile that is a full one."""
    a, b, tile = inputs["a"], inputs["b"], inputs["tile"]
    out = np.zeros((len(a), b.shape[1]))
    for p in range(0, k, tile):
        start = max(min(p, len(b) - tile), 0) if back else p
        part = a[:, start : start + tile] @ b[start : start + tile]
        out += np.trunc(part) if whole else part
    rows, columns = -(-m // tile) * tile, -(-n // tile) * tile
    out[rows:], out[:, columns:] = 0, 0
    return out


def _one_tile(inputs: Inputs) -> np.ndarray:
    """Each tile of the result from the tiles with its own number along the contracted axis."""
    a, b, tile = inputs["a"], inputs["b"], inputs["tile"]
    own = np.arange(len(b))[:, None] // tile == np.arange(b.shape[1]) // tile
    return np.asarray(a @ np.where(own, b, 0))


def slips(inputs: Inputs) -> Slips:
    """Return what the product would be with one idea missing."""
    a, b, tile = inputs["a"], inputs["b"], inputs["tile"]
    (m, k), n = a.shape, b.shape[1]
    last = (k - 1) // tile * tile
    cut, rows, columns = _whole(k, tile), np.arange(m) < _whole(m, tile), _whole(n, tile)
    small = min(tile, m, n, k)
    inside = rows[:, None] & (np.arange(n) < columns)[None, :]
    final = _whole(k, tile) - tile
    overwritten = a[:, final:cut] @ b[final:cut] if final >= 0 else np.zeros((m, n))
    return [
        (a[:, last:] @ b[last:], _OVERWRITTEN),  # first: where tiles fit, both faults look alike
        (np.where(inside, overwritten, 0), _OVERWRITTEN + " And you left out the tiles at the edge "
         "where a size isn't a multiple of the tile."),
        (a[:, :tile] @ b[:tile], "You use only the first tile of the contracted axis. Continue to "
         "the other tiles and add them up."),
        (a[:, :cut] @ b[:cut], "You left out the last, smaller tile of the contracted axis, "
                               "so every "
         "sum lacks its last terms."),
        *((np.where(kept, a @ b, 0), "Your rows or columns at the edge stay zero. A tile there is "
           "smaller, but it's part of the product.")
          for kept in (inside, rows[:, None], np.arange(n) < columns)),
        (sum((a[:, p : p + tile] @ b[p : p + tile] for p in range(k)), np.zeros((m, n))),
         "Your inner loop takes steps of 1. A tile of the contracted axis is as wide as `tile`, so "
         "with smaller steps its numbers count several times."),
        (np.where(inside, a[:, :cut] @ b[:cut], 0), _EDGES),
        (np.abs(a) @ np.abs(b), "You lost the signs."),
        (_tiled(inputs, *(max(size - tile, 1) for size in (m, n, k))),
         "You left out the last tile along each axis. A loop that ends at size − tile stops before "
         "it."),
        (_tiled(inputs, m, n, m), "Your inner loop ends at m. It runs along the contracted "
                                  "axis, which has k numbers. The "
         "two are the same for some shapes only."),
        (_tiled(inputs, m, n, n), "Your inner loop ends at n. It runs along the contracted "
                                  "axis, which has k numbers. The "
         "two are the same for some shapes only."),
        (_tiled(inputs, m, n, k, back=True), "You moved the last tile of the contracted axis back "
         "to make it a full one. It overlaps the previous tile, whose numbers then count twice."),
        (_one_tile(inputs), "You give each tile of the result one product of tiles only. "
                            "It's a sum "
         "over all tiles of the contracted axis."),
        (_tiled(inputs, m, n, k, whole=True), "You lost the digits after the decimal point. Return "
         "an array of floats."),
        (_tiled(inputs | {"tile": small}, *(_whole(size, small) for size in (m, n, k))), _EDGES),
    ]  # fmt: skip


_EDGES = (
    "You left out tiles at the edge. Loop to the end of each size; NumPy cuts a slice off at the "
    "end."
)
_OVERWRITTEN = (
    "Each tile of your result keeps only the last tile product. It's a sum over all tiles of the "
    "contracted axis, so add to it."
)


def right(inputs: Inputs) -> np.ndarray:
    """The product."""
    return np.asarray(inputs["a"] @ inputs["b"])


EXERCISE = Exercise(
    id="tile_product",
    page="matmul",
    title="The product that forgot its tiles",
    kind="bug",
    groups={"edges": 4},
    minutes=12,
    difficulty=2,
    stage="warm-up",
    assessed=False,
    section="Tiles",
    complaint=Complaint(
        "numbers",
        "4 × 4 with tiles of 4 is right. Larger matrices come back mostly wrong, and some "
        "entries are just 0.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Follow one tile of the result. Which tile products belong to it, and what happens to the "
        "first when the second comes?",
        "Add with += instead of writing with =. Then let each loop run to the full size in steps "
        "of the tile. NumPy cuts off a slice that reaches past the end.",
    ),
    common_errors=(
        "Testing with one tile along the contracted axis, where = and += give the same.",
        "Testing with sizes that the tile divides, so that there's no edge.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
