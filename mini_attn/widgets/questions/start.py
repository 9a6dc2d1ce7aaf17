"""The predictions of the first chapter: the table, exponentials and shapes."""

from __future__ import annotations

from math import e, exp

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]

GPT2 = MODELS["gpt2"]


def _table() -> Question:
    vocab, width = GPT2.vocab_size, GPT2.d_model
    table, whole = vocab * width, cost.parameter_count(GPT2)
    percent = 100 * table / whole
    return Question(
        key="start/embedding-share",
        text=f"GPT-2 has {whole:,} parameters. Its table of embeddings gives each of {vocab:,} "
        f"tokens a vector of {width} numbers. Guess first, then compute: what percentage of all "
        "parameters is that?",
        answer=round(percent),
        unit="percent",
        kind="share",
        tolerance=0.02,
        explanation=f"The table holds {vocab:,} × {width} = {table:,} numbers, {percent:.0f}% of "
        "the model. And the model reads only one row of it per token.",
        mistakes=(
            Mistake(
                round(100 * vocab / whole, 2),
                "That counts the tokens. Each of them has a whole vector.",
            ),
            Mistake(
                round(percent / 100, 2),
                "That's a fraction of 1. The question asks for a percentage.",
            ),
            Mistake(
                round(100 * table / (whole - table)),
                "You compared the table with the rest of the model. The question is about the "
                "whole.",
            ),
            Mistake(
                round(2 * percent),
                "You counted the table twice. GPT-2 uses the same table for its input and its "
                "output.",
            ),
            Mistake(
                round(100 - percent),
                "That's everything else. The question is about the table.",
            ),
        ),
    )


def _ratio() -> Question:
    gap = 2
    return Question(
        key="start/ratio",
        text=f"One score is larger than another by {gap}. How many times larger is its weight?",
        answer=round(exp(gap), 2),
        unit="times",
        kind="formula",
        tolerance=0.02,
        explanation=f"Both exponentials are divided by the same sum, so that leaves their ratio: e "
        f"to the {gap} = {exp(gap):.2f}, whatever the other scores are.",
        mistakes=(
            Mistake(
                gap,
                "The softmax exponentiates the scores, so a difference of 2 becomes e to the 2.",
            ),
            Mistake(
                round(gap * e, 2),
                "That's 2 times e. The difference is the exponent: e times e.",
            ),
            Mistake(gap * gap, "The base is e, about 2.72, not 2."),
            Mistake(
                round(exp(gap / 2), 2),
                "That's e to the 1. The difference is 2.",
            ),
            Mistake(10**gap, "The base is e, about 2.72, not 10."),
        ),
    )


def _crowd(lead: int = 5, others: int = 1000) -> Question:
    power = exp(lead)
    percent = 100 * power / (power + others)
    return Question(
        key="start/crowd",
        text=f"One token has the score {lead}, far above all others. The other {others:,} tokens "
        "have the score 0. What percentage of the weight does the best one get?",
        answer=round(percent, 1),
        unit="percent",
        kind="share",
        tolerance=0.02,
        explanation=f"e to the {lead} is {power:.0f}, and each of the others has e to the 0 = 1. "
        f"So the best one gets {power:.0f} / {power + others:,.0f} = {percent:.1f}%. A score of 0 "
        "isn't a weight of 0.",
        mistakes=(
            Mistake(
                100,
                f"It leads, but the others aren't gone. Each has e to the 0 = 1, and there are "
                f"{others:,} of them.",
            ),
            Mistake(
                round(100 * lead / (lead + others), 1),
                "You divided the scores. Take their exponentials first.",
            ),
            Mistake(
                round(100 * power / others, 1),
                "You left the best token out of the sum. It counts too.",
            ),
            Mistake(
                round(percent / 100, 2),
                "That's a fraction of 1. The question asks for a percentage.",
            ),
            Mistake(
                round(100 - percent, 1),
                "That's what the others get together. The question is about the best one.",
            ),
        ),
    )


def _shape(
    batch: int = 2, heads: int = 3, q_len: int = 4, kv_len: int = 5, size: int = 8
) -> Question:
    return Question(
        key="start/shape",
        text=f"`q` has the shape ({batch}, {heads}, {q_len}, {size}) and `k` has ({batch}, "
        f"{heads}, {kv_len}, {size}). How many numbers are in `q @ k.swapaxes(-1, -2)`?",
        answer=batch * heads * q_len * kv_len,
        unit="numbers",
        kind="shape",
        explanation=f"The product sums over the last axis, {size}, so the result has the shape "
        f"({batch}, {heads}, {q_len}, {kv_len}).",
        mistakes=(
            Mistake(
                batch * heads * q_len * kv_len * size,
                f"Those are the multiplications. The product sums over the axis of {size}, so it's "
                "gone.",
            ),
            Mistake(
                q_len * kv_len,
                f"The axes in front stay: there's one table for each of {batch} × {heads}.",
            ),
            Mistake(
                (batch * heads) ** 2 * q_len * kv_len,
                f"Axes in front go together, so there are {batch} × {heads} tables, not "
                f"{batch * heads} × {batch * heads}.",
            ),
            Mistake(
                batch * heads * (q_len + kv_len),
                "Rows times columns: every query meets every key.",
            ),
            Mistake(
                batch * heads * q_len * size,
                f"That's the size of `q`. The product has a column for each of the {kv_len} keys.",
            ),
        ),
    )


ALL = (_table(), _ratio(), _crowd(), _shape())
AGAIN = (
    _crowd(4, 500),
    _crowd(6, 1000),
    _crowd(5, 200),
    _shape(3, 4, 2, 6, 8),
    _shape(2, 4, 5, 7, 16),
    _shape(5, 2, 3, 6, 4),
)
