"""The predictions of the chapter on KV caching that ask for bytes, or for what fits."""

from __future__ import annotations

from dataclasses import replace

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GPT2, LLAMA = MODELS["gpt2"], MODELS["llama-3-8b"]
HEADS, KV_HEADS = LLAMA.n_heads, LLAMA.n_kv_heads


def _gpt2_bytes() -> Question:
    context, each = 100, 4
    layers, heads, size = GPT2.n_layers, GPT2.n_kv_heads, GPT2.head_dim
    total = cost.cache_bytes(GPT2, batch=1, context=context, dtype_bytes=each)
    return Question(
        key="kv-cache/gpt2-bytes",
        text=f"GPT-2 has {layers} layers with {heads} key/value heads of {size}. How many bytes "
        f"does its cache take for one sequence of {context} tokens in float32?",
        answer=total,
        unit="bytes",
        kind="product",
        tolerance=0.005,
        explanation=f"2 (keys and values) × {layers} layers × {heads} heads × {size} × {each} "
        f"bytes × {context} tokens = {total:,} bytes, or {total / 1e6:.2f} MB.",
        mistakes=(
            Mistake(
                total // 2,
                "Half of it is missing. Either the factor 2, because keys and values are both "
                "kept, or two of the 4 bytes of a float32.",
            ),
            Mistake(
                total // layers,
                f"That is one layer. Each of the {layers} layers keeps keys and values of its own.",
            ),
            Mistake(
                total // layers // 2,
                f"That is the keys of one layer: values are kept too, and there are {layers} "
                "layers.",
            ),
            Mistake(8 * total, "That is the number of bits. A byte has 8 of them."),
            Mistake(
                total // each,
                f"That is how many numbers are kept. In float32 each takes {each} bytes.",
            ),
            Mistake(
                total // context,
                f"That is one token. The cache keeps all {context}.",
            ),
            Mistake(
                heads * total,
                f"The heads are counted twice: `d_model` = {heads * size} is already "
                f"{heads} heads × {size}.",
            ),
            Mistake(
                total * 10**6 / 2**20,
                "The size is right in MiB, which are 2^20 bytes. An MB is 10^6 bytes.",
            ),
        ),
    )


