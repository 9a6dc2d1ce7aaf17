"""The prediction of the chapter on KV caching that counts what codes take."""

from __future__ import annotations

from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]


def _true_bits(bits: int = 3, group: int = 16, scale_bits: int = 32) -> Question:
    extra = 2 * scale_bits // group
    return Question(
        key="kv-cache/true-bits",
        text=f"Keys are stored as codes of {bits} bits, in groups of {group} values. Each group "
        "has a scale and a zero, both in float32. How many bits does one value take, including its "
        "share of both?",
        answer=bits + extra,
        unit="bits",
        kind="sum",
        explanation=f"{bits} bits of its own, and 2 × {scale_bits} bits shared by {group} values: "
        f"{bits} + {extra} = {bits + extra}. Scales in float16, or groups of {2 * group}, would "
        f"make it {bits + extra // 2}. So say which, when you compare.",
        mistakes=(
            Mistake(
                bits,
                "You've left out the scale and the zero. Without them, a code means nothing.",
            ),
            Mistake(
                bits + extra // 2,
                f"You've counted one number of {scale_bits} bits per group. There are two, a scale "
                "and a zero.",
            ),
            Mistake(
                bits + 2 * scale_bits,
                f"You've given every value its own scale and zero. {group} values share them.",
            ),
            Mistake(extra, "That's the share of the scale and the zero. Add the code."),
            Mistake(
                group * bits + 2 * scale_bits,
                "That's a whole group. The question asks for one value.",
            ),
        ),
    )


ALL = (_true_bits(),)
AGAIN = (
    _true_bits(4, 32),
    _true_bits(3, 32),
    _true_bits(5, 16),
)
