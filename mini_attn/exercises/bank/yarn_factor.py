"""Pencil: what YaRN does to the scores."""

from __future__ import annotations

import math
from functools import partial

from mini_attn.config import YaRN
from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.numpy.rope import rope_frequencies

TEXT = """
With pencil and paper: a query and a key have the score 2 under YaRN's frequencies, computed
without its factor. The context is stretched 16 times. What is their score with the factor? Give
at least three digits.
"""

FACTOR, SCORE = 16, 2.0
_EACH = rope_frequencies(128, scaling=YaRN(float(FACTOR), 4096))[1]
ANSWER = SCORE * _EACH**2
MISTAKES = {
    SCORE * _EACH: "The factor stands on the query and on the key, so the score gets it twice.",
    _EACH**2: "That is the factor of the scores. The score was 2.",
    _EACH: "That is the factor of a query or of a key. What happens to a score of 2?",
    SCORE * 2 * _EACH: "Factors of a product multiply: the square, not the double.",
    SCORE * (0.1 * math.log10(FACTOR) + 1) ** 2: "The logarithm is the natural one.",
    SCORE * (0.1 * math.log2(FACTOR) + 1) ** 2: "The logarithm is the natural one.",
    SCORE: "The rule changes more than the frequencies: queries and keys get a factor.",
    SCORE / _EACH**2: "The scores grow, they do not shrink: a longer text needs sharper rows.",
    SCORE / _EACH: "Queries and keys are multiplied by the factor, not divided by it. A score is a "
    "product of the two, so it gets the factor twice.",
    SCORE * math.sqrt(_EACH): (
        "That multiplies by the root of the factor. Query and key have the factor each, so the "
        "score gets its square."
    ),
    SCORE * FACTOR: "16 is how far the context is stretched. The factor of queries and keys is "
    "0.1 · ln 16 + 1.",
    SCORE * (math.log(FACTOR) + 1) ** 2: "The 0.1 is missing: the factor is 0.1 · ln 16 + 1.",
    SCORE * (0.1 * math.log(FACTOR)) ** 2: "The factor is 0.1 · ln 16 plus 1: the 1 is missing.",
    SCORE * (0.1 * (math.log(FACTOR) + 1)) ** 2: (
        "The 0.1 belongs to the logarithm alone: 0.1 · ln 16, and then 1 is added."
    ),
    (SCORE * _EACH) ** 2: "That is twice too much: the factor is squared, but the 2 of the score "
    "counts once.",
}
_near = partial(math.isclose, rel_tol=0.003)


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or how far off another one is."""
    value = float(outputs["answer"])
    if _near(value, ANSWER):
        return None
    if idea := explain(value, MISTAKES.items(), _near):
        return idea
    if value <= 0:
        return "The score was 2 and gets a positive factor."
    return (
        f"{value:.4g} is {value / SCORE:.4g} times the old score. First 0.1 · ln 16 + 1, then what "
        "it means for a product of a query and a key."
    )


EXERCISE = Exercise(
    id="yarn_factor",
    page="rope-scaling",
    title="Twice the factor",
    kind="pencil",
    groups={"by hand": 2},
    minutes=6,
    difficulty=1,
    assessed=False,
    section="The factor on the scores",
    definition="The factor on the scores",
    text=TEXT,
    unit="(a number without a unit)",
    mistakes=MISTAKES,
    hints=(
        "The factor is put on cosine and sine, and so on every turned query and every turned key.",
        "ln 16 = 2.7726. The factor is 1.2773. A score is a product of a query and a key.",
    ),
    common_errors=(
        "Multiplying the scores by the factor once.",
        "Taking the logarithm to base 10.",
    ),
    judge=judge,
)
