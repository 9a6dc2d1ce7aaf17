"""Pencil: how many sequences fit together with the weights."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any, NamedTuple

from mini_attn import cost
from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.models import MODELS
from mini_attn.questions import NumberQuestion, Remark, foreseen, near

MODEL, NUMBER_BYTES = MODELS["llama-2-7b"], 2
PARAMETERS = cost.parameter_count(MODEL)
CHOICES = {
    "context": (1024, 1280, 1536, 2048, 2560, 3072, 4096),
    "memory": (48, 64, 80, 96, 128, 141),
}


class Numbers(NamedTuple):
    """Tokens of a sequence, and GB of the device."""

    context: int = 4096
    memory: int = 80

    @property
    def whole(self) -> int:
        """Bytes of the device."""
        return self.memory * 10**9

    @property
    def one(self) -> int:
        """Bytes of the cache of one sequence."""
        return cost.cache_bytes(MODEL, batch=1, context=self.context, dtype_bytes=NUMBER_BYTES)

    @property
    def weights(self) -> int:
        """Their bytes."""
        return PARAMETERS * NUMBER_BYTES

    @property
    def right(self) -> int:
        """The answer."""
        return (self.whole - self.weights) // self.one


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: Llama-2-7B has {PARAMETERS:,} parameters, 32 layers, 32 query heads, as many
key/value heads, and `head_dim` 128. Weights and cache are stored in float16. How many sequences
of {n.context:,} tokens fit on a device with {n.memory} GB, together with the weights?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    one, weights, left = n.one, n.weights, n.whole - n.weights
    more = 100 * (2**30 / 1e9 - 1)
    return {
        n.whole // one: "You've filled the whole device with caches. The weights have to fit too.",
        left // (one // 2): "You've counted half of each cache. There are keys and values.",
        left // (one * 2): "You've counted 4 bytes per value of the cache. In float16, it's 2.",
        (n.whole - 2 * weights) // (one * 2): "That's float32. In float16, a number takes 2 bytes.",
        left // (one * 8): "You've counted bits. A float16 number has 16 bits, which are 2 bytes.",
        left // (one // MODEL.n_layers): "That's the cache of one layer. There are 32.",
        left // (one // 4): "You've counted 8 key/value heads. This model has 32, one for "
        "each query head.",
        (n.memory * 2**30 - weights) // one: f"You've counted {n.memory} GiB, which is "
        f"{more:.1f}% more. A GB is 1e9 bytes.",
        (n.whole - weights // 2) // one: "You've counted 1 byte per weight. The weights are in "
        "float16 too, 2 bytes each.",
        (n.whole - 2 * weights) // one: "You've counted 4 bytes per weight. The weights are in "
        "float16, 2 bytes each.",
        left * n.context // one: f"That's how many tokens fit. A sequence has {n.context:,}.",
        n.right + 1: "You rounded up, but the last sequence doesn't fit. Round down.",
    }


def _pairs(n: Numbers) -> dict[float, str]:
    """Two things at once: what the weights are taken for, and one sequence's cache."""
    of_weights = {
        0: "The weights have to fit too.",
        n.weights // 2: "The weights take 2 bytes each.",
        2 * n.weights: "The weights take 2 bytes each, not 4.",
    }
    of_one = {
        n.one // 2: "There are keys and values.",
        2 * n.one: "A value of the cache takes 2 bytes, not 4.",
        n.one // MODEL.n_layers: f"There are {MODEL.n_layers} layers.",
    }
    return {
        (n.whole - weights) // one: f"Two things. {idea} And: {also}"
        for (weights, idea), (one, also) in product(of_weights.items(), of_one.items())
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="sequences",
        mistakes=foreseen(_mistakes(n)),
        otherwise=(
            *(near(value, idea, 0) for value, idea in _pairs(n).items()),
            Remark(
                "A sequence fits entirely or not at all, so give a whole number.",
                low=n.right,
                high=n.right + 1,
            ),
            Remark(
                "At least one sequence fits, because the weights leave most of the device free.",
                high=0,
            ),
            Remark(
                "{value:,.6g} is {times_too_many}. Start with the bytes of the weights, then the "
                "bytes of one sequence's cache."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="cache_budget",
        page="kv-cache",
        title="How many fit?",
        kind="pencil",
        groups={"by hand": 2},
        minutes=8,
        difficulty=1,
        stage="warm-up",
        assessed=False,
        section="What the cache costs",
        text=_text(n),
        number=_number(n),
        hints=(
            "The device holds the weights once, and one cache for every sequence.",
            "The weights take 2 bytes per parameter. One cache takes 2 (K and V) times layers, "
            "heads, head_dim, tokens, times 2 bytes. Subtract, divide, and round down.",
        ),
        common_errors=(
            "Forgetting the weights.",
            "Counting keys but not values.",
            "Taking 2**30 bytes for a GB.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
