"""Pencil: how many sequences fit beside the weights."""

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
of {n.context:,} tokens fit on a device with {n.memory} GB beside the weights?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    one, weights, left = n.one, n.weights, n.whole - n.weights
    more = 100 * (2**30 / 1e9 - 1)
    return {
        n.whole // one: "That fills the whole device with caches: the weights need their place "
        "too.",
        left // (one // 2): "Half of each cache is missing: there are keys and values.",
        left // (one * 2): "Each number takes 2 bytes in float16, not 4.",
        (n.whole - 2 * weights) // (one * 2): "That is float32: in float16 a number takes 2 bytes.",
        left // (one * 8): "Those are bits: a float16 number has 16 bits, which are 2 bytes.",
        left // (one // MODEL.n_layers): "That is the cache of one layer: there are 32 of them.",
        left // (one // 4): "That is 8 key/value heads: this model has one for each of its 32 "
        "heads.",
        (n.memory * 2**30 - weights) // one: f"A GB is 1e9 bytes; this is {n.memory} GiB, "
        f"{more:.1f} % more.",
        (n.whole - weights // 2) // one: "The weights are stored in float16 too: 2 bytes for each.",
        (n.whole - 2 * weights) // one: "The weights are stored in float16: 2 bytes for each, not "
        "4.",
        left * n.context // one: f"Those are tokens. A sequence has {n.context:,} of them.",
        n.right + 1: "Rounded up, the last sequence does not fit any more: round down.",
    }


def _pairs(n: Numbers) -> dict[float, str]:
    """Two things at once: what the weights are taken for, and one sequence's cache."""
    of_weights = {
        0: "The weights need their place too.",
        n.weights // 2: "The weights take 2 bytes each.",
        2 * n.weights: "The weights take 2 bytes each, not 4.",
    }
    of_one = {
        n.one // 2: "There are keys and values.",
        2 * n.one: "A number of the cache takes 2 bytes, not 4.",
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
                "A sequence fits whole or not at all: give the whole number.",
                low=n.right,
                high=n.right + 1,
            ),
            Remark(
                "At least one sequence fits: the weights leave most of the device free.", high=0
            ),
            Remark(
                "{value:,.6g} is {times_too_many}. Bytes of the weights first, then bytes of one "
                "sequence's cache."
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
            "The device holds the weights once and a cache for every sequence.",
            "Bytes of the weights: parameters times 2. Bytes of one cache: 2 (K and V) "
            "times layers, heads, head_dim, tokens, times 2 bytes. Subtract, divide, round "
            "down.",
        ),
        common_errors=(
            "Forgetting the weights.",
            "Counting keys but not values.",
            "Taking a GB for 2**30 bytes.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
