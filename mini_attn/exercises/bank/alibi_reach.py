"""Pencil: how far the gentlest head of ALiBi looks."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.numpy.positions.position import alibi_slopes
from mini_attn.questions import NumberQuestion, Remark, foreseen

N_HEADS = 8
SLOPES = [float(slope) for slope in alibi_slopes(N_HEADS)]
NAMES = {7: "last", 6: "seventh", 5: "sixth"}  # of heads, by their places
PARTS = {
    4: "a quarter", 7: "a seventh", 10: "a tenth", 11: "an eleventh", 14: "a fourteenth",
    15: "a fifteenth", 20: "a twentieth", 25: "a twenty-fifth", 40: "a fortieth",
}  # fmt: skip
CHOICES = {"head": tuple(NAMES), "part": tuple(PARTS)}


class Numbers(NamedTuple):
    """Which head, and one over the share that a key may have left."""

    head: int = 7
    part: int = 10

    @property
    def slope(self) -> float:
        """Of the head."""
        return SLOPES[self.head]

    @property
    def steps(self) -> int:
        """Tokens for which the score falls by 1."""
        return round(1 / self.slope)

    @property
    def share(self) -> str:
        """In words."""
        return PARTS[self.part]

    @property
    def name(self) -> str:
        """Of the head."""
        return NAMES[self.head]

    def reach(self, part: float, slope: float | None = None) -> int:
        """First distance at which the weight is below one over this."""
        return math.floor(math.log(part) / (slope or self.slope)) + 1

    @property
    def right(self) -> int:
        """The answer."""
        return self.reach(self.part)


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper (and a calculator for one logarithm): ALiBi with {N_HEADS} heads, {n.name}
head, slope 1/{n.steps}. All keys have the same content. What is the smallest distance at which a
key has less than {n.share} of the weight of the key at distance 0?
"""


_LINE = (
    "You let the weight itself fall linearly. The score does, and the weight is its exponential."
)
_BASE_2 = "You took the logarithm to base 2. The weight is a power of e."


def _mistakes(n: Numbers) -> dict[float, str]:
    part, steps, share = n.part, n.steps, n.share
    before = f"{n.name} head but one: the slopes halve eight times."
    if n.name != "last":
        before = f"head before the {n.name}: the slopes halve with each head."
    return {
        n.right - 1: f"There the weight is still a little more than {share}. Take the next "
        "distance.",
        n.reach(part, SLOPES[0]): f"You took the first head, with slope 1/2. The {n.name} has "
        f"1/{steps}.",
        n.reach(2): f"That's where the weight falls below one half. You look for {share}.",
        n.reach(math.e): f"There the weight falls below 1/e, but not below {share}.",
        steps: f"There 1 is subtracted from the score, so the weight is 1/e. You look for {share}.",
        part * steps: f"There {part} is subtracted from the score. The weight is its exponential: "
        f"e to the −{part}.",
        round((1 - 1 / part) * steps): _LINE,
        math.floor((1 - 1 / part) * steps) + 1: _LINE,
        round(steps / part): f"There {1 / part:.2g} is subtracted from the score. The weight, its "
        f"exponential, has to be {share}.",
        n.reach(part / (part - 1)): f"There the weight has lost {share}. Find where only {share} "
        "is left.",
        n.reach(part**2): f"There {_square(part)} is left. You look for {share}.",
        **dict.fromkeys(
            (round(math.log(part), digits) for digits in (1, 2, 3, 4)),
            f"That's ln {part}, by which the score has to fall. At 1/{steps} per token, how "
            "far is that?",
        ),
        n.right + 1: (
            "You went one token too far. The query's own key is at distance 0, so don't add 1."
        ),
        n.reach(part, 2 * n.slope): f"You took the {before}",
        math.floor(steps * math.log2(part)): _BASE_2,
        math.floor(steps * math.log2(part)) + 1: _BASE_2,
        round(steps * math.log10(part)) - 1: "Two things. You're one off. And take the natural "
        "logarithm.",
    }


def _square(part: int) -> str:
    return "a hundredth" if part == 10 else f"1/{part**2}"


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="tokens",
        mistakes=foreseen(_mistakes(n)),
        otherwise=(
            Remark("Distances count tokens, so the answer is a whole number.", fractional=True),
            Remark("At distance 0 the weight is the reference itself.", high=0),
            Remark(
                f"It isn't {{value:,.0f}}. At distance r the score is r/{n.steps} lower, so the "
                f"weight is e^(−r/{n.steps}) times that at distance 0. Where is this {n.share}?"
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="alibi_reach",
        page="position",
        title="How far the last head looks",
        kind="pencil",
        groups={"by hand": 2},
        minutes=6,
        difficulty=1,
        stage="warm-up",
        assessed=False,
        section="ALiBi: a penalty that grows",
        definition="ALiBi: a penalty that grows",
        text=_text(n),
        number=_number(n),
        hints=(
            "All keys have the same content, so their scores differ only by the bias. "
            "What does the softmax make of a difference of two scores?",
            "The ratio of two weights is e to the difference of their scores. Solve "
            f"e^(−r/{n.steps}) = 1/{n.part} for r, and take the next whole number.",
        ),
        common_errors=(
            "Assuming that the weight falls linearly. The score does.",
            "Taking the logarithm to base 10 or 2.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