def _users() -> Question:
    sequences, context, times = 16, 8192, 4
    weights = 2 * cost.parameter_count(LLAMA)
    cache = cost.cache_bytes(LLAMA, batch=sequences, context=context)
    later = cost.cache_bytes(LLAMA, batch=times * sequences, context=context // 2)
    total = weights + later
    return Question(
        key="kv-cache/users",
        text=f"Llama-3-8B answers {sequences} readers in bfloat16. With {context:,} tokens each, "
        f"it takes {(weights + cache) / 1e9:.2f} GB: {weights / 1e9:.2f} GB are weights, "
        f"{cache / 1e9:.2f} GB are caches. Now {times} times as many come, each with half as many "
        "tokens. How many bytes does it take?",
        answer=total,
        unit="bytes",
        kind="sum",
        tolerance=0.005,
        explanation=f"The weights are stored once, and the caches go with readers × tokens, which "
        f"is {times} × ½ = {times // 2} times what it was: {weights / 1e9:.2f} + {times // 2} × "
        f"{cache / 1e9:.2f} = {total / 1e9:.2f} GB.",
        mistakes=(
            Mistake(
                2 * (weights + cache),
                "That doubles the weights too. They are the same for everybody and are stored "
                "once; only the caches belong to the readers.",
            ),
            Mistake(
                times * weights + later,
                "The caches are right. The weights do not come once for each reader: all of them "
                "use the same ones.",
            ),
            Mistake(
                weights + times * cache,
                "That leaves out that each text is half as long. A cache grows with its tokens.",
            ),
            Mistake(
                weights + cache // 2,
                "That leaves out that there are more readers. Each of them has a cache.",
            ),
            Mistake(
                weights + cache,
                f"As before? {times} times as many readers with half the tokens each are "
                f"{times // 2} times as many tokens in all.",
            ),
            Mistake(later, "Those are the caches alone. The weights take room besides."),
            Mistake(
                times * (weights + cache),
                "That multiplies everything by the readers: the weights, which are stored once, "
                "and texts that have become shorter.",
            ),
        ),
    )


def _fit() -> Question:
    context, memory = 8192, cost.DEVICES["h100"].memory_bytes
    weights = 2 * cost.parameter_count(LLAMA)
    left = memory - weights

    one = cost.cache_bytes(LLAMA, batch=1, context=context)
    all_heads = cost.cache_bytes(replace(LLAMA, n_kv_heads=HEADS), batch=1, context=context)
    fits = left // one
    return Question(
        key="kv-cache/fit",
        text=f"Llama-3-8B in bfloat16 runs on a device with {memory / 1e9:.0f} GB. Its weights "
        f"take {weights / 1e9:.2f} GB; the cache takes "
        f"{cost.cache_bytes_per_token(LLAMA):,} bytes a token. How many sequences of "
        f"{context:,} tokens fit beside the weights?",
        answer=fits,
        unit="sequences",
        kind="quotient",
        explanation=f"One sequence takes {context:,} × {one // context:,} = {one:,} bytes, and "
        f"({memory / 1e9:.0f} − {weights / 1e9:.2f}) GB / {one / 1e9:.3f} GB = {left / one:.1f}, "
        f"so {fits} fit whole.",
        mistakes=(
            Mistake(
                memory // one,
                "That fills the whole device, of which the weights take "
                f"{weights / 1e9:.2f} GB first.",
            ),
            Mistake(
                fits + 1,
                f"That is rounded up. {left / one:.1f} sequences means that the last one does not "
                "fit.",
            ),
            Mistake(
                round(left / one, 1),
                "The division is right. A sequence that fits in part does not fit: round down.",
            ),
            Mistake(
                left // all_heads,
                f"That counts a key and a value for all {HEADS} query heads. The cache keeps them "
                f"for the {KV_HEADS} key/value heads only.",
            ),
            Mistake(
                2 * left // one,
                "Twice too many: keys and values are both kept.",
            ),
            Mistake(
                (memory * 2**30 // 10**9 - weights) // one,
                "That takes the device's GB for GiB. A GB is 10^9 bytes here, a GiB is 2^30.",
            ),
            Mistake(
                left // (one // context),
                f"That is how many tokens fit. A sequence has {context:,} of them.",
            ),
        ),
    )


def _larger() -> Question:
    larger = replace(
        GPT2, n_layers=2 * GPT2.n_layers, d_model=2 * GPT2.d_model, n_heads=2 * GPT2.n_heads,
        n_kv_heads=GPT2.n_kv_heads // 4, attention="gqa",
    )  # fmt: skip
    times = cost.cache_bytes_per_token(larger) / cost.cache_bytes_per_token(GPT2)
    return Question(
        key="kv-cache/larger",
        text=f"GPT-2 has {GPT2.n_layers} layers of {GPT2.n_heads} heads, each with keys and values "
        f"of its own. A larger model has {larger.n_layers} layers, `d_model` twice as large, and "
        f"{larger.n_heads} query heads of the same size, which share {larger.n_kv_heads} key/value "
        "heads. How many times as large as GPT-2's is its cache for the same tokens?",
        answer=times,
        unit="times",
        kind="ratio",
        explanation=f"Twice the layers, and in each of them {larger.n_kv_heads} key/value heads "
        f"for {GPT2.n_kv_heads}: 2 × {larger.n_kv_heads} / {GPT2.n_kv_heads} = ½. Neither the "
        "query heads nor `d_model` are in the formula.",
        mistakes=(
            Mistake(
                4,
                "That counts the query heads, which leave nothing in the cache.",
            ),
            Mistake(
                2,
                "That is for the layers alone. The key/value heads have changed too.",
            ),
            Mistake(
                larger.n_kv_heads / GPT2.n_kv_heads,
                "That is one layer beside one layer. There are twice as many of them now.",
            ),
            Mistake(
                1,
                "The layers and the key/value heads give ½. `d_model` does not count: a key has "
                "`head_dim` numbers.",
            ),
            Mistake(
                8,
                "So the weights would grow. A cache holds rows of keys and values.",
            ),
        ),
    )


ALL = (_gpt2_bytes(), _users(), _fit(), _larger())
