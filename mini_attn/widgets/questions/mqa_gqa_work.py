"""The predictions of the chapter on shared keys and values that ask for FLOPs and for traffic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

LLAMA = MODELS["llama-3-8b"]
HEADS, KV_HEADS, SIZE = LLAMA.n_heads, LLAMA.n_kv_heads, LLAMA.head_dim
GROUP = HEADS // KV_HEADS


def _score_flops() -> Question:
    context = 1000
    scores = {
        heads: cost.matmul_flops(replace(LLAMA, n_kv_heads=heads), q_len=1, kv_len=context)
        for heads in (HEADS, KV_HEADS)
    }
    ratio = scores[HEADS]["scores"] / scores[KV_HEADS]["scores"]
    each = 2 * HEADS * context * SIZE
    return Question(
        key="mqa-gqa/score-flops",
        text=f"Llama-3-8B has {HEADS} query heads but only {KV_HEADS} key/value heads. By what "
        f"factor does that reduce the FLOPs of the scores in a decode step, compared with {HEADS} "
        "key/value heads?",
        answer=ratio,
        unit="times",
        kind="ratio",
        explanation="By a factor of 1, so not at all. Every query head still meets every token: "
        f"{HEADS} heads × {context:,} tokens × {SIZE} multiply-adds × 2 = {each:,} FLOPs per layer "
        "in both cases.",
        mistakes=(
            Mistake(
                GROUP,
                f"That's how much smaller the cache gets. Sharing keys doesn't share scores: each "
                f"of the {HEADS} query heads still has its own.",
            ),
            Mistake(
                1 / GROUP,
                f"That would be {KV_HEADS} heads' worth of scores. Each of the {HEADS} query heads "
                "still has its own.",
            ),
            Mistake(
                KV_HEADS,
                f"That's the number of key/value heads. How many heads have scores? All {HEADS} "
                "query heads.",
            ),
            Mistake(
                HEADS,
                "That would be one head's scores. Each query head still has its own.",
            ),
            Mistake(
                2,
                "That fits the projections of queries, keys and values together. What about the "
                "scores?",
            ),
        ),
    )


def _intensity() -> Question:
    model = MODELS["llama-3.1-405b"]
    answer = round(cost.cache_intensity(model))
    return Question(
        key="mqa-gqa/intensity",
        text=f"Llama-3.1-405B has {model.n_heads} query heads and {model.n_kv_heads} key/value "
        "heads. In a decode step, how many FLOPs does its attention do for each byte of the cache "
        "that it reads, with 2 bytes per value?",
        answer=answer,
        unit="FLOPs per byte",
        kind="quotient",
        explanation=f"A cached value is used by {model.n_heads} / {model.n_kv_heads} = "
        f"{answer} query heads, 2 FLOPs each, and has 2 bytes: {answer} FLOPs per byte.",
        mistakes=(
            Mistake(
                cost.cache_intensity(replace(model, n_kv_heads=model.n_heads)),
                "That would be multi-head attention, where one query head reads each value.",
            ),
            Mistake(
                model.n_kv_heads,
                "That's the number of key/value heads. How many query heads read each of them?",
            ),
            Mistake(2 * answer, "That's FLOPs per value. A value has 2 bytes."),
            Mistake(
                cost.cache_intensity(replace(model, n_kv_heads=1)),
                "That would be multi-query attention, with a single key/value head for all.",
            ),
            Mistake(1 / answer, "That's bytes per FLOP. The question asks for FLOPs per byte."),
            Mistake(answer / 8, "That's FLOPs per bit. A byte has 8 bits."),
        ),
    )


def _repeat_traffic() -> Question:
    traffic = 1 + 2 * GROUP
    return Question(
        key="mqa-gqa/repeat",
        text=f"A step with {HEADS} query heads and {KV_HEADS} key/value heads first repeats the "
        f"cache to {HEADS} heads in a new array, then attends to that array. Reading the cache "
        "once is 1 unit of traffic. Counting reads and writes, how many units does this step move?",
        answer=traffic,
        unit="units",
        kind="sum",
        explanation=f"We read the small cache (1), write the large copy ({GROUP}) and read it "
        f"again ({GROUP}): {traffic}. Multi-head attention without a copy would read {GROUP}.",
        mistakes=(
            Mistake(
                GROUP,
                "That's the size of the copy. It's written once and read once, and making it reads "
                "the cache.",
            ),
            Mistake(
                1 + GROUP,
                "You made the copy, but attention has to read it again.",
            ),
            Mistake(2 * GROUP, "You left out reading the cache itself."),
            Mistake(
                1,
                "That would be reading in place. This step also writes the copy and reads it "
                "again.",
            ),
            Mistake(
                1 + 2 * KV_HEADS,
                f"The copy is {HEADS} / {KV_HEADS} = {GROUP} times as large as the cache, not "
                f"{KV_HEADS} times.",
            ),
        ),
    )


def _step_bytes() -> Question:
    batch, context = 8, 4096
    sizes: dict[str, Any] = {"batch": batch, "kv_len": context}
    moved = cost.step_bytes(LLAMA, **sizes)
    mha = replace(LLAMA, n_kv_heads=HEADS)
    plain = cost.step_bytes(mha, **sizes)
    total = moved["weights"] + plain["cache read"]
    weights, shared = (moved[name] / 1e9 for name in ("weights", "cache read"))
    return Question(
        key="mqa-gqa/step-bytes",
        text=f"A decode step of Llama-3-8B for {batch} sequences of {context:,} tokens reads "
        f"{weights:.1f} GB of weights and {shared:.1f} GB of cache, with {KV_HEADS} key/value "
        f"heads. With {HEADS} of them, and leaving the weights as they are, how many bytes would "
        "it read?",
        answer=total,
        unit="bytes",
        kind="sum",
        tolerance=0.01,
        explanation=f"Only the cache grows, {GROUP} times: {weights:.2f} + {GROUP} × {shared:.2f} "
        f"= {total / 1e9:.2f} GB, {total / (moved['weights'] + moved['cache read']):.1f} times as "
        "many as before.",
        mistakes=(
            Mistake(
                GROUP * (moved["weights"] + moved["cache read"]),
                f"You multiplied everything by {GROUP}. The weights are still read once.",
            ),
            Mistake(
                plain["cache read"],
                "That's the cache alone. A step also reads the weights.",
            ),
            Mistake(
                moved["weights"] + moved["cache read"],
                f"That's the sum with {KV_HEADS} key/value heads. The cache grows with their "
                "number.",
            ),
            Mistake(
                moved["weights"] + moved["cache read"] // GROUP,
                "You divided the cache. More key/value heads keep more.",
            ),
            Mistake(
                moved["weights"] + HEADS * moved["cache read"],
                f"You took {HEADS} times the cache. From {KV_HEADS} to {HEADS} heads it grows "
                f"{GROUP} times.",
            ),
        ),
    )


def _one_sequence() -> Question:
    context = 8192
    moved = cost.step_bytes(LLAMA, kv_len=context)
    weights, cache = moved["weights"], moved["cache read"]
    answer = round((weights + GROUP * cache) / (weights + cache), 2)
    return Question(
        key="mqa-gqa/one-sequence",
        text=f"With {KV_HEADS} key/value heads, Llama-3-8B keeps a cache {GROUP} times smaller "
        f"than with {HEADS}. A decode step for one sequence of {context:,} tokens reads "
        f"{weights / 1e9:.0f} GB of weights and {cache / 1e9:.1f} GB of this cache. Going by the "
        f"bytes alone, how many times as long would the step take with {HEADS}?",
        answer=answer,
        unit="times",
        kind="ratio",
        tolerance=0.09,
        explanation=f"({weights / 1e9:.1f} + {GROUP * cache / 1e9:.1f}) / ({weights / 1e9:.1f} + "
        f"{cache / 1e9:.1f}) = {answer}: for one sequence, the step mostly reads weights. (`W_k` "
        "and `W_v` get wider too; with them it's 1.3.)",
        mistakes=(
            Mistake(GROUP, "The cache is that many times as large. A step also reads the weights."),
            Mistake(
                1 / GROUP, "That's how much of the cache is left. A step also reads the weights."
            ),
            Mistake(
                1, "It isn't nothing: the larger cache adds a few gigabytes to what a step reads."
            ),
            Mistake(1 / answer, "That's the ratio upside down. More heads take longer."),
            Mistake(round(100 * (answer - 1)), "That's by how many percent. How many times?"),
            Mistake(
                (weights + HEADS * cache) / (weights + cache),
                f"You took {HEADS} times the cache. It grows {GROUP} times.",
            ),
        ),
    )


ALL = (_score_flops(), _intensity(), _repeat_traffic(), _step_bytes(), _one_sequence())
