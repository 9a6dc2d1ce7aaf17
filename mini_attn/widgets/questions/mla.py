"""The predictions of the chapter on latent attention."""

from __future__ import annotations

from math import isqrt, sqrt

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

V2, V3, DENSE = MODELS["deepseek-v2"], MODELS["deepseek-v3"], MODELS["deepseek-67b"]
HEADS, RANK = V3.n_heads, V3.kv_lora_rank
NOPE, ROPE, V_DIM = V3.qk_nope_head_dim, V3.qk_rope_head_dim, V3.v_head_dim or V3.head_dim
LATENT = f"`kv_lora_rank` = {RANK} and `qk_rope_head_dim` = {ROPE}"


def _numbers() -> Question:
    each = cost.cache_bytes_per_token(V3, dtype_bytes=1) // V3.n_layers
    heads = HEADS * (NOPE + V_DIM)
    return Question(
        key="mla/numbers",
        text=f"DeepSeek-V3 has {HEADS} heads, {LATENT}. A head's key has {NOPE} + {ROPE} numbers, "
        f"its value {V_DIM}. How many numbers does one token leave in the cache of one layer?",
        answer=each,
        unit="numbers",
        kind="sum",
        explanation=f"The latent and the rotated key, each once for all {HEADS} heads: "
        f"{RANK} + {ROPE} = {each}.",
        mistakes=(
            Mistake(
                RANK,
                f"That is the latent alone. The rotated key of {ROPE} is cached beside it, or no "
                "score would depend on the position of a token.",
            ),
            Mistake(
                2 * RANK,
                "One latent serves for keys and for values: it is not kept twice. And there is "
                "the rotated key.",
            ),
            Mistake(
                2 * each,
                "There is no factor 2: keys and values are made of the same latent, and the "
                "rotated part belongs to keys only.",
            ),
            Mistake(
                RANK + HEADS * ROPE,
                f"The rotated key is one for all heads, not one for each of the {HEADS}.",
            ),
            Mistake(
                heads + HEADS * ROPE,
                "That is what the heads' own keys and values would take. They are made of the "
                "latent when they are needed, and not kept.",
            ),
            Mistake(
                heads,
                "That is what multi-head attention would keep, without the rotated part. Here one "
                "latent stands for all heads.",
            ),
            Mistake(
                2 * each * V3.n_layers,
                f"Those are bytes of all {V3.n_layers} layers at 2 bytes a number.",
            ),
            Mistake(2 * NOPE, "That is one head's key and value; the cache holds none of them."),
        ),
    )


def _groups() -> Question:
    each = RANK + ROPE
    one = 2 * NOPE
    return Question(
        key="mla/groups",
        text=f"One key/value head of 128 in grouped-query attention leaves {one} numbers a token. "
        f"To how many such heads does a latent cache with {LATENT} correspond?",
        answer=each / one,
        unit="heads",
        kind="quotient",
        tolerance=0.005,
        explanation=f"({RANK} + {ROPE}) / (2 × {NOPE}) = {each / one}: it takes the room of a bit "
        f"more than two key/value heads, and serves {HEADS}.",
        mistakes=(
            Mistake(each / NOPE, "A key/value head has a key and a value: 2 × 128 numbers."),
            Mistake(RANK / one, f"The rotated key of {ROPE} is missing."),
            Mistake(RANK / NOPE, "The rotated key is missing, and a head has a key and a value."),
            Mistake(
                HEADS,
                "That many heads read it. The question is how many would take as much room.",
            ),
            Mistake(one / each, "The ratio is upside down."),
        ),
    )


def _reduction() -> Question:
    old, new = (cost.cache_bytes_per_token(model, dtype_bytes=2) for model in (DENSE, V2))
    less = 100 * (1 - new / old)
    rank_only = V2.n_layers * RANK * 2
    mha = 2 * DENSE.n_heads * DENSE.head_dim * DENSE.n_layers * 2
    six_bits = new * 6 // 16
    return Question(
        key="mla/reduction",
        text=f"DeepSeek-67B has {DENSE.n_layers} layers with {DENSE.n_kv_heads} key/value heads "
        f"of {DENSE.head_dim}; DeepSeek-V2 has {V2.n_layers} layers with {LATENT}. Both caches "
        "hold 2 bytes a number. By how many percent is a token's cache smaller?",
        answer=less,
        unit="percent",
        kind="share",
        tolerance=0.005,
        explanation=f"{old:,} bytes a token against {new:,}: {less:.1f} % less.",
        mistakes=(
            Mistake(
                100 * (1 - six_bits / old),
                "That is the published figure. It compares 16 bits a number with 6: here both "
                "have 16.",
            ),
            Mistake(
                100 * (1 - new / mha),
                f"That counts {DENSE.n_heads} heads. DeepSeek-67B groups its queries and keeps "
                f"{DENSE.n_kv_heads} key/value heads.",
            ),
            Mistake(
                100 * (1 - rank_only / old),
                f"The rotated key of {ROPE} is cached too.",
            ),
            Mistake(
                100 * (1 - 2 * new / old),
                "Either the latent is counted twice, though keys and values share it, or the "
                "factor 2 of keys and values is missing in the older model.",
            ),
            Mistake(
                100 * (1 - (new / V2.n_layers) / (old / DENSE.n_layers)),
                "That compares one layer with one layer. The models have different numbers of "
                "layers, and a token leaves something in each.",
            ),
            Mistake(100 * new / old, "That is what is left, in percent of the older cache."),
            Mistake(old / new, "That is how many times smaller it is, not by how many percent."),
        ),
    )


