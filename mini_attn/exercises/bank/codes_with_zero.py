"""Find the bug: codes that are clipped before their zero is added."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
This function should quantize each row of `x` `(rows, columns)` to codes from 0 to 2^bits − 1, with
the row's own scale and zero point, and return the restored numbers, an array `(rows, columns)`.
Here the zero point is itself a code, an integer: not the least number of the row, but the code that
stands for 0, so a restored number is scale × (code − zero). The range of a row always includes 0,
which comes back as exactly 0. The function was tested with positive numbers and is right for them.
Repair it so that it's right for every row. (Sizes are 0 or between 10⁻⁶ and 10⁶.)
"""
STARTER = '''
def code_and_back(x, bits):
    """Quantize each row with its own scale and zero, and restore it."""
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
    """Codes of sizes next to a sign, without a zero."""
    scale = np.abs(x).max(axis=1, keepdims=True) / largest
    step = np.where(scale > 0, scale, 1)
    return np.asarray(step * np.rint(x / step))


SMALL = "You add something small to every scale, which changes rows that were right."
SIDES = (
    "Your codes are centered around 0, with the same range on both sides. Here they go from 0 to "
    "2^bits − 1, and a zero point says which of them stands for 0."
)
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"clip": "before"},
     "You clip the codes before the zero is added, so every number below 0 becomes 0. "
     "Clip the sum: the code with its zero has to be between 0 and the largest code."),
    ({"empty": "divided"},
     "In a row of zeros your scale is 0, and 0/0 is no number. Restore such a row as zeros."),
    ({"clip": "never"},
     "You use a code beyond the last one. Rounding both the number and the zero can lead one step "
     "too far, so clip the sum of the two, at 0 and at 2^bits − 1."),
    ({"least": "as it is"},
     "Your range no longer includes 0. Then 0 has no code, and the zero may be outside them."),
    ({"least": "even"}, "You made the range the same on both sides of 0, which wastes codes."),
    ({"zero_is": "any"}, "You didn't round the zero. It has to be a code, an integer."),
    ({"zero_is": "a number"},
     "Your zero is the least number of the row, or not an integer. Then 0 falls between two "
     "codes and doesn't come back as exactly 0."),
    ({"more": 0, "steps": 0}, "You have a step too many: 2^bits codes have 2^bits − 1 steps "
         "between them."),
    ({"steps": 0}, "You divide the range by 2^bits. The codes have one step less between them."),
    ({"per": None}, "You use one scale for all rows. Each row has its own."),
    ({"back": 0}, "You don't subtract the zero on the way back."),
    ({"turned": -1}, "Your zero has the wrong sign: the least number gets the code 0, so add "
     "−low / scale."),
    ({"give": "codes"}, "You returned codes. Return the restored numbers."),
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
    return (
        f"With {inputs['bits']} bits, {x[i, j]:.4g} should come back as {wanted[i, j] + 0.0:.4g}."
    )


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
    complaint=Complaint(
        "numbers",
        "After quantizing, the layers behind a ReLU are fine. All others come back damaged, and "
        "I found a row of NaN.",
        "[neural-compressor, pull request 1611]("
        "https://github.com/intel/neural-compressor/pull/1611): asymmetric codes were "
        "clamped without the zero point.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Follow −1 through the function by hand, then a row that is all zeros.",
        "A code is `round(x / scale) + zero`, and that sum has to be between 0 and the largest "
        "code. Where the scale is 0, there's nothing to divide by. (A library has shipped the "
        "first of the two faults: intel/neural-compressor, pull request 1611.)",
    ),
    common_errors=(
        "Clipping the codes before the zero is added.",
        "Removing the clip: rounded zeros can lead one step beyond the last code.",
        "Repairing the codes and leaving 0/0 in a row of zeros.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=same,
    symptom=symptom,
)
