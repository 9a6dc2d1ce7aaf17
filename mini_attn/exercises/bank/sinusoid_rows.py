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
in any order, `d_model` is even. Return an array `(seq, d_model)` with sine and cosine of a pair
as neighbours, in float64.
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
        (each, "Each column has an angle of its own. Sine and cosine of a pair share one angle."),
        (np.stack([np.sin(ends), np.cos(ends)], axis=-1).reshape(each.shape),
         "Here the last pair turns by exactly 1 / 10,000. The exponent is 2i / d_model, which is "
         "still below 1 for the last pair."),
    ]  # fmt: skip


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"order": "turned"}, "Sine and cosine are exchanged: the sine comes first in each pair."),
    ({"order": "halves"},
     "All sines stand in front of all cosines. Here they are neighbours: sin, cos, sin, cos …"),
    ({"numbered": True},
     "The rows are those of positions 0, 1, 2 …: take the positions that are given."),
    ({"shift": 1}, "Positions are counted from 0, not from 1."),
    ({"power": 0.5},
     "The exponent of pair i is 2i / d_model; with half of it the clocks are too fast."),
    ({"power": 2.0},
     "The exponent of pair i is 2i / d_model; with twice that the clocks are too slow."),
    ({"power": 0.0},
     "All pairs turn alike. Pair i turns by 10000 ** (-2i / d_model) radians a position."),
    ({"power": -1.0},
     "The angles grow with i. The exponent is negative: later pairs turn more slowly."),
    ({"first": 1}, "The first pair turns by 1 radian a position: i is counted from 0."),
    ({"order": "sines"}, "The cosines are missing."),
    ({"base": 1000.0}, "The base is 10,000, not 1,000."),
    ({"unit": 2 * np.pi}, "The angles are 2π times too large: the speeds are radians already."),
    ({"unit": np.pi / 180},
     "The angles are taken for degrees. They are radians, as np.sin expects them."),
    ({"short": True},
     "The angles are rounded: at such a position float32 has too few digits. Multiply position "
     "and speed in float64."),
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
    return f"The row of position {positions[s]:,} is that of {at:,}." if is_another else None


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
        "First the angles, one for each position and pair: positions in a column times speeds in "
        "a row.",
        "i = 0, 1, … d_model/2 − 1 and speed 10000 ** (-2 * i / d_model). Make an empty array of "
        "the shape of the result, and write the sines into every other column from 0 on, the "
        "cosines into every other column from 1 on.",
    ),
    common_errors=(
        "Using the row number instead of the given position.",
        "Putting all sines in front of all cosines: another order of the same numbers, which "
        "weights that were trained with this one cannot read.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
