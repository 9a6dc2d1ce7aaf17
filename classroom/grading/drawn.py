"""Whose numbers a submission is judged by: from name and seed, never from its notebook."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from classroom.drawing import forms, seal, students_of
from classroom.reports.sanitize import clean
from classroom.sheets.sheet import Sheet
from classroom.sheets.students import Student
from classroom.submissions.collect import COPY, Submission, moodle_name
from mini_attn.errors import ConfigError

__all__ = ["borrowed", "draw_for"]

NOBODY = (
    "nobody on the roster is called like this, so no numbers are known: their pencil exercises "
    "earn nothing until the file or folder has a name of the roster"
)
NOT_YOURS = "its numbers were drawn for somebody else"
SHOWN = 80  # characters of a name


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
        if found.name in taken:
            words = f"also handed in as {clean(taken[found.name], SHOWN)!r}, on the roster once"
            one.problems.append(words)
        taken.setdefault(found.name, one.student)
        if one.keys and found.key not in one.keys:
            one.problems.append(NOT_YOURS)
    return students


def _found(one: Submission, by_form: dict[str, Student]) -> Student | None:
    """Who on the roster this is; a copy's number and Moodle's are no part of a name."""
    numberless = moodle_name(one.student, [*one.files, *one.problems])
    for name in (one.student, COPY.sub("", one.student), numberless or ""):
        for form in forms({name}):
            if form in by_form:
                return by_form[form]
    return None


def borrowed(sent: Sequence[Submission], students: Sequence[Student]) -> list[str]:
    """Words for each submission whose notebook has the numbers of somebody else."""
    names = {s.key: s.name for s in students}
    found = []
    for one in sent:
        if students and one.keys and one.key not in one.keys:
            whose = [names.get(key, "nobody on the roster") for key in one.keys[:3]]
            found.append(f"{clean(one.student, SHOWN)} has the numbers of {' and '.join(whose)}")
    return found
