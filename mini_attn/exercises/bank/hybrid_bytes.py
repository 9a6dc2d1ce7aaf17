"""Pencil: the cache of a model that mixes windowed and full layers."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn import cost
from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.models import MODELS
from mini_attn.questions import NumberQuestion, Remark, above, below, foreseen

MODEL, EACH, EVERY = MODELS["gemma-3-27b"], 2, MODELS["gemma-3-27b"].full_every or 1
CHOICES = {
    "layers": (38, 44, 50, 56, 68, 74),  # two more than is whole, as in the book
    "window": (512, 1024, 2048),
    "heads": (4, 8, 16),
    "context": (16_384, 32_768, 65_536),
}


class Numbers(NamedTuple):
    """Layers, tokens in a windowed one, key/value heads of 128, and tokens of the text."""

    layers: int = MODEL.n_layers
    window: int = MODEL.window or 0
    heads: int = MODEL.n_kv_heads
    context: int = 32_768

    @property
    def full(self) -> int:
        """Layers that keep all tokens."""
        return self.layers // EVERY

    @property
    def slot(self) -> int:
        """Bytes of a token in a layer."""
        return 2 * self.heads * MODEL.head_dim * EACH

    def taken(self, full: int) -> int:
        """Bytes, with as many full layers."""
        return self.slot * (full * self.context + (self.layers - full) * self.window)

    @property
    def right(self) -> int:
        """The answer."""
        return self.taken(self.full)


assert Numbers().right == cost.cache_bytes(MODEL, batch=1, context=32_768, dtype_bytes=EACH)


def _text(n: Numbers) -> str:
    name = "Gemma 3 27B" if n == Numbers() else "a model"
    return f"""
With pencil and paper: {name} has {n.layers} layers. Every sixth keeps all tokens, the others keep
the last {n.window:,}. Keys and values have {n.heads} 128-dimensional heads, stored in bfloat16. How
many bytes does its cache take for one text of {n.context:,} tokens?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    right, full = n.right, n.full
    return {
        n.taken(n.layers): "In your model, all keep everything. Only every sixth layer does.",
        n.taken(0): "In your model, the layers are all windowed. Every sixth keeps all tokens.",
        n.taken(n.layers - full): (
            "You exchanged the two. Every sixth layer keeps all, the others keep a window."
        ),
        n.taken(full + 1): (
            f"You rounded up. {n.layers} / 6 is not whole, and the last two layers are windowed, "
            f"so {full} layers are full."
        ),
        round(n.slot * n.layers * (n.context + 5 * n.window) / 6): (
            f"{n.layers} / 6 is not whole, and layers are. {full} are full, the other "
            f"{n.layers - full} windowed."
        ),
        right // 2: "Half is missing. Keys and values are both kept, with 2 bytes per value.",
        2 * right: "That's twice as much. A bfloat16 value takes 2 bytes, not 4, and keys and "
        f"values have {n.heads} heads, not {2 * n.heads}.",
        8 * right: "Those are bits.",
        right // EACH // 2: "You counted the entries of the keys alone. Count the values too, "
        "and 2 bytes for each.",
        n.slot * full * n.context: "You left out the windowed layers. They keep something too: "
        f"{n.window:,} tokens each.",
        right // n.heads: f"That's one key/value head. There are {n.heads}.",
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="bytes",
        mistakes=foreseen(_mistakes(n)),
        tolerance=0.005,
        otherwise=(
            Remark(
                "The answer should be in bytes. Write the number out, or as 1.23e9.",
                low=above(0),
                high=below(1e6),
            ),
            Remark(
                "{value:,.6g} bytes is {factor:,.3g} times too {large}. Count the slots of all "
                "layers first, then the bytes of one slot."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="hybrid_bytes",
        page="sliding-window",
        title="A cache of two kinds",
        kind="pencil",
        groups={"by hand": 2},
        minutes=8,
        difficulty=2,
        stage="transfer",
        assessed=False,
        section="Layers of both kinds",
        text=_text(n),
        starter="answer = ...  # your number of bytes",
        number=_number(n),
        hints=(
            "Add two parts: what the full layers hold, and what the windowed ones hold.",
            f"Slots: full layers times {n.context:,} plus windowed layers times "
            f"{n.window:,}. Bytes of one slot: 2 (K and V) times {n.heads} heads times 128 "
            "times 2 bytes.",
        ),
        common_errors=(
            f"Rounding {n.layers} / 6 up. The last two layers are windowed.",
            "Counting the windowed layers as if they held nothing.",
            "Counting keys and not values.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
