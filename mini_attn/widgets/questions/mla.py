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
        text=f"DeepSeek-V3 has {HEADS} heads, {LATENT}. A head's key has {NOPE} + {ROPE} values, "
        f"its value vector {V_DIM}. How many values does one token leave in the cache of one "
        "layer?",
        answer=each,
        unit="values",
        kind="sum",
        explanation=f"The latent and the rotated key, each once for all {HEADS} heads: "
        f"{RANK} + {ROPE} = {each}.",
        mistakes=(
            Mistake(
                RANK,
                f"That's the latent alone. The rotated key of {ROPE} is cached too, or no score "
                "would depend on the position of a token.",
            ),
            Mistake(
                2 * RANK,
                "You kept the latent twice, but one serves for keys and for values. And there's "
                "the rotated key.",
            ),
            Mistake(
                2 * each,
                "You doubled it. Keys and values are made from the same latent, and the rotated "
                "part belongs to keys only.",
            ),
            Mistake(
                RANK + HEADS * ROPE,
                f"You counted a rotated key for each of the {HEADS} heads. There's one for all.",
            ),
            Mistake(
                heads + HEADS * ROPE,
                "That's what the heads' own keys and values would take. They're made from the "
                "latent when they're needed, and not kept.",
            ),
            Mistake(
                heads,
                "That's what multi-head attention would keep, without the rotated part. Here, one "
                "latent replaces the keys and values of all heads.",
            ),
            Mistake(
                2 * each * V3.n_layers,
                f"Those are the bytes of all {V3.n_layers} layers at 2 bytes per value.",
            ),
            Mistake(2 * NOPE, "That's one head's key and value. The cache holds neither."),
        ),
    )


