"""What a marker needs for a pencil exercise: the answer, and what wrong numbers come from."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType

from mini_attn.exercises.spec import exercise
from mini_attn.questions import NumberQuestion

__all__ = ["Key", "OwnKey", "Slip", "key", "number", "own_key", "said_alike"]


@dataclass(frozen=True)
class Slip:
    """A wrong number that is often found: what happened, the number, the idea to give back."""

    what: str
    value: str
    idea: str


@dataclass(frozen=True)
class Key:
    """The answer of a pencil exercise.

    Parameters
    ----------
    answer, unit : str
        The number, written out, and what it counts.
    accepted : str
        From where to where a number is right; empty where it is one whole number.
    summary : str
        What is worked out, in a line.
    working : str
        Lines of Python that arrive at the number, to be read.
    slips : tuple of Slip
        Foreseen wrong numbers, the smallest first.
    """

    answer: str
    unit: str
    accepted: str
    summary: str
    working: str
    slips: tuple[Slip, ...]


def number(value: float) -> str:
    """A number as one writes it by hand: whole numbers whole, others with four digits.

    Examples
    --------
    >>> number(24_704), number(0.57735), number(589.46), number(26_923.31)
    ('24,704', '0.5774', '589.5', '26,923.3')
    """
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.1f}"


def _accepted(question: NumberQuestion) -> str:
    """Return the range of right numbers, rounded inwards; empty for exactly one."""
    if not (question.tolerance or question.within):
        return ""
    low, high = question.answer - question.off, question.answer + question.off
    unit = 10.0 ** (math.floor(math.log10(question.answer)) - 3)
    low, high = math.ceil(low / unit) * unit, math.floor(high / unit) * unit
    return f"{number(low)} to {number(high)}"


def said_alike(question: NumberQuestion, value: float) -> str | None:
    """Return what is said to a wrong number and others like it; None if the words repeat it."""
    mistake = question.mistake_at(value)
    if mistake is not None:
        return mistake.message
    remark = question.remark_at(value)
    return remark.message if remark is not None and remark.is_plain else None


def _slips(exercise_id: str, solutions: ModuleType) -> tuple[Slip, ...]:
    """From the wrong answers, and from mistakes that the check knows beyond these."""
    question = exercise(exercise_id).question
    foreseen = [(float(one.value), one.message) for one in question.mistakes]
    messages = {message for _, message in foreseen}
    found: list[tuple[float, Slip]] = []
    for name, value, check, _ in solutions.WRONG:
        said = said_alike(question, value) if check == "by hand" else None
        if said and (value > 0 or said in messages):
            found.append((value, Slip(name[:1].upper() + name[1:], number(value), said)))
    seen = {slip.idea for _, slip in found}
    found += [(v, Slip("", number(v), idea)) for v, idea in foreseen if idea not in seen]
    return tuple(slip for _, slip in sorted(found, key=lambda pair: pair[0]))


@cache
def key(exercise_id: str) -> Key:
    """The answer of a pencil exercise, with what its wrong answers lack.

    Parameters
    ----------
    exercise_id : str
        An exercise of the kind "pencil".

    Returns
    -------
    Key
        Texts for the marker.
    """
    solutions = import_module(f"solutions.{exercise_id}")
    source = inspect.getsource(solutions)
    working = source.split('"""\n', 1)[1].split("\nWRONG", 1)[0].replace("REFERENCE", "answer")
    working = working.replace("import math\n", "").replace("math.", "")  # read, not run
    return Key(
        answer=number(solutions.REFERENCE),
        unit=exercise(exercise_id).question.unit,
        accepted=_accepted(exercise(exercise_id).question),
        summary=(inspect.getdoc(solutions) or "").split("\n", 1)[0],
        working=working.strip(),
        slips=_slips(exercise_id, solutions),
    )


@dataclass(frozen=True)
class OwnKey:
    """The answer for one student: the number, what is accepted, and foreseen wrong numbers."""

    answer: str
    accepted: str
    wrong: tuple[str, ...]


_own: dict[tuple[str, str], OwnKey] = {}  # many students get the same numbers


def own_key(exercise_id: str, student_key: str) -> OwnKey:
    """The answer of an exercise whose numbers are drawn.

    Parameters
    ----------
    exercise_id : str
        Which exercise.
    student_key : str
        Of the student.

    Returns
    -------
    OwnKey
        Its wrong numbers in the order of the book's mistakes.
    """
    task = exercise(exercise_id).for_student(student_key)
    if (exercise_id, task.text) not in _own:
        asked = task.question
        wrong = tuple(number(float(one.value)) for one in asked.mistakes)
        _own[exercise_id, task.text] = OwnKey(number(asked.answer), _accepted(asked), wrong)
    return _own[exercise_id, task.text]
