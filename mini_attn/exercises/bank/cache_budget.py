"""Pencil: how many sequences fit beside the weights."""

from __future__ import annotations

from itertools import product
from operator import eq

from mini_attn import cost
from mini_attn.exercises.guesses import explain, times_too_many
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.models import MODELS

TEXT = """
With pencil and paper: Llama-2-7B has 6,738,415,616 parameters, 32 layers, 32 query heads, as many
key/value heads, and `head_dim` 128. Weights and cache are stored in float16. How many sequences
of 4,096 tokens fit on a device with 80 GB beside the weights?
"""

MODEL = MODELS["llama-2-7b"]
CONTEXT, NUMBER_BYTES, MEMORY = 4096, 2, 80 * 10**9

_ONE = cost.cache_bytes(MODEL, batch=1, context=CONTEXT, dtype_bytes=NUMBER_BYTES)
_WEIGHTS = cost.parameter_count(MODEL) * NUMBER_BYTES
_LEFT = MEMORY - _WEIGHTS
ANSWER = _LEFT // _ONE

_GIB = 80 * 2**30 - _WEIGHTS
_OF_WEIGHTS = {  # what the weights are taken for, and the idea that is missing
    0: "The weights need their place too.",
    _WEIGHTS // 2: "The weights take 2 bytes each.",
    2 * _WEIGHTS: "The weights take 2 bytes each, not 4.",
}
_OF_ONE = {  # and one sequence's cache
    _ONE // 2: "There are keys and values.",
    2 * _ONE: "A number of the cache takes 2 bytes, not 4.",
    _ONE // MODEL.n_layers: f"There are {MODEL.n_layers} layers.",
}
MISTAKES = {
    MEMORY // _ONE: "That fills the whole device with caches: the weights need their place too.",
    _LEFT // (_ONE // 2): "Half of each cache is missing: there are keys and values.",
    _LEFT // (_ONE * 2): "Each number takes 2 bytes in float16, not 4.",
    (MEMORY - 2 * _WEIGHTS) // (_ONE * 2): "That is float32: in float16 a number takes 2 bytes.",
    _LEFT // (_ONE * 8): "Those are bits: a float16 number has 16 bits, which are 2 bytes.",
    _LEFT // (_ONE // MODEL.n_layers): "That is the cache of one layer: there are 32 of them.",
    _LEFT // (_ONE // 4): "That is 8 key/value heads: this model has one for each of its 32 heads.",
    _GIB // _ONE: "A GB is 1e9 bytes; this is 80 GiB, 7.4 % more.",
    (MEMORY - _WEIGHTS // 2) // _ONE: "The weights are stored in float16 too: 2 bytes for each.",
    (MEMORY - 2 * _WEIGHTS) // _ONE: "The weights are stored in float16: 2 bytes for each, not 4.",
    _LEFT * CONTEXT // _ONE: f"Those are tokens. A sequence has {CONTEXT:,} of them.",
    -(-_LEFT // _ONE): "Rounded up, the last sequence does not fit any more: round down.",
}
PAIRS = {
    (MEMORY - weights) // one: f"Two things. {idea} And: {also}"
    for (weights, idea), (one, also) in product(_OF_WEIGHTS.items(), _OF_ONE.items())
}


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or how far off another one is."""
    value = float(outputs["answer"])
    if value == ANSWER:
        return None
    if idea := explain(value, [*MISTAKES.items(), *PAIRS.items()], eq):
        return idea
    if value != int(value) and int(value) == ANSWER:
        return "A sequence fits whole or not at all: give the whole number."
    if value <= 0:
        return "At least one sequence fits: the weights leave most of the device free."
    return (
        f"{value:,.6g} is {times_too_many(value, ANSWER)}. "
        "Bytes of the weights first, then bytes of one sequence's cache."
    )


EXERCISE = Exercise(
    id="cache_budget",
    page="kv-cache",
    title="How many fit?",
    kind="pencil",
    groups={"by hand": 2},
    minutes=8,
    difficulty=1,
    assessed=False,
    section="What the cache costs",
    text=TEXT,
    unit="sequences",
    mistakes=MISTAKES,
    hints=(
        "The device holds the weights once and a cache for every sequence.",
        "Bytes of the weights: parameters times 2. Bytes of one cache: 2 (K and V) times layers, "
        "heads, head_dim, tokens, times 2 bytes. Subtract, divide, round down.",
    ),
    common_errors=(
        "Forgetting the weights.",
        "Counting keys but not values.",
        "Taking a GB for 2**30 bytes.",
    ),
    judge=judge,
)
