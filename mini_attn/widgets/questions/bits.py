"""Predictions of the chapter on fewer bits: steps, outliers, ends, shares of a scale."""

from __future__ import annotations

from mini_attn.config import SMALL_FLOATS, WEIGHT_FORMATS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _step() -> Question:
    low, high, bits = -1.2, 2.4, 4
    levels, reach = 2**bits - 1, high - low
    answer = round(reach / levels / 2, 9)
    return Question(
        key="bits/step",
        text=f"A group of numbers reaches from −{-low:g} to {high:g}. It gets codes of {bits} "
        "bits, whose ends are the ends of the group. How far can a number be from what comes "
        "back, at most?",
        answer=answer,
        unit="units",
        kind="quotient",
        tolerance=0.005,
        explanation=f"{levels + 1} codes leave {levels} steps of {reach:g}/{levels} = "
        f"{reach / levels:g}, and the nearest code is at most half a step away: {answer:g}.",
        mistakes=(
            Mistake(
                2 * answer,
                "That is a whole step. The nearest code is never further than half of it.",
            ),
            Mistake(
                reach / 2 ** (bits + 1),
                f"{2**bits} codes have {levels} steps between them, as fence posts have gaps.",
            ),
            Mistake(
                high / levels / 2,
                f"The codes also cover what is below 0: the range is {reach:g} wide.",
            ),
            Mistake(reach / bits / 2, f"{bits} bits are {2**bits} codes, not {bits}."),
            Mistake(
                reach / 2**bits,
                f"{2**bits} codes have {levels} steps between them, and the nearest code is at "
                "most half a step away.",
            ),
            Mistake(reach / 3 / 2, "That is the error with 2 bits, as above. Here it is 4."),
            Mistake(reach / 3, "That is the step with 2 bits. Here there are 4."),
            Mistake(
                answer / 2,
                "That is the mean error, if numbers lie anywhere within a step. The largest "
                "is asked for.",
            ),
            Mistake(reach / 2, "That would be rounding to the two ends alone: one bit."),
        ),
    )


def _outlier() -> Question:
    bits, outlier, others = 3, 20, 1
    step = (outlier + others) / (2**bits - 1)
    answer = round(2 * others / step) + 1
    return Question(
        key="bits/outlier",
        text=f"A group has 16 numbers. One is {outlier}, the other 15 lie between −{others} and "
        f"{others}, and both of these occur. The group is rounded to {bits} bits, its ends being "
        "the ends of the codes. How many different codes do the 15 numbers get?",
        answer=answer,
        unit="codes",
        kind="count",
        explanation=f"The step is ({outlier} + {others})/{2**bits - 1} = {step:g}. From −{others} "
        f"to {others} the codes are round(0) = 0 to round({2 * others / step:.2f}) = "
        f"{answer - 1}: {answer} of them.",
        mistakes=(
            Mistake(
                2**bits, "All codes are there, but most of them lie between 1 and the outlier."
            ),
            Mistake(
                2**bits - 1,
                "The outlier takes one code, but also spreads the others out: most are never used.",
            ),
            Mistake(
                1,
                f"Nearly all is lost, though not quite: the step is {step:g}, and {others} is more "
                "than half a step above the least number.",
            ),
            Mistake(15, "There are not so many codes in all."),
            Mistake(3, "The third code stands for 5, beyond what the 15 numbers reach."),
            Mistake(
                round(2 * others / step, 2),
                "That is how many steps the 15 numbers cover. Round both ends of that to codes, "
                "and count them.",
            ),
        ),
    )


def _largest() -> Question:
    number = SMALL_FLOATS["e4m3"]
    answer = int(number.largest)
    return Question(
        key="bits/largest",
        text="E4M3 is a float of 8 bits: a sign, 4 bits of exponent with a bias of 7, 3 bits of "
        "mantissa with a leading 1. It has no infinity, and of the codes only the one with all "
        "exponent and mantissa bits set is no number. What is its largest number?",
        answer=answer,
        unit="units",
        kind="formula",
        explanation="The largest exponent is 15 − 7 = 8, and with it the mantissa 111 is taken, so "
        f"110 is left: 2⁸ × (1 + 6/8) = {answer}.",
        mistakes=(
            Mistake(480, "2⁸ × (1 + 7/8): that code, all bits set, is the one that is no number."),
            Mistake(
                240,
                "That keeps the whole largest exponent for infinity and NaN, as IEEE floats do. "
                "E4M3 gives up one code of it.",
            ),
            Mistake(256, "That is the largest power of two; the mantissa adds up to 6/8 of it."),
            Mistake(127, "That is the largest of int8, whose steps are all alike."),
            Mistake(57_344, "That is the other float of 8 bits, E5M2, with 5 bits of exponent."),
            Mistake(224, "The exponent field 15 stands for 2⁸: 15 less the bias of 7."),
            Mistake(896, "The exponent field 15 stands for 2⁸: 15 less the bias of 7."),
            Mistake(384, "The mantissa 110 is 6 of 8: it adds 6/8 to the leading 1."),
            Mistake(
                512,
                "That is the next power of two. A mantissa of 3 bits ends at 7/8, and with the "
                "largest exponent at 6/8.",
            ),
        ),
    )


def _block() -> Question:
    form = WEIGHT_FORMATS["nvfp4"]
    bits, size, scale = form.code_bits, form.group_size, 8
    assert isinstance(size, int)
    return Question(
        key="bits/block",
        text=f"NVFP4 keeps a weight as a float of {bits} bits, and {size} neighbours share a "
        f"scale, a float of {scale} bits. How many bits does a weight take, with its share of the "
        "scale?",
        answer=form.bits,
        unit="bits",
        kind="sum",
        explanation=f"{bits} + {scale}/{size} = {form.bits:g}. (One more float32 scale serves the "
        "whole matrix and costs practically nothing.)",
        mistakes=(
            Mistake(bits, "That leaves out the scale, without which no code means anything."),
            Mistake(
                bits + scale, f"That gives every weight a scale of its own. {size} of them share."
            ),
            Mistake(
                bits + scale / (2 * size),
                "That would be a scale for 32 weights, as in MXFP4.",
            ),
            Mistake(
                bits + 16 / size,
                "That would be 16 bits for each group: a float16 scale, or a zero besides. There "
                "is a scale of 8 bits, and no zero.",
            ),
            Mistake(bits + 32 / size, "That would be a float32 scale. This one takes 8 bits."),
            Mistake(size * bits + scale, "That is a whole group. The question is one weight."),
            Mistake(
                bits + scale / size + 32 / size,
                "The float32 scale is one for the whole matrix, not one for each group.",
            ),
            Mistake(scale / size, "That is the share of the scale. Add the weight's own bits."),
            Mistake(
                bits + scale / (8 * size),
                "That counts the 8 bits of the scale as one bit. A group shares 8 bits.",
            ),
        ),
    )


ALL = (_step(), _outlier(), _largest(), _block())
