"""Predictions of the chapter on fewer bits: steps, outliers, and the numbers of a float."""

from __future__ import annotations

from mini_attn.config import SMALL_FLOATS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _step() -> Question:
    low, high, bits = -1.2, 2.4, 4
    levels, reach = 2**bits - 1, high - low
    answer = round(reach / levels / 2, 9)
    return Question(
        key="bits/step",
        text=f"A group of numbers ranges from −{-low:g} to {high:g}. You quantize it to {bits} "
        "bits, so the first and last codes are the ends of the group. How far can a restored "
        "number be from the original, at most?",
        answer=answer,
        unit="units",
        kind="quotient",
        tolerance=0.005,
        explanation=f"{levels + 1} codes have {levels} steps of {reach:g}/{levels} = "
        f"{reach / levels:g} between them, and the nearest code is at most half a step away: "
        f"{answer:g}.",
        mistakes=(
            Mistake(
                2 * answer,
                "That's a whole step. The nearest code is never further than half of it.",
            ),
            Mistake(
                reach / 2 ** (bits + 1),
                f"You divided by {2**bits}. {2**bits} codes have {levels} steps between them, as "
                f"fence "
                "posts have gaps.",
            ),
            Mistake(
                high / levels / 2,
                f"You left out the part below 0. The range is {reach:g} wide.",
            ),
            Mistake(reach / bits / 2, f"{bits} bits are {2**bits} codes, not {bits}."),
            Mistake(
                reach / 2**bits,
                f"You divided by {2**bits}, but {2**bits} codes have {levels} steps between them. "
                f"And "
                "the nearest code is at most half a step away.",
            ),
            Mistake(reach / 3 / 2, "That's the error with 2 bits, as above. Here it's 4 bits."),
            Mistake(reach / 3, "That's the step with 2 bits. Here there are 4."),
            Mistake(
                answer / 2,
                "That's the mean error, if numbers fall anywhere within a step. We asked for the "
                "largest.",
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
        text=f"A group has 16 numbers. One is {outlier}. The other 15 are between −{others} and "
        f"{others}, and both of these occur. You quantize the group to {bits} bits, so the first "
        "and last codes are its ends. How many different codes do the 15 numbers get?",
        answer=answer,
        unit="codes",
        kind="count",
        explanation=f"The step is ({outlier} + {others})/{2**bits - 1} = {step:g}. From −{others} "
        f"to {others} the codes are round(0) = 0 to round({2 * others / step:.2f}) = "
        f"{answer - 1}: {answer} of them.",
        mistakes=(
            Mistake(
                2**bits,
                "You counted all the codes, but most of them fall between 1 and the outlier.",
            ),
            Mistake(
                2**bits - 1,
                "You took off the outlier's code. It also stretches the steps, so most codes go "
                "unused.",
            ),
            Mistake(
                1,
                f"Nearly, but not quite: the step is {step:g}, and {others} is more than half a "
                f"step "
                "above the least number.",
            ),
            Mistake(15, "There aren't that many codes in all."),
            Mistake(3, "The third code stands for 5, beyond what the 15 numbers reach."),
            Mistake(
                round(2 * others / step, 2),
                "That's how many steps the 15 numbers cover. Round both ends to codes, and count "
                "them.",
            ),
        ),
    )


def _largest() -> Question:
    number = SMALL_FLOATS["e4m3"]
    answer = int(number.largest)
    return Question(
        key="bits/largest",
        text="E4M3 is an 8-bit float: a sign, 4 exponent bits with a bias of 7, and 3 mantissa "
        "bits with a leading 1. It has no infinity, and only the code with all exponent and "
        "mantissa bits set is NaN. What's its largest number?",
        answer=answer,
        unit="units",
        kind="formula",
        explanation="The largest exponent is 15 − 7 = 8. With it, the mantissa 111 is NaN, so the "
        f"largest is 110: 2⁸ × (1 + 6/8) = {answer}.",
        mistakes=(
            Mistake(480, "That's 2⁸ × (1 + 7/8), but the code with all bits set is NaN."),
            Mistake(
                240,
                "You kept the whole largest exponent for infinity and NaN, as IEEE floats do. E4M3 "
                "gives up only one code of it.",
            ),
            Mistake(256, "That's the largest power of two. The mantissa adds up to 6/8 of it."),
            Mistake(127, "That's the largest int8, whose steps are all the same."),
            Mistake(57_344, "That's the other 8-bit float, E5M2, with 5 exponent bits."),
            Mistake(224, "Check the exponent: the field 15 stands for 2⁸, because the bias is 7."),
            Mistake(896, "Check the exponent: the field 15 stands for 2⁸, because the bias is 7."),
            Mistake(384, "The mantissa 110 is 6 of 8: it adds 6/8 to the leading 1."),
            Mistake(
                512,
                "That's the next power of two. A mantissa of 3 bits ends at 7/8, and with the "
                "largest exponent at 6/8.",
            ),
        ),
    )


def _below_one() -> Question:
    values = SMALL_FLOATS["e4m3"].values
    above = [value for value in values if 0 < value < float("inf")]
    subnormal, steps = 2**3 - 1, 2**3
    answer = sum(value < 1 for value in above)
    return Question(
        key="bits/below-one",
        text=f"E4M3 has {len(above)} numbers above 0, from 1/512 to "
        f"{SMALL_FLOATS['e4m3'].largest:g}. How many of them are below 1?",
        answer=answer,
        unit="numbers",
        kind="count",
        explanation=f"Each power of two has {steps} numbers, however small it is. Below 1 are "
        f"6 powers, from 1/64 to 1/2, and {subnormal} subnormal numbers below 1/64: "
        f"6 × {steps} + {subnormal} = {answer}, nearly half of all.",
        mistakes=(
            Mistake(1, "You spread them evenly. A float's steps grow with the number."),
            Mistake(
                answer + 1,
                "You counted 0 as well, or 1 itself. We asked for numbers above 0 and below 1.",
            ),
            Mistake(
                6 * steps,
                "You left out the subnormal numbers. Below 1/64 there are equal steps down to 0.",
            ),
            Mistake(subnormal, "Those are the subnormal numbers alone."),
            Mistake(
                7 * steps + subnormal,
                "You took half, or counted the numbers from 1 to 2 as well. Those have exponent 0.",
            ),
            Mistake(2 * answer, "You counted both signs. We asked for numbers above 0."),
            Mistake(len(above) - answer, "Those are the numbers from 1 on."),
        ),
    )


ALL = (_step(), _outlier(), _largest(), _below_one())
