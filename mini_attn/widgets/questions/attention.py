"""The predictions of the chapter on attention: scores, weights and gradients."""

from __future__ import annotations

import math

import numpy as np

from mini_attn import example
from mini_attn.numpy import softmax
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

SIZE, WIDTH = example.HEAD_DIM, example.D_MODEL


def _head(name: str) -> np.ndarray:
    """Rows of the example's second head for the prompt: (seq, head_dim)."""
    x = np.array(example.EMBEDDINGS)[: example.PROMPT_LEN]
    return x @ np.array(example.WEIGHTS[name])[:, SIZE:]


def _numbers(row: np.ndarray) -> str:
    return "(" + ", ".join(f"{value:g}" for value in row) + ")"


def _score() -> Question:
    q, k = _head("q")[3], _head("k")[0]
    dot = float(q @ k)
    return Question(
        key="attention/score",
        text=f"The query of “time” is {_numbers(q)}, the key of “Once” is {_numbers(k)}, and "
        f"`d_model` = {WIDTH}. What is the score of this pair, after the scale?",
        answer=int(dot / SIZE**0.5),
        unit="points",
        kind="formula",
        signed=True,
        tolerance=0.005,
        explanation=f"q · k = {dot:g}, the other products are 0, and √head_dim = √{SIZE} = "
        f"{SIZE**0.5:g}, so the score is {dot / SIZE**0.5:g}.",
        mistakes=(
            Mistake(dot, "That's q · k. You still have to divide it by the root of `head_dim`."),
            Mistake(
                dot / SIZE,
                f"You divided by `head_dim` = {SIZE}. Divide by its square root instead.",
            ),
            Mistake(
                dot / WIDTH,
                f"You divided by `d_model` = {WIDTH}. Divide by the square root of `head_dim` "
                "instead, the number of entries of the query.",
            ),
            Mistake(
                dot / WIDTH**0.5,
                f"You divided by the root of `d_model` = {WIDTH}. The sum has `head_dim` terms, "
                "one per entry of the query.",
            ),
            Mistake(dot * SIZE**0.5, "You multiplied by the root. The scale makes scores smaller."),
            Mistake(
                float(q.sum() * k.sum()) / SIZE**0.5,
                "You multiplied the sums. A dot product multiplies entry by entry, then adds.",
            ),
        ),
    )


def _leak() -> Question:
    weights = softmax(_head("q") @ _head("k").T / SIZE**0.5)[0]
    scores = _head("q")[0] @ _head("k").T / SIZE**0.5
    percent = 100 * float(weights[1:].sum())
    return Question(
        key="attention/leak",
        text=f"The first word, “Once”, has the scores {_numbers(scores)} for the four tokens "
        "“Once upon a time”. Nothing is hidden from it. What percentage of its weight goes to "
        "tokens that come later?",
        answer=round(percent),
        unit="percent",
        kind="share",
        tolerance=0.01,
        explanation="e to the 3 is about 20.1 and e to the 0 is 1, so the row is (20.1, 1, 1, "
        f"20.1) over 42.2, and all but the first entry add up to {percent:.1f}%.",
        mistakes=(
            Mistake(
                100 * float(weights[3]),
                "That's one of the two large weights, “Once” or “time”. Everything but “Once” "
                "comes later, and that includes the two small weights.",
            ),
            Mistake(
                50,
                "Close: “Once” and “time” have the same score. But a score of 0 isn't a weight of "
                "0, because e to the 0 is 1.",
            ),
            Mistake(
                75,
                "That's three of four tokens. The softmax doesn't divide evenly: larger scores get "
                "more weight.",
            ),
            Mistake(
                100 * float(weights[1:3].sum()),
                "That's “upon” and “a”. “time” comes later too, and its weight is much larger.",
            ),
            Mistake(
                round(percent / 100, 2),
                "That's a fraction of 1. The question asks for a percentage.",
            ),
        ),
    )


