"""The predictions of the chapter on what attention costs: memory, and another order."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GPT2 = MODELS["gpt2"]
HEADS, SIZE, LAYERS = GPT2.n_heads, GPT2.head_dim, GPT2.n_layers


def _training() -> Question:
    n, batch, width = 1000, 8, 2
    square = cost.activation_bytes(
        GPT2, q_len=n, kv_len=n, batch=batch, dtype_bytes=width, fused=False
    )["scores"]
    kept = square // 4  # written and read, scores and weights: the weights once
    return Question(
        key="attention-cost/training",
        text=f"A training step of GPT-2 ({LAYERS} layers, {HEADS} heads) has a batch of {batch} "
        f"texts of {n:,} tokens. The backward pass needs the weights after the softmax of every "
        f"layer, in float16. How many bytes is that, if they are kept?",
        answer=kept,
        unit="bytes",
        kind="product",
        tolerance=0.005,
        explanation=f"{batch} × {HEADS} × {n:,} × {n:,} weights in each of {LAYERS} layers, "
        f"{width} bytes each: {kept:,}.",
        mistakes=(
            Mistake(
                kept // LAYERS,
                f"That is one layer, or one head: each of the {LAYERS} layers has {HEADS} heads, "
                "and training keeps the weights of all.",
            ),
            Mistake(kept // batch, "That is one text; the batch has eight."),
            Mistake(kept // width, "That is the count of weights. A float16 number has 2 bytes."),
            Mistake(kept * 2, "That is float32. A float16 number has 2 bytes."),
            Mistake(kept * 8, "Those are bits."),
        ),
    )


def _tile() -> Question:
    n, block = 1000, 64
    held = HEADS * block * block
    return Question(
        key="attention-cost/tile",
        text=f"A layer with {HEADS} heads works on {n:,} tokens tile by tile, {block} queries and "
        f"{block} keys at a time in each head, and overwrites a tile's scores with the next. How "
        "many scores exist at one time?",
        answer=held,
        unit="scores",
        kind="product",
        tolerance=0.005,
        explanation=f"{HEADS} × {block} × {block} = {held:,}. The {HEADS * n * n:,} of the whole "
        "matrix are all computed, but never together.",
        mistakes=(
            Mistake(HEADS * n * n, "That is the whole matrix. It is computed, but not kept."),
            Mistake(block * block, "That is one head; all heads work at the same time."),
            Mistake(
                HEADS * n * block,
                f"That is {block} whole rows. A tile has {block} keys as well, not all {n:,}.",
            ),
            Mistake(HEADS * n, "That is the row of one query in each head. A tile is a block."),
            Mistake(HEADS * 2 * block, "A tile has a score for each pair: product, not sum."),
        ),
    )


def _other_order() -> Question:
    n = 16_384
    pair_work = sum(cost.attention_flops(n, n, n_heads=1, head_dim=SIZE).values())
    state = 2 * 2 * n * SIZE * SIZE
    return Question(
        key="attention-cost/order",
        text=f"Without a softmax, out = (q kᵀ) v may be computed as q (kᵀ v). One head of {SIZE}, "
        f"{n:,} tokens, the full square: how many times fewer FLOPs is the second order?",
        answer=pair_work // state,
        unit="times",
        kind="ratio",
        explanation=f"First order: 2 × 2 × n² × {SIZE}. Second: kᵀ v and its product with q, "
        f"2 × 2 × n × {SIZE}². The ratio is n / {SIZE} = {pair_work // state}.",
        mistakes=(
            Mistake(n, f"That is n: the second order still has products, with {SIZE} each."),
            Mistake(SIZE, f"The ratio is n over {SIZE}, not {SIZE} itself."),
            Mistake(n / (2 * SIZE), "Both orders have two products: the factors 2 cancel."),
            Mistake((n / SIZE) ** 2, "The ratio is linear in n: n² against n."),
            Mistake(2 * n / SIZE, "Both orders have two products: count both of the second."),
        ),
    )


ALL = (_training(), _tile(), _other_order())
