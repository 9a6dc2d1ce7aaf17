"""Pencil: how far scores spread under the wrong scale."""

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
    """Heads, their numbers, and the spread of a key's entries; a query's is 1."""

    heads: int = GPT2.n_heads
    size: int = GPT2.head_dim
    spread: int = 2

    @property
    def width(self) -> int:
        """Of the model."""
        return self.heads * self.size

    @property
    def dot(self) -> float:
        """Spread of a product of a query and a key."""
        return math.sqrt(self.size) * self.spread

    @property
    def right(self) -> float:
        """The answer."""
        return self.dot / math.sqrt(self.width)


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: a model has {n.heads} heads of {n.size}, so `d_model` is {n.width:,}. The
entries of a query are independent with mean 0 and standard deviation 1, those of a key with mean 0
and standard deviation {n.spread}. Somebody divides q · k by the root of `d_model`. What is the
standard deviation of the scores? Give at least three digits.
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    size, spread, root = n.size, n.spread, math.sqrt(n.width)
    return {
        n.dot: "That is the spread of q·k itself: it is still to be divided.",
        n.dot / math.sqrt(size): (
            f"That would be the root of head_dim below, or a sum of {n.width:,} products above. "
            f"The sum has {size} products, and somebody divided by the root of d_model."
        ),
        n.dot / spread / root: (
            f"The key's entries have a spread of {spread}, not of 1: it is a factor of every "
            "product."
        ),
        n.dot * spread / root: (
            f"A spread of {spread} counts once. The variance is {spread**2}; that is its square."
        ),
        n.dot**2 / n.width: "That is the variance of the scores. Their spread is its root.",
        n.dot / n.width: "That is divided by d_model itself; it was divided by its root.",
        n.dot / math.sqrt(size * n.width): (
            "That is divided by both roots. Somebody divided by the root of d_model alone."
        ),
        n.dot / size: "That is divided by head_dim itself, without a root. Somebody divided by the "
        "root of d_model.",
        math.sqrt(size) * (1 + spread) / root: (
            "The two spreads were added. In a product they multiply: "
            f"1 · {spread}, not 1 + {spread}."
        ),
        math.sqrt(size * (1 + spread**2)) / root: (
            f"The two variances were added. The {size} terms of the sum add their variances, but "
            f"within each term, q times k, they multiply: 1 · {spread**2}."
        ),
        size * spread / root: (
            f"Variances add over the {size} products, so the spread grows with the root of {size}."
        ),
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="(a number without a unit)",
        mistakes=foreseen(_mistakes(n)),
        tolerance=0.0051,
        otherwise=(
            Remark("A spread is above 0.", high=0),
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
            f"{n.size} has {n.size} times that. Take the root, then divide by the root of "
            f"{n.width}.",
        ),
        common_errors=(
            "Adding spreads instead of variances.",
            "Summing over d_model: a head's query has head_dim numbers.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
