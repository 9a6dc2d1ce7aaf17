"""The predictions of the chapter on attention that count pairs and FLOPs."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GPT2 = MODELS["gpt2"]


def _visible() -> Question:
    n = 1000
    seen = cost.visible_pairs(n, n)
    return Question(
        key="attention/visible",
        text=f"{n:,} tokens, one head, a causal mask. How many of the {n:,} × {n:,} scores are "
        "left visible?",
        answer=seen,
        unit="scores",
        kind="sum",
        explanation=f"Query number i (from 1) sees i keys, its own included: "
        f"1 + 2 + … + {n:,} = {n:,} × {n + 1:,} / 2 = {seen:,}.",
        mistakes=(
            Mistake(
                n * n // 2,
                "Half of the square splits the diagonal in two, but every token sees itself whole.",
            ),
            Mistake(seen - n, "A token also sees itself: the diagonal is visible."),
            Mistake(2 * seen, f"{n:,} × {n + 1:,} counts every pair twice: the sum is half of it."),
            Mistake(n * n, "That is the whole square. Keys that come later are hidden."),
            Mistake(n, "That is the last query alone. Each earlier one has its own row."),
        ),
    )


def _work() -> Question:
    n, size = 1000, GPT2.head_dim
    flops = sum(cost.attention_flops(n, n, n_heads=1, head_dim=size).values())
    half = cost.attention_flops(n, n, n_heads=1, head_dim=size)["scores"]
    return Question(
        key="attention/flops",
        text=f"One head with `head_dim` = {size} works on {n:,} tokens and computes the full "
        "square. How many FLOPs do the scores and the weighted sum take together? A multiply-add "
        "is 2.",
        answer=flops,
        unit="FLOPs",
        kind="product",
        tolerance=0.005,
        explanation=f"{n:,} × {n:,} pairs, each with {size} multiply-adds for its score and {size} "
        f"for its part of the output: 2 × 2 × {size} × {n:,}² = {flops:,}.",
        mistakes=(
            Mistake(half, "That is one of the two products: the scores, or the weighted sum."),
            Mistake(
                half // 2, "Half again: a multiply-add is 2 FLOPs, and there are two products."
            ),
            Mistake(
                flops // n,
                f"That is one query. There are {n:,} of them, each with {n:,} keys.",
            ),
            Mistake(
                GPT2.n_heads * flops,
                f"That is all {GPT2.n_heads} heads of GPT-2. The question is about one.",
            ),
            Mistake(n * n, "That counts the scores. Each of them is a sum of `head_dim` products."),
        ),
    )


ALL = (_visible(), _work())
