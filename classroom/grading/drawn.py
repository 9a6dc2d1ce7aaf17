"""Whose numbers a submission is judged by: from name and seed, never from its notebook."""

from __future__ import annotations

import math
import re
import sys
from collections import defaultdict
from collections.abc import Sequence

from classroom.drawing import forms, seal, students_of
from classroom.reports.sanitize import clean
from classroom.sheets.sheet import Sheet
from classroom.sheets.students import Student
from classroom.submissions.collect import COPY, Submission, moodle_name
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise

__all__ = ["borrowed", "draw_for", "number_in"]

NOBODY = (
    "nobody on the roster is called like this, so no numbers are known: their pencil exercises "
    "earn nothing until the file or folder has a name of the roster"
)
NOT_YOURS = "its numbers were drawn for somebody else"
SHOWN = 80  # characters of a name
FEW = 2  # whose number it may be: one that many should find is found by chance
NUMBER = re.compile(r"answer *= *([-+]?\d[\d_]*(?:\.\d*)?(?:e[-+]?\d{1,3})?)(?: *#[^\n]*)?", re.I)
NUMBER_LENGTH = 200  # characters of such an answer


def _refuse(sent: Sequence[Submission], sheet: Sheet, draw: str | None) -> None:
    """Numbers that were drawn are not judged as the book's, nor by another seed."""
    if draw is None:
        own = sum(bool(one.keys) for one in sent)
        if sheet.drawn or 2 * own > len(sent):
            raise ConfigError(
                f"the numbers of {sheet.name!r} were drawn for each student: give the ROSTER= and "
                "the DRAW= of its release"
            )
    elif sheet.drawn and sheet.drawn != seal(draw):
        raise ConfigError(f"the numbers of {sheet.name!r} were drawn with another DRAW=")


def draw_for(
    sent: Sequence[Submission], sheet: Sheet, roster: Sequence[str], draw: str | None
) -> list[Student]:
    """Give each submission the key to its numbers; who is on no roster gets none, and is told.

    Parameters
    ----------
    sent : sequence of Submission
        All of the run; their ``key`` and ``problems`` are written.
    sheet : Sheet
        What was asked.
    roster : sequence of str
        Everybody's names, as at the release.
    draw : str or None
        The seed; None where the numbers are the book's.

    Returns
    -------
    list of Student
        Everybody who was given numbers.

    Raises
    ------
    ConfigError
        If seed or roster are missing, or the seed is not that of the sheet.
    """
    _refuse(sent, sheet, draw)
    if draw is None:
        return []
    students = students_of(roster, draw)
    by_form = {form: s for s in students for form in forms({s.name, s.file})}
    taken: dict[str, str] = {}
    for one in sent:
        found = _found(one, by_form)
        if found is None:
            one.problems.append(NOBODY)
            print(f"[grade] {clean(one.student, SHOWN)}: {NOBODY}", file=sys.stderr)
            continue
        one.key = found.key
        if taken.setdefault(found.name, one.student) != one.student:  # an attempt has its name
            words = f"also handed in as {clean(taken[found.name], SHOWN)!r}, on the roster once"
            one.problems.append(words)
        if one.keys and found.key not in one.keys:
            one.problems.append(NOT_YOURS)
    return students


def _found(one: Submission, by_form: dict[str, Student]) -> Student | None:
    """Return who on the roster this is; a copy's number and Moodle's are no part of a name."""
    numberless = moodle_name(one.student, [*one.files, *one.problems])
    for name in (one.student, COPY.sub("", one.student), numberless or ""):
        for form in forms({name}):
            if form in by_form:
                return by_form[form]
    return None


def borrowed(
    sent: Sequence[Submission], students: Sequence[Student], exercises: Sequence[str]
) -> list[str]:
    """Return what has the numbers of somebody else, for the teacher: notebooks, and single answers.

    Parameters
    ----------
    sent : sequence of Submission
        All of the run, as `draw_for` left them.
    students : sequence of Student
        As it gave them.
    exercises : sequence of str
        The sheet.

    Returns
    -------
    list of str
        Words for each.
    """
    if not students:
        return []
    names = {s.key: s.name for s in students}
    found = []
    for one in sent:
        if one.keys and one.key not in one.keys:
            whose = [names.get(key, "nobody on the roster") for key in one.keys[:3]]
            found.append(f"{clean(one.student, SHOWN)} has the notebook of {' and '.join(whose)}")
    for key in exercises:
        if exercise(key).draw:
            found += _right_for_others(key, sent, names)
    return found


def _right_for_others(key: str, sent: Sequence[Submission], names: dict[str, str]) -> list[str]:
    """Wrong numbers that no foreseen mistake explains, and that one or two others should find."""
    asked = {own: exercise(key).for_student(own).question for own in names}
    having: dict[str, list[str]] = defaultdict(list)
    for own, question in asked.items():
        having[f"{question.answer:.3g}"].append(own)
    found = []
    for one in sent:
        number = number_in(one.cells.get(key, []))
        if number is None or not one.key:
            continue
        whose = [own for own in having[f"{number:.3g}"] if asked[own].is_right(number)]
        mine = asked[one.key]
        explained = mine.is_right(number) or mine.mistake_at(number)
        if explained or not 0 < len(whose) <= FEW:
            continue
        others = " or ".join(names[own] for own in whose)
        found.append(f"{clean(one.student, SHOWN)} answers {key} with the number of {others}")
    return found


def number_in(cells: Sequence[str]) -> float | None:
    """Return the number that an answer writes down, if it is nothing but that; nothing is run."""
    found = NUMBER.fullmatch("\n".join(cells).strip()[:NUMBER_LENGTH])
    value = float(found[1].replace("_", "")) if found else math.nan
    return value if math.isfinite(value) else None
