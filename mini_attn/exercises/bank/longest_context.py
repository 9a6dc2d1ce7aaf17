"""Pencil: how long a context fits for many sequences with latent attention."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn import cost
from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.questions import NumberQuestion, Remark, foreseen

LAYERS, RANK, ROPE, NUMBER_BYTES = 32, 512, 64, 2
KEPT = RANK + ROPE  # numbers of a token in a layer
PARAMETERS = 8_239_992_832
CHOICES = {
    "memory": (40, 48, 64, 80, 96, 141),
    "batch": (24, 32, 40, 48, 64, 80, 96),
}


class Numbers(NamedTuple):
    """GB of the device, and sequences."""

    memory: int = 80
    batch: int = 64

    def fit(self, left: int, numbers: int) -> int:
        """Tokens of each sequence in as many bytes."""
        return left // (self.batch * LAYERS * numbers * NUMBER_BYTES)

    @property
    def left(self) -> int:
        """Bytes next to the weights."""
        return self.memory * 10**9 - NUMBER_BYTES * PARAMETERS

    @property
    def right(self) -> int:
        """The answer."""
        return self.fit(self.left, KEPT)


assert cost.DEVICES["h100"].memory_bytes == Numbers().memory * 10**9


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: the latent variant of the picture has {PARAMETERS:,} parameters and {LAYERS}
layers. For each token, a layer keeps a latent of {RANK} and a RoPE key of {ROPE} values. Weights
and cache take 2 bytes per value. How many tokens can each of {n.batch} sequences have on a device
with {n.memory} GB?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    left = n.left
    one = n.batch * LAYERS * KEPT * NUMBER_BYTES
    return {
        n.memory * 10**9 // one: "You left out the weights. They take their place first.",
        (n.memory * 10**9 - PARAMETERS) // one: "You subtracted the number of parameters. Each of "
        "them takes 2 bytes.",
        left // (one // n.batch): f"That's one sequence. {n.batch} share the memory.",
        n.fit(left, 2 * KEPT): "You counted keys and values. Both are made of one latent, so "
        "there is no factor 2.",
        n.fit(left, RANK): "You left out the RoPE key. It is kept as well: "
        f"{RANK} + {ROPE} values per token and layer.",
        left // (one // LAYERS): f"That's the cache of one layer. There are {LAYERS}.",
        left // (one // NUMBER_BYTES): "You counted one byte per value. Each takes 2 bytes.",
        n.fit(left, RANK + 32 * ROPE): "You counted a RoPE key per head. There is one for all "
        "heads.",
        n.fit(left, 2 * 8 * 128): "You counted keys and values of 8 heads. "
        "Here a token leaves one latent and one RoPE key in each layer.",
        (n.memory * 2**30 - NUMBER_BYTES * PARAMETERS) // one: "You took a GB for 2**30 bytes. "
        f"It's 1e9, so yours is {n.memory} GiB.",
        n.right + 1: "You rounded up, so the last token does not fit.",
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="tokens each",
        mistakes=foreseen(_mistakes(n)),
        otherwise=(
            Remark("Tokens come whole: round down.", low=n.right, high=n.right + 1),
            Remark("The weights leave most of the device free, so some tokens fit.", high=0),
            Remark(
                "{value:,.6g} is {times_too_many}. Subtract the weights from the memory, then "
                "divide by the bytes of one token of every sequence."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="longest_context",
        page="choosing",
        title="Room for reports",
        kind="pencil",
        groups={"by hand": 2},
        minutes=8,
        difficulty=1,
        stage="transfer",
        assessed=False,
        section="What the context changes",
        text=_text(n),
        standalone=(
            "the latent variant of the picture has",
            "a model of the shape of Llama-3-8B, but with latent attention, has",
        ),
        number=_number(n),
        hints=(
            "All sequences together can take what the weights leave.",
            f"One token takes, in all layers, {LAYERS} × ({RANK} + {ROPE}) × 2 bytes of "
            f"each of the {n.batch} sequences. Divide what is left by that and round down.",
        ),
        common_errors=(
            "Leaving out the RoPE key.",
            "A factor 2 for keys and values. The latent is both.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
