"""The predictions of the chapter on order: what is lost without positions, and what they add."""

from __future__ import annotations

import math

import numpy as np

from mini_attn import example
from mini_attn.models import MODELS
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
        f"One layer of attention computes the output of the last token. In how many orders can the "
        f"{before} tokens before it stand so that this output is the same?",
        answer=orders,
        unit="orders",
        kind="count",
        explanation=f"In all of them: {before}! = {orders:,}. The last token sees a set of keys, "
        "and a set has no order.",
        mistakes=(
            Mistake(
                math.factorial(tokens),
                f"That reorders all {tokens}. The last token is the one that asks; it stays.",
            ),
            Mistake(1, "That would be so if attention knew where its keys stand. It does not."),
            Mistake(before, f"{before} tokens can be put in many more orders than {before}."),
            Mistake(
                2**before,
                "That is the number of subsets. All tokens stay, in another order.",
            ),
            Mistake(before**before, "That lets a token appear twice."),
            Mistake(
                math.factorial(before) // 2,
                f"That would be right if two of the {before} were alike. They are all different.",
            ),
        ),
    )


def _table() -> Question:
    gpt2 = MODELS["gpt2"]
    rows, d_model = gpt2.learned_positions, gpt2.d_model
    return Question(
        key="position/table",
        text=f"GPT-2 (124M) learns one vector for each of {rows:,} positions; `d_model` is "
        f"{d_model}. How many parameters is that?",
        answer=rows * d_model,
        unit="parameters",
        kind="product",
        tolerance=0.005,
        explanation=f"{rows:,} positions × {d_model} numbers = {rows * d_model:,}, added once, "
        "before the first layer.",
        mistakes=(
            Mistake(rows, "That is one number a position. Each has a whole vector."),
            Mistake(d_model, "That is the vector of one position."),
            Mistake(
                rows * d_model * gpt2.n_layers,
                f"That gives each of the {gpt2.n_layers} layers a table. There is one, before the "
                "first layer.",
            ),
            Mistake(
                gpt2.vocab_size * d_model,
                "That is the table of the tokens. Positions have a table of their own.",
            ),
            Mistake(
                rows * gpt2.head_dim,
                "That takes `head_dim`. They are added to the embeddings, which have `d_model` "
                "numbers.",
            ),
            Mistake(rows * rows, "That is a number for each pair of positions."),
        ),
    )


def _length() -> Question:
    d_model, position = 512, 37
    row = sinusoidal_positions(np.array([position]), d_model, dtype="float64")[0]
    answer = round(float(row @ row))
    return Question(
        key="position/length",
        text=f"A sinusoidal row has `d_model` = {d_model} numbers. What is the dot product of the "
        f"row of position {position} with itself?",
        answer=answer,
        unit="units",
        kind="sum",
        explanation=f"Each of the {d_model // 2} pairs gives sin² + cos² = 1, at every position: "
        f"{answer}. The length never changes; only the directions do.",
        mistakes=(
            Mistake(d_model, "That adds 1 for each number. It is each pair that gives 1."),
            Mistake(1, "That is what one pair gives."),
            Mistake(round(math.sqrt(answer), 2), "That is the length of the row, not its square."),
            Mistake(position, "The position does not matter: every row is as long."),
            Mistake(position**2, "That is what the number 37 itself would give."),
            Mistake(
                answer * position,
                "Positions are in the angles, not in the lengths of the hands.",
            ),
        ),
    )


def _no_idea() -> Question:
    words = 118
    nats = round(math.log(words), 2)
    return Question(
        key="position/no-idea",
        text=f"A language has {words} words. How many nats per word does a model lose that has no "
        "idea and gives every word the same chance? (The loss is −ln of the chance of the word "
        "that came.)",
        answer=nats,
        unit="nats",
        kind="formula",
        tolerance=0.005,
        explanation=f"Every chance is 1/{words}, and −ln(1/{words}) = ln {words} = {nats:.2f}, "
        "whichever word comes.",
        mistakes=(
            Mistake(math.log2(words), "Those are bits: nats take the natural logarithm."),
            Mistake(math.log10(words), "That is the logarithm to base 10. Nats take the natural."),
            Mistake(words, "That is how many words there are. The loss is the logarithm of it."),
            Mistake(1 / words, "That is the chance. The loss is −ln of it."),
            Mistake(1, "A nat is no share: −ln of a small chance is larger than 1."),
        ),
    )


ALL = (_orders(), _table(), _length(), _no_idea())
