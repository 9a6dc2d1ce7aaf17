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
matrix in fast memory, as in the picture. Return an integer array of three counts: numbers read from
the left matrix, numbers read from the right one, numbers written. The tile doesn't have to divide
the sizes, and tiles at the edge are smaller. A formula is enough, but loops that count are fine.
"""
STARTER = '''
def tile_traffic(m, k, n, tile):
    """np.array([read on the left, read on the right, written])."""
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
        (right(inputs)[[1, 0, 2]], "You swapped the two operands. The counts of a come first, then "
         "those of b."),
        ((m * k, k * n, m * n), "You move each number once, but that needs room for everything. "
         "The fast memory holds only one tile of each matrix."),
        ((m * k * n, m * k * n, m * n), "You read both numbers again for each multiply-add. A "
         "tile that's held serves several of them."),
        *with_pairs(partial(_counts, inputs), MISTAKES),
        *(((reads, reads, m * n), "If the tile doesn't divide a size, the number of tiles "
           "isn't a fraction. Round it up before you multiply.")
          for reads in (m * k * n // tile, round(m * k * n / tile), -(-m * k * n // tile))),
        *((moved, "You counted tiles. Count the numbers in them.")
          for moved in ((across, down, down * across), tiles)),
        *((full, "You counted tiles at the edge as full ones. They're smaller, and no number is "
           "read past the edge.")
          for full in (tiles * tile**2, (*(tiles * tile**2)[:2], m * n))),
    ]  # fmt: skip


_LAST = "A last, smaller tile is a tile too. Round the number of tiles up."
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"a": "down", "b": "across"},
     "You have it the other way around. a is read again for each tile across the columns of b, "
     "and b for each tile down the rows of a."),
    ({"a": "along", "b": "along"},
     "You read both once per tile of the contracted axis. For which tiles of the result is a "
     "number needed again?"),
    ({"written": "along"},
     "You write the result too often. A tile of it stays in fast memory until its sums are "
     "complete."),
    ({"written": "twice"}, "You counted the result twice. It's written once and never read."),
    ({"tiles": "down"}, _LAST),
    ({"tiles": "at least 1"}, _LAST),
    ({"tiles": "more"},
     "You count one tile too many where the tile divides the size. n // tile + 1 doesn't "
     "round up."),
    ({"a": "once"},
     "You read a only once, as if its tiles stayed. Only a tile of the result stays, so a is read "
     "again for each tile across the columns of b."),
    ({"b": "once"},
     "You read b only once, as if its tiles stayed. Only a tile of the result stays, so b is read "
     "again for each tile down the rows of a."),
    ({"a": "down"}, "You read a for each tile down its own rows. It's needed for each tile "
                    "across b's columns."),
    ({"b": "across"}, "You read b for each tile across its own columns. It's needed for each "
                      "tile down a's rows."),
]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The three counts."""
    return np.array(cost.product_traffic(**inputs))


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say which count is wrong, and which way."""
    pairs = zip(outputs["counts"], right(inputs), strict=True)
    names = ("numbers read from a", "numbers read from b", "numbers written")
    said = [f"too {'many' if got > true else 'few'} {name}"
            for name, (got, true) in zip(names, pairs, strict=True) if got != true]  # fmt: skip
    return f"You count {', '.join(said)}."


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
        "a has m · k numbers. Each is read once for every tile across the columns of b, and there "
        "are n / tile of them, rounded up. For b, it's the tiles down the rows of a. Each "
        "number of "
        "the result is written once.",
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