def _devices() -> Question:
    each, devices = RANK + ROPE, 8
    return Question(
        key="mla/devices",
        text=f"A layer of DeepSeek-V3 is split over {devices} devices by its heads: each computes "
        f"{HEADS // devices} of the {HEADS} heads, for all tokens. A token's cache has {LATENT}. "
        "How many of these values does one device keep?",
        answer=each,
        unit="values",
        kind="count",
        explanation=f"All {each}. Each head makes its keys and values from the whole latent, and "
        "the rotated key belongs to all heads. Splitting by heads saves no cache here.",
        mistakes=(
            Mistake(
                each // devices,
                f"You split the cache by {devices}. Which part of the latent could a head do "
                "without?",
            ),
            Mistake(
                RANK // devices + ROPE,
                "You split the latent. Every head makes its keys and values from all of it.",
            ),
            Mistake(
                RANK + ROPE // devices,
                "You split the rotated key. It's one key for all heads.",
            ),
            Mistake(RANK, f"That's the latent. The rotated key of {ROPE} is there too."),
            Mistake(
                HEADS // devices * (NOPE + ROPE + V_DIM),
                "Those are the keys and values of the device's heads. They're made from the "
                "latent, and not kept.",
            ),
            Mistake(
                devices * each,
                "That's what all devices keep together. How much is it for one?",
            ),
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
        "hold 2 bytes per value. By how many percent is a token's cache smaller?",
        answer=less,
        unit="percent",
        kind="share",
        tolerance=0.005,
        explanation=f"{old:,} bytes per token against {new:,}: {less:.1f}% less.",
        mistakes=(
            Mistake(
                100 * (1 - six_bits / old),
                "That's the published figure. It compares 16 bits per value with 6; here both have "
                "16.",
            ),
            Mistake(
                100 * (1 - new / mha),
                f"You counted {DENSE.n_heads} heads. DeepSeek-67B groups its queries and keeps "
                f"{DENSE.n_kv_heads} key/value heads.",
            ),
            Mistake(
                100 * (1 - rank_only / old),
                f"You left out the rotated key of {ROPE}, which is cached too.",
            ),
            Mistake(
                100 * (1 - 2 * new / old),
                "Either you counted the latent twice, although keys and values share it, or you "
                "left out the older model's factor 2 for keys and values.",
            ),
            Mistake(
                100 * (1 - (new / V2.n_layers) / (old / DENSE.n_layers)),
                "You compared one layer with one layer. The models have different numbers of "
                "layers, and a token leaves something in each.",
            ),
            Mistake(100 * new / old, "That's what's left, in percent of the older cache."),
            Mistake(old / new, "That's how many times smaller it is, not by how many percent."),
        ),
    )


def _scale() -> Question:
    right = sqrt(NOPE + ROPE)
    return Question(
        key="mla/scale",
        text=f"In DeepSeek-V3, a head's query and key have {NOPE} + {ROPE} dimensions. Absorbed, "
        f"the query meets the latents themselves, in {RANK} + {ROPE} dimensions. By what do you "
        "divide the scores in the absorbed form (YaRN aside)?",
        answer=right,
        unit="as divisor",
        kind="formula",
        tolerance=0.005,
        explanation=f"√({NOPE} + {ROPE}) = √{NOPE + ROPE} = {right:.2f}, in both forms. The score "
        "is the same number, computed in another order.",
        mistakes=(
            Mistake(
                isqrt(RANK + ROPE),
                f"You took √({RANK} + {ROPE}), the size of the vectors you multiply. The score is "
                "the same number as before, so its scale is the same too.",
            ),
            Mistake(sqrt(RANK), f"You took √{RANK}. The latent's size doesn't enter."),
            Mistake(
                sqrt(NOPE),
                f"You took √{NOPE}, but the RoPE part of {ROPE} adds its terms to the same score.",
            ),
            Mistake(NOPE + ROPE, "Take its square root."),
            Mistake(1 / right, "That's the factor you multiply by. You divide by its inverse."),
            Mistake(
                sqrt(V3.d_model),
                "That's the root of the model's width, which never enters.",
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
        text=f"The cache holds {context:,} tokens, including the new ones. How many new tokens "
        "does one forward pass need before the expanded form takes no more FLOPs than the absorbed "
        f"one? Per head, making a key and a value from a latent takes {RANK} × ({NOPE} + {V_DIM}) "
        f"multiplications; a pair costs {NOPE} + {V_DIM} expanded and 2 × {RANK} absorbed, RoPE "
        "part aside.",
        answer=fewest,
        unit="new tokens",
        kind="crossover",
        explanation=f"Expanding costs {made:,} more for each old token, once; absorbing costs "
        f"{wider} more for each pair. {made:,} / {wider} = {made / wider:.1f}, so from {fewest} "
        "new tokens, each cached token is used often enough to pay for its expansion.",
        mistakes=(
            Mistake(
                fewest - 1,
                f"Round up. {fewest - 1} × {wider} is still below {made:,}, so the absorbed form "
                "takes fewer.",
            ),
            Mistake(made / wider, "That's the right ratio, but tokens come whole: round up."),
            Mistake(
                made / (2 * RANK),
                f"The expanded form multiplies pairs too. A pair only costs {wider} more in the "
                "absorbed form.",
            ),
            Mistake(
                RANK * NOPE / (RANK - NOPE) + RANK * V_DIM / (RANK - V_DIM),
                "Keys and values are expanded together. Add both savings before you divide.",
            ),
            Mistake(
                RANK,
                "That's the rank itself. Compare the cost of an expansion with what a pair saves.",
            ),
            Mistake(1, "With one new token, absorbing is far cheaper. It expands nothing old."),
            Mistake(
                context,
                "A whole prompt expands, but fewer tokens already pay: each old token is expanded "
                "once and used by all new ones.",
            ),
        ),
    )


def _merged() -> Question:
    rank_q = V3.q_lora_rank
    two, one = rank_q * NOPE + NOPE * RANK, rank_q * RANK
    return Question(
        key="mla/merged",
        text=f"One head: W_UQ takes {rank_q} values to {NOPE}, W_UK takes {NOPE} to {RANK}. "
        f"Multiplied beforehand, they're one matrix, {rank_q} to {RANK}. How many times as many "
        "weights does it have as the two together?",
        answer=one / two,
        unit="times",
        kind="ratio",
        tolerance=0.005,
        explanation=f"{rank_q} × {RANK} = {one:,} instead of {rank_q} × {NOPE} + {NOPE} × {RANK} "
        f"= {two:,}. The product still has rank {NOPE}, but no longer the shape that shows it.",
        mistakes=(
            Mistake(two / one, "Your ratio is upside down: the merged matrix is the larger one."),
            Mistake(
                one / (rank_q * NOPE),
                "You left out W_UK. Both matrices are there before merging.",
            ),
            Mistake(
                one / (NOPE * RANK),
                "You left out W_UQ. Both matrices are there before merging.",
            ),
            Mistake(
                (V3.d_model * RANK) / (V3.d_model * NOPE + NOPE * RANK),
                f"You started at `d_model`. The queries come from their own latent, of {rank_q}.",
            ),
            Mistake(
                1,
                "That would make merging free. Two thin matrices have fewer weights than the wide "
                "one that's their product.",
            ),
        ),
    )


ALL = (_numbers(), _devices(), _reduction(), _scale(), _crossover(), _merged())
