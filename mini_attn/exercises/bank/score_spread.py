"""Pencil: how far scores spread under the wrong scale."""

from __future__ import annotations

import math
from functools import partial

from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.models import MODELS

TEXT = """
With pencil and paper: a model has 12 heads of 64, so `d_model` is 768. The entries of a query are
independent with mean 0 and standard deviation 1, those of a key with mean 0 and standard
deviation 2. Somebody divides q · k by the root of `d_model`. What is the standard deviation of
the scores? Give at least three digits.
"""

GPT2 = MODELS["gpt2"]
SIZE, WIDTH, Q_SPREAD, K_SPREAD = GPT2.head_dim, GPT2.d_model, 1.0, 2.0

_DOT = math.sqrt(SIZE) * Q_SPREAD * K_SPREAD
ANSWER = _DOT / math.sqrt(WIDTH)
MISTAKES = {
    _DOT: "That is the spread of q·k itself: it is still to be divided.",
    _DOT / math.sqrt(SIZE): (
        "That would be the root of head_dim below, or a sum of 768 products above. The sum has "
        "64 products, and somebody divided by the root of d_model."
    ),
    _DOT / K_SPREAD / math.sqrt(WIDTH): (
        "The key's entries have a spread of 2, not of 1: it is a factor of every product."
    ),
    _DOT * K_SPREAD / math.sqrt(WIDTH): (
        "A spread of 2 counts once. The variance is 4; that is its square."
    ),
    _DOT**2 / WIDTH: "That is the variance of the scores. Their spread is its root.",
    _DOT / WIDTH: "That is divided by d_model itself; it was divided by its root.",
    _DOT / math.sqrt(SIZE * WIDTH): (
        "That is divided by both roots. Somebody divided by the root of d_model alone."
    ),
    _DOT / SIZE: "That is divided by head_dim itself, without a root. Somebody divided by the "
    "root of d_model.",
    math.sqrt(SIZE) * (Q_SPREAD + K_SPREAD) / math.sqrt(WIDTH): (
        "The two spreads were added. In a product they multiply: 1 · 2, not 1 + 2."
    ),
    math.sqrt(SIZE * (Q_SPREAD**2 + K_SPREAD**2) / WIDTH): (
        "The two variances were added. The 64 terms of the sum add their variances, but within "
        "each term, q times k, they multiply: 1 · 4."
    ),
    SIZE * K_SPREAD / math.sqrt(WIDTH): (
        "Variances add over the 64 products, so the spread grows with the root of 64."
    ),
}
_near = partial(math.isclose, rel_tol=0.005)


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or how far off another one is."""
    value = float(outputs["answer"])
    if _near(value, ANSWER):
        return None
    if idea := explain(value, MISTAKES.items(), _near):
        return idea
    if value <= 0:
        return "A spread is above 0."
    side, far = ("large", value / ANSWER) if value > ANSWER else ("small", ANSWER / value)
    return (
        f"{value:.4g} is too {side} by a factor of {far:.3g}. First the variance of one product, "
        "then of the sum, then its root, then the division."
    )


EXERCISE = Exercise(
    id="score_spread",
    page="attention",
    title="The wrong root",
    kind="pencil",
    groups={"by hand": 2},
    minutes=8,
    difficulty=2,
    assessed=False,
    section="The variance argument",
    text=TEXT,
    unit="(a number without a unit)",
    mistakes=MISTAKES,
    hints=(
        "Variances of independent terms add. How many terms does one dot product have?",
        "One product has the variance 1² · 2² = 4. The sum of 64 has 64 times that. Take the root, "
        "then divide by the root of 768.",
    ),
    common_errors=(
        "Adding spreads instead of variances.",
        "Summing over d_model: a head's query has head_dim numbers.",
    ),
    judge=judge,
)
