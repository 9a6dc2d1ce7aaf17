"""Pencil: bits of a number in a cache whose halves differ."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.exercises.variants import drawn

SHARED = 2 * 16  # bits of a zero and a scale in float16
CHOICES = {
    "k_bits": (2, 3, 4, 8),
    "k_group": (32, 64, 128),
    "v_bits": (2, 3, 4),
    "v_group": (32, 64, 128),
}


class Numbers(NamedTuple):
    """Bits of a code and numbers of a group, of keys and of values."""

    k_bits: int = 2
    k_group: int = 64
    v_bits: int = 4
    v_group: int = 32

    def mean(self, shared: float = SHARED) -> float:
        """Bits of a number, where a group has so many besides its codes."""
        key, value = self.k_bits + shared / self.k_group, self.v_bits + shared / self.v_group
        return (key + value) / 2

    @property
    def right(self) -> float:
        """The answer."""
        return self.mean()


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: a cache keeps its keys as codes of {n.k_bits} bits in groups of {n.k_group}
numbers, and its values as codes of {n.v_bits} bits in groups of {n.v_group}. Each group has a zero
and a scale, both in float16. There are as many numbers in the keys as in the values. How many bits
does a number of the cache take on average?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    return {
        n.mean(0): "Those are the codes alone. Zeros and scales have to be stored, too.",
        n.mean(SHARED / 2): "A group has two numbers of 16 bits: a zero and a scale.",
        n.mean(2 * SHARED): "That is a zero and a scale in float32. These are float16.",
        2 * n.right: "That is a number of a key and one of a value together: take the mean.",
        (n.k_bits + n.v_bits) / 2 + SHARED: "That gives every number a zero and a scale of its "
        "own. A group shares them.",
        n.k_bits + SHARED / n.k_group: "Those are the keys. Half of the numbers are in values.",
        n.v_bits + SHARED / n.v_group: "Those are the values. Half of the numbers are in keys.",
        n.right / 8: "Those are bytes. Bits were asked for.",
        n.mean(SHARED / 8): "A float16 number has 2 bytes; a zero and a scale have 32 bits.",
    }


def _near(value: float, number: float) -> bool:
    return abs(value - number) < 0.004


def _judge(n: Numbers, inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or on which side another one is."""
    value = float(outputs["answer"])
    if _near(value, n.right):
        return None
    if idea := explain(value, _mistakes(n).items(), _near):
        return idea
    side = "many" if value > n.right else "few"
    return (
        f"{value:.4g} bits are too {side}. First the bits of one number of a key, with its share "
        "of the zero and the scale, then those of a value, then the mean."
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
        section="True bits",
        text=_text(n),
        unit="bits",
        mistakes=_mistakes(n),
        hints=(
            "What is stored for a group besides its codes, and how many numbers share it?",
            f"A key's number takes {n.k_bits} + 32/{n.k_group} bits, a value's {n.v_bits} + "
            f"32/{n.v_group}. Take the mean of the two.",
        ),
        common_errors=(
            "Counting the scale and forgetting the zero.",
            "Counting the codes alone.",
            "Adding keys and values where the mean was asked for.",
        ),
        right=lambda inputs: n.right,
        judge=partial(_judge, n),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
