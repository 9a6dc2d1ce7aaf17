"""Pencil: how many rows keep the arithmetic busy."""

from __future__ import annotations

from functools import partial
from math import ceil
from typing import Any, NamedTuple

from mini_attn import cost
from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.questions import NumberQuestion, Remark, below, foreseen

NUMBER_BYTES = 2
CHOICES = {
    "size": (2560, 3072, 3584, 4096, 5120, 6144),
    "ridge": (140, 160, 180, 210, 240, 260, 300, 350),
}


class Numbers(NamedTuple):
    """Rows and columns of the weights, and FLOPs that the device needs for each byte."""

    size: int = 4096
    ridge: int = 300

    def least(self, dtype_bytes: int = NUMBER_BYTES, moved: int = 3) -> int:
        """Fewest rows with 2 m d² FLOPs over the bytes of d², m d and m d numbers at the ridge."""
        per_row = 2 * self.size**2 - self.ridge * dtype_bytes * (moved - 1) * self.size
        return ceil(self.ridge * dtype_bytes * self.size**2 / per_row)

    @property
    def right(self) -> int:
        """The answer."""
        return self.least()

    @property
    def power(self) -> int:
        """The next power of 2."""
        return 1 << (self.right - 1).bit_length()


assert cost.product_flops(Numbers().right, 4096, 4096) >= 300 * cost.product_bytes(
    Numbers().right, 4096, 4096, dtype_bytes=NUMBER_BYTES
)


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: an accelerator is compute-bound from {n.ridge} FLOPs per byte. A layer has
{n.size:,} × {n.size:,} weights in bfloat16. It reads `m` rows of {n.size:,} numbers in bfloat16,
multiplies them by the weights, and writes the result in bfloat16. Each number moves once. What's
the smallest `m` for which the product does at least {n.ridge} FLOPs per byte?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    moved = "Two things are missing: the rows and the result move too, and a"
    return {
        n.least(moved=1): "You counted the bytes of the weight matrix only. The rows "
        "and the result move too, and with hundreds of rows it shows.",
        n.least(moved=2): "You left out one of two: the rows are read, and the result is written.",
        n.least(4): "You have half the FLOPs per byte. In bfloat16 a number takes 2 bytes, "
        "not 4, and a multiply-add is 2 FLOPs, not 1.",
        n.least(1): "You took 1 byte per number. In bfloat16 it's 2 bytes, not 1.",
        n.right - 1: f"With that many rows the intensity is still a little below {n.ridge}, "
        "so round "
        "up.",
        n.right + 1: "That's one too many. One row less is already enough.",
        n.power: "That's the next power of 2. The smallest number that's enough doesn't have "
        "to be one.",
        n.least(4, 1): f"{moved} multiply-add is 2 FLOPs, not 1, at 2 bytes per number.",
        n.least(1, 1): f"{moved} number in bfloat16 takes 2 bytes, not 1.",
        n.size: "That's the size of the matrix. The question asks for the number of rows m.",
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="rows",
        mistakes=foreseen(_mistakes(n)),
        otherwise=(
            Remark(
                "Rows are whole. Round up to the first number that's enough.",
                low=n.right - 1,
                high=n.right,
            ),
            Remark("At least one row is multiplied.", high=below(1)),
            Remark(
                "{value:,.6g} is too {many}. Write down FLOPs and bytes for m rows, set their "
                f"quotient to {n.ridge}, and solve for m."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="busy_rows",
        page="matmul",
        title="How many rows keep it busy?",
        kind="pencil",
        groups={"by hand": 3},
        minutes=10,
        difficulty=3,
        stage="transfer",
        assessed=False,
        section="Counting what moves",
        text=_text(n),
        number=_number(n),
        hints=(
            "Intensity is FLOPs over bytes. Both grow with m, but only the FLOPs are proportional "
            "to it.",
            f"FLOPs: 2 m d². Bytes: 2 (d² + 2 m d). Set 2 m d² = {n.ridge} · 2 (d² + 2 m "
            "d), solve for m, and round up.",
        ),
        common_errors=(
            "Leaving out the rows themselves and the result.",
            "Using 4 bytes per number.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
