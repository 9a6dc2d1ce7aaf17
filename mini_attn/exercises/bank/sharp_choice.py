"""Pencil: the score that gives one of a few keys most of the weight."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn, in_words
from mini_attn.questions import LeadsTo, NumberQuestion, Remark, below, foreseen

NAMES = {3: "fourth", 4: "fifth", 5: "sixth", 6: "seventh", 7: "eighth", 8: "ninth"}
CHOICES = {"others": tuple(NAMES), "rest": (4, 5, 10, 20, 25, 50)}


class Numbers(NamedTuple):
    """Other keys, and one over the weight that they share."""

    others: int = 4
    rest: int = 10

    @property
    def weight(self) -> float:
        """Of the last key."""
        return 1 - 1 / self.rest

    @property
    def ratio(self) -> int:
        """What the last has for each unit of the others together."""
        return self.rest - 1

    @property
    def last(self) -> str:
        """The key in words."""
        return NAMES[self.others]

    @property
    def right(self) -> float:
        """The answer."""
        return math.log(self.ratio * self.others)


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: a query sees {in_words(n.others + 1)} keys. {in_words(n.others).capitalize()}
of them have the score 0. What score does the {n.last} need for its weight to be {n.weight:g}? Give
at least three digits.
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    others, ratio, four = n.others, n.ratio, in_words(n.others)
    rest = f"{1 / n.rest:g}"
    natural = "The softmax uses e as its base. Take the natural logarithm."
    return {
        math.log(ratio): f"That's right for one other key. {four.capitalize()} of them share the "
        f"remaining {rest}.",
        math.log(ratio * (others + 1)): (
            f"There are {four} others. The {n.last} key is on the other side of the equation, "
            "with its own exponential."
        ),
        ratio * others: "That's the exponential of the score. The score is its logarithm.",
        ratio: f"You divided the weight {n.weight:g} by the {rest} of all the others. That's a "
        "ratio of exponentials, not a score.",
        math.log10(ratio * others): natural,
        math.log2(ratio * others): natural,
        math.log(ratio / others): (
            f"You divided by {four}. The exponentials of the {four} others add up, so multiply."
        ),
        n.weight: "That's the weight. The softmax takes the exponential of the score first.",
        math.log(n.weight * others): (
            f"The denominator has {in_words(others + 1)} terms: the {n.last} key's own exponential "
            "is one of them."
        ),
        math.log(n.weight): "A score of 0 still counts: e to the 0 is 1, so the "
        f"{four} others add {others} to the sum.",
        math.log(others): f"That makes the {n.last} equal to the {four} others together, with a "
        "weight of 0.5.",
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="(a number without a unit)",
        mistakes=foreseen(_mistakes(n)),
        tolerance=0.0031,
        leads_to=LeadsTo("weight", n.others),
        otherwise=(
            Remark(
                f"With a score below 0, the {n.last} key gets less weight than each of the others. "
                "It should get far more, so its score is above 0. Did you lose a sign?",
                high=below(0),
            ),
            Remark(
                "A score of {value:.4g} gives the weight {leads_to:.3g}. Write the weight as a "
                f"quotient of exponentials, insert {n.weight:g}, and solve for the score."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="sharp_choice",
        page="attention",
        title="A clear favorite",
        kind="pencil",
        groups={"by hand": 2},
        minutes=6,
        difficulty=1,
        stage="warm-up",
        assessed=False,
        section="By hand, in four steps",
        text=_text(n),
        number=_number(n),
        hints=(
            f"Write down the softmax of the {in_words(n.others + 1)} scores: one "
            f"exponential over the sum of {in_words(n.others + 1)}.",
            f"e^s / (e^s + {n.others}) = {n.weight:g}, because e^0 = 1 {in_words(n.others)} "
            f"times. So e^s = {n.ratio} · {n.others}, and s is its logarithm.",
        ),
        common_errors=(
            "You take a score of 0 for a weight of 0.",
            f"You forget that the {in_words(n.others)} others share the rest.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
