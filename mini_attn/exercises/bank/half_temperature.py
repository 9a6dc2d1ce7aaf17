"""Pencil: a share at half the temperature."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs

TEXT = r"""
With pencil and paper: three tokens have the scores $0$, $\ln 2$ and $\ln 5$. At temperature 1
their shares are 1/8, 2/8 and 5/8. Which share does the *second* token get at temperature ½? Give
it as a fraction of 1, to at least three digits.
"""

POWERS = np.array([1.0, 2.0, 5.0])  # e to the scores 0, ln 2 and ln 5
TEMPERATURE, WHICH = 0.5, 1


def _share(powers: np.ndarray, which: int = WHICH) -> float:
    return float(powers[which] / powers.sum())


ANSWER = _share(POWERS ** (1 / TEMPERATURE))
MISTAKES = {
    _share(POWERS): "That is the share at temperature 1, or with a factor on the powers, which "
    "cancels. Half the temperature doubles the scores, and so squares their powers.",
    _share(POWERS**TEMPERATURE): "Dividing by ½ doubles the scores; here they were halved.",
    _share(POWERS**2, 2): "That is the third token's share; the second was asked for.",
    _share(POWERS**2, 0): "That is the first token's share; the second was asked for.",
    float(POWERS[1] ** 2): "That is the power. Divide it by the sum of the three powers.",
    float(POWERS[1] ** 2 / POWERS.sum()): "That is twice the share at temperature 1. All three "
    "powers are squared, so the sum in the denominator grows too: 1 + 4 + 25.",
    float((POWERS[1] / POWERS.sum()) ** 2): "That is the square of the share at temperature 1. The "
    "three squares have to be divided by their sum, to add up to 1 again.",
    float(POWERS[1] ** 2 / POWERS[2] ** 2): "That is 4 over 25, the third token alone. Divide by "
    "the sum of all three squares.",
    _share(POWERS) / 2: "That is half of the share. The temperature divides the scores, and the "
    "shares follow from them.",
    _share(np.log(POWERS)): "Those are shares of the scores. Take the powers of e first.",
}
TOLERANCE = 6e-4


def _near(value: float, number: float) -> bool:
    return abs(value - number) < TOLERANCE


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or on which side another one is."""
    value = float(outputs["answer"])
    if _near(value, ANSWER):
        return None
    if idea := explain(value, MISTAKES.items(), _near):
        return idea
    if abs(value - 100 * ANSWER) < 100 * TOLERANCE:
        return "Write the share as a part of 1, not in percent."
    if not 0 < value < 1:
        return "A share lies between 0 and 1."
    side = "large" if value > ANSWER else "small"
    return f"{value:.4g} is too {side}. e to the ln 2 is 2; what is e to twice the ln 2?"


EXERCISE = Exercise(
    id="half_temperature",
    page="start",
    title="Half the temperature",
    kind="pencil",
    groups={"by hand": 2},
    minutes=5,
    difficulty=1,
    assessed=False,
    section="Temperature",
    text=TEXT,
    unit="(a part of 1)",
    mistakes=MISTAKES,
    hints=(
        "The temperature divides the scores before the powers are taken.",
        "Dividing by ½ doubles each score, and e to twice a score is the square of e to the score. "
        "So write down the three powers, square them, and take the second one's part of the sum.",
    ),
    common_errors=(
        "Leaving the temperature out.",
        "Multiplying by ½ instead of dividing.",
        "Squaring the numerator but not the terms of the sum.",
    ),
    judge=judge,
)
