"""The predictions of the chapter on rotary embeddings that ask for distances and precision."""

from __future__ import annotations

import math

import numpy as np

from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _lookalike() -> Question:
    limit = 50
    away = np.arange(2, limit + 1)
    off = np.abs(np.angle(np.exp(1j * (away - 1))))  # 1 radian per position
    answer = int(away[off.argmin()])
    return Question(
        key="rope/lookalike",
        text="This plane adds something to the score at distance 1. At which distance from 2 to "
        f"{limit} does it add most nearly the same?",
        answer=answer,
        unit="positions",
        kind="place",
        explanation=f"From distance 1 to distance {answer}, the plane rotates by {answer - 1} "
        f"radians, and seven full rotations are 7 · 2π = {7 * math.tau:.2f}. So the fastest plane "
        "alone can't find the previous token.",
        mistakes=(
            Mistake(
                7,
                "At distance 7 it's 6 radians further, which is 0.28 short of a full rotation. "
                "One distance is nearer.",
            ),
            Mistake(
                answer - 1,
                f"{answer - 1} radians are nearly seven full rotations. Count them from distance "
                "1, not from 0.",
            ),
            Mistake(
                20,
                "Close: 19 radians are three rotations and 0.15 more. One distance is nearer.",
            ),
            Mistake(
                26,
                "Close: 25 radians are 0.13 short of four rotations. One distance is nearer.",
            ),
            Mistake(2, "One step further, the plane has rotated by a whole radian, or 57°."),
            Mistake(
                6,
                "A full rotation takes 6.28 positions. Starting from distance 1, that's past 7.",
            ),
            Mistake(
                23,
                "At distance 23 it's 22 radians further, three and a half rotations. The plane "
                "points the opposite way.",
            ),
        ),
    )


def _half_precision() -> Question:
    """bfloat16 keeps 8 binary digits: below 2**8 every integer, then every 2nd, 4th, …."""
    top = 4096
    doublings = (top // 256).bit_length() - 1
    kept = 256 + doublings * 128 + 1
    return Question(
        key="rope/bfloat16",
        text=f"A bfloat16 has 8 binary digits of precision. The positions 0 to {top - 1:,} are "
        "rounded to it. How many different ones are left?",
        answer=kept,
        unit="numbers",
        kind="sum",
        explanation="Below 256, all are kept. From 256 to 512, every second one is, so 128; "
        f"from 512 to 1,024 every fourth, 128 again, and so on {doublings} times. And 4,095 is "
        f"rounded up to 4,096: 256 + {doublings} × 128 + 1 = {kept}.",
        mistakes=(
            Mistake(top, "Only integers up to 256 fit exactly into 8 binary digits."),
            Mistake(
                256,
                "Beyond 256 there are still numbers, only not all of them: every second, then "
                "every fourth.",
            ),
            Mistake(
                257,
                "256 itself is a power of two and exact, but beyond it there are still numbers: "
                "every second, then every fourth.",
            ),
            Mistake(kept - 1, "Almost: 4,095 is rounded up, to 4,096."),
            Mistake(
                256 * (doublings + 1),
                "Each doubling adds 128, not 256: the leading digit is always 1.",
            ),
            Mistake(top // 2, "Every second one is only right from 256 to 512."),
        ),
    )


ALL = (_lookalike(), _half_precision())
