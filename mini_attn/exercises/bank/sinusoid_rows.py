"""Write the sinusoidal table."""

from __future__ import annotations

from functools import partial

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

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

TOLERANCE = 1e-6
Array = np.ndarray
_close = partial(np.allclose, rtol=0, atol=TOLERANCE)


def _woven(angles: Array, first: str = "sin") -> Array:
    """Sine and cosine of each angle as neighbours."""
    pair = (np.sin(angles), np.cos(angles))
    return np.stack(pair if first == "sin" else pair[::-1], axis=-1).reshape(len(angles), -1)


def _angles(positions: Array, d_model: int, power: float = 2.0, base: float = 10000.0) -> Array:
    i = np.arange(d_model // 2)
    return np.asarray(positions[:, None] * base ** (-power * i / d_model))


def _short(positions: Array, d_model: int) -> Array:
    """The angles in float32."""
    speeds = _angles(np.ones(1), d_model).astype("float32")
    return (positions.astype("float32")[:, None] * speeds).astype("float64")


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


def slips(inputs: Inputs) -> Slips:
    """What the rows would be with one idea missing."""
    positions, d_model = inputs["positions"], inputs["d_model"]
    angles = _angles(positions, d_model)
    columns = positions[:, None] * 10000.0 ** (-np.arange(d_model) / d_model)
    each = np.where(np.arange(d_model) % 2, np.cos(columns), np.sin(columns))
    return [
        (_woven(angles, "cos"),
         "Sine and cosine are exchanged: the sine comes first in each pair."),
        (np.concatenate([np.sin(angles), np.cos(angles)], axis=1),
         "All sines stand in front of all cosines. Here they are neighbours: sin, cos, sin, cos …"),
        (_woven(_angles(np.arange(len(positions)), d_model)),
         "The rows are those of positions 0, 1, 2 …: take the positions that are given."),
        (_woven(_angles(positions + 1, d_model)), "Positions are counted from 0, not from 1."),
        (_woven(_angles(positions, d_model, power=1)),
         "The exponent of pair i is 2i / d_model; with half of it the clocks are too fast."),
        (each, "Each column has an angle of its own. Sine and cosine of a pair share one angle."),
        (_woven(_angles(positions, d_model, base=1.0)),
         "All pairs turn alike. Pair i turns by 10000 ** (-2i / d_model) radians a position."),
        (_woven(_angles(positions, d_model, power=-2)),
         "The angles grow with i. The exponent is negative: later pairs turn more slowly."),
        (np.repeat(np.sin(angles), 2, axis=1), "The cosines are missing."),
        (_woven(_angles(positions, d_model, base=1000.0)), "The base is 10,000, not 1,000."),
        (_woven(positions[:, None] * 10000.0 ** -np.linspace(0, 1, d_model // 2)),
         "Here the last pair turns by exactly 1 / 10,000. The exponent is 2i / d_model, which is "
         "still below 1 for the last pair."),
        (_woven(_short(positions, d_model)),
         "The angles are rounded: at such a position float32 has too few digits. Multiply "
         "position and speed in float64."),
    ]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Sine and cosine of each pair."""
    return ma.sinusoidal_positions(inputs["positions"], inputs["d_model"], dtype="float64")


EXERCISE = Exercise(
    id="sinusoid_rows",
    page="position",
    title="A clock for every pair",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=12,
    difficulty=1,
    assessed=False,
    section="Sinusoids: a set of clocks",
    text=TEXT,
    letters="$p_s$ is the row of position $s$, and $d$ is `d_model`.",
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
    same=_close,
)
