"""The predictions of the chapter on shared keys and values: who reads whom, and what's stored."""

from __future__ import annotations

from dataclasses import replace

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

LLAMA = MODELS["llama-3-8b"]
HEADS, KV_HEADS = LLAMA.n_heads, LLAMA.n_kv_heads
GROUP = HEADS // KV_HEADS


def _reader() -> Question:
    head = 14
    return Question(
        key="mqa-gqa/reader",
        text=f"A layer of Llama-3-8B has {HEADS} query heads and {KV_HEADS} key/value heads, both "
        f"counted from 0. Which key/value head does query head {head} read?",
        answer=head // GROUP,
        unit="head",
        kind="place",
        signed=True,
        explanation=f"{HEADS} / {KV_HEADS} = {GROUP} neighbors share a head, and "
        f"{head} // {GROUP} = {head // GROUP}: heads {head // GROUP * GROUP} to "
        f"{head // GROUP * GROUP + GROUP - 1} read it.",
        mistakes=(
            Mistake(
                head % KV_HEADS,
                f"You assigned the heads round-robin, {head} mod {KV_HEADS}. The query heads that "
                "share are neighbors.",
            ),
            Mistake(
                head % GROUP,
                f"That's where head {head} sits inside its group, {head} mod {GROUP}. Which group "
                "is it?",
            ),
            Mistake(
                head // KV_HEADS,
                f"You divided by the number of key/value heads. Divide by the {HEADS} / {KV_HEADS} "
                f"= {GROUP} query heads of a group.",
            ),
            Mistake(
                head // GROUP + 1,
                "You counted the key/value heads from 1. The first one is head 0.",
            ),
            Mistake(head, f"That would be multi-head attention. Here there are only {KV_HEADS}."),
        ),
    )


def _ten_times() -> Question:
    small, large = MODELS["llama-2-7b"], MODELS["llama-2-70b"]
    layers, fewer = large.n_layers, small.n_layers
    ratio = cost.cache_bytes_per_token(large) / cost.cache_bytes_per_token(small)
    return Question(
        key="mqa-gqa/ten-times",
        text=f"Llama-2-70B has ten times the parameters of Llama-2-7B. The small model has {fewer} "
        f"layers with {small.n_heads} query heads and {small.n_kv_heads} key/value heads, the "
        f"large one {layers} layers with {large.n_heads} and {large.n_kv_heads}. All heads have "
        f"dimension {large.head_dim}. How many times as large is the cache of the large model, per "
        "token?",
        answer=ratio,
        unit="times",
        kind="ratio",
        tolerance=0.005,
        explanation=f"{layers} × {large.n_kv_heads} = {layers * large.n_kv_heads} key/value heads "
        f"against {fewer} × {small.n_kv_heads} = {fewer * small.n_kv_heads}: {ratio:.3f} times. "
        "The larger model keeps less, because only it shares heads.",
        mistakes=(
            Mistake(
                layers * large.n_heads / (fewer * small.n_heads),
                "You counted query heads. The cache only keeps keys and values.",
            ),
            Mistake(
                layers / fewer,
                "You compared the layers alone. How many key/value heads does each layer keep?",
            ),
            Mistake(
                large.n_kv_heads / small.n_kv_heads,
                "You compared one layer with one layer. The models have different numbers of "
                "layers.",
            ),
            Mistake(1 / ratio, "That's the ratio upside down."),
            Mistake(10, "The cache doesn't grow with the parameters. Count the heads it keeps."),
            Mistake(
                2 * ratio,
                "You doubled one side. Both models keep keys and values, so the 2 cancels.",
            ),
        ),
    )


def _devices() -> Question:
    model, devices = MODELS["llama-3-70b"], 16
    each = cost.cache_bytes_per_token(replace(model, n_kv_heads=1))
    whole = cost.cache_bytes_per_token(model)
    return Question(
        key="mqa-gqa/devices",
        text=f"Llama-3-70B has {model.n_heads} query heads and {model.n_kv_heads} key/value heads, "
        f"and keeps {whole:,} bytes per token. The cache is split by heads over {devices} devices: "
        "each keeps, whole, the heads that its query heads read. How many bytes per token does one "
        "device keep?",
        answer=each,
        unit="bytes",
        kind="quotient",
        tolerance=0.005,
        explanation=f"A device has {model.n_heads} / {devices} = {model.n_heads // devices} query "
        f"heads, all of one group, so it keeps one key/value head: {whole:,} / "
        f"{model.n_kv_heads} = {each:,} bytes. Two devices keep the same one.",
        mistakes=(
            Mistake(
                whole // devices,
                f"You split {model.n_kv_heads} key/value heads over {devices} devices, half a head "
                "each. A device needs its head whole, so two devices keep a copy.",
            ),
            Mistake(
                whole,
                "You put every key/value head on every device. A device only needs the ones its "
                "own query heads read.",
            ),
            Mistake(
                whole * model.n_heads // model.n_kv_heads // devices,
                "You kept a key/value head for each of the device's query heads. They all read the "
                "same one.",
            ),
            Mistake(
                whole * model.n_heads // model.n_kv_heads,
                f"You kept a key/value head for each of the {model.n_heads} query heads, all on "
                "one device.",
            ),
            Mistake(
                each // model.n_layers,
                f"That's one layer. A device keeps its head in each of the {model.n_layers}.",
            ),
            Mistake(
                2 * each,
                f"That's two key/value heads. The {model.n_heads // devices} query heads of a "
                "device belong to one group.",
            ),
        ),
    )


ALL = (_reader(), _ten_times(), _devices())
