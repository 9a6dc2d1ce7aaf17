"""Write the sinusoidal table."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Write the rows of equation {eq}`eq-position-sinusoids`. `positions` is an integer array `(seq,)`,
in any order, and `d_model` is even. Return a float64 array `(seq, d_model)` with the sine and
cosine of a pair next to each other.
"""
STARTER = '''
def sinusoids(positions, d_model):
    """Sinusoidal rows of the positions: (seq, d_model)."""
    raise NotImplementedError
'''

Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a single pair, positions 0 and 1. The property: the positions that are given."""

    def at(positions: list[int], d_model: int) -> Inputs:
        return {"positions": np.array(positions), "d_model": d_model}

    return {
        "by hand": [at([0, 1], 2)],
        "random": [at([0, 1, 2, 3], 8), at(list(range(9)), int(2 * rng.integers(2, 5)))],
        "property": [at([7, 8, 9], 6), at([40, 3, 3], 4)],
        "edges": [at([0], 2), at([100_000], 12)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One row a position."""
    return {"rows": ((len(inputs["positions"]), inputs["d_model"]), "f")}


def _rows(
    inputs: Inputs,
    *,
    power: float = 1.0,
    first: int = 0,
    base: float = 10000.0,
    unit: float = 1.0,
    shift: int = 0,
    numbered: bool = False,
    order: str = "woven",
    short: bool = False,
) -> Array:
    """The rows, or what they become by another choice."""
    d_model, given = inputs["d_model"], inputs["positions"]
    positions = (np.arange(len(given)) if numbered else given) + shift
    speeds = base ** (-power * (np.arange(0, d_model, 2) + 2 * first) / d_model)
    angles = unit * positions[:, None] * speeds
    if short:
        angles = (positions.astype("float32")[:, None] * speeds.astype("float32")) * unit
    sin, cos = np.sin(angles), np.cos(angles)
    if order == "halves":
        return np.concatenate([sin, cos], axis=1)
    pair = {"woven": (sin, cos), "turned": (cos, sin), "sines": (sin, sin)}[order]
    return np.stack(pair, axis=-1).reshape(len(given), -1)


def slips(inputs: Inputs) -> Slips:
    """Return what the rows would be with one idea missing, or two."""
    positions, d_model = inputs["positions"], inputs["d_model"]
    columns = positions[:, None] * 10000.0 ** (-np.arange(d_model) / d_model)
    each = np.where(np.arange(d_model) % 2, np.cos(columns), np.sin(columns))
    ends = positions[:, None] * 10000.0 ** -np.linspace(0, 1, d_model // 2)
    return [
        *with_pairs(partial(_rows, inputs), MISTAKES),
        (each, "You give each column its own angle. Sine and cosine of a pair share one angle."),
        (np.stack([np.sin(ends), np.cos(ends)], axis=-1).reshape(each.shape),
         "You turn the last pair by exactly 1 / 10,000. The exponent is 2i / d_model, which is "
         "still below 1 for the last pair."),
    ]  # fmt: skip


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"order": "turned"}, "You swapped sine and cosine. The sine comes first in each pair."),
    ({"order": "halves"},
     "You put all sines before all cosines. Interleave them: sin, cos, sin, cos …"),
    ({"numbered": True},
     "You made the rows of positions 0, 1, 2 … Use the positions you're given."),
    ({"shift": 1}, "You counted positions from 1. Count from 0."),
    ({"power": 0.5},
     "You took half of the exponent, so the clocks are too fast. For pair i it's 2i / d_model."),
    ({"power": 2.0},
     "You took twice the exponent, so the clocks are too slow. For pair i it's 2i / d_model."),
    ({"power": 0.0},
     "You turn all pairs alike. Pair i turns by 10000 ** (-2i / d_model) radians per position."),
    ({"power": -1.0},
     "Your angles grow with i. The exponent is negative, so later pairs turn more slowly."),
    ({"first": 1}, "Your i starts at 1. Start it at 0: the first pair turns by 1 radian per "
                   "position."),
    ({"order": "sines"}, "You left out the cosines."),
    ({"base": 1000.0}, "You took base 1,000. The base is 10,000."),
    ({"unit": 2 * np.pi}, "Your angles are 2π times too large. The frequencies are already in "
                          "radians."),
    ({"unit": np.pi / 180},
     "You treat the angles as degrees. They're radians, as np.sin expects."),
    ({"short": True},
     "You computed the angles in float32, which has too few digits at such a position. Multiply "
     "position and frequency in float64."),
]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Sine and cosine of each pair."""
    return ma.sinusoidal_positions(inputs["positions"], inputs["d_model"], dtype="float64")


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Whose rows the wrong ones are."""
    rows, positions = outputs["rows"], inputs["positions"]
    s = int(np.abs(rows - right(inputs)).max(axis=1).argmax())
    table = right({**inputs, "positions": np.arange(2048)})
    at = int(np.abs(table - rows[s]).max(axis=1).argmin())
    is_another = close(rows[s], table[at])
    return f"Your row of position {positions[s]:,} is the one of {at:,}." if is_another else None


EXERCISE = Exercise(
    id="sinusoid_rows",
    page="position",
    title="A clock for every pair",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=12,
    difficulty=1,
    stage="warm-up",
    assessed=False,
    section="Sinusoids: a set of clocks",
    text=TEXT,
    letters="$p_m$ is the row of position $m$, and $d$ is `d_model`.",
    starter=STARTER,
    hints=(
        "First compute the angles, one for each position and pair: positions in a column times "
        "frequencies in a row.",
        "i = 0, 1, … d_model/2 − 1, with frequency 10000 ** (-2 * i / d_model). Make an array with "
        "the shape of the result, and write the sines into every other column from 0 on, and the "
        "cosines into every other column from 1 on.",
    ),
    common_errors=(
        "Using the row number instead of the given position.",
        "Putting all sines before all cosines. It's another order of the same numbers, which "
        "weights trained with this one can't read.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
