"""Pencil: a weight at half the temperature."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.questions import NumberQuestion, Remark, foreseen

CHOICES = {"second": (2, 3, 4, 5, 6, 7), "third": (3, 4, 5, 6, 7, 8, 9)}


class Numbers(NamedTuple):
    """Exponentials of the scores; the first score is 0, so the first exponential is 1."""

    second: int = 2
    third: int = 5

    @property
    def whole(self) -> int:
        """Sum of the exponentials."""
        return 1 + self.second + self.third

    @property
    def squares(self) -> int:
        """Sum of their squares."""
        return 1 + self.second**2 + self.third**2

    @property
    def right(self) -> float:
        """The answer."""
        return self.second**2 / self.squares


def _text(n: Numbers) -> str:
    return rf"""
With pencil and paper: three tokens have the scores $0$, $\ln {n.second}$ and $\ln {n.third}$. At
temperature 1 their weights are 1/{n.whole}, {n.second}/{n.whole} and {n.third}/{n.whole}. What
weight does the *second* token get at temperature ½? Give it as a fraction of 1, to at least three
digits.
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    second, third, roots = n.second, n.third, math.sqrt(n.second) + math.sqrt(n.third) + 1
    return {
        second / n.whole: "That's the weight at temperature 1. Half the temperature doubles the "
        "scores, so it squares their exponentials.",
        math.sqrt(second) / roots: "You halved the scores. Dividing by ½ doubles them.",
        third**2 / n.squares: "That's the weight of the third token. The question is about the "
        "second.",
        1 / n.squares: "That's the weight of the first token. The question is about the second.",
        float(second**2): "That's the exponential. Divide it by the sum of the three.",
        second**2 / n.whole: f"That's {_times(second)} the weight at temperature 1. All three "
        "exponentials are squared, so the sum in the denominator grows too: "
        f"1 + {second**2} + {third**2}.",
        (second / n.whole) ** 2: "That's the square of the weight at temperature 1. Divide the "
        "three "
        "squares by their sum, so that they sum to 1 again.",
        second**2 / third**2: f"That's {second**2} over {third**2}, the third token alone. Divide "
        "by the sum of all three squares.",
        second / n.whole / 2: "That's half of the weight. The temperature divides the scores, and "
        "the weights follow from them.",
        math.log(second) / math.log(second * third): "You divided the scores by their sum. Take "
        "the "
        "exponentials first.",
    }


def _times(number: int) -> str:
    return "twice" if number == 2 else f"{number} times"


TOLERANCE = 6e-4


def _number(n: Numbers) -> NumberQuestion:
    of = f"ln {n.second}"
    return NumberQuestion(
        answer=n.right,
        unit="(a fraction of 1)",
        mistakes=foreseen(_mistakes(n)),
        within=TOLERANCE,
        otherwise=(
            Remark(
                "Write the weight as a fraction of 1, not in percent.",
                low=100 * (n.right - TOLERANCE),
                high=100 * (n.right + TOLERANCE),
            ),
            Remark("A weight is between 0 and 1.", high=0),
            Remark("A weight is between 0 and 1.", low=1),
            Remark(
                f"{{value:.4g}} is too {{large}}. e to the {of} is {n.second}. What's e to twice "
                f"the {of}?"
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="half_temperature",
        page="start",
        title="Half the temperature",
        kind="pencil",
        groups={"by hand": 2},
        minutes=5,
        difficulty=1,
        stage="warm-up",
        assessed=False,
        section="Temperature",
        text=_text(n),
        number=_number(n),
        hints=(
            "The temperature divides the scores before you take exponentials.",
            "Dividing by ½ doubles each score, and e to twice a score is the square of e "
            "to the score. So write down the three exponentials, square them, and divide the "
            "second one by their sum.",
        ),
        common_errors=(
            "You leave the temperature out.",
            "You multiply by ½ instead of dividing.",
            "You square the numerator but not the terms of the sum.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
