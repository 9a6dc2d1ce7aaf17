"""The predictions of the chapter on order: what is lost without positions, and what they add."""

from __future__ import annotations

import math

import numpy as np

from mini_attn import example
from mini_attn.numpy.positions.position import sinusoidal_positions
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _orders() -> Question:
    tokens = len(example.TOKENS)
    before = tokens - 1
    orders = math.factorial(before)
    return Question(
        key="position/orders",
        text=f"A text has {tokens} different tokens, and its vectors say nothing about positions. "
        "One layer of attention computes the output of the last token. In how many orders can the "
        f"{before} tokens before it come so that this output is the same?",
        answer=orders,
        unit="orders",
        kind="count",
        explanation=f"In all of them: {before}! = {orders:,}. The last token attends to a set of "
        "keys, and a set has no order.",
        mistakes=(
            Mistake(
                math.factorial(tokens),
                f"You reordered all {tokens}. The last token has the query, so it stays last.",
            ),
            Mistake(1, "That would be right if attention knew where its keys are. It doesn't."),
            Mistake(before, f"{before} tokens have many more orders than {before}."),
            Mistake(2**before, "You counted subsets. All tokens stay, in another order."),
            Mistake(before**before, "You let a token appear twice."),
            Mistake(
                math.factorial(before) // 2,
                f"That would be right if two of the {before} were the same. They're all different.",
            ),
        ),
    )


def _integers() -> Question:
    position, head_dim = 15, example.HEAD_DIM
    step = position / math.sqrt(head_dim)  # between the scores of two neighboring keys
    return Question(
        key="position/integers",
        text=f"The query at position {position} and the key at position j add {position} · j to "
        f"their dot product, which is then divided by √{head_dim}. Otherwise all keys are equal. "
        f"How many times as much weight does the key at {position} get as the key at "
        f"{position - 1}?",
        answer=round(math.exp(step), 3),
        unit="times",
        kind="formula",
        tolerance=0.02,
        explanation=f"The two scores differ by {position} / √{head_dim} = {step:g}, so the weights "
        f"differ by a factor of e^{step:g} = {math.exp(step):,.0f}. At position 1,000 one step "
        "would be a factor of e^500.",
        mistakes=(
            Mistake(step, "That's the difference of the scores. The softmax exponentiates it."),
            Mistake(position, "That's the difference of the products, before scale and softmax."),
            Mistake(math.exp(position), f"You left out the scale: divide by √{head_dim} first."),
            Mistake(
                math.exp(position / head_dim),
                f"You divided by {head_dim}. Divide by its square root.",
            ),
            Mistake(
                position / (position - 1),
                "That's the ratio of the positions. The softmax turns the difference of the "
                "scores into a factor.",
            ),
            Mistake(
                math.e, f"You took a step for 1. It's multiplied by the query's {position}, too."
            ),
        ),
    )


def _length() -> Question:
    d_model, position = 512, 37
    row = sinusoidal_positions(np.array([position]), d_model, dtype="float64")[0]
    answer = round(float(row @ row))
    return Question(
        key="position/length",
        text=f"A sinusoidal row has `d_model` = {d_model} numbers. What's the dot product of the "
        f"row of position {position} with itself?",
        answer=answer,
        unit="units",
        kind="sum",
        explanation=f"Each of the {d_model // 2} pairs gives sin² + cos² = 1, at every position: "
        f"{answer}. The length never changes, only the directions do.",
        mistakes=(
            Mistake(d_model, "You added 1 for each number. Each pair gives 1."),
            Mistake(1, "That's what one pair gives."),
            Mistake(round(math.sqrt(answer), 2), "That's the length of the row, not its square."),
            Mistake(position, "The position doesn't matter: every row has the same length."),
            Mistake(position**2, "That's what the number 37 itself would give."),
            Mistake(
                answer * position,
                "You multiplied by the position. It's in the angles, not in the lengths.",
            ),
        ),
    )


ALL = (_orders(), _integers(), _length())
