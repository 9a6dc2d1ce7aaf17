"""Which of a student's attempts counts: the first, the last, or the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from classroom.grading.late import Times
from classroom.reports.sanitize import clean
from classroom.results import Result
from classroom.submissions.collect import Submission

__all__ = ["CHOICES", "counted", "to_grade"]

CHOICES = ("best", "last", "first")
NAME = 60  # characters of a file's place


def _by_student(sent: Sequence[Submission]) -> dict[str, list[Submission]]:
    """Return all attempts of each student, in order."""
    found: dict[str, list[Submission]] = {}
    for one in sent:
        found.setdefault(one.student, []).append(one)
    return found


def to_grade(sent: Sequence[Submission], choice: str | None) -> list[Submission]:
    """Return the attempts that must be graded to know which counts; None stands for one of each."""
    if choice == "best":
        return list(sent)
    place = 0 if choice == "first" else -1
    return [attempts[place] for attempts in _by_student(sent).values()]


def _left(result: Result, times: Times | None) -> float:
    """Return an attempt's points, without what is taken off for being late."""
    about = times.of(result.student, result.attempt) if times else None
    return about.left(result.points) if about else result.points


def _words(one: Submission, left: float | None) -> str:
    """Return what is said of an attempt."""
    files = ", ".join(clean(place, NAME) for place in one.files[:2]) or "no notebook"
    points = "not graded" if left is None else f"{round(left, 2):g} points"
    return f"attempt {one.attempt}: {points} ({files})"


def counted(
    sent: Sequence[Submission],
    results: Sequence[Result],
    times: Times | None,
    choice: str | None,
) -> tuple[list[Submission], list[Result]]:
    """Return one attempt of each student.

    Parameters
    ----------
    sent : sequence of Submission
        All of the run.
    results : sequence of Result
        Of those that `to_grade` chose, with points.
    times : Times or None
        When they were handed in: the best is the best after what is taken off.
    choice : str or None
        One of `CHOICES`. Of several that are best, the first counts.

    Returns
    -------
    list of Submission
        Those that count, by student.
    list of Result
        Their results. Where there are several, ``attempts`` says which counts, and what others
        there are.
    """
    graded = {(result.student, result.attempt): result for result in results}
    chosen, found = [], []
    for student, attempts in sorted(_by_student(sent).items()):
        left = {a.attempt: _left(graded[student, a.attempt], times)
                for a in attempts if (student, a.attempt) in graded}  # fmt: skip
        best = max(left, key=lambda number: (left[number], -number))
        one = next(a for a in attempts if a.attempt == best)
        result = graded[student, best]
        if len(attempts) > 1:
            others = [_words(a, left.get(a.attempt)) for a in attempts if a is not one]
            words = f"attempt {best} of {len(attempts)} counts, the {choice}"
            result = replace(result, attempts=[words, *others])
        chosen.append(one)
        found.append(result)
    return chosen, found