def _scale() -> Question:
    right = sqrt(NOPE + ROPE)
    return Question(
        key="mla/scale",
        text=f"A head's query and key have {NOPE} + {ROPE} numbers. Absorbed, the query is taken "
        f"to the latent and meets it there: {RANK} + {ROPE} numbers. By what are the scores "
        "divided in the absorbed form, leaving YaRN aside?",
        answer=right,
        unit="as divisor",
        kind="formula",
        tolerance=0.005,
        explanation=f"√({NOPE} + {ROPE}) = √{NOPE + ROPE} = {right:.2f}, in both forms: the score "
        "is the same number, computed by another route.",
        mistakes=(
            Mistake(
                isqrt(RANK + ROPE),
                f"That is √({RANK} + {ROPE}), the size of what is multiplied. The score is the "
                "same number as before, so its scale is the same too.",
            ),
            Mistake(sqrt(RANK), f"That is √{RANK}. The latent's size does not enter."),
            Mistake(
                sqrt(NOPE),
                f"That is √{NOPE}: the rotated part of {ROPE} adds its terms to the same score.",
            ),
            Mistake(NOPE + ROPE, "It is the square root of that."),
            Mistake(1 / right, "That is the factor. Dividing takes its inverse."),
            Mistake(
                sqrt(V3.d_model),
                "That is the root of the model's width, which never enters.",
            ),
        ),
    )


def _crossover() -> Question:
    made, wider = RANK * (NOPE + V_DIM), 2 * RANK - NOPE - V_DIM
    context = 100_000
    fewest = cost.latent_crossover(V3, kv_len=context)
    assert fewest is not None
    return Question(
        key="mla/crossover",
        text=f"A long text of {context:,} tokens stands in the cache, new tokens included. From "
        "how many new tokens in one pass on has the expanded form no more FLOPs than the "
        f"absorbed? Per head: making keys and values of a latent takes {RANK} × ({NOPE} + "
        f"{V_DIM}) multiplications; a pair costs {NOPE} + {V_DIM} expanded and 2 × {RANK} "
        "absorbed, the rotated part aside.",
        answer=fewest,
        unit="new tokens",
        kind="crossover",
        explanation=f"Expanding costs {made:,} more for each old token, once; absorbing costs "
        f"{wider} more for each pair. {made:,} / {wider} = {made / wider:.1f}: from {fewest} new "
        "tokens on, a token in the cache is met often enough to pay for its expansion.",
        mistakes=(
            Mistake(
                fewest - 1,
                f"Round up: {fewest - 1} × {wider} is still below {made:,}, so the absorbed form "
                "has fewer.",
            ),
            Mistake(made / wider, "That is the right ratio. Tokens come whole: round up."),
            Mistake(
                made / (2 * RANK),
                f"The expanded form has pairs to multiply as well: a pair costs only {wider} more "
                "in the absorbed form.",
            ),
            Mistake(
                RANK * NOPE / (RANK - NOPE) + RANK * V_DIM / (RANK - V_DIM),
                "Keys and values are expanded together and paid together: add both savings "
                "before dividing.",
            ),
            Mistake(
                RANK,
                "Not the rank itself: compare what an expansion costs with what a pair saves.",
            ),
            Mistake(1, "With one new token absorbing is far cheaper: nothing old is expanded."),
            Mistake(
                context,
                "A whole prompt expands, but a part of it already pays: each old token is "
                "expanded once and met by all new ones.",
            ),
        ),
    )


def _merged() -> Question:
    rank_q = V3.q_lora_rank
    two, one = rank_q * NOPE + NOPE * RANK, rank_q * RANK
    return Question(
        key="mla/merged",
        text=f"One head: W_UQ takes {rank_q} numbers to {NOPE}, W_UK takes {NOPE} to {RANK}. "
        f"Multiplied together beforehand they are one matrix, {rank_q} to {RANK}. How many times "
        "as many weights does it have as the two?",
        answer=one / two,
        unit="times",
        kind="ratio",
        tolerance=0.005,
        explanation=f"{rank_q} × {RANK} = {one:,} instead of {rank_q} × {NOPE} + {NOPE} × {RANK} "
        f"= {two:,}. The product still has rank {NOPE}, but no longer the shape that shows it.",
        mistakes=(
            Mistake(two / one, "The ratio is upside down: the merged matrix is the larger."),
            Mistake(
                one / (rank_q * NOPE),
                "The second matrix counts too: both are there before they are merged.",
            ),
            Mistake(
                one / (NOPE * RANK),
                "That leaves out W_UQ. Both matrices are there before they are merged.",
            ),
            Mistake(
                (V3.d_model * RANK) / (V3.d_model * NOPE + NOPE * RANK),
                f"That starts at `d_model`. The queries come from their own latent, of {rank_q}.",
            ),
            Mistake(
                1,
                "As if merging were free: two thin matrices have fewer weights than the wide "
                "one that is their product.",
            ),
        ),
    )


ALL = (_numbers(), _groups(), _reduction(), _scale(), _crossover(), _merged())
