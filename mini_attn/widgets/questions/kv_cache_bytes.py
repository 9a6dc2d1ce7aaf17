"""The predictions of the chapter on KV caching that ask for bytes, or for what fits."""

from __future__ import annotations

from dataclasses import replace

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]

GPT2, LLAMA = MODELS["gpt2"], MODELS["llama-3-8b"]
HEADS, KV_HEADS = LLAMA.n_heads, LLAMA.n_kv_heads


def _gpt2_bytes(context: int = 100, each: int = 4) -> Question:
    layers, heads, size = GPT2.n_layers, GPT2.n_kv_heads, GPT2.head_dim
    total = cost.cache_bytes(GPT2, batch=1, context=context, dtype_bytes=each)
    return Question(
        key="kv-cache/gpt2-bytes",
        text=f"GPT-2 has {layers} layers with {heads} key/value heads of dimension {size}. How "
        f"many bytes does its cache take for one sequence of {context} tokens in float32?",
        answer=total,
        unit="bytes",
        kind="product",
        tolerance=0.005,
        explanation=f"2 (keys and values) × {layers} layers × {heads} heads × {size} × {each} "
        f"bytes × {context} tokens = {total:,} bytes, or {total / 1e6:.2f} MB.",
        mistakes=(
            Mistake(
                total // 2,
                "Half of it is missing. You've left out the factor 2 for keys and values, or taken "
                "2 bytes for a float32, which has 4.",
            ),
            Mistake(
                total // layers,
                f"That's one layer. Each of the {layers} layers keeps its own keys and values.",
            ),
            Mistake(
                total // layers // 2,
                f"That's the keys of one layer. The cache keeps values too, in {layers} layers.",
            ),
            Mistake(8 * total, "That's the number of bits. A byte has 8 of them."),
            Mistake(
                total // each,
                f"That's how many values the cache keeps. In float32, each takes {each} bytes.",
            ),
            Mistake(
                total // context,
                f"That's one token. The cache keeps all {context}.",
            ),
            Mistake(
                heads * total,
                f"You've counted the heads twice: `d_model` = {heads * size} is already "
                f"{heads} heads × {size}.",
            ),
            Mistake(
                total * 10**6 / 2**20,
                "That's right in MiB, which are 2^20 bytes. An MB is 10^6 bytes.",
            ),
        ),
    )


