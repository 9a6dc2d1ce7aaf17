"""Pencil: what a device sends when tokens become heads and tokens again."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn import cost
from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.models import MODELS
from mini_attn.questions import NumberQuestion, Remark, above, below, foreseen

MODEL, EACH = MODELS["qwen3-32b"], 2
HEADS, KV_HEADS = MODEL.n_heads, MODEL.n_kv_heads
CHOICES = {
    "ranks": (4,),
    "tokens": (16_384, 24_576, 40_960, 49_152, 65_536),
    "size": (64, 96, 160, 192),
}


class Numbers(NamedTuple):
    """Devices, tokens of the prompt, and the size of a head."""

    ranks: int = 8
    tokens: int = 32_768
    size: int = MODEL.head_dim

    def sent(self, heads: int) -> int:
        """Bytes that a device sends of so many heads."""
        return heads * self.size * self.tokens // self.ranks * (self.ranks - 1) // self.ranks * EACH

    @property
    def right(self) -> int:
        """The answer: queries and outputs, keys and values."""
        return self.sent(2 * HEADS + 2 * KV_HEADS)


assert Numbers().right == cost.communication(MODEL, ranks=8, scheme="ulysses").bytes(32_768)


def _text(n: Numbers) -> str:
    name = "Qwen3 32B" if n == Numbers() else "A model"
    return f"""
With pencil and paper: {name} has {HEADS} query heads and {KV_HEADS} key/value heads of dimension
{n.size}. A prompt of {n.tokens:,} tokens is split over {n.ranks} devices by Ulysses, in bfloat16.
How many bytes does one device send in one layer, for queries, keys, values and outputs together?
What it keeps for itself isn't sent.
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    right, ranks = n.right, n.ranks
    return {
        n.sent(
            HEADS + 2 * KV_HEADS
        ): "You left out the outputs, which travel back after attention.",
        n.sent(2 * KV_HEADS): "Those are keys and values alone. Queries and outputs travel too.",
        n.sent(4 * HEADS): (
            f"You gave all four the same size. There are only {KV_HEADS} heads of keys and values."
        ),
        right * ranks: (
            f"That's what all devices send together. Each begins with 1/{ranks} of the tokens."
        ),
        right * ranks // (ranks - 1): (
            f"A device keeps one of its {ranks} parts, and sends {ranks - 1}."
        ),
        n.sent(2 * KV_HEADS) * ranks: (
            "That's a ring, in which keys and values visit every device. With Ulysses, each value "
            "is sent once at most."
        ),
        right // (ranks - 1): f"That's what goes to one other device. There are {ranks - 1}.",
        right // 2: (
            "Half is missing. A bfloat16 value takes 2 bytes, and queries, keys, values and "
            "outputs all travel."
        ),
        n.sent(2 * HEADS + KV_HEADS): "You counted keys and values as one. Both travel.",
        right // ranks: (
            f"You divided by {ranks} twice: the summary's formula is per token of the whole prompt."
        ),
        2 * right: "That's twice as much. A bfloat16 value takes 2 bytes.",
        8 * right if ranks != 8 else 4 * right: "Those are bits, or bytes of another type.",
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="bytes",
        mistakes=foreseen(_mistakes(n)),
        tolerance=0.005,
        otherwise=(
            Remark(
                "The answer should be in bytes. Write the number out, or as 1.23e8.",
                low=above(0),
                high=below(1e4),
            ),
            Remark(
                "{value:,.6g} bytes is {factor:,.3g} times too {large}. First count the values "
                "that a device holds, then which part of them it sends."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="ulysses_bytes",
        page="devices",
        title="What Ulysses sends",
        kind="pencil",
        groups={"by hand": 2},
        minutes=8,
        difficulty=2,
        stage="warm-up",
        assessed=False,
        section="Ulysses: tokens become heads",
        text=_text(n),
        starter="answer = ...  # your number of bytes",
        number=_number(n),
        hints=(
            "How many tokens does a device hold at first, and how many values does each have in "
            "queries, keys, values and outputs?",
            f"{n.tokens // n.ranks:,} tokens of (2 · {HEADS} + 2 · {KV_HEADS}) · {n.size} values. "
            f"Of these, {n.ranks - 1} of {n.ranks} parts are sent, at 2 bytes per value.",
        ),
        common_errors=(
            "Leaving out the outputs.",
            "Giving keys and values as many heads as queries.",
            "Counting the part that a device keeps.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
