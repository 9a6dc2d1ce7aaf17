"""Pencil: what YaRN does to the scores."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

from mini_attn.config import YaRN
from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.numpy.positions.rope import rope_frequencies
from mini_attn.questions import LeadsTo, NumberQuestion, Remark, foreseen

CHOICES = {"factor": (6, 8, 10, 12, 16, 20, 24, 32, 40, 64), "score": (2, 3, 5, 6, 7, 9)}


class Numbers(NamedTuple):
    """How far the context is extended, and the score without the factor."""

    factor: int = 16
    score: int = 2

    @property
    def each(self) -> float:
        """The factor of a query or of a key."""
        return rope_frequencies(128, scaling=YaRN(float(self.factor), 4096))[1]

    @property
    def right(self) -> float:
        """The answer."""
        return self.score * self.each**2


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: a query and a key have the score {n.score} under YaRN's frequencies, computed
without its factor. The context is extended {n.factor} times. What's their score with the factor?
Give at least three digits.
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    factor, score, each = n.factor, float(n.score), n.each
    natural = "Use the natural logarithm."
    return {
        score * each: "Both the query and the key get the factor, so the score gets it twice.",
        each**2: f"That's the factor on the scores. The score was {n.score}.",
        each: f"That's the factor on a query or a key. What happens to a score of {n.score}?",
        score
        * 2
        * each: "You doubled the factor. In a product, two factors multiply, so square it.",
        score * (0.1 * math.log10(factor) + 1) ** 2: natural,
        score * (0.1 * math.log2(factor) + 1) ** 2: natural,
        score: "YaRN changes more than the frequencies: queries and keys get a factor.",
        score / each**2: "You divided. The scores grow: a longer text needs sharper rows.",
        score / each: "Queries and keys are multiplied by the factor, not divided by it. A score "
        "is a product of the two, so it gets the factor twice.",
        score * math.sqrt(each): (
            "You multiplied by the root of the factor. Query and key each have the factor, so the "
            "score gets its square."
        ),
        score * factor: f"{factor} is how far the context is extended. The factor on queries and "
        f"keys is 0.1 · ln {factor} + 1.",
        score * (math.log(factor) + 1) ** 2: "The 0.1 is missing: the factor is 0.1 · ln "
        f"{factor} + 1.",
        score * (0.1 * math.log(factor)) ** 2: f"The factor is 0.1 · ln {factor} plus 1: the 1 is "
        "missing.",
        score * (0.1 * (math.log(factor) + 1)) ** 2: (
            f"Multiply only the logarithm by 0.1, then add 1: 0.1 · ln {factor} + 1."
        ),
        (score * each) ** 2: f"That's {_times(n.score)} too much. Square the factor, but "
        f"count the score, {n.score}, once.",
    }


def _times(number: int) -> str:
    return "twice" if number == 2 else f"{number} times"


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="(a number without a unit)",
        mistakes=foreseen(_mistakes(n)),
        tolerance=0.0031,
        leads_to=LeadsTo("over", n.score),
        otherwise=(
            Remark(f"The score was {n.score} and gets a positive factor.", high=0),
            Remark(
                "{value:.4g} is {leads_to:.4g} times the old score. First compute "
                f"0.1 · ln {n.factor} + 1, then what it does to a product of a query and a key."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="yarn_factor",
        page="rope-scaling",
        title="Twice the factor",
        kind="pencil",
        groups={"by hand": 2},
        minutes=6,
        difficulty=1,
        stage="warm-up",
        assessed=False,
        section="The factor on the scores",
        definition="The factor on the scores",
        text=_text(n),
        number=_number(n),
        hints=(
            "Cosine and sine are multiplied by the factor, and so is every rotated query and every "
            "rotated key.",
            f"ln {n.factor} = {math.log(n.factor):.4f}. The factor is {n.each:.4f}. A score "
            "is a product of a query and a key.",
        ),
        common_errors=(
            "Multiplying the scores by the factor once.",
            "Taking the logarithm to base 10.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
