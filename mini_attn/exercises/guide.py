"""Hints, and where a learner stands."""

from __future__ import annotations

from mini_attn.errors import ConfigError
from mini_attn.exercises.checker import attempts
from mini_attn.exercises.spec import exercise, exercise_ids

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
    """Print how far each exercise has come in this session."""
    width = max(len(exercise(i).title) for i in exercise_ids())
    earned = total = 0
    for exercise_id in exercise_ids():
        task, report = exercise(exercise_id), attempts.get(exercise_id)
        if report is None or report.failed == "attempted":
            state = "not attempted"
        else:
            state = f"missing: {report.failed}" if report.failed else "solved"
        points = report.points if report else 0
        earned, total = earned + points, total + task.points
        print(f"{task.page}  {task.title:{width}}  {points} of {task.points}  {state}")
    print(f"{earned} of {total} points in this session")
