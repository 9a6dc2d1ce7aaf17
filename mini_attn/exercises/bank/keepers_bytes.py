"""Pencil: the cache of a model in which some layers read the cache of others."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn import cost
from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.models import MODELS
from mini_attn.questions import NumberQuestion, Remark, above, below, foreseen

MODEL, EACH = MODELS["gemma-4-e4b"], 2
CHOICES = {
    "every": (4, 5),
    "keeping": (20, 28, 32),
    "readers": (12, 16, 20),
    "heads": (2, 4),
    "context": (16_384, 32_768, 65_536),
}


class Numbers(NamedTuple):
    """Full layers are every so many-th; layers that keep and that read; heads; tokens."""

    every: int = 6
    keeping: int = MODEL.n_layers - MODEL.n_kv_shared_layers
    readers: int = MODEL.n_kv_shared_layers
    heads: int = MODEL.n_kv_heads
    context: int = 32_768
    window: int = MODEL.window or 0

    @property
    def layers(self) -> int:
        """All layers."""
        return self.keeping + self.readers

    @property
    def slot(self) -> int:
        """Bytes of a token in a windowed layer; in a full one, whose heads are twice as large."""
        return 2 * self.heads * MODEL.head_dim * EACH

    def taken(self, full: int, windowed: int, large: int = 2) -> int:
        """Bytes of so many layers of both kinds."""
        return self.slot * (large * full * self.context + windowed * self.window)

    @property
    def full(self) -> int:
        """Full layers that keep."""
        return self.keeping // self.every

    @property
    def right(self) -> int:
        """The answer."""
        return self.taken(self.full, self.keeping - self.full)


assert MODEL.full_head_dim == 2 * MODEL.head_dim
assert Numbers().right == cost.cache_bytes(MODEL, batch=1, context=32_768, dtype_bytes=EACH)


def _text(n: Numbers) -> str:
    name = "Gemma 4 E4B" if n == Numbers() else "A model"
    return f"""
With pencil and paper: {name} has {n.layers} layers. Every {_ordinal(n.every)} sees all tokens, the
others have a window of {n.window}. Only the first {n.keeping} layers keep keys and values; each of
the last {n.readers} reads the cache of an earlier layer of its kind. There are {n.heads} key/value
heads, of dimension {MODEL.head_dim} in windowed layers and {MODEL.full_head_dim} in full ones, and
the cache is in bfloat16. How many bytes do all caches take for one text of {n.context:,} tokens?
"""


def _ordinal(every: int) -> str:
    return {4: "fourth", 5: "fifth", 6: "sixth"}[every]


def _mistakes(n: Numbers) -> dict[float, str]:
    right, full, windowed = n.right, n.full, n.keeping - n.full
    every = n.layers // n.every
    return {
        n.taken(every, n.layers - every): (
            f"You counted all {n.layers} layers. The last {n.readers} keep nothing."
        ),
        n.taken(full, windowed, large=1): (
            "You gave all layers the small heads. Keys and values of a full layer are twice as "
            "large."
        ),
        n.taken(n.keeping, 0): (
            "All your layers keep every token. Only some of those that keep see everything."
        ),
        n.taken(0, n.keeping): "In your model, every keeping layer is windowed. Some see all.",
        n.taken(full, 0) + n.slot * windowed * n.context: (
            f"Your windowed layers keep every token. Each keeps the newest {n.window} and no more."
        ),
        n.taken(full, windowed, large=1) + n.slot * (windowed * n.window): (
            "You exchanged the sizes of the heads. Those of full layers are the larger ones."
        ),
        n.taken(every, n.keeping - every): (
            f"You counted the full layers among all {n.layers}. Count those among the first "
            f"{n.keeping}."
        ),
        n.taken(1, 1): (
            "You counted only the two caches that others read. Every one of the first "
            f"{n.keeping} layers keeps its own."
        ),
        n.taken(full, n.keeping): (
            f"The {full} full layers are among the {n.keeping} that keep. You counted them twice, "
            "once with a window."
        ),
        n.taken(full + 1, windowed - 1): (
            f"You have one full layer too many. Only every {_ordinal(n.every)} of the first "
            f"{n.keeping} is one."
        ),
        n.taken(full, 0): "You left out the windowed layers. They keep something too.",
        n.taken(windowed, full): "You exchanged the two kinds of layers.",
        n.taken(n.readers // n.every, n.readers - n.readers // n.every): (
            "Those are the layers that read another's cache. Count the ones that keep."
        ),
        right // 2: "Half is missing. Keys and values are both kept, at 2 bytes per number.",
        2 * right: "That's twice as much. A bfloat16 number takes 2 bytes.",
        8 * right: "Those are bits.",
        right // 4: "You counted the numbers of the keys alone. Count the values too, at 2 bytes "
        "each.",
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
                high=below(1e5),
            ),
            Remark(
                "{value:,.6g} bytes is {factor:,.3g} times too {large}. First list the layers "
                "that keep, by kind. Then count the slots of each kind and the bytes of a slot."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="keepers_bytes",
        page="shared-layers",
        title="Only some layers keep",
        kind="pencil",
        groups={"by hand": 2},
        minutes=8,
        difficulty=2,
        stage="warm-up",
        assessed=False,
        section="Which layer may own the cache",
        text=_text(n),
        starter="answer = ...  # your number of bytes",
        number=_number(n),
        hints=(
            "Cross out the layers that keep nothing. Which kinds are the others?",
            f"{n.full} full layers keep {n.context:,} tokens each, {n.keeping - n.full} windowed "
            f"ones {n.window}. A slot takes 2 (K and V) times {n.heads} heads times the size of a "
            "head times 2 bytes.",
        ),
        common_errors=(
            "Counting the full layers among all layers, not among those that keep.",
            "Using the small heads for the full layers too.",
            "Leaving out the rings.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
