"""Pencil: the standard deviation of scores under the wrong scale."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.models import MODELS
from mini_attn.questions import NumberQuestion, Remark, foreseen

GPT2 = MODELS["gpt2"]
CHOICES = {"heads": (6, 8, 10, 12, 14, 20, 24), "size": (64, 100, 144), "spread": (2, 3, 5)}


class Numbers(NamedTuple):
    """Heads, their dimension, and the standard deviation of a key's entries; a query's is 1."""

    heads: int = GPT2.n_heads
    size: int = GPT2.head_dim
    spread: int = 2

    @property
    def width(self) -> int:
        """Of the model."""
        return self.heads * self.size

    @property
    def dot(self) -> float:
        """Standard deviation of a dot product."""
        return math.sqrt(self.size) * self.spread

    @property
    def right(self) -> float:
        """The answer."""
        return self.dot / math.sqrt(self.width)


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: a model has {n.heads} heads of dimension {n.size}, so `d_model` is
{n.width:,}. The entries of a query are independent with mean 0 and standard deviation 1, and those
of a key with mean 0 and standard deviation {n.spread}. The code divides q · k by the root of
`d_model`. What's the standard deviation of the scores? Give at least three digits.
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    size, spread, root = n.size, n.spread, math.sqrt(n.width)
    return {
        n.dot: "That's the standard deviation of q·k itself. You still have to divide it.",
        n.dot / math.sqrt(size): (
            f"You divided by the root of head_dim, or summed {n.width:,} products. The sum has "
            f"{size} products, and the code divides by the root of d_model."
        ),
        n.dot / spread / root: (
            f"The key's entries have standard deviation {spread}, not 1. That's a factor in every "
            "product."
        ),
        n.dot * spread / root: (
            f"The standard deviation of {spread} counts once. Its square, {spread**2}, is the "
            "variance."
        ),
        n.dot**2 / n.width: "That's the variance of the scores. Their standard deviation "
        "is its root.",
        n.dot / n.width: "You divided by d_model itself. The code divides by its root.",
        n.dot / math.sqrt(size * n.width): (
            "You divided by both roots. The code divides by the root of d_model alone."
        ),
        n.dot / size: "You divided by head_dim itself, without a root. The code divides by the "
        "root "
        "of d_model.",
        math.sqrt(size) * (1 + spread) / root: (
            "You added the two standard deviations. In a product they multiply: "
            f"1 · {spread}, not 1 + {spread}."
        ),
        math.sqrt(size * (1 + spread**2)) / root: (
            f"You added the variances of q and k. The variances of the {size} terms add up, but "
            f"within each term, q times k, they multiply: 1 · {spread**2}."
        ),
        size * spread / root: (
            f"Variances add up over the {size} products, so the standard deviation grows with the "
            f"root of {size}."
        ),
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="(a number without a unit)",
        mistakes=foreseen(_mistakes(n)),
        tolerance=0.0051,
        otherwise=(
            Remark("A standard deviation is above 0.", high=0),
            Remark(
                "{value:.4g} is too {large} by a factor of {factor:.3g}. First the variance of one "
                "product, then of the sum, then its root, then the division."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="score_spread",
        page="attention",
        title="The wrong root",
        kind="pencil",
        groups={"by hand": 2},
        minutes=8,
        difficulty=2,
        stage="transfer",
        assessed=False,
        section="The variance argument",
        text=_text(n),
        number=_number(n),
        hints=(
            "Variances of independent terms add. How many terms does one dot product have?",
            f"One product has the variance 1² · {n.spread}² = {n.spread**2}. The sum of "
            f"{n.size} products has {n.size} times that. Take the root, then divide by the root "
            f"of {n.width}.",
        ),
        common_errors=(
            "You add standard deviations instead of variances.",
            "You sum over d_model. A head's query has head_dim entries.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
