"""Pencil: from which batch on the products with weights use all of the arithmetic."""

from __future__ import annotations

import math
from functools import partial
from operator import eq
from typing import Any, NamedTuple

from mini_attn import cost
from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.exercises.variants import drawn

DEVICE = cost.DEVICES["h100"]
H100 = (DEVICE.flops_per_second["bfloat16"] / 1e12, DEVICE.bytes_per_second / 1e12)
CHOICES = {  # TFLOP/s and TB/s; what they make is no whole number
    "teraflops": (312.0, 418.5, 540.5, 727.4, 835.2, 989.4, 1150.6),
    "terabytes": (1.55, 1.94, 2.04, 2.45, 2.85, 3.35, 3.9, 4.8),
}


class Numbers(NamedTuple):
    """What the device does in a second, both in units of 10^12."""

    teraflops: float = H100[0]
    terabytes: float = H100[1]

    @property
    def ridge(self) -> float:
        """FLOPs for each byte."""
        return self.teraflops / self.terabytes

    @property
    def right(self) -> int:
        """The answer."""
        return math.ceil(self.ridge)

    @property
    def power(self) -> int:
        """The next power of two."""
        return 1 << (self.right - 1).bit_length()


def _text(n: Numbers) -> str:
    name = "an H100" if n == Numbers() else "an accelerator"
    return f"""
With pencil and paper: {name} does {n.teraflops:g} TFLOP/s in bfloat16 and reads {n.terabytes:g}
TB/s. How many sequences does it take until the products with weights of a decode step use all of
its arithmetic? Only the weights count as read.
"""


TWICE = (
    "Twice too many: a multiply-add is 2 FLOPs, a bfloat16 weight has 2 bytes, at the rate given."
)
HALF = (
    "Half of it: with one multiply-add for each weight of 2 bytes a row does 1 FLOP for each byte, "
    "not 2."
)


def _mistakes(n: Numbers) -> dict[float, str]:
    return {
        n.right - 1: "Rounded down, the batch is still just below the ridge: take the next number.",
        math.ceil(n.ridge / 2): HALF,
        math.floor(n.ridge / 2): HALF,
        math.ceil(2 * n.ridge): TWICE,
        math.floor(2 * n.ridge): TWICE,
        math.ceil(8 * n.ridge): "Eight times too many: TB/s counts bytes, not bits.",
        math.ceil(n.ridge * 10**12 / 2**40): "A TB is 10^12 bytes, not 2^40.",
        n.power: "That is the next power of two. The first batch that reaches the ridge is "
        "smaller.",
        1: "With one sequence each byte of weights is used for a single FLOP.",
        math.ceil(n.ridge * 1000): "A factor 1,000: both rates are in units of 10^12.",
    }


def _judge(n: Numbers, inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or how far off another one is."""
    value = float(outputs["answer"])
    if value == n.right:
        return None
    if idea := explain(value, _mistakes(n).items(), eq):
        return idea
    if abs(value - n.ridge) < 1 and value != int(value):
        return "The quotient is right. A batch is a whole number, and it has to reach the ridge."
    if 0 < value < 0.1:
        return "The quotient is upside down: FLOPs for each byte, not bytes for each FLOP."
    return (
        f"{value:,.6g} is not it. With B rows a weight of 2 bytes is used for 2 · B FLOPs; set "
        "that against what the device can do while it reads 2 bytes."
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
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
        text=_text(n),
        unit="sequences",
        mistakes=_mistakes(n),
        hints=(
            "How many FLOPs for each byte does a product of B rows with a weight matrix "
            "do, when only the matrix is read?",
            "2 · B FLOPs for 2 bytes: B. The ridge of the device is its FLOPs per second "
            "over its bytes per second. The first whole B that reaches it.",
        ),
        common_errors=(
            "Losing a factor 2, in the FLOPs or in the bytes.",
            "Rounding down.",
        ),
        right=lambda inputs: n.right,
        judge=partial(_judge, n),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
