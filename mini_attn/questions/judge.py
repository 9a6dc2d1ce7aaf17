"""The judge of a number; the page's, widgets/js/questions/judge.js, says the same."""

from __future__ import annotations

import math
from typing import NamedTuple

from mini_attn.questions.number import FACTORLESS, KINDS, TYPED, NumberQuestion, Remark

__all__ = ["Judged", "judge"]


class Judged(NamedTuple):
    """A verdict ("right", "mistake" or "wrong"), and the sentences that go with it."""

    verdict: str
    message: str


def judge(question: NumberQuestion, value: float) -> Judged:
    """Judge a number.

    Parameters
    ----------
    question : NumberQuestion
        What was asked.
    value : float
        What was answered, in the question's unit.

    Returns
    -------
    Judged
        ``"right"`` with the explanation, ``"mistake"`` with what a foreseen slip lacks, or
        ``"wrong"`` with what can be said to any other number.

    Examples
    --------
    >>> from mini_attn.questions import Mistake, NumberQuestion
    >>> rows = NumberQuestion(answer=40, unit="rows", mistakes=(Mistake(8, "Count columns too."),))
    >>> judge(rows, 8)
    Judged(verdict='mistake', message='Count columns too.')
    >>> judge(rows, 100).message
    'Too large, by a factor of about 2.5. Write the formula down, then put the numbers in.'
    """
    value = float(value)
    if question.is_right(value):
        return Judged("right", question.explanation)
    mistake = question.mistake_at(value)
    if mistake is not None:
        return Judged("mistake", mistake.message)
    remark = question.remark_at(value)
    if remark is not None:
        return Judged("wrong", _told(remark, question, value))
    return Judged("wrong", _generic(question, value))


def _factor(value: float, answer: float) -> float:
    """Return how many times too large or too small a number is, in any case above 1."""
    return max(value / answer, answer / value) if value > 0 else math.inf


def _told(remark: Remark, question: NumberQuestion, value: float) -> str:
    """Return a remark with its numbers filled in."""
    factor, above = _factor(value, question.answer), value > question.answer
    many = "many" if above else "few"
    far = f"{factor:,.1f} times" if factor >= 1.5 else "a little"
    return remark.message.format(
        value=value,
        ratio=value / question.answer,
        factor=factor,
        leads_to=question.leads_to.number(value) if question.leads_to else None,
        large="large" if above else "small",
        many=many,
        times_too_many=f"{far} too {many}",
    )


def _generic(question: NumberQuestion, value: float) -> str:
    """Return what can be said where all that's known of a number is how far off it is."""
    again, answer = KINDS[question.kind], question.answer
    if value <= 0:
        mirrored = question.is_right(-value)
        return "The size is right, the sign is not." if mirrored else f"It is above zero. {again}"
    side, factor = "large" if value > answer else "small", _factor(value, answer)
    if question.unit == "percent" and abs(100 * value - answer) <= max(
        question.off, TYPED * answer
    ):
        return "That is the share of 1; in percent it is a hundred times that."
    if factor < 1.05:
        exactly = "" if question.tolerance else " It can be found exactly."
        return f"Close, but a little too {side}.{exactly}"
    if question.kind in FACTORLESS:
        return f"Too {side}. {again}"
    if factor >= 1000:
        return f"Too {side} by far, more than a thousand times. {again}"
    tenths = math.floor(10 * factor + 0.5) / 10
    about = f"{tenths:g}" if factor < 10 else f"{math.floor(factor + 0.5)}"
    return f"Too {side}, by a factor of about {about}. {again}"
