"""Predictions of the chapter on fewer bits: a weight that makes up for another, and two of four."""

from __future__ import annotations

from mini_attn.config import Pattern
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _compensate() -> Question:
    first, second, rounded, alike = 0.7, 0.5, 1.0, 0.8
    change = rounded - first
    answer = round(second - alike * change, 9)
    return Question(
        key="bits/compensate",
        text=f"An output is {first} x₁ + {second} x₂. Over many tokens x₁² and x₂² both have the "
        f"mean 1, and x₁ x₂ has the mean {alike}. The first weight is rounded to {rounded:g}. "
        "Which second weight keeps the squared error of the output smallest?",
        answer=answer,
        unit="units",
        kind="formula",
        tolerance=0.005,
        signed=True,
        explanation=f"If the weights are off by {change:g} and δ, the mean square is "
        f"{change**2:g} + 2·{alike}·{change:g}·δ + δ². It is smallest at δ = −{alike} × "
        f"{change:g} = −{alike * change:g}, so the weight becomes {answer:g}.",
        mistakes=(
            Mistake(
                second,
                "That leaves it as it is. As the inputs go together, it can take back part of what "
                "the other one adds.",
            ),
            Mistake(
                second - change,
                "That would be right if the inputs were always equal. Their product has the mean "
                f"{alike}, not 1.",
            ),
            Mistake(
                second + alike * change,
                "The wrong way: the first weight now gives too much, so the second has to give "
                "less.",
            ),
            Mistake(
                second - change / alike,
                f"Multiply by {alike}, do not divide: the less alike the inputs are, the less the "
                "one can do for the other.",
            ),
            Mistake(
                second * alike,
                "What counts is the error of the first weight, times how alike the inputs are.",
            ),
            Mistake(
                alike * change,
                "That is by how much it changes. Take it off the second weight.",
            ),
            Mistake(
                -alike * change,
                f"That is the change. The second weight was {second} before it.",
            ),
            Mistake(
                0,
                f"The second weight need not go, nor be a code: it gives way by {alike} times the "
                "error of the first.",
            ),
            Mistake(
                second - alike * change / 2,
                "The derivative of δ² is 2δ, and so the 2 before the mixed term cancels: nothing "
                "is halved.",
            ),
        ),
    )


def _pattern() -> Question:
    pattern, bits = Pattern(2, 4), 16
    answer = 100 * pattern.bits(bits) / bits
    return Question(
        key="bits/pattern",
        text="Of every 4 neighbouring weights in float16 two stay, and each that stays is kept "
        "with its place among the 4. How many percent of the bytes of the whole matrix is that?",
        answer=answer,
        unit="percent",
        kind="share",
        explanation="A weight that stays takes 16 bits and its place, one of 4, takes 2: "
        f"2 × 18 = 36 bits instead of 4 × 16 = 64, {answer:g} %.",
        mistakes=(
            Mistake(50, "The places have to be kept too: which two of the four stayed?"),
            Mistake(
                53.125,
                "That gives each place one bit. One of four takes two.",
            ),
            Mistake(
                75,
                "That gives each place a byte. Two bits say which of four it is.",
            ),
            Mistake(
                62.5,
                "That would be 4 bits of place for each weight that stays, or weights of 8 bits. "
                "These have 16, and 2 bits say which of four it is.",
            ),
            Mistake(
                100,
                "Zeros that are stored save nothing, but here they are left out.",
            ),
            Mistake(43.75, "That is what is saved. What is left was asked for."),
            Mistake(112.5, "That keeps all four weights, each with its place. Two are left out."),
            Mistake(36, "Those are the bits of 4 weights. Of how many is that a share?"),
        ),
    )


ALL = (_compensate(), _pattern())
