"""Write the rotary embedding, neighbours as pairs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Rotate the rows of `x`, shape `(seq, head_dim)`, to the integer `positions`, shape `(seq,)`.
Neighbours make a pair, $(2i, 2i+1)$, and pair $i$ rotates by `theta ** (-2i / head_dim)` radians a
position. Return an array of the shape of `x`, and leave `x` as it is. Positions may be large and
need not be in order.
"""
STARTER = '''
def rope_rotate(x, positions, theta):
    """Rows of x (seq, head_dim), rotated to their positions."""
    raise NotImplementedError
'''

Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: (1, 2) at positions 0 and 1. The property: positions and base are what is given."""

    def drawn(positions: list[int], head_dim: int, theta: float) -> Inputs:
        x = rng.standard_normal((len(positions), head_dim))
        return {"x": x, "positions": np.array(positions), "theta": theta}

    twice = np.array([[1.0, 2.0], [1.0, 2.0]])
    hand = {"x": twice, "positions": np.array([0, 1]), "theta": 10000.0}
    return {
        "by hand": [hand],
        "random": [drawn([0, 1, 2], 4, 10000.0), drawn([0, 1, 2, 3, 4], 6, 10000.0)],
        "property": [drawn([5, 6, 7], 4, 10000.0), drawn([9, 2, 40], 8, 500.0)],
        # All at 0, a single pair far out, and so far out that float32 angles are off.
        "edges": [drawn([0, 0], 4, 10000.0), drawn([77], 2, 10000.0), drawn([120_001], 6, 1e5)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """As many numbers as before."""
    return {"out": (inputs["x"].shape, "f")}


def _turned(
    inputs: Inputs,
    *,
    power: float = 1.0,
    first: int = 0,
    base: float | None = None,
    unit: float = 1.0,
    places: str = "given",
    short: bool = False,
    form: str = "turn",
    pairs: str = "neighbours",
) -> Array:
    """The rows rotated to their positions, or what they become by another choice."""
    x, given = inputs["x"], inputs["positions"]
    at = {"given": given, "rows": np.arange(len(x)), "relative": given - given[0]}[places]
    size, theta = x.shape[1], inputs["theta"] if base is None else base
    speeds = theta ** (-power * (np.arange(0, size, 2) + 2 * first) / size)
    angles = unit * at[:, None] * speeds
    if short:
        angles = unit * at.astype("float32")[:, None] * speeds.astype("float32")
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = np.hsplit(x, 2) if pairs == "halves" else (x[:, 0::2], x[:, 1::2])
    one, other = {
        "turn": (a * cos - b * sin, a * sin + b * cos),
        "back": (a * cos + b * sin, b * cos - a * sin),
        "new": (new := a * cos - b * sin, new * sin + b * cos),
        "plus": (a * cos + b * sin, a * sin + b * cos),
        "minus": (a * cos - b * sin, b * cos - a * sin),
        "cosines": (a * cos, b * cos),
    }[form]
    if pairs == "neighbours":
        return np.stack([one, other], axis=-1).reshape(x.shape)
    return np.concatenate([one, other], axis=1)


def slips(inputs: Inputs) -> Slips:
    """Return what the result would be with one idea missing, or two."""
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"places": "rows"},
         "The rows are rotated as if they stood at 0, 1, 2 …: take the positions that are given."),
        ({"base": 10000.0},
         "The base is fixed at 10,000: it is the theta that is given."),
        ({"short": True},
         "The angles are rounded: at such a position float32 has too few digits. Multiply "
         "position and frequency in float64."),
        *MISTAKES,
    ]  # fmt: skip
    return [(inputs["x"], "Nothing has rotated."), *with_pairs(partial(_turned, inputs), mistakes)]


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"power": 0.5}, "The exponent is 2i / head_dim for pair i; half of that is used."),
    ({"power": 2.0},
     "The exponent is 2i / head_dim for pair i; twice that is used, as if 2i were divided by the "
     "number of pairs."),
    ({"first": 1}, "The first pair rotates by 1 radian a position: i is counted from 0."),
    ({"power": 0.0},
     "All pairs rotate alike. Pair i rotates by theta ** (-2i / head_dim) radians a position."),
    ({"power": -1.0},
     "The angles grow with i. The exponent is negative: later pairs rotate more slowly."),
    ({"places": "relative"},
     "The positions are counted from that of the first row: take them as they are given."),
    ({"unit": np.pi / 180},
     "The angles are taken for degrees. They are radians, as np.cos expects them."),
    ({"form": "back"},
     "It rotates the wrong way: the first number is a cos − b sin, the second a sin + b cos."),
    ({"pairs": "halves"},
     "The pairs are the two halves of the head. Here neighbours rotate together: (2i, 2i + 1)."),
    ({"pairs": "not woven"},
     "The rotated numbers are not where they belong: number 2i and number 2i + 1 of the result are "
     "a pair again."),
    ({"form": "new"},
     "The second number of a pair is computed from the first after that was overwritten. Both "
     "need the old pair."),
    ({"form": "plus"},
     "The two sines have the same sign here. In a rotation one is subtracted: a cos − b sin, "
     "a sin + b cos."),
    ({"form": "minus"}, "The second number is a sin + b cos: one minus sign too many."),
    ({"form": "cosines"}, "The sines are missing: each number also gets its partner's."),
]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Every row rotated to its position."""
    x = inputs["x"]
    frequencies = ma.rope_frequencies(x.shape[1], theta=inputs["theta"])[0]
    cos, sin = ma.rope_table(inputs["positions"], frequencies, dtype="float64")
    return np.asarray(ma.apply_rope(x[None, None], cos, sin, layout="interleaved")[0, 0])


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say whether lengths are kept."""
    squares = np.square(outputs["out"]).sum(axis=1)
    if not np.allclose(squares, np.square(inputs["x"]).sum(axis=1), rtol=1e-4):
        return "A rotation keeps the length of a vector; here the length changes."
    return "Lengths are kept, but a row ends up elsewhere."


EXERCISE = Exercise(
    id="rope_rotate",
    page="rope",
    title="Rotate every pair",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=2,
    stage="warm-up",
    assessed=False,
    section="RoPE in code",
    text=TEXT,
    starter=STARTER,
    hints=(
        "A pair (a, b) at angle φ becomes (a cos φ − b sin φ, a sin φ + b cos φ). What is φ for "
        "row s and pair i?",
        "One array of angles, shape (seq, pairs): positions in a column times the frequencies in "
        "a row. Cut x into x[:, 0::2] and x[:, 1::2], compute both results, and write them back "
        "into those places of a new array.",
    ),
    common_errors=(
        "Using the row number instead of the given position.",
        "Leaving the result with all first numbers in front: the pairs must stay neighbours.",
        "Overwriting the first numbers before the second ones are computed from them.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
    keeps_inputs=True,
)
