"""The predictions of the chapter on many heads that count scores, weights and FLOPs."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.config import AttentionConfig
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GPT2 = MODELS["gpt2"]
HEADS, SIZE, WIDTH = GPT2.n_heads, GPT2.head_dim, GPT2.d_model
TOKENS = 1000


def _scores() -> Question:
    pairs = TOKENS * TOKENS
    return Question(
        key="multihead/scores",
        text=f"A layer with {HEADS} heads of {SIZE} runs over {TOKENS:,} tokens and writes down "
        "the whole score matrix of every head. How many scores does it store?",
        answer=HEADS * pairs,
        unit="scores",
        kind="product",
        tolerance=0.005,
        explanation=f"Each head has its own square of {TOKENS:,} × {TOKENS:,} scores, and "
        f"{HEADS} × {pairs:,} = {HEADS * pairs:,}.",
        mistakes=(
            Mistake(pairs, f"That is one head. Each of the {HEADS} heads has a square of its own."),
            Mistake(
                HEADS * TOKENS,
                "That is one query row per head. Every token of the pass asks.",
            ),
            Mistake(
                HEADS * pairs * SIZE,
                f"`head_dim` = {SIZE} is summed over in the dot product: a score is one number.",
            ),
            Mistake(
                HEADS * cost.visible_pairs(TOKENS, TOKENS),
                "That is the causal half. The question is about the whole square, as a plain "
                "product q kᵀ writes it.",
            ),
            Mistake(
                2 * HEADS * pairs,
                "That is twice as many: the scores, or the weights that the softmax makes of "
                "them, are one array each. The question is about the scores.",
            ),
            Mistake(
                HEADS * pairs * GPT2.n_layers,
                f"That is all {GPT2.n_layers} layers of GPT-2. The question is about one.",
            ),
        ),
    )


def _weights() -> Question:
    d_model, n_heads = 512, 16
    size = d_model // n_heads
    config = AttentionConfig(d_model, n_heads, size)
    total = 4 * config.d_model * config.n_heads * config.head_dim
    return Question(
        key="multihead/weights",
        text=f"The first transformer had `d_model` = {d_model} and 8 heads of {d_model // 8}. Now "
        f"split the same width into {n_heads} heads of {size}. How many numbers do W_q, W_k, W_v "
        "and W_o hold together (no biases)?",
        answer=total,
        unit="numbers",
        kind="product",
        tolerance=0.005,
        explanation=f"Each matrix is `d_model` × (`n_heads` · `head_dim`) = {d_model} × {d_model}, "
        f"however it is split, and 4 × {d_model} × {d_model} = {total:,}.",
        mistakes=(
            Mistake(
                2 * total,
                "That is twice too many: more heads do not add columns when each has fewer of "
                f"them. {n_heads} × {size} is {d_model} again.",
            ),
            Mistake(
                n_heads * total,
                f"That gives each head matrices of the full width. A head's part of W_q has "
                f"{size} columns, not {d_model}.",
            ),
            Mistake(
                3 * total // 4,
                "One matrix is missing: after the heads comes W_o, as large as the others.",
            ),
            Mistake(
                total // n_heads,
                f"That is one head. There are {n_heads} of them.",
            ),
            Mistake(
                total // 4,
                "That is one matrix. There are four of this size.",
            ),
            Mistake(
                total // 2,
                "That halves the width. Heads are half as wide, and there are twice as many.",
            ),
        ),
    )


def _score_flops() -> Question:
    flops = cost.attention_flops(TOKENS, TOKENS, n_heads=HEADS, head_dim=SIZE)["scores"]
    return Question(
        key="multihead/score-flops",
        text=f"{HEADS} heads of {SIZE}, {TOKENS:,} tokens, the full square. How many FLOPs are "
        "the scores q kᵀ of all heads (a multiply-add is 2)?",
        answer=flops,
        unit="FLOPs",
        kind="product",
        tolerance=0.005,
        explanation=f"2 × {TOKENS:,} × {TOKENS:,} × {SIZE} for a head, {HEADS} of them: "
        f"{flops:,}. With one head of {WIDTH} the product is the same.",
        mistakes=(
            Mistake(
                flops // 2,
                "Those are multiply-adds. Each counts as 2 FLOPs.",
            ),
            Mistake(
                HEADS * flops,
                f"That gives every head the full width {WIDTH}. A head's queries have {SIZE} "
                "numbers.",
            ),
            Mistake(
                flops // HEADS,
                f"That is one head. There are {HEADS}.",
            ),
            Mistake(
                2 * flops,
                "That includes the weighted sum, which costs as much again. The question is "
                "about the scores.",
            ),
            Mistake(
                HEADS * TOKENS * TOKENS,
                f"That is how many scores there are. Each is a sum of {SIZE} products.",
            ),
            Mistake(
                2 * TOKENS * TOKENS * WIDTH * WIDTH,
                f"The width is counted twice. A score sums over `head_dim` = {SIZE} once, and "
                f"{HEADS} × {SIZE} = {WIDTH}.",
            ),
        ),
    )


ALL = (_scores(), _weights(), _score_flops())
