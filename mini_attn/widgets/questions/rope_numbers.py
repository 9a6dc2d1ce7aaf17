"""The predictions of the chapter on rotary embeddings that ask for work, bytes and precision."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _work() -> Question:
    size = 128
    few, many = cost.rotary_flops(size), cost.rotary_flops(size, form="matrix")
    return Question(
        key="rope/work",
        text=f"A query of {size} numbers is rotated by multiplying it with the whole rotation "
        f"matrix, {size} by {size}. How many FLOPs is that? (A multiply-add is 2.)",
        answer=many,
        unit="FLOPs",
        kind="product",
        tolerance=0.005,
        explanation=f"2 × {size} × {size} = {many:,}, nearly all of them with zeros. Pair by pair "
        f"it is {few}.",
        mistakes=(
            Mistake(
                size * size,
                "That counts a multiply-add as one. It is a multiplication and an addition.",
            ),
            Mistake(
                few,
                "That is the work pair by pair. The question is about the whole matrix, zeros "
                "and all.",
            ),
            Mistake(
                4 * size,
                "Only two entries of a row are not zero, but a matrix product multiplies with "
                "the zeros too.",
            ),
            Mistake(
                2 * size**3,
                "That is the product of two matrices. Here one vector is multiplied.",
            ),
            Mistake(
                size * size // 2,
                f"There are {size} rows and {size} columns, and 2 FLOPs for each entry.",
            ),
            Mistake(2 * size, "That is one row. The matrix has 128."),
        ),
    )


def _tables() -> Question:
    size, context, each = MODELS["llama-3-8b"].head_dim, 131_072, 4
    pairs = size // 2
    total = 2 * context * pairs * each
    return Question(
        key="rope/tables",
        text=f"Cosine and sine of all {pairs} planes are kept for {context:,} positions, each "
        "once, in float32. How many bytes do the two tables take?",
        answer=total,
        unit="bytes",
        kind="product",
        tolerance=0.005,
        explanation=f"2 tables × {context:,} positions × {pairs} planes × {each} bytes = "
        f"{total:,} bytes, or {total / 1e6:.1f} MB. All layers share them.",
        mistakes=(
            Mistake(total // 2, "That is one of the two: there are cosines and sines."),
            Mistake(
                2 * total,
                f"That keeps a number for each of the {size} numbers of a head. Two of them share "
                "a plane, and with it the angle (some code does store each twice).",
            ),
            Mistake(8 * total, "Those are bits."),
            Mistake(total // each, f"That is how many numbers; each takes {each} bytes."),
            Mistake(total // context, f"That is one position. There are {context:,}."),
            Mistake(
                MODELS["llama-3-8b"].n_layers * total,
                "The tables depend on the position alone: all layers share them.",
            ),
        ),
    )


def _half_precision() -> Question:
    """bfloat16 keeps 8 binary digits: below 2**8 every whole number, then every 2nd, 4th, …"""
    top = 4096
    doublings = (top // 256).bit_length() - 1
    kept = 256 + doublings * 128 + 1
    return Question(
        key="rope/bfloat16",
        text=f"A bfloat16 has 8 binary digits of precision. The positions 0 to {top - 1:,} are "
        "rounded to it. How many different numbers are left?",
        answer=kept,
        unit="numbers",
        kind="sum",
        explanation="Below 256 all are kept; from 256 to 512 every second, which is 128; from 512 "
        f"to 1,024 every fourth, 128 again, and so on {doublings} times; and 4,095 is rounded up "
        f"to 4,096: 256 + {doublings} × 128 + 1 = {kept}.",
        mistakes=(
            Mistake(top, "Only whole numbers up to 256 fit exactly into 8 binary digits."),
            Mistake(
                256,
                "Beyond 256 numbers still exist, only not all of them: every second, then every "
                "fourth.",
            ),
            Mistake(
                257,
                "256 itself is a power of two and exact, but beyond it numbers still exist: "
                "every second, then every fourth.",
            ),
            Mistake(kept - 1, "Nearly: 4,095 is rounded up, to 4,096."),
            Mistake(
                256 * (doublings + 1),
                "Each doubling adds 128, not 256: the leading digit is always 1.",
            ),
            Mistake(top // 2, "Every second one is right from 256 to 512 only."),
        ),
    )


def _outlier_step() -> Question:
    bits, growth, size = 4, 8, 16
    steps = 2**bits - 1
    return Question(
        key="rope/outlier-step",
        text=f"The {size} numbers of a key lie between −1 and 1, and both ends occur in every "
        f"plane. They are rounded to {bits} bits with one step for the whole key. Then one plane "
        f"is enlarged {growth} times. How many times as large is the step with which the other "
        f"{size - 2} numbers are rounded?",
        answer=growth,
        unit="times",
        kind="ratio",
        explanation=f"The step is the whole range over {steps}: 2/{steps} before and "
        f"{2 * growth}/{steps} after, for all {size} numbers alike.",
        mistakes=(
            Mistake(
                1,
                "The outputs do not change, but the rounding does: the key's numbers share one "
                "step, and the largest of them sets it.",
            ),
            Mistake(
                growth * growth,
                "That is how the square of the error grows. The step itself follows the range.",
            ),
            Mistake(
                2 * growth,
                f"The range was 2, from −1 to 1, and is now {2 * growth}: compare the two.",
            ),
            Mistake(
                growth / 2,
                "The range grows at both of its ends, so it grows as much as the plane does.",
            ),
            Mistake(
                steps,
                "That is how many steps a code has. It stays; the range that they cover grows.",
            ),
        ),
    )


ALL = (_work(), _tables(), _half_precision(), _outlier_step())
