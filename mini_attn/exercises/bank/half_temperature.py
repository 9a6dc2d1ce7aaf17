"""Pencil: a share at half the temperature."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.questions import NumberQuestion, Remark, foreseen

CHOICES = {"second": (2, 3, 4, 5, 6, 7), "third": (3, 4, 5, 6, 7, 8, 9)}


class Numbers(NamedTuple):
    """Powers of e to the scores; the first score is 0, so the first power is 1."""

    second: int = 2
    third: int = 5

    @property
    def whole(self) -> int:
        """Sum of the powers."""
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
temperature 1 their shares are 1/{n.whole}, {n.second}/{n.whole} and {n.third}/{n.whole}. Which
share does the *second* token get at temperature ½? Give it as a fraction of 1, to at least three
digits.
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    second, third, roots = n.second, n.third, math.sqrt(n.second) + math.sqrt(n.third) + 1
    return {
        second / n.whole: "That is the share at temperature 1, or with a factor on the powers, "
        "which cancels. Half the temperature doubles the scores, and so squares their powers.",
        math.sqrt(second) / roots: "Dividing by ½ doubles the scores; here they were halved.",
        third**2 / n.squares: "That is the third token's share; the second was asked for.",
        1 / n.squares: "That is the first token's share; the second was asked for.",
        float(second**2): "That is the power. Divide it by the sum of the three powers.",
        second**2 / n.whole: f"That is {_times(second)} the share at temperature 1. All three "
        "powers are squared, so the sum in the denominator grows too: "
        f"1 + {second**2} + {third**2}.",
        (second / n.whole) ** 2: "That is the square of the share at temperature 1. The three "
        "squares have to be divided by their sum, to add up to 1 again.",
        second**2 / third**2: f"That is {second**2} over {third**2}, the third token alone. Divide "
        "by the sum of all three squares.",
        second / n.whole / 2: "That is half of the share. The temperature divides the scores, and "
        "the shares follow from them.",
        math.log(second) / math.log(second * third): "Those are shares of the scores. Take the "
        "powers of e first.",
    }


def _times(number: int) -> str:
    return "twice" if number == 2 else f"{number} times"


TOLERANCE = 6e-4


def _number(n: Numbers) -> NumberQuestion:
    of = f"ln {n.second}"
    return NumberQuestion(
        answer=n.right,
        unit="(a part of 1)",
        mistakes=foreseen(_mistakes(n)),
        within=TOLERANCE,
        otherwise=(
            Remark(
                "Write the share as a part of 1, not in percent.",
                low=100 * (n.right - TOLERANCE),
                high=100 * (n.right + TOLERANCE),
            ),
            Remark("A share lies between 0 and 1.", high=0),
            Remark("A share lies between 0 and 1.", low=1),
            Remark(
                f"{{value:.4g}} is too {{large}}. e to the {of} is {n.second}; what is e to twice "
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
            "The temperature divides the scores before the powers are taken.",
            "Dividing by ½ doubles each score, and e to twice a score is the square of e "
            "to the score. So write down the three powers, square them, and take the "
            "second one's part of the sum.",
        ),
        common_errors=(
            "Leaving the temperature out.",
            "Multiplying by ½ instead of dividing.",
            "Squaring the numerator but not the terms of the sum.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
