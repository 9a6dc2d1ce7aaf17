"""The predictions of the chapter on KV caching that ask for bytes, or for what fits."""

from __future__ import annotations

from dataclasses import replace

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GPT2, LLAMA = MODELS["gpt2"], MODELS["llama-3-8b"]
LAYERS, HEADS, KV_HEADS = LLAMA.n_layers, LLAMA.n_heads, LLAMA.n_kv_heads


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


def _llama_token_bytes() -> Question:
    size = LLAMA.head_dim
    each = cost.cache_bytes_per_token(LLAMA, dtype_bytes=2)
    return Question(
        key="kv-cache/llama-token-bytes",
        text=f"Llama-3-8B has {LAYERS} layers, {HEADS} query heads and {KV_HEADS} key/value heads "
        f"of {size}. How many bytes does one token take in its cache, in bfloat16?",
        answer=each,
        unit="bytes",
        kind="product",
        tolerance=0.005,
        explanation=f"2 (keys and values) × {LAYERS} layers × {KV_HEADS} key/value heads × {size} "
        f"× 2 bytes = {each:,} bytes; the {HEADS} query heads leave nothing in the cache.",
        mistakes=(
            Mistake(
                cost.cache_bytes_per_token(replace(LLAMA, n_kv_heads=HEADS), dtype_bytes=2),
                f"That counts the {HEADS} query heads. Only the {KV_HEADS} key/value heads leave "
                f"something in the cache; {HEADS // KV_HEADS} query heads read each of them.",
            ),
            Mistake(
                each // 2,
                "Half of it is missing. Either the factor 2, because keys and values are both "
                "kept, or one of the 2 bytes of a bfloat16.",
            ),
            Mistake(
                cost.cache_bytes_per_token(LLAMA, dtype_bytes=4),
                "A factor 2 too many. A bfloat16 takes 2 bytes; 4 would be a float32.",
            ),
            Mistake(
                each // LAYERS,
                f"That is one layer. Each of the {LAYERS} layers keeps keys and values of its own.",
            ),
            Mistake(
                cost.cache_bytes_per_token(replace(LLAMA, n_kv_heads=1), dtype_bytes=2),
                f"That is one key/value head. There are {KV_HEADS} of them in each layer.",
            ),
            Mistake(8 * each, "That is the number of bits. A byte has 8 of them."),
            Mistake(
                each * 1000 / 1024,
                "The size is right in KiB, which are 1,024 bytes. A kB is 1,000 bytes.",
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


def _third() -> Question:
    heads, kv_heads, context, each = GPT2.n_heads, 4, 100, 4

    def layer(n_kv_heads: int) -> int:
        model = replace(GPT2, n_layers=1, n_kv_heads=n_kv_heads, attention="gqa")
        return cost.cache_bytes(model, batch=1, context=context, dtype_bytes=each)

    shared = layer(kv_heads)
    return Question(
        key="kv-cache/third",
        text=f"One layer of GPT-2 with its {heads} heads keeps {layer(heads):,} bytes for "
        f"{context} tokens in float32. Now let its {heads} query heads share {kv_heads} "
        "key/value heads. How many bytes does the layer keep?",
        answer=shared,
        unit="bytes",
        kind="product",
        tolerance=0.005,
        explanation=f"The cache holds key/value heads, and {kv_heads} of {heads} are left: "
        f"2 × {kv_heads} × {GPT2.head_dim} × {each} bytes × {context} tokens = {shared:,} bytes, "
        "a third.",
        mistakes=(
            Mistake(
                layer(heads),
                f"That is as before. The {heads} query heads stay, but they leave nothing in the "
                f"cache; the {kv_heads} key/value heads do.",
            ),
            Mistake(
                layer(heads // kv_heads),
                f"That divides by {kv_heads}, as if {kv_heads} query heads shared each key/value "
                f"head. There are {kv_heads} key/value heads, each read by {heads // kv_heads} "
                "query heads.",
            ),
            Mistake(
                layer(1),
                f"That is multi-query attention: a single key/value head for all. Here there are "
                f"{kv_heads}.",
            ),
            Mistake(
                shared // 2,
                "Half of it is missing. Sharing heads changes neither that keys and values are "
                f"both kept, nor the {each} bytes of a float32.",
            ),
            Mistake(
                GPT2.n_layers * shared,
                f"That is all {GPT2.n_layers} layers. The question is about one.",
            ),
            Mistake(8 * shared, "That is the number of bits. A byte has 8 of them."),
        ),
    )


ALL = (_gpt2_bytes(), _llama_token_bytes(), _fit(), _third())