def _users(sequences: int = 16, context: int = 8192, times: int = 4) -> Question:
    weights = 2 * cost.parameter_count(LLAMA)
    cache = cost.cache_bytes(LLAMA, batch=sequences, context=context)
    later = cost.cache_bytes(LLAMA, batch=times * sequences, context=context // 2)
    total = weights + later
    return Question(
        key="kv-cache/users",
        text=f"Llama-3-8B answers {sequences} readers in bfloat16. With {context:,} tokens each, "
        f"it takes {(weights + cache) / 1e9:.2f} GB: {weights / 1e9:.2f} GB of weights and "
        f"{cache / 1e9:.2f} GB of caches. Now {times} times as many readers come, each with half "
        "as many tokens. How many bytes does it take?",
        answer=total,
        unit="bytes",
        kind="sum",
        tolerance=0.005,
        explanation=f"The weights are stored once. The caches grow with readers × tokens, which is "
        f"{times} × ½ = {times // 2} times as much: {weights / 1e9:.2f} + {times // 2} × "
        f"{cache / 1e9:.2f} = {total / 1e9:.2f} GB.",
        mistakes=(
            Mistake(
                2 * (weights + cache),
                "You've doubled the weights too. They're the same for everyone and stored once. "
                "Only the caches belong to the readers.",
            ),
            Mistake(
                times * weights + later,
                "The caches are right. But all readers use the same weights, so count them once.",
            ),
            Mistake(
                weights + times * cache,
                "You've left out that each sequence is half as long. A cache grows with its "
                "tokens.",
            ),
            Mistake(
                weights + cache // 2,
                "You've left out that there are more readers. Each of them has a cache.",
            ),
            Mistake(
                weights + cache,
                f"That's what it took before. {times} times as many readers with half the tokens "
                f"each are {times // 2} times as many tokens in all.",
            ),
            Mistake(later, "That's the caches alone. The weights take memory too."),
            Mistake(
                times * (weights + cache),
                "You've multiplied everything by the readers. But the weights are stored once, and "
                "the sequences are shorter now.",
            ),
        ),
    )


def _novel(context: int = 100_000, each: int = 2, letters: int = 4) -> Question:
    layers, size = LLAMA.n_layers, LLAMA.head_dim
    total = cost.cache_bytes(LLAMA, batch=1, context=context, dtype_bytes=each)
    text, weights = letters * context, each * cost.parameter_count(LLAMA)
    all_heads = cost.cache_bytes(replace(LLAMA, n_kv_heads=HEADS), batch=1, context=context)
    return Question(
        key="kv-cache/novel",
        text=f"As a text file, a novel of {context:,} tokens has about {text / 1e6:.1f} MB. "
        f"Llama-3-8B reads it. The model has {layers} layers with {KV_HEADS} key/value heads of "
        f"dimension {size}, and stores its cache in bfloat16, {each} bytes per value. How many "
        "bytes does the cache of the novel take?",
        answer=total,
        unit="bytes",
        kind="product",
        tolerance=0.01,
        explanation=f"2 (keys and values) × {layers} layers × {KV_HEADS} heads × {size} × {each} "
        f"bytes = {total // context:,} bytes per token, so {total / 1e9:.1f} GB. That's "
        f"{total // text:,} times the text, and {total / weights:.0%} of the model's weights.",
        mistakes=(
            Mistake(text, "That's the text. The cache keeps a key and a value for each token."),
            Mistake(
                total // 2,
                "You've left out the factor 2. The cache keeps keys and values.",
            ),
            Mistake(
                all_heads,
                f"You've counted {HEADS} heads. The model has {HEADS} query heads, but the cache "
                f"only keeps the {KV_HEADS} key/value heads.",
            ),
            Mistake(
                total // layers,
                f"That's one layer. Each of the {layers} layers keeps its own keys and values.",
            ),
            Mistake(2 * total, f"That's float32. In bfloat16, a value takes {each} bytes."),
            Mistake(8 * total, "That's the number of bits. A byte has 8 of them."),
            Mistake(
                total // context,
                f"That's one token. The novel has {context:,} of them.",
            ),
            Mistake(
                total * 10**9 / 2**30,
                "That's right in GiB, which are 2^30 bytes. A GB is 10^9 bytes.",
            ),
        ),
    )


def _larger() -> Question:
    larger = replace(
        GPT2, n_layers=2 * GPT2.n_layers, d_model=2 * GPT2.d_model, n_heads=2 * GPT2.n_heads,
        n_kv_heads=GPT2.n_kv_heads // 4, d_ff=2 * GPT2.d_ff, attention="gqa",
    )  # fmt: skip
    times = cost.cache_bytes_per_token(larger) / cost.cache_bytes_per_token(GPT2)
    return Question(
        key="kv-cache/larger",
        text=f"GPT-2 has {GPT2.n_layers} layers with {GPT2.n_heads} heads, and each head has its "
        f"own keys and values. A larger model has {larger.n_layers} layers, twice the `d_model`, "
        f"and {larger.n_heads} query heads of the same dimension that share {larger.n_kv_heads} "
        "key/value heads. How many times as large as GPT-2's is its cache for the same tokens?",
        answer=times,
        unit="times",
        kind="ratio",
        explanation=f"Twice the layers, each with {larger.n_kv_heads} key/value heads instead of "
        f"{GPT2.n_kv_heads}: 2 × {larger.n_kv_heads} / {GPT2.n_kv_heads} = ½. Neither the query "
        "heads nor `d_model` are in the formula.",
        mistakes=(
            Mistake(
                4,
                "You've counted the query heads. They leave nothing in the cache.",
            ),
            Mistake(
                2,
                "You've counted the layers. The key/value heads have changed too.",
            ),
            Mistake(
                larger.n_kv_heads / GPT2.n_kv_heads,
                "You've compared one layer with one layer. There are twice as many now.",
            ),
            Mistake(
                1,
                "You've let `d_model` count. It doesn't: a key has `head_dim` values, whatever the "
                "width of the model.",
            ),
            Mistake(
                8,
                "That's how the weights grow. A cache holds keys and values only.",
            ),
        ),
    )


ALL = (_gpt2_bytes(), _users(), _novel(), _larger())
AGAIN = (
    _gpt2_bytes(250),
    _gpt2_bytes(60),
    _gpt2_bytes(500),
    _users(8, 4096),
    _users(32, 2048),
    _users(4, 4096),
    _novel(50000),
    _novel(150000),
    _novel(80000),
)
