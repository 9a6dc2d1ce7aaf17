"""The predictions of the chapter on shared keys and values: who reads whom, and what is stored."""

from __future__ import annotations

from dataclasses import replace

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

LLAMA = MODELS["llama-3-8b"]
HEADS, KV_HEADS, SIZE = LLAMA.n_heads, LLAMA.n_kv_heads, LLAMA.head_dim
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
        explanation=f"{HEADS} / {KV_HEADS} = {GROUP} neighbours share a head, and "
        f"{head} // {GROUP} = {head // GROUP}: heads {head // GROUP * GROUP} to "
        f"{head // GROUP * GROUP + GROUP - 1} read it.",
        mistakes=(
            Mistake(
                head % KV_HEADS,
                f"That assigns the heads round-robin, {head} mod {KV_HEADS}. The query heads that "
                "share are neighbours.",
            ),
            Mistake(
                head % GROUP,
                f"That is the number of head {head} inside its group, {head} mod {GROUP}. Which "
                "group is it?",
            ),
            Mistake(
                head // KV_HEADS,
                f"That divides by the number of key/value heads. A group has {HEADS} / {KV_HEADS} "
                f"= {GROUP} query heads.",
            ),
            Mistake(
                head // GROUP + 1,
                "That counts the key/value heads from 1. The first one is head 0.",
            ),
            Mistake(head, f"That is multi-head attention. Here there are only {KV_HEADS}."),
        ),
    )


def _mqa_bytes() -> Question:
    model, context = MODELS["starcoder-15b"], 8192
    total = cost.cache_bytes(model, batch=1, context=context)
    layers, heads, size = model.n_layers, model.n_heads, model.head_dim
    return Question(
        key="mqa-gqa/mqa-bytes",
        text=f"StarCoder has {layers} layers with {heads} query heads of {size} and multi-query "
        f"attention. How many bytes does its cache take for one sequence of {context:,} tokens, "
        "with 2 bytes a number?",
        answer=total,
        unit="bytes",
        kind="product",
        tolerance=0.005,
        explanation=f"2 (keys and values) × {layers} layers × 1 key/value head × {size} × 2 bytes "
        f"× {context:,} tokens = {total:,} bytes; with a head each it would be "
        f"{heads * total / 1e9:.1f} GB.",
        mistakes=(
            Mistake(
                heads * total,
                f"That keeps keys and values for all {heads} query heads. Multi-query attention "
                "keeps one head for all of them.",
            ),
            Mistake(
                total // 2,
                "Half of it is missing. Either the factor 2, because a value head is kept beside "
                "the key head, or one of the 2 bytes.",
            ),
            Mistake(
                total // layers,
                f"That is one layer. Heads are shared inside a layer, and each of the {layers} "
                "layers keeps its own.",
            ),
            Mistake(
                total // context,
                f"That is one token. The cache keeps all {context:,}.",
            ),
            Mistake(8 * total, "That is the number of bits. A byte has 8 of them."),
            Mistake(2 * total, "A factor 2 too many: a number takes 2 bytes here, not 4."),
        ),
    )


def _projections() -> Question:
    width = LLAMA.d_model
    learned = 2 * width * KV_HEADS * SIZE
    full = 2 * width * HEADS * SIZE
    return Question(
        key="mqa-gqa/projections",
        text=f"In one layer of Llama-3-8B (`d_model` = {width:,}, {HEADS} query heads and "
        f"{KV_HEADS} key/value heads of {SIZE}), how many weights do W_k and W_v have together?",
        answer=learned,
        unit="weights",
        kind="product",
        tolerance=0.005,
        explanation=f"Each is `d_model` × (key/value heads × `head_dim`): 2 × {width:,} × "
        f"({KV_HEADS} × {SIZE}) = {learned:,}; {HEADS} heads would take {full:,}.",
        mistakes=(
            Mistake(
                full,
                f"That is multi-head attention. W_k and W_v make {KV_HEADS} heads here, not "
                f"{HEADS}.",
            ),
            Mistake(
                learned // 2,
                "Half of it is missing. W_k and W_v have the same size and both count; and there "
                f"are {KV_HEADS} key/value heads, each read by {GROUP} query heads.",
            ),
            Mistake(
                2 * width * SIZE,
                f"That is one key/value head. There are {KV_HEADS}.",
            ),
            Mistake(
                learned + full,
                "That counts W_q and W_o too, which keep their full width.",
            ),
            Mistake(
                learned + full // 2,
                f"That counts W_q too, which keeps its {HEADS} heads.",
            ),
            Mistake(
                LLAMA.n_layers * learned, "That is the whole model. The question is one layer."
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
        f"and keeps {whole:,} bytes a token. The cache is split by heads over {devices} devices: "
        "each keeps whole the heads that its query heads read. How many bytes a token does one "
        "device keep?",
        answer=each,
        unit="bytes",
        kind="quotient",
        tolerance=0.005,
        explanation=f"A device has {model.n_heads} / {devices} = {model.n_heads // devices} query "
        f"heads, all of one group, so it keeps one key/value head: {whole:,} / "
        f"{model.n_kv_heads} = {each:,} bytes. Two devices hold the same one.",
        mistakes=(
            Mistake(
                whole // devices,
                f"That splits {model.n_kv_heads} key/value heads over {devices} devices, half a "
                "head each. A device needs its head whole: two devices keep a copy.",
            ),
            Mistake(
                whole,
                "That is every key/value head on every device. A device needs only those that its "
                "own query heads read.",
            ),
            Mistake(
                whole * model.n_heads // model.n_kv_heads // devices,
                "That keeps a key/value head for each of the device's query heads. They all read "
                "the same one.",
            ),
            Mistake(
                whole * model.n_heads // model.n_kv_heads,
                f"That is a key/value head for each of the {model.n_heads} query heads, all on "
                "one device.",
            ),
            Mistake(
                each // model.n_layers,
                f"That is one layer. A device keeps its head in each of the {model.n_layers}.",
            ),
            Mistake(
                2 * each,
                f"That is two key/value heads. The {model.n_heads // devices} query heads of a "
                "device belong to one group.",
            ),
        ),
    )


ALL = (_reader(), _mqa_bytes(), _projections(), _devices())
