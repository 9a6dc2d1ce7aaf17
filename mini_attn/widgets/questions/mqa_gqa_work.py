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
    tokens = 1000
    flops = cost.attention_flops(1, tokens, n_heads=HEADS, head_dim=SIZE)["scores"]
    return Question(
        key="mqa-gqa/score-flops",
        text=f"A decode step of Llama-3-8B meets {tokens:,} cached tokens. One layer has {HEADS} "
        f"query heads and {KV_HEADS} key/value heads of {SIZE}. How many FLOPs do its scores "
        "take, with 2 for a multiply-add?",
        answer=flops,
        unit="FLOPs",
        kind="product",
        tolerance=0.005,
        explanation=f"Every query head still meets every token: {HEADS} heads × {tokens:,} tokens "
        f"× {SIZE} multiply-adds × 2 = {flops:,}. {HEADS} key/value heads would need as many.",
        mistakes=(
            Mistake(
                flops // GROUP,
                f"That has {KV_HEADS} heads' worth of scores. Sharing keys does not share scores: "
                f"each of the {HEADS} query heads asks for itself.",
            ),
            Mistake(flops // 2, "That counts multiply-adds. Each is 2 FLOPs."),
            Mistake(
                2 * flops,
                "That adds the weighted sum of the values, which costs as much again.",
            ),
            Mistake(
                flops // HEADS,
                f"That is one query head. There are {HEADS}.",
            ),
            Mistake(
                HEADS * tokens,
                f"That counts the scores. Each takes {SIZE} multiply-adds.",
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
        "that it reads, with 2 bytes a number?",
        answer=answer,
        unit="FLOPs per byte",
        kind="quotient",
        explanation=f"A cached number is used by {model.n_heads} / {model.n_kv_heads} = "
        f"{answer} query heads, 2 FLOPs each, and has 2 bytes: {answer} FLOPs per byte.",
        mistakes=(
            Mistake(
                cost.cache_intensity(replace(model, n_kv_heads=model.n_heads)),
                "That is multi-head attention, where one query head reads each number.",
            ),
            Mistake(
                model.n_kv_heads,
                "That is the number of key/value heads. How many query heads read each of them?",
            ),
            Mistake(2 * answer, "That is FLOPs a number. A number has 2 bytes."),
            Mistake(
                cost.cache_intensity(replace(model, n_kv_heads=1)),
                "That is multi-query attention, with a single key/value head for all.",
            ),
            Mistake(1 / answer, "That is bytes a FLOP: the question is the other way round."),
            Mistake(answer / 8, "That is FLOPs a bit. A byte has 8 bits."),
        ),
    )


def _repeat_traffic() -> Question:
    traffic = 1 + 2 * GROUP
    return Question(
        key="mqa-gqa/repeat",
        text=f"A step with {HEADS} query heads and {KV_HEADS} key/value heads first repeats the "
        f"cache to {HEADS} heads in a new array, then attends to that. Reading the cache once is "
        "1 unit of traffic. Count what is read and what is written: how many units does this step "
        "move?",
        answer=traffic,
        unit="units",
        kind="sum",
        explanation=f"The small cache is read (1), the large copy written ({GROUP}) and read again "
        f"({GROUP}): {traffic}. Multi-head attention without a copy would read {GROUP}.",
        mistakes=(
            Mistake(
                GROUP,
                "That is the size of the copy. It is written once and read once, and the cache is "
                "read to make it.",
            ),
            Mistake(
                1 + GROUP,
                "That makes the copy, but the attention has to read it again.",
            ),
            Mistake(2 * GROUP, "That leaves out reading the cache itself."),
            Mistake(
                1,
                "That would be reading in place. The copy has to be written, and read again.",
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
        f"heads and the narrower projections that make them. With {HEADS} heads, and the weights "
        "left as they are, how many bytes would it read?",
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
                f"That is {GROUP} times everything. The weights are read once, as before.",
            ),
            Mistake(
                plain["cache read"],
                "That is the cache alone. A step also reads the weights.",
            ),
            Mistake(
                moved["weights"] + moved["cache read"],
                f"That is the sum with {KV_HEADS} key/value heads. The cache grows with them.",
            ),
            Mistake(
                moved["weights"] + moved["cache read"] // GROUP,
                "That divides the cache. More key/value heads keep more.",
            ),
            Mistake(
                moved["weights"] + HEADS * moved["cache read"],
                f"That is {HEADS} times the cache. From {KV_HEADS} to {HEADS} heads it grows "
                f"{GROUP} times.",
            ),
        ),
    )


ALL = (_score_flops(), _intensity(), _repeat_traffic(), _step_bytes())
