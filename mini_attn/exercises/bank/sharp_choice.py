"""Pencil: the score that gives one of five keys a weight of 0.9."""

from __future__ import annotations

import math
from functools import partial

from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs

TEXT = """
With pencil and paper: a query sees five keys. Four of them have the score 0. Which score must the
fifth have for its weight to be 0.9? Give at least three digits.
"""

OTHERS, WEIGHT = 4, 0.9
RATIO = WEIGHT / (1 - WEIGHT)  # what the fifth has for each unit of the others together
ANSWER = math.log(RATIO * OTHERS)
MISTAKES = {
    math.log(RATIO): "That is right for one other key. Four of them share the remaining 0.1.",
    math.log(RATIO * (OTHERS + 1)): (
        "The others are four. The fifth key is on the other side of the equation, with its own "
        "exponential."
    ),
    RATIO * OTHERS: "That is the exponential of the score. The score is its logarithm.",
    RATIO: "That is the weight 0.9 over the 0.1 of all the others. It is a ratio of exponentials, "
    "not a score.",
    math.log10(RATIO * OTHERS): "The softmax has the base e: take the natural logarithm.",
    math.log2(RATIO * OTHERS): "The softmax has the base e: take the natural logarithm.",
    math.log(RATIO / OTHERS): (
        "The four others add up: their exponentials are multiplied by four, not divided."
    ),
    WEIGHT: "That is the weight. The softmax takes the exponential of the score first.",
    math.log(WEIGHT * OTHERS): (
        "The denominator has five terms: the fifth key's own exponential is one of them."
    ),
    math.log(WEIGHT): "A score of 0 still counts: e to the 0 is 1, so the four others add 4 to the "
    "sum.",
    math.log(OTHERS): "That makes the fifth equal to the four others together: weight 0.5.",
}
_near = partial(math.isclose, rel_tol=0.003)


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or the weight that another score would give."""
    value = float(outputs["answer"])
    if _near(value, ANSWER):
        return None
    if idea := explain(value, MISTAKES.items(), _near):
        return idea
    if value < 0:
        return (
            "With a score below 0 the fifth key gets less weight than each of the others. It "
            "should get far more, so its score is above 0. Did a sign get lost?"
        )
    weight = 1 / (1 + OTHERS * math.exp(-min(value, 700.0)))
    return (
        f"A score of {value:.4g} gives the weight {weight:.3g}. Write the weight as a quotient of "
        "exponentials, put in 0.9, and solve for the score."
    )


EXERCISE = Exercise(
    id="sharp_choice",
    page="attention",
    title="A clear favourite",
    kind="pencil",
    groups={"by hand": 2},
    minutes=6,
    difficulty=1,
    assessed=False,
    section="By hand, in four steps",
    text=TEXT,
    unit="(a number without a unit)",
    mistakes=MISTAKES,
    hints=(
        "Write down the softmax of the five scores: one exponential over the sum of five.",
        "e^s / (e^s + 4) = 0.9, because e^0 = 1 four times. So e^s = 9 · 4, and s is its "
        "logarithm.",
    ),
    common_errors=(
        "Taking a score of 0 for a weight of 0.",
        "Forgetting that the four others share what is left.",
    ),
    judge=judge,
)
