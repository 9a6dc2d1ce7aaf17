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
        text="A head with `head_dim` = 1 has one number for each query and one for each key. "
        f"Queries can be positive or negative, there's no mask, and {tokens} tokens have different "
        "keys. How many of the tokens can get the largest weight of some query?",
        answer=2,
        unit="tokens",
        kind="count",
        explanation="The score is the query's number times the key's. For a positive query the "
        "largest key wins, for a negative one the smallest. Nothing in between can win.",
        mistakes=(
            Mistake(
                1,
                "That would hold if all queries had the same sign. A negative query reverses the "
                "order of the keys.",
            ),
            Mistake(
                tokens,
                "A larger query only makes the softmax sharper. It can't make a key in the middle "
                "win.",
            ),
            Mistake(
                tokens // 2,
                "Picture the keys on a line: one end or the other wins, however large the query "
                "is.",
            ),
            Mistake(
                tokens - 1,
                "Picture the keys on a line: one end or the other wins, and nothing in between.",
            ),
            Mistake(
                tokens * tokens,
                f"That's the number of pairs. There are only {tokens} tokens that can win.",
            ),
        ),
    )


def _rank() -> Question:
    size, width, heads = GPT2.head_dim, GPT2.d_model, GPT2.n_heads
    return Question(
        key="multihead/rank",
        text=f"In GPT-2 (`d_model` = {width}, {heads} heads of dimension {size}), the scores of "
        "one head are x W_q W_kᵀ xᵀ with that head's columns. What's the largest rank that the "
        f"{width} × {width} matrix W_q W_kᵀ can have?",
        answer=size,
        unit="dimensions",
        kind="shape",
        explanation=f"It's the product of a {width} × {size} and a {size} × {width} matrix, and a "
        "product can't have a higher rank than any of its factors.",
        mistakes=(
            Mistake(
                width,
                f"That's the largest rank of any {width} × {width} matrix. This one goes through "
                f"{size} numbers.",
            ),
            Mistake(
                heads,
                "That's how many such matrices a layer has, one for each head.",
            ),
            Mistake(
                2 * size,
                "Ranks don't add up in a product. The smaller of the two bounds it.",
            ),
            Mistake(
                size * size,
                f"Ranks don't multiply. The product passes through {size} numbers.",
            ),
            Mistake(
                1,
                "Rank 1 would be a head of dimension 1: one number for each query and key.",
            ),
        ),
    )


def _bias() -> Question:
    d_model, n_heads = 512, 8
    size = d_model // n_heads
    return Question(
        key="multihead/bias",
        text=f"Some texts give each of {n_heads} heads its own output bias with `d_model` = "
        f"{d_model} numbers, and add up the heads. How many numbers of bias, added after the sum, "
        "would give the layer exactly the same outputs?",
        answer=d_model,
        unit="numbers",
        kind="shape",
        explanation=f"The {n_heads} biases are added for every token, so only their sum reaches "
        f"the output: {d_model} numbers, one bias in effect.",
        mistakes=(
            Mistake(
                n_heads * d_model,
                "That's how many are stored. Every token gets all of them, so only their sum "
                "matters.",
            ),
            Mistake(
                size,
                f"The bias is added after W_o, where a row has `d_model` = {d_model} numbers, "
                "not `head_dim`.",
            ),
            Mistake(
                n_heads,
                "One number per head is too few. A bias adds a different number to each entry of "
                "the row.",
            ),
            Mistake(
                (n_heads - 1) * d_model,
                f"That's how many are superfluous. The {d_model} of the sum remain.",
            ),
            Mistake(
                1,
                f"It's one bias, and it has {d_model} numbers. The question counts numbers.",
            ),
        ),
    )


ALL = (_favourites(), _rank(), _bias())
