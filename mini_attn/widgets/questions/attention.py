"""The predictions of the chapter on attention about scores, weights and gradients."""

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
            Mistake(dot, "That is q · k. It is still to be divided by the root of `head_dim`."),
            Mistake(
                dot / SIZE,
                f"That is divided by `head_dim` = {SIZE}; the scale is one over its root.",
            ),
            Mistake(
                dot / WIDTH**0.5,
                f"That is divided by the root of `d_model` = {WIDTH}. The sum has `head_dim` "
                "terms, as many as a query has numbers.",
            ),
            Mistake(
                dot * SIZE**0.5, "That is multiplied by the root. The scale makes scores smaller."
            ),
            Mistake(
                float(q.sum() * k.sum()) / SIZE**0.5,
                "That multiplies the sums. A dot product multiplies entry by entry, then adds.",
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
        "“Once upon a time”. Nothing is hidden from it. How many percent of its weight go to "
        "tokens that come later?",
        answer=round(percent),
        unit="percent",
        kind="share",
        tolerance=0.01,
        explanation="e to the 3 is about 20.1 and e to the 0 is 1, so the row is (20.1, 1, 1, "
        f"20.1) over 42.2, and all but the first entry add up to {percent:.1f} %.",
        mistakes=(
            Mistake(
                100 * float(weights[3]),
                "That is one of the two large weights, “Once” or “time”. What comes later is all "
                "but “Once”, the two small ones included.",
            ),
            Mistake(
                50,
                "Close: “Once” and “time” have the same score. But a score of 0 is not a weight "
                "of 0, because e to the 0 is 1.",
            ),
            Mistake(
                75,
                "That is three of four tokens. The softmax does not share evenly: it weighs by the "
                "scores.",
            ),
            Mistake(
                100 * float(weights[1:3].sum()),
                "That is “upon” and “a”. “time” comes later too, and it has the largest share.",
            ),
            Mistake(
                round(percent / 100, 2),
                "That is the share of 1. The question asks for percent.",
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
            Mistake(size, "That is the variance. The standard deviation is its root."),
            Mistake(
                1,
                "One product has standard deviation 1. The sum of 256 of them spreads more, which "
                "is what the scale undoes.",
            ),
            Mistake(
                2 * math.isqrt(size),
                "A factor 2 too many: variances of products of independent entries multiply, "
                "1 · 1 = 1.",
            ),
            Mistake(
                math.sqrt(2 * size),
                f"The sum has {size} terms, one for each pair of entries: not {size} from the "
                f"query and {size} more from the key.",
            ),
            Mistake(
                size**2, "Variances add over the sum; they are not multiplied with each other."
            ),
        ),
    )


def _gradient() -> Question:
    even, sure = 0.5, 0.99
    ratio = even * (1 - even) / (sure * (1 - sure))
    return Question(
        key="attention/gradient",
        text=f"Two keys. Once the weight of the first is {even}, once it is {sure}. By what factor "
        "is its derivative with respect to its own score smaller in the second case?",
        answer=round(ratio),
        unit="times",
        kind="ratio",
        tolerance=0.02,
        explanation=f"The derivative is w (1 − w): {even * (1 - even)} against "
        f"{sure * (1 - sure):.4f}, a factor of {ratio:.1f}.",
        mistakes=(
            Mistake(
                (1 - even) / (1 - sure),
                "That compares 1 − w alone. The derivative of a weight is w (1 − w).",
            ),
            Mistake(
                sure / even,
                "That compares the weights. What a small change of the score does is w (1 − w).",
            ),
            Mistake(1 / ratio, "That is the other way round: the second over the first."),
            Mistake(
                ratio**2,
                "That is the square. One derivative, w (1 − w), is asked for in each case.",
            ),
            Mistake(
                round(1 / (1 - sure)),
                "That is 1 over 1 − w. Compare w (1 − w) in both cases: 0.25 is the largest it can "
                "be, not 1.",
            ),
        ),
    )


ALL = (_score(), _leak(), _spread(), _gradient())
