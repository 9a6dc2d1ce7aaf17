"""What a learner and a grader call: both use the same checks."""

from __future__ import annotations

from functools import partial
from typing import Any

from mini_attn.errors import CheckFailed
from mini_attn.exercises.judging import examine_function, examine_number
from mini_attn.exercises.progress_store import remember
from mini_attn.exercises.report import Report
from mini_attn.exercises.runner import run
from mini_attn.exercises.spec import exercise

__all__ = ["check", "examine", "grade"]

SEED = 20_260_101  # a learner sees the same cases each time; a grader passes its own


def examine(exercise_id: str, answer: Any, *, seed: int = SEED) -> Report:
    """Check an answer and report.

    Parameters
    ----------
    exercise_id : str
        Which exercise.
    answer : callable or number
        The learner's function, or the number of a pencil exercise.
    seed : int
        Seeds the random cases.

    Returns
    -------
    Report
        How far it came.

    Raises
    ------
    ConfigError
        If there is no such exercise.
    """
    task = exercise(exercise_id)
    if task.kind == "pencil":
        report = examine_number(task, answer)
    elif callable(answer):
        call = partial(run, answer, measured=task.room is not None)
        report = examine_function(task, call, seed=seed)
    else:
        kind = type(answer).__name__
        words = f"Pass the function itself, without brackets; this is a {kind}."
        report = Report(task, "type", words)
    return report


def check(exercise_id: str, answer: Any) -> None:
    """Say how far an answer came, and which idea is missing; `progress` keeps it.

    Parameters
    ----------
    exercise_id : str
        Which exercise, for example ``"cached_step"``.
    answer : callable or number
        The function, or the number of a pencil exercise.

    Raises
    ------
    ConfigError
        If there is no such exercise; a wrong answer raises nothing.

    Examples
    --------
    >>> check("cache_budget", ...)
    How many fit?: not attempted, 0 of 2 points
      ✗ attempted: Put your number in place of the three dots.
    """
    report = examine(exercise_id, answer)
    print(report)
    remember(report.exercise, report.failed)


def grade(exercise_id: str, answer: Any) -> None:
    """Raise if an answer is not right; `progress` knows nothing of it.

    Parameters
    ----------
    exercise_id : str
        Which exercise.
    answer : callable or number
        As in `check`.

    Raises
    ------
    CheckFailed
        With the first missing idea.
    ConfigError
        If there is no such exercise.
    """
    report = examine(exercise_id, answer)
    if report.failed:
        raise CheckFailed(f"{report.failed}: {report.message}")
