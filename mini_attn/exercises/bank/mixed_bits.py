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
With pencil and paper: a cache keeps {n.k_dim} numbers of each token in its keys and {n.v_dim} in
its values. The keys are codes of {n.k_bits} bits in groups of {n.k_group} numbers, the values codes
of {n.v_bits} bits in groups of {n.v_group}. Each group has a zero and a scale, both in float16. How
many bits does a number of the cache take on average?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    key, value = n.k_bits + SHARED / n.k_group, n.v_bits + SHARED / n.v_group
    codes = n.mean(0)
    numbers = n.k_dim + n.v_dim
    return {
        codes: "Those are the codes alone. Zeros and scales have to be stored, too.",
        n.mean(SHARED / 2): "A group has two numbers of 16 bits: a zero and a scale.",
        n.mean(2 * SHARED): "That is a zero and a scale in float32. These are float16.",
        key + value: "That is a number of a key and one of a value together: take the mean.",
        (key + value) / 2: f"That mean counts keys and values alike, but {n.k_dim} numbers are in "
        f"keys and {n.v_dim} in values.",
        (n.v_dim * key + n.k_dim * value) / numbers: f"Keys and values have changed places: "
        f"{n.k_dim} of the numbers are in keys, {n.v_dim} in values.",
        n._replace(k_group=n.v_group, v_group=n.k_group).mean(): "The groups have changed places: "
        f"those of {n.k_group} are in keys, those of {n.v_group} in values.",
        n._replace(k_group=n.v_group).mean(): f"That has groups of {n.v_group} in the keys too, "
        f"where they have {n.k_group} numbers.",
        n._replace(v_group=n.k_group).mean(): f"That has groups of {n.k_group} in the values too, "
        f"where they have {n.v_group} numbers.",
        codes + 2 * SHARED / (n.k_group + n.v_group): "The size of a group was averaged. Average "
        "the shares that zeros and scales add: those of a small group weigh more.",
        codes + SHARED: "That gives every number a zero and a scale of its own. A group shares "
        "them.",
        key: f"Those are the keys. {n.v_dim} of {numbers} numbers are in values.",
        value: f"Those are the values. {n.k_dim} of {numbers} numbers are in keys.",
        n.total(): "That is a whole token. The question is one number, on average.",
        n.right / 8: "Those are bytes. Bits were asked for.",
        n.mean(SHARED / 8): "A float16 number has 2 bytes; a zero and a scale have 32 bits.",
    }


def _number(n: Numbers) -> NumberQuestion:
    steps = (
        "First the bits of one number of a key, with its share of the zero and the scale, then "
        f"those of a value. Then {n.k_dim} of the first and {n.v_dim} of the second, over all."
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
        title="The true bits of a cache",
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
            "What is stored for a group besides its codes, and how many numbers share it?",
            f"A key's number takes {n.k_bits} + 32/{n.k_group} bits, a value's {n.v_bits} + "
            f"32/{n.v_group}. Take the mean of the two.",
        ),
        common_errors=(
            "Counting the scale and forgetting the zero.",
            "Counting the codes alone.",
            "Adding keys and values where the mean was asked for.",
            "Counting keys and values alike, though there are more numbers in the keys.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
