"""Pencil: how far the gentlest head of ALiBi looks."""

from __future__ import annotations

import math
from operator import eq

from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.numpy.position import alibi_slopes

TEXT = """
With pencil and paper (and a calculator for one logarithm): ALiBi with 8 heads, last head, slope
1/256. All keys have the same content. What is the smallest distance at which a key has less than
a tenth of the weight of the key at distance 0?
"""

N_HEADS, SHARE = 8, 0.1
SLOPES = alibi_slopes(N_HEADS)


def _reach(slope: float, share: float = SHARE) -> int:
    """First distance at which the weight is below the share."""
    return math.floor(-math.log(share) / slope) + 1


ANSWER = _reach(float(SLOPES[-1]))

_LINE = (
    "That lets the weight itself fall in a line. It is the score that does; the weight is its "
    "exponential."
)
_BASE_2 = "That is the logarithm to base 2. The weight is a power of e."
MISTAKES: dict[float, str] = {
    ANSWER - 1: "There the weight is still a little more than a tenth. Which distance is next?",
    _reach(float(SLOPES[0])): "That is the first head, with slope 1/2. The last has 1/256.",
    _reach(float(SLOPES[-1]), 0.5): "That is where the weight falls below one half.",
    _reach(float(SLOPES[-1]), math.exp(-1)): "There it falls below 1/e, and not below a tenth.",
    round(1 / float(SLOPES[-1])): "There 1 is subtracted from the score, and the weight is 1/e.",
    round((1 / SHARE) / float(SLOPES[-1])): (
        "There 10 is subtracted from the score. The weight is its exponential: e to the −10."
    ),
    round((1 - SHARE) / float(SLOPES[-1])): _LINE,
    math.floor((1 - SHARE) / float(SLOPES[-1])) + 1: _LINE,
    round(SHARE / float(SLOPES[-1])): (
        "There 0.1 is subtracted from the score. The weight, its exponential, has to be a tenth."
    ),
    _reach(float(SLOPES[-1]), 1 - SHARE): (
        "There the weight has lost a tenth. Find where only a tenth is left."
    ),
    _reach(float(SLOPES[-1]), SHARE**2): "There a hundredth is left. You look for a tenth.",
    **dict.fromkeys(
        (round(math.log(1 / SHARE), digits) for digits in (1, 2, 3, 4)),
        "That is ln 10, by which the score has to fall. At 1/256 for each token, how far is that?",
    ),
    ANSWER + 1: (
        "One token too far: the query's own key is at distance 0, so nothing has to be added."
    ),
    _reach(float(SLOPES[-1]) * 2): "That is the last head but one: the slopes halve eight times.",
    math.floor(256 * math.log2(10)): _BASE_2,
    math.floor(256 * math.log2(10)) + 1: _BASE_2,
    round(256 * math.log10(10)) - 1: "One number off, and the logarithm is the natural one.",
}


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or where to begin."""
    value = float(outputs["answer"])
    if value == ANSWER:
        return None
    if idea := explain(value, MISTAKES.items(), eq):
        return idea
    if value != int(value):
        return "Distances are counted in tokens: the answer is a whole number."
    if value < 1:
        return "At distance 0 the weight is the reference itself."
    return (
        f"Not {value:,.0f}. At distance r the score is r/256 lower, so the weight is e^(−r/256) "
        "times that at distance 0. Where is this a tenth?"
    )


EXERCISE = Exercise(
    id="alibi_reach",
    page="position",
    title="How far the last head looks",
    kind="pencil",
    groups={"by hand": 2},
    minutes=6,
    difficulty=1,
    assessed=False,
    section="ALiBi: a penalty that grows",
    definition="ALiBi: a penalty that grows",
    text=TEXT,
    unit="tokens",
    mistakes=MISTAKES,
    hints=(
        "All keys have the same content, so their scores differ by the bias alone. What does the "
        "softmax make of a difference of two scores?",
        "The ratio of two weights is e to the difference of their scores. Solve e^(−r/256) = 1/10 "
        "for r, and take the next whole number.",
    ),
    common_errors=(
        "Assuming that the weight falls linearly. It is the score that does.",
        "Taking the logarithm to base 10 or 2.",
    ),
    judge=judge,
)
