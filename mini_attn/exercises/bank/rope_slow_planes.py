"""Pencil: which planes never complete a rotation in the training context."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.numpy.positions.rope import rope_frequencies
from mini_attn.questions import NumberQuestion, Remark, above, below, foreseen

CHOICES = {
    "head_dim": (96, 112, 128),
    "theta": (8_000.0, 10_000.0, 20_000.0, 40_000.0, 50_000.0, 80_000.0, 100_000.0),
    "context": (1024, 2048, 4096, 8192),
}


class Numbers(NamedTuple):
    """Numbers of a head, the base, and the positions of the training."""

    head_dim: int = 128
    theta: float = 10_000.0
    context: int = 2048

    @property
    def pairs(self) -> int:
        """Planes of a head."""
        return self.head_dim // 2

    def slow(self, turn: float, exponents: np.ndarray | None = None) -> int:
        """Planes that rotate by less than this within the context."""
        speeds = rope_frequencies(self.head_dim, theta=self.theta)[0]
        if exponents is not None:
            speeds = self.theta ** (-exponents / self.head_dim)
        return int((self.context * speeds < turn).sum())

    @property
    def right(self) -> int:
        """The answer."""
        return self.slow(2 * math.pi)

    @property
    def last_turning(self) -> int:
        """The slowest plane that comes full circle."""
        return self.pairs - self.right - 1


def _text(n: Numbers) -> str:
    who = "the first LLaMA models have" if n == Numbers() else "a model has"
    they = "they were" if n == Numbers() else "it was"
    return f"""
With pencil and paper: {who} heads of dimension {n.head_dim}, all of which rotates, with `theta` =
{n.theta:,.0f}, and {they} trained on {n.context:,} positions. How many of the planes never complete
a full rotation within {n.context:,} positions?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    every, right = np.arange(n.head_dim), n.right
    too_many = (
        f"You counted {n.head_dim} planes. Two dimensions make a plane, so there are {n.pairs}."
    )
    return {
        n.pairs - right: "Those are the planes that do complete a rotation. Count the others.",
        n.slow(1): "You compared with one radian. A full rotation is 2π radians.",
        n.slow(math.pi): "You compared with half a rotation. A full one is 2π radians.",
        n.slow(2 * math.pi, every): too_many,
        n.slow(2 * math.pi, 2 * every): too_many,
        2
        * (n.pairs - right): "Those are the dimensions of the planes that do complete a rotation.",
        2 * right: "Those are dimensions of a head. Two of them make a plane: there are "
        f"{n.pairs} planes.",
        0: "Then every plane would complete a rotation. Check the frequencies: plane i rotates "
        f"by theta to the power -2i / {n.head_dim}, not -i / {n.head_dim}.",
        right + 1: "One too many: the plane at the edge just completes its rotation. Count planes "
        "from 0.",
        right - 1: "One too few: planes are numbered from 0, so the last one is number "
        f"{n.pairs - 1}.",
        n.pairs: "Those are all planes. The fast ones rotate many times within the context.",
        n.slow(360): "The angle is in radians, and a full rotation is 2π of them, not 360.",
    }


def _number(n: Numbers) -> NumberQuestion:
    some = f"There are {n.pairs} planes, and some are slow."
    return NumberQuestion(
        answer=n.right,
        unit="planes",
        mistakes=foreseen(_mistakes(n)),
        otherwise=(
            Remark(
                f"That's where planes stop completing a rotation: plane {n.last_turning} still "
                f"does, the next doesn't. Now count from there to plane {n.pairs - 1}.",
                low=above(n.last_turning),
                high=below(n.last_turning + 1),
            ),
            Remark("That's a share. The question is how many planes.", low=above(0), high=below(1)),
            Remark(
                "A plane completes a rotation or it doesn't, so the answer is an integer.",
                fractional=True,
            ),
            Remark(some, high=0),
            Remark(some, low=n.pairs),
            Remark(
                "Not {value:,.0f}. Write down the angle of plane i at position "
                f"{n.context:,}, set it equal to 2π, and solve for i with logarithms."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="rope_slow_planes",
        page="rope",
        title="Planes that never complete a rotation",
        kind="pencil",
        groups={"by hand": 2},
        minutes=8,
        difficulty=2,
        stage="warm-up",
        assessed=False,
        section="Many planes, many frequencies",
        text=_text(n),
        number=_number(n),
        hints=(
            f"Plane i needs 2π · theta^(i / {n.pairs}) positions for a full rotation. For which "
            "i is that more than the context?",
            f"i > {n.pairs} · ln({n.context:,} / 2π) / ln({n.theta:,.0f}). Round up to the "
            f"first such plane, and count from there to plane {n.pairs - 1}.",
        ),
        common_errors=(
            "Forgetting the 2π.",
            f"Counting {n.head_dim} planes.",
            f"Losing one at either end: the planes are numbered 0 to {n.pairs - 1}.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
