"""Write the rotary embedding, neighbors as pairs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.comparing import SINGLE, TIGHT, by_right, close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Rotate the rows of `x`, shape `(seq, head_dim)`, to the integer `positions`, shape `(seq,)`.
Neighbors make a pair, $(2i, 2i+1)$, and pair $i$ rotates by `theta ** (-2i / head_dim)` radians per
position. Return an array of the shape of `x`, and don't change `x`. Positions can be large and
don't have to be in order.
"""
STARTER = '''
def rope_rotate(x, positions, theta):
    """Rows of x (seq, head_dim), rotated to their positions."""
    raise NotImplementedError
'''

Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: (1, 2) at positions 0 and 1. The property: the given positions and base count."""

    def drawn(positions: list[int], head_dim: int, theta: float) -> Inputs:
        x = rng.standard_normal((len(positions), head_dim))
        return {"x": x, "positions": np.array(positions), "theta": theta}

    twice = np.array([[1.0, 2.0], [1.0, 2.0]])
    hand = {"x": twice, "positions": np.array([0, 1]), "theta": 10000.0}
    return {
        "by hand": [hand],
        "random": [drawn([0, 1, 2], 4, 10000.0), drawn([0, 1, 2, 3, 4], 6, 10000.0)],
        "property": [drawn([5, 6, 7], 4, 10000.0), drawn([9, 2, 40], 8, 500.0)],
        # All at 0, a single pair far out, and so far out that float16 angles are lost.
        "edges": [drawn([0, 0], 4, 10000.0), drawn([77], 2, 10000.0), drawn([120_001], 6, 1e5)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """As many values as before."""
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
    pairs: str = "neighbors",
) -> Array:
    """The rows rotated to their positions, or what they become by another choice."""
    x, given = inputs["x"], inputs["positions"]
    at = {"given": given, "rows": np.arange(len(x)), "relative": given - given[0]}[places]
    size, theta = x.shape[1], inputs["theta"] if base is None else base
    speeds = theta ** (-power * (np.arange(0, size, 2) + 2 * first) / size)
    angles = unit * at[:, None] * speeds
    if short:
        with np.errstate(over="ignore"):
            angles = unit * at.astype("float16")[:, None] * speeds.astype("float16")
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
    if pairs == "neighbors":
        return np.stack([one, other], axis=-1).reshape(x.shape)
    return np.concatenate([one, other], axis=1)


def slips(inputs: Inputs) -> Slips:
    """Return what the result would be with one idea missing, or two."""
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"places": "rows"},
         "You rotate the rows as if they were at 0, 1, 2, …. Use the given positions."),
        ({"base": 10000.0},
         "You fixed the base at 10,000. Use the given theta."),
        ({"short": True},
         "You round the angles: at these positions, float16 has too few digits. Multiply "
         "position and frequency in float32 or wider."),
        *MISTAKES,
    ]  # fmt: skip
    return [
        (inputs["x"], "You return x. Nothing has rotated."),
        *with_pairs(partial(_turned, inputs), mistakes),
    ]


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"power": 0.5}, "For pair i, the exponent is 2i / head_dim. You used half of that."),
    ({"power": 2.0},
     "For pair i, the exponent is 2i / head_dim. You used twice that. Did you divide 2i by the "
     "number of pairs?"),
    ({"first": 1}, "The first pair rotates by 1 radian per position. Count i from 0."),
    ({"power": 0.0},
     "All your pairs rotate alike. Pair i rotates by theta ** (-2i / head_dim) per position."),
    ({"power": -1.0},
     "Your angles grow with i. The exponent is negative, so later pairs rotate more slowly."),
    ({"places": "relative"},
     "You count positions from that of the first row. Use them as given."),
    ({"unit": np.pi / 180},
     "You treat the angles as degrees. They're radians already, as np.cos expects."),
    ({"form": "back"},
     "You rotate the wrong way. The first value is a cos − b sin, the second a sin + b cos."),
    ({"pairs": "halves"},
     "You pair the two halves of the head. Here, neighbors rotate together: (2i, 2i + 1)."),
    ({"pairs": "not woven"},
     "You left the rotated values in two blocks. In the result, 2i and 2i + 1 have to be a pair "
     "again."),
    ({"form": "new"},
     "You compute the second value of a pair from the first after it was overwritten. Both need "
     "the old pair."),
    ({"form": "plus"},
     "Your two sines have the same sign. A rotation subtracts one: a cos − b sin, a sin + b cos."),
    ({"form": "minus"}, "The second value is a sin + b cos. You have one minus sign too many."),
    ({"form": "cosines"}, "The sines are missing. Each value also gets a part of its partner."),
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
        return "A rotation doesn't change a vector's length, but yours does."
    return "Your lengths are right, but some row points the wrong way."


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """Accept angles in float32, which are off by a part of each angle."""
    x, positions = inputs["x"], inputs["positions"]
    frequencies = ma.rope_frequencies(x.shape[1], theta=inputs["theta"])[0]
    angles = positions[:, None] * np.repeat(frequencies, 2)
    lengths = np.repeat(np.hypot(x[:, 0::2], x[:, 1::2]), 2, axis=1)
    off = np.abs(outputs["out"] - right(inputs))
    if (off <= (TIGHT + 4 * SINGLE * angles) * lengths).all():
        return None
    return by_right(right, close, symptom)(inputs, outputs)


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
        "A pair (a, b) at angle φ becomes (a cos φ − b sin φ, a sin φ + b cos φ). What's φ for "
        "row s and pair i?",
        "Make one array of angles, shape (seq, pairs): positions in a column times frequencies in "
        "a row. Split x into x[:, 0::2] and x[:, 1::2], compute both results, and write them "
        "into the same places of a new array.",
    ),
    common_errors=(
        "Using the row number instead of the given position.",
        "Leaving all first values in front: the pairs must be neighbors in the result.",
        "Overwriting the first values before computing the second ones from them.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    judge=judge,
    symptom=symptom,
    keeps_inputs=True,
)
