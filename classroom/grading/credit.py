"""From checks to points: what an exercise is worth on a sheet, and whether a part of it counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from classroom.results import Answer, Result
from classroom.sheets.sheet import Sheet

__all__ = ["credited", "total"]


def _share(earned: float, of: float, worth: float) -> float:
    """Return points on the sheet, with two digits at most."""
    points = round(worth * earned / of, 2)
    return int(points) if points == int(points) else points


def total(answers: Iterable[Answer]) -> float:
    """Return the points of all answers of a student, with two digits at most."""
    return round(sum(answer.points for answer in answers), 2)


def credited(results: Sequence[Result], sheet: Sheet, *, partial: bool) -> list[Result]:
    """Return the results with the points that they earn on a sheet.

    Parameters
    ----------
    results : sequence of Result
        As they are kept, with the book's points: ``points`` of an answer are all or none,
        ``partial`` are those of the groups of checks before the first that failed.
    sheet : Sheet
        Says what each exercise is worth.
    partial : bool
        Whether groups count one by one.

    Returns
    -------
    list of Result
        With ``points`` and ``of`` of this sheet; what is kept does not change.
    """
    found = []
    for result in results:
        answers = []
        for answer in result.answers:
            worth = sheet.worth(answer.id)
            earned = answer.partial if partial else answer.points
            points = _share(earned, answer.of, worth)
            answers.append(replace(answer, points=points, of=worth))
        found.append(replace(result, answers=answers, points=total(answers), of=sheet.points))
    return found
