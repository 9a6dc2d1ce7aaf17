"""Write the rotary embedding, neighbours as pairs."""

from __future__ import annotations

from functools import partial

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Turn the rows of `x`, shape `(seq, head_dim)`, to the integer `positions`, shape `(seq,)`.
Neighbours make a pair, $(2i, 2i+1)$, and pair $i$ turns by `theta ** (-2i / head_dim)` radians a
position. Return an array of the shape of `x`, and leave `x` as it is. Positions may be large and
need not be in order.
"""
STARTER = '''
def rope_turn(x, positions, theta):
    """Rows of x (seq, head_dim), turned to their positions."""
    raise NotImplementedError
'''

TOLERANCE = 1e-5
Array = np.ndarray
_close = partial(np.allclose, rtol=0, atol=TOLERANCE)


def _turned(
    x: Array, positions: Array, frequencies: Array, layout: str = "interleaved", sign: int = 1
) -> Array:
    cos, sin = ma.rope_table(positions, frequencies, dtype="float64")
    return np.asarray(ma.apply_rope(x[None, None], cos, sign * sin, layout=layout)[0, 0])


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


def _woven(first: Array, second: Array) -> Array:
    return np.stack([first, second], axis=-1).reshape(len(first), -1)


def _slips_of_angles(inputs: Inputs) -> list[tuple[Array, str]]:
    """What the result would be with other angles."""
    x, positions, theta = inputs["x"], inputs["positions"], inputs["theta"]
    pairs = x.shape[1] // 2
    power = np.arange(pairs) / pairs
    right = theta**-power
    short = (positions.astype("float32")[:, None] * right.astype("float32")).astype("float64")
    a, b, cos, sin = x[:, 0::2], x[:, 1::2], np.cos(short), np.sin(short)
    return [
        (x, "Nothing has turned."),
        (_turned(x, np.arange(len(x)), right),
         "The rows are turned as if they stood at 0, 1, 2 …: take the positions that are given."),
        (_turned(x, positions, 10000.0**-power),
         f"The base is fixed at 10,000; this case has theta = {theta:,.0f}."),
        (_turned(x, positions, theta ** (-power / 2)),
         "The exponent is 2i / head_dim for pair i; half of that is used."),
        (_turned(x, positions, theta ** (-2 * power)),
         "The exponent is 2i / head_dim for pair i; twice that is used, as if 2i were divided by "
         "the number of pairs."),
        (_turned(x, positions, theta ** -(power + 1 / pairs)),
         "The first pair turns by 1 radian a position: i is counted from 0."),
        (_turned(x, positions, np.ones(pairs)),
         "All pairs turn alike. Pair i turns by theta ** (-2i / head_dim) radians a position."),
        (_turned(x, positions, np.asarray(theta**power)),
         "The angles grow with i. The exponent is negative: later pairs turn more slowly."),
        (_woven(a * cos - b * sin, a * sin + b * cos),
         "The angles are rounded: at such a position float32 has too few digits. "
         "Multiply position and frequency in float64."),
    ]  # fmt: skip


def _slips_of_pairs(inputs: Inputs) -> list[tuple[Array, str]]:
    """What the result would be with other pairs, or another turn."""
    x, positions = inputs["x"], inputs["positions"]
    right = ma.rope_frequencies(x.shape[1], theta=inputs["theta"])[0]
    cos, sin = ma.rope_table(positions, right, dtype="float64")
    a, b = x[:, 0::2], x[:, 1::2]
    first = a * cos - b * sin
    return [
        (_turned(x, positions, right, sign=-1),
         "It turns the wrong way: the first number is a cos − b sin, the second a sin + b cos."),
        (_turned(x, positions, right, layout="half"),
         "The pairs are the two halves of the head. Here neighbours turn together: (2i, 2i + 1)."),
        (np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1),
         "The turned numbers are right, but not where they belong: number 2i and number 2i + 1 "
         "of the result are a pair again."),
        (_woven(a * cos - b * sin, b * cos - a * sin),
         "The second number is a sin + b cos: one minus sign too many."),
        (_woven(first, first * sin + b * cos),
         "The second number of a pair is computed from the first after that was overwritten. Both "
         "need the old pair."),
        (_woven(a * cos + b * sin, a * sin + b * cos),
         "The two sines have the same sign here. In a rotation one is subtracted: a cos − b sin, "
         "a sin + b cos."),
        (_woven(a * cos, b * cos), "The sines are missing: each number also gets its partner's."),
    ]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Every row turned to its position."""
    frequencies = ma.rope_frequencies(inputs["x"].shape[1], theta=inputs["theta"])[0]
    return _turned(inputs["x"], inputs["positions"], frequencies)


def slips(inputs: Inputs) -> Slips:
    """What the result would be with one idea missing."""
    return _slips_of_angles(inputs) + _slips_of_pairs(inputs)


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Whether lengths are kept."""
    squares = np.square(outputs["out"]).sum(axis=1)
    if not np.allclose(squares, np.square(inputs["x"]).sum(axis=1), rtol=1e-4):
        return "A turn keeps the length of a vector; here the length changes."
    return "Lengths are kept, but a row ends up elsewhere."


EXERCISE = Exercise(
    id="rope_turn",
    page="rope",
    title="Turn every pair",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=2,
    assessed=False,
    section="The efficient form",
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
    same=_close,
    symptom=symptom,
    keeps_inputs=True,
)
