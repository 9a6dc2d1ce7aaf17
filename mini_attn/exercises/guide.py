"""Hints, and where a learner stands."""

from __future__ import annotations

from mini_attn.errors import ConfigError
from mini_attn.exercises.checker import attempts
from mini_attn.exercises.spec import exercise

__all__ = ["hint", "progress"]

_shown: dict[str, int] = {}


def hint(exercise_id: str, number: int | None = None) -> None:
    """Print a hint: first the idea, then the steps.

    Parameters
    ----------
    exercise_id : str
        Which exercise.
    number : int or None
        1 or 2; None gives the next one that was not shown.

    Raises
    ------
    ConfigError
        If there is no such exercise or hint.
    """
    hints = exercise(exercise_id).hints
    if number is None:
        number = min(_shown.get(exercise_id, 0) + 1, len(hints))
    if number not in range(1, len(hints) + 1):
        raise ConfigError(f"{exercise_id} has hints 1 to {len(hints)}, not {number!r}")
    _shown[exercise_id] = number
    print(f"Hint {number} of {len(hints)}: {hints[number - 1]}")


def progress() -> None:
    """Print how far each exercise has come that was checked in this session.

    Chapter by chapter, in the order of the checks; a notebook runs its own from top to bottom.
    """
    if not attempts:
        print("No exercise was checked in this session yet.")
        return
    reports = list(attempts.values())
    width = max(len(report.exercise.title) for report in reports)
    for page in dict.fromkeys(report.exercise.page for report in reports):
        print(page)
        for report in (report for report in reports if report.exercise.page == page):
            task = report.exercise
            state = f"missing: {report.failed}" if report.failed else "solved"
            state = "not attempted" if report.failed == "attempted" else state
            print(f"  {task.title:{width}}  {report.points} of {task.points}  {state}")
    earned = sum(report.points for report in reports)
    total = sum(report.exercise.points for report in reports)
    print(f"{earned} of {total} points in this session")
