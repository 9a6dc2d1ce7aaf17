"""Predictions of the chapter on fewer bits: a weight that compensates, and two of four."""

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
        text=f"An output is {first} x₁ + {second} x₂. Over many tokens x₁² and x₂² both have a "
        f"mean of 1, and x₁ x₂ has a mean of {alike}. You round the first weight to {rounded:g}. "
        "Which second weight makes the squared error of the output smallest?",
        answer=answer,
        unit="units",
        kind="formula",
        tolerance=0.005,
        signed=True,
        explanation=f"If the weights are off by {change:g} and δ, the mean squared error is "
        f"{change**2:g} + 2·{alike}·{change:g}·δ + δ². It's smallest at δ = "
        f"−{alike} × {change:g} = −{alike * change:g}, so the weight becomes {answer:g}.",
        mistakes=(
            Mistake(
                second,
                "You left it unchanged. Because the inputs go together, it can take back part of "
                "what "
                "the other one adds.",
            ),
            Mistake(
                second - change,
                "That would be right if the inputs were always equal. Their product has the mean "
                f"{alike}, not 1.",
            ),
            Mistake(
                second + alike * change,
                "You went the wrong way: the first weight now gives too much, so the second has to "
                "give less.",
            ),
            Mistake(
                second - change / alike,
                f"Multiply by {alike} instead of dividing: the less correlated the inputs are, the "
                "less one weight can do for the other.",
            ),
            Mistake(
                second * alike,
                f"You multiplied the weight itself. Multiply the error of the first weight by "
                f"{alike}.",
            ),
            Mistake(
                alike * change,
                "That's how much it changes. Subtract it from the second weight.",
            ),
            Mistake(
                -alike * change,
                f"That's the change. The second weight was {second} before it.",
            ),
            Mistake(
                0,
                f"The second weight doesn't have to vanish or be a code. It changes by {alike} "
                f"times "
                "the error of the first.",
            ),
            Mistake(
                second - alike * change / 2,
                "You halved the change. The derivative of δ² is 2δ, so the 2 before the mixed term "
                "cancels.",
            ),
        ),
    )


def _pattern() -> Question:
    pattern, bits = Pattern(2, 4), 16
    answer = 100 * pattern.bits(bits) / bits
    return Question(
        key="bits/pattern",
        text="Of every 4 neighboring weights in float16, two stay, and each is stored with its "
        "place among the 4. What percentage of the bytes of the dense matrix is that?",
        answer=answer,
        unit="percent",
        kind="share",
        explanation="A weight that stays takes 16 bits and its place, one of 4, takes 2: "
        f"2 × 18 = 36 bits instead of 4 × 16 = 64, {answer:g}%.",
        mistakes=(
            Mistake(50, "You left out the places: which two of the four stayed?"),
            Mistake(
                53.125,
                "You gave each place one bit. One of four takes two.",
            ),
            Mistake(
                75,
                "You gave each place a byte. Two bits say which of four it is.",
            ),
            Mistake(
                62.5,
                "That would be 4 bits of place for each weight that stays, or weights of 8 bits. "
                "These have 16, and 2 bits say which of four it is.",
            ),
            Mistake(
                100,
                "Zeros that are stored save nothing, but here we leave them out.",
            ),
            Mistake(43.75, "That's what you save. We asked for what's left."),
            Mistake(112.5, "You kept all four weights, each with its place. Two are left out."),
            Mistake(36, "Those are the bits of 4 weights. What were they before?"),
        ),
    )


ALL = (_compensate(), _pattern())
