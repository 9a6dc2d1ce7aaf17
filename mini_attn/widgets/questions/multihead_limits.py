"""The predictions of the chapter on many heads that ask what a head can do."""

from __future__ import annotations

from mini_attn import example
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GPT2 = MODELS["gpt2"]


def _favourites() -> Question:
    tokens = len(example.TOKENS)
    return Question(
        key="multihead/favourites",
        text="A head with `head_dim` = 1 has one number for each query and one for each key; "
        f"queries may be positive or negative. Over {tokens} tokens with different keys, no mask: "
        "how many different tokens can be the favourite (largest weight) of some query?",
        answer=2,
        unit="tokens",
        kind="count",
        explanation="The score is the query's number times the key's. A positive query likes the "
        "largest key best, a negative one the smallest; nothing between can win.",
        mistakes=(
            Mistake(
                1,
                "That would hold if all queries had one sign. A negative query reverses the order "
                "of the keys.",
            ),
            Mistake(
                tokens,
                "Each query has a favourite, but the size of a query's one number only makes "
                "the softmax sharper. It cannot prefer a key in the middle.",
            ),
            Mistake(
                tokens // 2,
                "Picture the keys on a line: a query can prefer one end or the other, whatever "
                "its size.",
            ),
            Mistake(
                tokens - 1,
                "Picture the keys on a line: a query can prefer one end or the other, and "
                "nothing in between.",
            ),
            Mistake(
                tokens * tokens,
                f"That is the number of pairs. Only {tokens} tokens are there to be liked.",
            ),
        ),
    )


def _rank() -> Question:
    size, width, heads = GPT2.head_dim, GPT2.d_model, GPT2.n_heads
    return Question(
        key="multihead/rank",
        text=f"In GPT-2 (`d_model` = {width}, {heads} heads of {size}) the scores of one head are "
        "x W_q W_kᵀ xᵀ with that head's columns. What is the largest rank that the "
        f"{width} × {width} matrix W_q W_kᵀ can have?",
        answer=size,
        unit="dimensions",
        kind="shape",
        explanation=f"It is a product of a {width} × {size} and a {size} × {width} matrix, and a "
        "product has no more rank than the thinnest of its factors.",
        mistakes=(
            Mistake(
                width,
                f"That is the rank of a free {width} × {width} matrix. This one goes through "
                f"{size} numbers.",
            ),
            Mistake(
                heads,
                "That is how many such matrices a layer has, one for each head.",
            ),
            Mistake(
                2 * size,
                "Ranks do not add up in a product. The smaller of the two bounds it.",
            ),
            Mistake(
                size * size,
                f"Ranks do not multiply. The product passes through one layer of {size} numbers.",
            ),
            Mistake(
                1,
                "Rank 1 would be a head of size 1: one number for each query and key.",
            ),
        ),
    )


def _bias() -> Question:
    d_model, n_heads = 512, 8
    size = d_model // n_heads
    return Question(
        key="multihead/bias",
        text=f"Some texts give each of {n_heads} heads an output bias of its own, with `d_model` = "
        f"{d_model} numbers, and add the heads up. How many numbers of bias, added after the "
        "sum, would give the layer exactly the same outputs?",
        answer=d_model,
        unit="numbers",
        kind="shape",
        explanation=f"The {n_heads} biases are added for every token, so only their sum reaches "
        f"the output: {d_model} numbers, one bias in effect.",
        mistakes=(
            Mistake(
                n_heads * d_model,
                "That is how many are stored. They are added for every token alike, so "
                "only their sum can be seen.",
            ),
            Mistake(
                size,
                f"The bias is added after W_o, where a row has `d_model` = {d_model} numbers, "
                "not `head_dim`.",
            ),
            Mistake(
                n_heads,
                "One number for each head is too few: a bias moves every number of the row by "
                "its own amount.",
            ),
            Mistake(
                (n_heads - 1) * d_model,
                f"That is how many are superfluous. The {d_model} of the sum remain.",
            ),
            Mistake(
                1,
                f"It is one bias, and it has {d_model} numbers. The question counts numbers.",
            ),
        ),
    )


ALL = (_favourites(), _rank(), _bias())