def _spread() -> Question:
    size = 256
    return Question(
        key="attention/spread",
        text=f"A query and a key have {size} independent entries each, with mean 0 and variance 1. "
        "What is the standard deviation of q · k, before any scale?",
        answer=math.isqrt(size),
        unit="units",
        kind="formula",
        explanation=f"Each product has variance 1 · 1 = 1, the {size} products are independent, so "
        f"the variance is {size} and the standard deviation √{size} = {math.isqrt(size)}.",
        mistakes=(
            Mistake(size, "That's the variance. The standard deviation is its root."),
            Mistake(
                1,
                "One product has standard deviation 1. The sum of 256 of them has a larger one, "
                "which is what the scale undoes.",
            ),
            Mistake(
                2 * math.isqrt(size),
                "That's twice too large. The variance of a product of independent entries is the "
                "product of their variances, 1 · 1 = 1.",
            ),
            Mistake(
                math.sqrt(2 * size),
                f"The sum has {size} terms, one for each pair of entries. It isn't {size} from the "
                f"query and {size} more from the key.",
            ),
            Mistake(size**2, "You multiplied the variances of the terms. In a sum, they add up."),
        ),
    )


def _gradient() -> Question:
    even, sure = 0.5, 0.99
    ratio = even * (1 - even) / (sure * (1 - sure))
    return Question(
        key="attention/gradient",
        text=f"A query sees two keys. First, the weight of one of them is {even}. Then training "
        f"makes it {sure}. How many times smaller is the derivative of that weight with respect to "
        "its own score?",
        answer=round(ratio),
        unit="times",
        kind="ratio",
        tolerance=0.02,
        explanation=f"The derivative is w (1 − w): {even * (1 - even)} against "
        f"{sure * (1 - sure):.4f}, a factor of {ratio:.1f}.",
        mistakes=(
            Mistake(
                (1 - even) / (1 - sure),
                "You compared 1 − w alone. The derivative of a weight is w (1 − w).",
            ),
            Mistake(
                sure / even,
                "You compared the weights. Compare their derivatives, w (1 − w).",
            ),
            Mistake(1 / ratio, "That's the other way around: the second over the first."),
            Mistake(
                ratio**2,
                "You squared the ratio. Each case has one derivative, w (1 − w).",
            ),
            Mistake(
                round(1 / (1 - sure)),
                "That's 1 over 1 − w. Compare w (1 − w) in both cases: the largest it can be is "
                "0.25, not 1.",
            ),
        ),
    )


def _aligned() -> Question:
    size = 64
    root = math.isqrt(size)
    return Question(
        key="attention/aligned",
        text=f"`head_dim` = {size}, and a query's entries have mean 0 and variance 1. Training has "
        "turned a key into an exact copy of the query. About how large is their score, with "
        "the usual scale?",
        answer=size // root,
        unit="points",
        kind="formula",
        signed=True,
        tolerance=0.02,
        explanation=f"Each product is a square with mean 1, so q · k is about {size}. Divided by "
        f"√{size} = {root}, that leaves {size // root}, where a random key has scores of about 1.",
        mistakes=(
            Mistake(
                1,
                "That holds for a key that is independent of the query. Here the products don't "
                "cancel: each is a square.",
            ),
            Mistake(
                0,
                "Independent products have mean 0. The products of a vector with itself are "
                "squares, so their mean is 1.",
            ),
            Mistake(size, f"That's q · k. Divide it by the root of `head_dim` = {size}."),
            Mistake(
                math.sqrt(root),
                "You took the root twice. The squares add up to about `head_dim`, not to its root.",
            ),
            Mistake(
                2 * root,
                f"That's twice too large. {size} squares with mean 1 add up to about {size}.",
            ),
            Mistake(size * root, "You multiplied by the root. The scale divides by it."),
        ),
    )


ALL = (_score(), _leak(), _spread(), _gradient(), _aligned())
