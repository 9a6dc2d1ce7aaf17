"""Find the bug: codes that are clipped before their zero is added."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
This function should round each row of `x` `(rows, columns)` to codes from 0 to 2^bits − 1, with a
scale and a zero of the row's own, and return the numbers that come back, an array `(rows,
columns)`. The zero is itself a code, a whole number: not the least number of the row, but the code
that stands for 0, so that what comes back is scale × (code − zero). The range of a row always
includes 0, which comes back as exactly 0. The function was tested with positive numbers and is
right for them. Repair it, so that it is right for every row. (Sizes are 0 or between 10⁻⁶ and 10⁶.)
"""
STARTER = '''
def code_and_back(x, bits):
    """Each row as codes with a scale and a zero of its own, and back."""
    levels = 2**bits - 1
    low = np.minimum(x.min(axis=1, keepdims=True), 0)
    high = np.maximum(x.max(axis=1, keepdims=True), 0)
    scale = (high - low) / levels  # (rows, 1)
    zero = np.rint(-low / scale)
    codes = np.rint(x / scale).clip(0, levels) + zero
    return scale * (codes - zero)
'''

Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a step of 1. The property: rows on both sides of 0. Edges: rows of zeros."""
    hand = {"x": np.array([[-1.0, 0.0, 1.3, 2.0]]), "bits": 2}
    both = rng.standard_normal((3, 8)) + np.array([[-0.5], [0.0], [0.5]])
    some = rng.standard_normal((3, 5))
    some[1] = 0
    return {
        "by hand": [hand],
        "random": [{"x": rng.standard_normal((4, 6)), "bits": 3}, {"x": both, "bits": 4}],
        "property": [
            {"x": -np.abs(both), "bits": 3},
            {"x": np.abs(both) + 2, "bits": 4},
            {"x": both * [[0.01], [1.0], [300.0]], "bits": 2},
        ],
        "edges": [
            {"x": some, "bits": 4},
            {"x": np.zeros((2, 3)), "bits": 8},
            {"x": np.array([[-1.5, 0.25, 1.5]]), "bits": 2},  # beyond the last code
            {"x": np.array([[5.0], [-3.0]]), "bits": 2},
        ],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """As many numbers as came."""
    return {"back": (inputs["x"].shape, "f")}


def _range(inputs: Inputs, least: str, per: int | None) -> tuple[Array, Array]:
    """The ends of the codes."""
    x = inputs["x"]
    low, high = x.min(axis=per, keepdims=True), x.max(axis=per, keepdims=True)
    if least == "with 0":
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    if least == "even":
        high = np.maximum(np.abs(low), np.abs(high))
        low = -high
    return low, high


def _back(
    inputs: Inputs,
    *,
    clip: str = "after",
    empty: str = "zeros",
    least: str = "with 0",
    zero_is: str = "whole",
    more: int = -1,
    steps: int = -1,
    per: int | None = 1,
    back: int = -1,
    turned: int = 1,
    add: float = 0.0,
    give: str = "numbers",
) -> Array:
    """Return what comes back, or what would by another choice."""
    x, levels = inputs["x"], 2 ** inputs["bits"] + more
    low, high = _range(inputs, least, per)
    scale = (high - low) / (2 ** inputs["bits"] + steps) + add
    with np.errstate(all="ignore"):
        step = scale if empty == "divided" else np.where(scale > 0, scale, 1)
        zero = -turned * low / step
        zero = np.rint(zero) if zero_is == "whole" else zero
        codes = np.rint(x / step)
        if zero_is == "a number":
            codes = np.rint((x - low) / step).clip(0, levels)
        elif clip == "before":
            codes = codes.clip(0, levels) + zero
        elif clip == "after":
            codes = (codes + zero).clip(0, levels)
        else:
            codes = codes + zero
        return codes if give == "codes" else np.asarray(step * (codes + back * zero))


def _with_sign(x: Array, largest: int) -> Array:
    """Codes of sizes beside a sign, without a zero."""
    scale = np.abs(x).max(axis=1, keepdims=True) / largest
    step = np.where(scale > 0, scale, 1)
    return np.asarray(step * np.rint(x / step))


SMALL = "Something small is added to every scale, which changes rows that were right."
SIDES = (
    "The codes lie around 0, with the same range on both sides. Here they go from 0 to 2^bits − 1, "
    "and a zero says which of them stands for 0."
)
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"clip": "before"},
     "Codes are cut to their range before the zero is added, so every number below 0 becomes 0. "
     "It is the code with its zero that has to lie between 0 and the largest code."),
    ({"empty": "divided"},
     "In a row of zeros the scale is 0, and 0/0 is no number. Such a row comes back as zeros."),
    ({"clip": "never"},
     "A code lies beyond the last one. Rounding both the number and the zero can lead one step too "
     "far, so the sum of the two has to be cut, at 0 and at 2^bits − 1."),
    ({"least": "as it is"},
     "The range no longer includes 0. Then 0 has no code, and the zero need not lie among them."),
    ({"least": "even"}, "The range is the same on both sides of 0, which wastes codes."),
    ({"zero_is": "any"}, "The zero is not rounded to a whole number. It has to be a code."),
    ({"zero_is": "a number"},
     "The zero is the least number of the row, or not whole. Then 0 lies between two codes "
     "and does not come back as exactly 0."),
    ({"more": 0, "steps": 0}, "A step too many: 2^bits codes have 2^bits − 1 steps between them."),
    ({"steps": 0}, "The range is divided by 2^bits. The codes have one step less between them."),
    ({"per": None}, "One scale serves all rows. Each row has its own."),
    ({"back": 0}, "The zero is not taken off again on the way back."),
    ({"turned": -1}, "The zero has the wrong sign: the least number gets the code 0, so −low / "
     "scale is added."),
    ({"give": "codes"}, "Those are codes. The numbers that come back were asked for."),
    *(({"add": add}, SMALL) for add in (1e-6, 1e-8, 1e-9, 1e-10, 1e-12)),
]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Add the zero, then clip; a row of zeros has no step."""
    return _back(inputs)


