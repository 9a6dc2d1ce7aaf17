"""Count what a product in tiles moves."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn import cost
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
A product of `(m, k)` and `(k, n)` is computed with square tiles of side `tile`, one of each
matrix in fast memory, as in the picture. Return an integer array of three counts: numbers read of
the left matrix, numbers read of the right one, numbers written. The tile need not divide the
sizes, and tiles at the edge are smaller. Count by formula, not by loops.
"""
STARTER = '''
def tile_traffic(m, k, n, tile):
    """np.array([read of the left matrix, read of the right one, written])."""
    raise NotImplementedError
'''


def _case(m: int, k: int, n: int, tile: int) -> Inputs:
    return {"m": m, "k": k, "n": n, "tile": tile}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a product that the tile divides. The property: sizes that it does not divide."""
    drawn = (4 * rng.integers(2, 9, size=(4, 3))).tolist()
    return {
        "by hand": [_case(4, 8, 6, 2)],
        "random": [_case(m, k, n, 4) for m, k, n in drawn],
        "property": [_case(5, 8, 7, 2), _case(9, 4, 11, 4)],
        "edges": [_case(1, 8, 8, 4), _case(3, 5, 2, 16), _case(1, 1, 1, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Three counts."""
    return {"counts": ((3,), "i")}


def _tiles(size: int, tile: int, rounded: str) -> int:
    """Tiles along a size: as many as it takes, or as another rounding gives."""
    whole = size // tile
    return {"up": -(-size // tile), "down": whole, "at least 1": max(whole, 1),
            "more": whole + 1}[rounded]  # fmt: skip


def _counts(
    inputs: Inputs, *, a: str = "across", b: str = "down", written: str = "once", tiles: str = "up"
) -> np.ndarray:
    """The counts, or what they become by another choice of how often each number moves."""
    m, k, n, tile = (inputs[name] for name in ("m", "k", "n", "tile"))
    across, down, along = (_tiles(size, tile, tiles) for size in (n, m, k))
    times = {"across": across, "down": down, "along": along, "once": 1, "twice": 2}
    return np.array([m * k * times[a], k * n * times[b], m * n * times[written]])


def slips(inputs: Inputs) -> Slips:
    """The counts with one idea missing, or two."""
    m, k, n, tile = (inputs[name] for name in ("m", "k", "n", "tile"))
    across, down, along = -(-n // tile), -(-m // tile), -(-k // tile)
    tiles = np.array([across * down * along, across * down * along, across * down])
    return [
        (right(inputs)[[1, 0, 2]], "The two operands are swapped: the counts of a come first, then "
         "those of b."),
        ((m * k, k * n, m * n), "That moves each number once, which needs room for everything. "
         "Only one tile of each matrix is held."),
        ((m * k * n, m * k * n, m * n), "That reads both numbers anew for each multiply-add. A "
         "tile that is held serves several of them."),
        *with_pairs(partial(_counts, inputs), MISTAKES),
        *(((reads, reads, m * n), "With sizes that the tile does not divide the number of tiles "
           "is no fraction: round it up before you multiply.")
          for reads in (m * k * n // tile, round(m * k * n / tile), -(-m * k * n // tile))),
        *((moved, "Those are tiles. Count the numbers in them.")
          for moved in ((across, down, down * across), tiles)),
        (tiles * tile**2, "Tiles at the edge are counted as full ones. They are smaller, and no "
         "number is read beyond the edge."),
    ]  # fmt: skip


_LAST = "A last, smaller tile is a tile too: the number of tiles is rounded up."
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"a": "down", "b": "across"},
     "a is read again for each tile across the columns of b, and b for each tile down the rows of "
     "a: here it is the other way round."),
    ({"a": "along", "b": "along"},
     "Both are read once for each tile of the contracted axis. How often is a number needed again: "
     "for which tiles of the result?"),
    ({"written": "along"},
     "The result is written too often: a tile of it stays in fast memory until its sums are "
     "complete."),
    ({"written": "twice"}, "The result is counted twice. It is written once, and never read."),
    ({"tiles": "down"}, _LAST),
    ({"tiles": "at least 1"}, _LAST),
    ({"tiles": "more"},
     "One tile too many where the tile divides the size: n // tile + 1 does not round up."),
    ({"a": "once"},
     "a is read only once here, as if its tiles stayed. Only a tile of the result stays: a is read "
     "again for each tile across the columns of b."),
    ({"b": "once"},
     "b is read only once here, as if its tiles stayed. Only a tile of the result stays: b is read "
     "again for each tile down the rows of a."),
    ({"a": "down"}, "a is needed for each tile across the columns of b, not down its own rows."),
    ({"b": "across"}, "b is needed for each tile down the rows of a, not across its own columns."),
]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The three counts."""
    return np.array(cost.product_traffic(**inputs))


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say which count is wrong, and which way."""
    pairs = zip(outputs["counts"], right(inputs), strict=True)
    names = ("numbers read of a", "numbers read of b", "numbers written")
    said = [f"too {'many' if got > true else 'few'} {name}"
            for name, (got, true) in zip(names, pairs, strict=True) if got != true]  # fmt: skip
    return f"These are {', '.join(said)}."


EXERCISE = Exercise(
    id="tile_traffic",
    page="matmul",
    title="What the tiles move",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=12,
    difficulty=2,
    stage="transfer",
    assessed=False,
    section="Tiles",
    definition="Tiles",
    text=TEXT,
    standalone=(
        "one of each matrix in fast memory, as in the picture.",
        "one of each matrix in fast memory: a tile of the result stays there until it is complete.",
    ),
    starter=STARTER,
    hints=(
        "Take one number of a. Which tiles of the result need it, and how often does it come into "
        "fast memory?",
        "a has m · k numbers; each is read once for every tile of columns of b, and there are n / "
        "tile of them, rounded up. b the same with rows of a. Each number of the result is written "
        "once.",
    ),
    common_errors=(
        "Reading a once for every tile of its own rows.",
        "Dividing by the tile without rounding up.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
