"""The predictions of the chapter on many heads about what heads cost."""

from __future__ import annotations

from math import sqrt

from mini_attn.config import AttentionConfig
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GPT2 = MODELS["gpt2"]
HEADS, SIZE, WIDTH = GPT2.n_heads, GPT2.head_dim, GPT2.d_model


def _numbers(config: AttentionConfig) -> int:
    """Return how many numbers the four matrices of a layer hold."""
    return 4 * config.d_model * config.n_heads * config.head_dim


def _weights() -> Question:
    d_model, few, many = 512, 8, 16
    before, after = (
        _numbers(AttentionConfig(d_model, n_heads, d_model // n_heads)) for n_heads in (few, many)
    )
    return Question(
        key="multihead/weights",
        text=f"The first transformer had `d_model` = {d_model} and {few} heads of dimension "
        f"{d_model // few}. Split the same width into {many} heads of dimension "
        f"{d_model // many}. How many times as many numbers do W_q, W_k, W_v and W_o hold "
        "together?",
        answer=after // before,
        unit="times",
        kind="ratio",
        tolerance=0.005,
        explanation=f"As many as before. Each matrix is `d_model` × (`n_heads` · `head_dim`) = "
        f"{d_model} × {d_model}, however you split it.",
        mistakes=(
            Mistake(
                many / few,
                "That counts the heads. Each of them now has half as many columns: "
                f"{many} × {d_model // many} is {d_model} again.",
            ),
            Mistake(
                few / many,
                "That counts the columns of one head. There are twice as many heads.",
            ),
            Mistake(
                (many / few) ** 2,
                "You doubled twice. There are twice as many heads, but each is half as wide.",
            ),
            Mistake(
                many,
                f"That gives each head matrices of the full width. A head's part of W_q has "
                f"{d_model // many} columns, not {d_model}.",
            ),
            Mistake(
                1.5,
                "You doubled only some of the matrices. Each of the four keeps its size.",
            ),
            Mistake(
                after,
                "That's how many numbers they hold. Compare it with the number before the split.",
            ),
        ),
    )


def _overtake() -> Question:
    numbers = _numbers(AttentionConfig(WIDTH, HEADS, SIZE))
    cross = sqrt(numbers / HEADS)
    return Question(
        key="multihead/overtake",
        text=f"An attention layer of GPT-2 (`d_model` = {WIDTH}, {HEADS} heads of dimension "
        f"{SIZE}) stores the whole score matrix of each head. From how many tokens on are there "
        "more scores than weights in W_q, W_k, W_v and W_o?",
        answer=round(cross),
        unit="tokens",
        kind="crossover",
        tolerance=0.01,
        explanation=f"{HEADS} n² scores against 4 × {WIDTH}² = {numbers:,} weights: equal at "
        f"n = √({numbers:,} / {HEADS}) = {cross:.0f}.",
        mistakes=(
            Mistake(
                sqrt(numbers),
                f"That's with one head. Each of the {HEADS} heads has its own n × n matrix.",
            ),
            Mistake(
                sqrt(numbers / 4 / HEADS),
                f"That counts one weight matrix. There are four of {WIDTH} × {WIDTH}.",
            ),
            Mistake(
                numbers / HEADS,
                "The number of scores grows with the square of the tokens. Take the root.",
            ),
            Mistake(
                sqrt(3 * numbers / 4 / HEADS),
                "One matrix is missing: W_o is as large as the other three.",
            ),
            Mistake(
                sqrt(numbers / HEADS / SIZE),
                f"You counted {SIZE} numbers per score. A dot product sums over them, so a score "
                "is one number.",
            ),
            Mistake(
                sqrt(2 * numbers / HEADS),
                "That counts half of each matrix. The question is about the whole, as q kᵀ "
                "gives it.",
            ),
        ),
    )


ALL = (_weights(), _overtake())
