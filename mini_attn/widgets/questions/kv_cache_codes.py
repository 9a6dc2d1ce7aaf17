"""The prediction of the chapter on KV caching that counts what codes take."""

from __future__ import annotations

from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _true_bits() -> Question:
    bits, group, scale_bits = 3, 16, 32
    extra = 2 * scale_bits // group
    return Question(
        key="kv-cache/true-bits",
        text=f"Keys are stored as codes of {bits} bits, in groups of {group} numbers. Each group "
        "has a scale and a zero, both in float32. How many bits does one number of a key take, "
        "with its share of both?",
        answer=bits + extra,
        unit="bits",
        kind="sum",
        explanation=f"{bits} bits of its own, and 2 × {scale_bits} bits shared by {group}: {bits} "
        f"+ {extra} = {bits + extra}. With float16 it would be {bits + extra // 2}, in "
        f"groups of {2 * group} with float32 as well. Say which, when you compare.",
        mistakes=(
            Mistake(
                bits,
                "That leaves out the scale and the zero, without which no code means anything.",
            ),
            Mistake(
                bits + extra // 2,
                f"Half of the metadata is missing. A group has two numbers of {scale_bits} bits, "
                "a scale and a zero.",
            ),
            Mistake(
                bits + 2 * scale_bits,
                f"That gives every number a scale and a zero of its own. {group} numbers share "
                "them.",
            ),
            Mistake(extra, "That is the share of scale and zero alone. Add the code."),
            Mistake(
                group * bits + 2 * scale_bits, "That is a whole group. The question is one number."
            ),
        ),
    )


ALL = (_true_bits(),)
