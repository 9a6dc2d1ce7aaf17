"""The predictions of the chapter on what attention costs: memory, and another order."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]

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
        f"sequences of {n:,} tokens. Standard attention keeps the softmax's weights of every "
        "layer for the backward pass, in float16 and with the zeros of the causal mask. How many "
        "bytes is that?",
        answer=kept,
        unit="bytes",
        kind="product",
        tolerance=0.005,
        explanation=f"{batch} × {HEADS} × {n:,} × {n:,} weights in each of {LAYERS} layers, "
        f"{width} bytes each: {kept:,}.",
        mistakes=(
            Mistake(
                kept // LAYERS,
                f"That's one layer, or one head. Each of the {LAYERS} layers has {HEADS} "
                "heads, and "
                "training keeps the weights of all.",
            ),
            Mistake(kept // batch, "That's one sequence. The batch has eight."),
            Mistake(
                kept // width,
                "That's half. If you counted the weights: each takes 2 bytes. If you halved the "
                "matrix for the causal mask: standard attention keeps all of it.",
            ),
            Mistake(kept * 2, "That's float32. A float16 value takes 2 bytes."),
            Mistake(kept * 8, "Those are bits."),
        ),
    )


def _other_order(n: int = 16_384) -> Question:
    pair_work = sum(cost.attention_flops(n, n, n_heads=1, head_dim=SIZE).values())
    state = 2 * 2 * n * SIZE * SIZE
    return Question(
        key="attention-cost/order",
        text=f"Without a softmax, out = (q kᵀ) v may be computed as q (kᵀ v). One head of {SIZE}, "
        f"{n:,} tokens, the full square: how many times fewer FLOPs does the second order take?",
        answer=pair_work // state,
        unit="times",
        kind="ratio",
        explanation=f"First order: 2 × 2 × n² × {SIZE}. Second: kᵀ v and its product with q, "
        f"2 × 2 × n × {SIZE}². The ratio is n / {SIZE} = {pair_work // state}.",
        mistakes=(
            Mistake(
                n, f"That's n. The second order still has two products, with {SIZE} terms in each."
            ),
            Mistake(SIZE, f"The ratio is n over {SIZE}, not {SIZE} itself."),
            Mistake(n / (2 * SIZE), "Both orders have two products, so the factors of 2 cancel."),
            Mistake((n / SIZE) ** 2, "The ratio is linear in n: it's n² against n."),
            Mistake(2 * n / SIZE, "Both orders have two products. Count both of the second."),
        ),
    )


ALL = (_training(), _other_order())
AGAIN = (
    _other_order(32768),
    _other_order(65536),
    _other_order(24576),
)
