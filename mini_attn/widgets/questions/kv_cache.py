"""The predictions of the chapter on KV caching."""

from __future__ import annotations

from dataclasses import replace

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GPT2, LLAMA = MODELS["gpt2"], MODELS["llama-3-8b"]
LAYERS, HEADS, KV_HEADS = LLAMA.n_layers, LLAMA.n_heads, LLAMA.n_kv_heads


def _passes() -> Question:
    n = 100
    without = cost.token_passes(1, n, cached=False)
    return Question(
        key="kv-cache/passes",
        text=f"A model writes {n} tokens from one start token, without a cache. Count 1 each time "
        "one token goes through the model: how many token passes does it make in all?",
        answer=without,
        unit="token passes",
        explanation=f"Step t runs all t tokens written so far, so the steps add up to "
        f"1 + 2 + … + {n} = {n} × {n + 1} / 2 = {without:,}.",
        mistakes=(
            Mistake(
                cost.token_passes(1, n, cached=True),
                "That is the count with a cache: one pass a step. Without one, each step runs "
                "every token before it again.",
            ),
            Mistake(
                n * n,
                f"That counts {n} tokens in every step, but the early steps are short: step 1 has "
                "one token to run, step 2 has two.",
            ),
            Mistake(
                cost.copied_rows(n),
                "That adds up what is computed again and leaves out what is new: every step also "
                "runs one token for the first time.",
            ),
            Mistake(
                n * n // 2,
                f"Half of {n} × {n} leaves out half of the diagonal. The sum 1 + 2 + … + {n} is "
                f"{n} × {n + 1} / 2.",
            ),
            Mistake(
                cost.token_passes(1, n + 1, cached=False),
                "That is one step too many: the last token is chosen, but nothing is chosen "
                "after it, so it never runs.",
            ),
        ),
    )


def _score_shape() -> Question:
    heads, size, t = GPT2.n_heads, GPT2.head_dim, 100
    pairs = cost.visible_pairs(1, t)
    return Question(
        key="kv-cache/score-shape",
        text=f"GPT-2 has {heads} heads of {size}. In a cached step the new token is number {t} of "
        "one sequence. How many scores does one layer compute in this step?",
        answer=heads * pairs,
        unit="scores",
        explanation=f"The scores have the shape (batch, heads, q_len, kv_len) = "
        f"(1, {heads}, 1, {t}): one query row per head, one score for each key, its own included.",
        mistakes=(
            Mistake(
                heads * t * t,
                f"That is the full square, {t} queries by {t} keys. With a cache there is one "
                "query row: the past queries are not needed again.",
            ),
            Mistake(
                heads * cost.visible_pairs(t, t),
                "That is the causal half of the square, which a pass over all tokens computes. "
                "The cached step computes the last row of it.",
            ),
            Mistake(
                heads * (t - 1),
                "The new token also attends to itself: its key is appended before the scores are "
                "computed.",
            ),
            Mistake(t, f"That is one head. Each of the {heads} heads has scores of its own."),
            Mistake(
                heads,
                "That is one score per head. The new query meets every key in the cache, which is "
                "why a cached step still grows with the text.",
            ),
            Mistake(
                heads * t * size,
                f"`head_dim` = {size} is the axis that the dot product sums over; it does not "
                "remain in the scores.",
            ),
        ),
    )


def _copies() -> Question:
    n = 1000
    copied = cost.copied_rows(n)
    return Question(
        key="kv-cache/copies",
        text=f"A cache grows to {n:,} rows of keys, one row a step, by "
        "`k = np.concatenate([k, new_row])`. How many old rows are copied over all steps?",
        answer=copied,
        unit="rows",
        explanation=f"The step that appends row t copies the t − 1 rows before it, and "
        f"0 + 1 + … + {n - 1} = {n:,} × {n - 1} / 2 = {copied:,}.",
        mistakes=(
            Mistake(
                cost.copied_rows(n + 1),
                "That counts the new row of each step too. It is written once in any case; the "
                "question is about the old rows.",
            ),
            Mistake(
                n * n,
                f"That copies {n:,} rows in every step, but the cache is short at first: its "
                "average length is half of that.",
            ),
            Mistake(
                n * n // 2,
                "Close: half of the square splits the diagonal. The step that appends row t copies "
                "t − 1 rows, not t − ½.",
            ),
            Mistake(
                n,
                "That would be one row a step, which is what a preallocated cache writes. "
                "`np.concatenate` makes a new array and copies everything into it.",
            ),
            Mistake(
                n - 1,
                "That is the last step alone. Every step before it copied its own past as well.",
            ),
            Mistake(
                2 * copied,
                "That is keys and values together. The question asks for the rows of the keys.",
            ),
        ),
    )


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

    def sequence(**changes: int) -> int:
        return cost.cache_bytes(replace(LLAMA, **changes), batch=1, context=context)

    one = sequence()
    fits = left // one
    return Question(
        key="kv-cache/fit",
        text=f"Llama-3-8B in bfloat16 runs on a device with {memory / 1e9:.0f} GB. Its weights take "
        f"{weights / 1e9:.2f} GB; the cache takes {cost.cache_bytes_per_token(LLAMA):,} bytes a "
        f"token. How many sequences of {context:,} tokens fit beside the weights?",
        answer=fits,
        unit="sequences",
        explanation=f"One sequence takes {context:,} × {one // context:,} = {one:,} bytes, and "
        f"({memory / 1e9:.0f} − {weights / 1e9:.2f}) GB / {one / 1e9:.3f} GB = {left / one:.1f}, "
        f"so {fits} fit whole.",
        mistakes=(
            Mistake(
                memory // one,
                f"That fills the whole device. The weights take {weights / 1e9:.2f} GB of it first.",
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
                left // sequence(n_kv_heads=HEADS),
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
        text=f"One layer of GPT-2 with its {heads} heads keeps {layer(heads):,} bytes for {context} "
        f"tokens in float32. Now let its {heads} query heads share {kv_heads} key/value heads. How "
        "many bytes does the layer keep?",
        answer=shared,
        unit="bytes",
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


ALL = (
    _passes(),
    _score_shape(),
    _copies(),
    _gpt2_bytes(),
    _llama_token_bytes(),
    _fit(),
    _third(),
)