def same(answer: Array, wanted: Array, moved: float = 0.0) -> bool:
    """Codes do not move a little: where the inputs are rounded, they stay or jump."""
    return close(answer, wanted)


def slips(inputs: Inputs) -> Slips:
    """Return what comes back with one idea missing, or two."""
    x, bits = inputs["x"], inputs["bits"]
    return [
        (_back(inputs, clip="before", empty="divided"), MISTAKES[0][1]),
        *((_with_sign(x, largest), SIDES) for largest in (2**bits - 1, 2 ** (bits - 1) - 1)),
        *with_pairs(partial(_back, inputs), MISTAKES),
    ]


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first number that is wrong."""
    x, got, wanted = inputs["x"], outputs["back"], right(inputs)
    i, j = np.argwhere(~np.isclose(got, wanted, rtol=1e-7, atol=1e-9))[0]
    return f"In {inputs['bits']} bits, {x[i, j]:.4g} should come back as {wanted[i, j] + 0.0:.4g}."


EXERCISE = Exercise(
    id="codes_with_zero",
    page="bits",
    title="Right for positive numbers",
    kind="bug",
    groups={"edges": 3},
    minutes=10,
    difficulty=2,
    stage="transfer",
    assessed=False,
    section="Quantization: a scale and a zero point",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Follow −1 through the function by hand, then a row that is all zeros.",
        "A code is `round(x / scale) + zero`, and the whole of it lies between 0 and the largest "
        "code. Where the scale is 0 there is nothing to divide by. (A library has shipped the "
        "first of the two faults: intel/neural-compressor, pull request 1611.)",
    ),
    common_errors=(
        "Cutting the codes to their range before the zero is added.",
        "Removing the clip: rounded zeros can lead one step beyond the last code.",
        "Mending the codes and leaving 0/0 in a row of zeros.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=same,
    symptom=symptom,
)
