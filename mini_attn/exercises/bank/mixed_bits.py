"""Pencil: bits of a number in a cache whose halves differ."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.questions import NumberQuestion, Remark, foreseen

SHARED = 2 * 16  # bits of a zero and a scale in float16
CHOICES = {
    "k_bits": (2, 3, 4, 8),
    "k_group": (32, 64, 128),
    "v_bits": (2, 3, 4),
    "v_group": (32, 64, 128),
    "k_dim": (96, 192),
    "v_dim": (64, 128),
}


class Numbers(NamedTuple):
    """Bits of a code, numbers of a group and of a token, of keys and of values."""

    k_bits: int = 2
    k_group: int = 64
    v_bits: int = 4
    v_group: int = 32
    k_dim: int = 192
    v_dim: int = 128

    def total(self, shared: float = SHARED) -> float:
        """Bits of a token, where a group has so many besides its codes."""
        key, value = self.k_bits + shared / self.k_group, self.v_bits + shared / self.v_group
        return self.k_dim * key + self.v_dim * value

    def mean(self, shared: float = SHARED) -> float:
        """Bits of a number, where a group has so many besides its codes."""
        return self.total(shared) / (self.k_dim + self.v_dim)

    @property
    def right(self) -> float:
        """The answer."""
        return self.mean()


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: a cache keeps {n.k_dim} numbers per token in its keys and {n.v_dim} in its
values. The keys are {n.k_bits}-bit codes in groups of {n.k_group} numbers, and the values
{n.v_bits}-bit codes in groups of {n.v_group}. Each group has a zero point and a scale, both in
float16. How many bits does a number in the cache take on average?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    key, value = n.k_bits + SHARED / n.k_group, n.v_bits + SHARED / n.v_group
    codes = n.mean(0)
    numbers = n.k_dim + n.v_dim
    return {
        codes: "You counted the codes alone. Zero points and scales have to be stored, too.",
        n.mean(
            SHARED / 2
        ): "You counted one of the two. A group has two numbers of 16 bits: a zero point and a "
        "scale.",
        n.mean(2 * SHARED): "That's a zero point and a scale in float32. These are float16.",
        key + value: "You added a number of a key and one of a value. Take the mean.",
        (key + value) / 2: f"Your mean counts keys and values alike, but {n.k_dim} numbers are "
        f"in keys and {n.v_dim} in values.",
        (n.v_dim * key + n.k_dim * value) / numbers: f"You swapped keys and values: "
        f"{n.k_dim} of the numbers are in keys, {n.v_dim} in values.",
        n._replace(k_group=n.v_group, v_group=n.k_group).mean(): "You swapped the groups: "
        f"those of {n.k_group} are in keys, those of {n.v_group} in values.",
        n._replace(k_group=n.v_group).mean(): f"You used groups of {n.v_group} in the keys, "
        f"too. Theirs have {n.k_group} numbers.",
        n._replace(v_group=n.k_group).mean(): f"You used groups of {n.k_group} in the values, "
        f"too. Theirs have {n.v_group} numbers.",
        codes + 2 * SHARED / (n.k_group + n.v_group): "You averaged the group sizes. Average the "
        "bits that zero points and scales add: they weigh more in a small group.",
        codes + SHARED: "You gave every number its own zero point and scale. A group shares them.",
        key: f"Those are the keys alone. {n.v_dim} of {numbers} numbers are in values.",
        value: f"Those are the values alone. {n.k_dim} of {numbers} numbers are in keys.",
        n.total(): "That's a whole token. We asked for one number, on average.",
        n.right / 8: "Those are bytes. We asked for bits.",
        n.mean(
            SHARED / 8
        ): "You counted bytes. A float16 number has 2 bytes, so a zero point and a scale have 32 "
        "bits.",
    }


def _number(n: Numbers) -> NumberQuestion:
    steps = (
        "Find the bits of one number in a key, with its share of the zero point and scale, then "
        f"those in a value. Then take {n.k_dim} of the first and {n.v_dim} of the second, over all."
    )
    return NumberQuestion(
        answer=n.right,
        unit="bits",
        mistakes=foreseen(_mistakes(n)),
        within=0.0045,
        otherwise=(
            Remark(f"{{value:.4g}} bit is too {{many}}. {steps}", low=1, high=1),
            Remark(f"{{value:.4g}} bits are too {{many}}. {steps}"),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="mixed_bits",
        page="bits",
        title="The effective bits of a cache",
        kind="pencil",
        groups={"by hand": 2},
        minutes=5,
        difficulty=1,
        stage="warm-up",
        assessed=False,
        section="Effective bits per value",
        text=_text(n),
        number=_number(n),
        hints=(
            "What do we store for a group besides its codes, and how many numbers share it?",
            f"A number in a key takes {n.k_bits} + 32/{n.k_group} bits, one in a value {n.v_bits} "
            f"+ "
            f"32/{n.v_group}. Take the mean of the two.",
        ),
        common_errors=(
            "Counting the scale and forgetting the zero point.",
            "Counting the codes alone.",
            "Adding keys and values instead of taking the mean.",
            "Counting keys and values alike, although there are more numbers in the keys.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
