"""Pencil: from which batch on the products with weights use all of the arithmetic."""

from __future__ import annotations

import math
from operator import eq

from mini_attn import cost
from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs

TEXT = """
With pencil and paper: an H100 does 989.4 TFLOP/s in bfloat16 and reads 3.35 TB/s. How many
sequences does it take until the products with weights of a decode step use all of its arithmetic?
Only the weights count as read.
"""

DEVICE = cost.DEVICES["h100"]
RIDGE = DEVICE.flops_per_second["bfloat16"] / DEVICE.bytes_per_second
ANSWER = math.ceil(RIDGE)

TWICE = (
    "Twice too many: a multiply-add is 2 FLOPs, a bfloat16 weight has 2 bytes, at the rate given."
)
MISTAKES = {
    ANSWER - 1: "Rounded down, the batch is still just below the ridge: take the next number.",
    math.ceil(RIDGE / 2): "Half of it: with one multiply-add for each weight of 2 bytes a row "
    "does 1 FLOP for each byte, not 2.",
    math.floor(RIDGE / 2): "Half of it: with one multiply-add for each weight of 2 bytes a row "
    "does 1 FLOP for each byte, not 2.",
    math.ceil(2 * RIDGE): TWICE,
    math.floor(2 * RIDGE): TWICE,
    math.ceil(8 * RIDGE): "Eight times too many: TB/s counts bytes, not bits.",
    math.ceil(RIDGE * 10**12 / 2**40): "A TB is 10^12 bytes, not 2^40.",
    512: "That is the next power of two. The first batch that reaches the ridge is smaller.",
    1: "With one sequence each byte of weights is used for a single FLOP.",
    math.ceil(RIDGE * 1000): "A factor 1,000: both rates are in units of 10^12.",
}


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or how far off another one is."""
    value = float(outputs["answer"])
    if value == ANSWER:
        return None
    if idea := explain(value, MISTAKES.items(), eq):
        return idea
    if abs(value - RIDGE) < 1 and value != int(value):
        return "The quotient is right. A batch is a whole number, and it has to reach the ridge."
    if 0 < value < 0.1:
        return "The quotient is upside down: FLOPs for each byte, not bytes for each FLOP."
    return (
        f"{value:,.6g} is not it. With B rows a weight of 2 bytes is used for 2 · B FLOPs; set "
        "that against what the device can do while it reads 2 bytes."
    )


EXERCISE = Exercise(
    id="ridge_batch",
    page="decoding-roofline",
    title="Enough sequences to be busy",
    kind="pencil",
    groups={"by hand": 2},
    minutes=6,
    difficulty=1,
    assessed=False,
    section="The ridge",
    definition="The ridge",
    text=TEXT,
    unit="sequences",
    mistakes=MISTAKES,
    hints=(
        "How many FLOPs for each byte does a product of B rows with a weight matrix do, when only "
        "the matrix is read?",
        "2 · B FLOPs for 2 bytes: B. The ridge of the device is its FLOPs per second over its "
        "bytes per second. The first whole B that reaches it.",
    ),
    common_errors=(
        "Losing a factor 2, in the FLOPs or in the bytes.",
        "Rounding down.",
    ),
    judge=judge,
)
