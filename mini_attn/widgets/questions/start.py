"""The predictions of the first chapter: tables, dot products, powers and shares."""

from __future__ import annotations

from math import e, exp

from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GPT2 = MODELS["gpt2"]


def _table() -> Question:
    vocab, width = GPT2.vocab_size, GPT2.d_model
    return Question(
        key="start/embedding-table",
        text=f"GPT-2 knows {vocab:,} tokens and gives each a vector of {width} numbers. How many "
        "numbers are in its table of embeddings?",
        answer=vocab * width,
        unit="numbers",
        kind="product",
        tolerance=0.005,
        explanation=f"One row a token, one column a number: {vocab:,} × {width} = "
        f"{vocab * width:,}, almost a third of the whole model.",
        mistakes=(
            Mistake(vocab, "That is the number of rows. Each row holds a whole vector."),
            Mistake(
                vocab + width, "Rows times columns: every token has all its numbers for itself."
            ),
            Mistake(
                vocab * vocab,
                "The table is not tokens by tokens: a row has as many numbers as the vector is "
                "wide.",
            ),
            Mistake(width * width, "One row for each token, not for each number of a vector."),
            Mistake(
                4 * vocab * width, "Those are bytes in float32. The question asks for numbers."
            ),
        ),
    )


def _pairs() -> Question:
    n = 8
    return Question(
        key="start/dot-products",
        text=f"{n} tokens are compared with each other, each with every other and with itself. "
        "How many dot products does `x @ x.T` compute?",
        answer=n * n,
        unit="dot products",
        kind="count",
        explanation=f"One for each row and column of the result: {n} × {n} = {n * n}. All "
        f"but the {n} on the diagonal come twice, as the order of the two does not matter.",
        mistakes=(
            Mistake(n * (n - 1), "Each token is compared with itself too: the diagonal counts."),
            Mistake(
                n * (n + 1) // 2,
                "That many are different. The product computes each pair in both orders.",
            ),
            Mistake(n * (n - 1) // 2, "Those are the pairs of two different tokens, counted once."),
            Mistake(
                n * n * n,
                "A dot product of 8 numbers has 8 multiplications, but it is one dot product.",
            ),
            Mistake(n, "That is one token against all. There are as many rows as tokens."),
        ),
    )


def _ratio() -> Question:
    gap = 2
    return Question(
        key="start/ratio",
        text=f"One score is {gap} larger than another, at temperature 1. How many times larger is "
        "its weight?",
        answer=round(exp(gap), 2),
        unit="times",
        kind="formula",
        tolerance=0.02,
        explanation=f"Both powers are divided by the same sum, so what is left is their ratio: e "
        f"to the {gap} = {exp(gap):.2f}, whatever the other scores are.",
        mistakes=(
            Mistake(
                gap, "Weights follow the powers of e, and differences become ratios: e to the 2."
            ),
            Mistake(
                round(gap * e, 2),
                "That is 2 times e. The difference stands in the exponent: e times e.",
            ),
            Mistake(gap * gap, "The base is e, about 2.72, and not 2."),
            Mistake(
                round(exp(gap / 2), 2),
                "That is e to the 1, half of the way: the difference is 2.",
            ),
            Mistake(10**gap, "The base is e, about 2.72, and not 10."),
        ),
    )


def _equal() -> Question:
    n = 5
    return Question(
        key="start/equal",
        text=f"All {n} scores are equal, and each is 3. What is the weight of each token?",
        answer=1 / n,
        unit="of the whole",
        kind="share",
        tolerance=0.001,
        explanation=f"Equal scores have equal powers, and each is one of {n}: 1/{n}. That they "
        "are 3 plays no part.",
        mistakes=(
            Mistake(3 / n, "Only the differences of the scores count, and there are none."),
            Mistake(
                round(1 / 3, 2), "That divides 1 by the score. Divide it by the number of tokens."
            ),
            Mistake(1.0, "That would be the weight if there were one token."),
            Mistake(0.25, "There are five tokens, not four: its own share counts."),
            Mistake(100 / n, "Write the share as a part of 1, not in percent."),
        ),
    )


def _shape() -> Question:
    batch, heads, q_len, kv_len, size = 2, 3, 4, 5, 8
    return Question(
        key="start/shape",
        text=f"`q` has the shape ({batch}, {heads}, {q_len}, {size}) and `k` has ({batch}, "
        f"{heads}, {kv_len}, {size}). How many numbers are in `q @ k.swapaxes(-1, -2)`?",
        answer=batch * heads * q_len * kv_len,
        unit="numbers",
        kind="shape",
        explanation=f"The last axis, {size}, is summed away: the result has the shape ({batch}, "
        f"{heads}, {q_len}, {kv_len}).",
        mistakes=(
            Mistake(
                batch * heads * q_len * kv_len * size,
                "Those are the multiplications. The axis of 8 is summed and does not remain.",
            ),
            Mistake(q_len * kv_len, "The axes in front stay: one table for each of 2 × 3."),
            Mistake(
                (batch * heads) ** 2 * q_len * kv_len,
                "Axes in front are walked in step, not paired: 2 × 3 tables, not 6 × 6.",
            ),
            Mistake(
                batch * heads * (q_len + kv_len),
                "Rows times columns: every query meets every key.",
            ),
            Mistake(
                batch * heads * q_len * size,
                "That is the shape of `q`. The product has a column for each of the 5 keys.",
            ),
        ),
    )


ALL = (_table(), _pairs(), _ratio(), _equal(), _shape())
