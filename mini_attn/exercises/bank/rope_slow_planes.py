"""Pencil: which planes never come full circle in the trained context."""

from __future__ import annotations

import math
from operator import eq

import numpy as np

from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.numpy.rope import rope_frequencies

TEXT = """
With pencil and paper: the first LLaMA models have heads of 128 numbers, all of which turn, with
`theta` = 10,000, and they were trained on 2,048 positions. How many of the planes never complete
a full turn within 2,048 positions?
"""

HEAD_DIM, THETA, CONTEXT = 128, 10000.0, 2048
PAIRS = HEAD_DIM // 2


def _slow(frequencies: np.ndarray, turn: float) -> int:
    """Planes that turn by less than this within the context."""
    return int((CONTEXT * frequencies < turn).sum())


_FREQUENCIES = rope_frequencies(HEAD_DIM, theta=THETA)[0]
ANSWER = _slow(_FREQUENCIES, 2 * math.pi)

_TOO_MANY_PLANES = f"That counts {HEAD_DIM} planes. Two numbers make a plane: there are {PAIRS}."
_LAST_TURNING = PAIRS - ANSWER - 1
MISTAKES = {
    PAIRS - ANSWER: "Those are the planes that do come full circle, not the others.",
    _slow(_FREQUENCIES, 1): "That compares with one radian. A full turn is 2π radians.",
    _slow(_FREQUENCIES, math.pi): "That is half a turn: a full one is 2π radians.",
    _slow(THETA ** (-np.arange(HEAD_DIM) / HEAD_DIM), 2 * math.pi): _TOO_MANY_PLANES,
    _slow(THETA ** (-2 * np.arange(HEAD_DIM) / HEAD_DIM), 2 * math.pi): _TOO_MANY_PLANES,
    2 * (PAIRS - ANSWER): "Those are the numbers of the planes that do come full circle.",
    2 * ANSWER: f"Those are numbers of a head. Two numbers make a plane: there are {PAIRS} planes.",
    0: "That would mean that every plane comes full circle. Check the speeds: plane i turns by "
    "theta to the power -2i / 128, not -i / 128.",
    ANSWER + 1: "One too many: the plane at the edge just comes full circle. Planes count from 0.",
    ANSWER - 1: "One too few: planes are counted from 0, so the last one has number 63.",
    PAIRS: "Those are all planes. The fast ones turn many times within the context.",
    _slow(_FREQUENCIES, 360): "The angle is in radians, and a full turn is 2π of them, not 360.",
}


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or where to begin."""
    value = float(outputs["answer"])
    if value == ANSWER:
        return None
    if idea := explain(value, MISTAKES.items(), eq):
        return idea
    if _LAST_TURNING < value < _LAST_TURNING + 1:
        return (
            f"That is where the planes stop coming full circle: plane {_LAST_TURNING} still does, "
            f"the next does not. Now count from there to plane {PAIRS - 1}."
        )
    if 0 < value < 1:
        return "That is a share. The question is how many planes."
    if value != int(value):
        return "A plane comes full circle or it does not: the answer is a whole number."
    if not 0 < value < PAIRS:
        return f"There are {PAIRS} planes, and some are slow."
    return (
        f"Not {value:,.0f}. Write down the angle of plane i at position {CONTEXT:,}, set it equal "
        "to 2π, and solve for i with logarithms."
    )


EXERCISE = Exercise(
    id="rope_slow_planes",
    page="rope",
    title="Planes that never come round",
    kind="pencil",
    groups={"by hand": 2},
    minutes=8,
    difficulty=2,
    assessed=False,
    section="Many planes, many speeds",
    text=TEXT,
    unit="planes",
    mistakes=MISTAKES,
    hints=(
        "Plane i needs 2π · theta^(i / 64) positions for a full turn. For which i is that more "
        "than the context?",
        "i > 64 · ln(2,048 / 2π) / ln(10,000). Round up to the first such plane, and count from "
        "there to plane 63.",
    ),
    common_errors=(
        "Forgetting the 2π.",
        "Counting 128 planes.",
        "Losing one at either end: the planes are numbered 0 to 63.",
    ),
    judge=judge,
)
