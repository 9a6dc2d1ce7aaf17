"""What a learner and a grader call: both use the same checks."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.errors import CheckFailed, ConfigError
from mini_attn.exercises.alone import cell_of, defined_alone, what_lacks
from mini_attn.exercises.judging import judge_function, judge_number
from mini_attn.exercises.progress_store import remember
from mini_attn.exercises.report import Report
from mini_attn.exercises.rubric import refuse_open, rubric_words
from mini_attn.exercises.runner import run
from mini_attn.exercises.spec import Exercise, exercise
from mini_attn.exercises.untouched import untouched
from mini_attn.exercises.variants import mine

__all__ = ["check", "grade", "judge_answer"]

NOTHING: Any = object()  # no answer, which may itself be None
SEED = 20_260_101  # a learner sees the same cases each time; a grader passes its own


def judge_answer(
    exercise_id: str, answer: Any, *, seed: int = SEED, diagnose_starter: bool = True
) -> Report:
    """Judge an answer and report.

    Parameters
    ----------
    exercise_id : str
        Which exercise.
    answer : callable or number
        The learner's function, or the number of a pencil exercise.
    seed : int
        Seeds the random cases.
    diagnose_starter : bool
        Whether the untouched starter of a repair exercise is told what is wrong with it, which a
        learner is to find.

    Returns
    -------
    Report
        How far it came.

    Raises
    ------
    ConfigError
        If there is no such exercise, or people mark it.
    """
    if not diagnose_starter and (said := untouched(exercise(exercise_id), answer, seed=seed)):
        return said
    task = mine(exercise(exercise_id))
    refuse_open(task)
    if task.kind == "pencil":
        report = judge_number(task, answer)
    elif callable(answer):
        call = partial(run, answer, measured=task.room is not None)
        report = judge_function(task, call, seed=seed)
    else:
        kind = type(answer).__name__
        words = f"Pass the function itself, without brackets; this is a {kind}."
        report = Report(task, "type", words)
    return report


def _alone(task: Exercise, answer: Any) -> Report:
    """The report on an answer's own cell, with other numbers than the check has."""
    source = cell_of(answer)
    if task.kind == "pencil":
        return judge_answer(task.id, answer)
    if source is None:
        words = "Its cell cannot be found: run the cell that defines the function, then this one."
        return Report(task, "runs", words)
    found, notes = defined_alone(task, source)
    if found is None:
        why = f": {notes[0]}" if notes else "."
        words = f"The cell alone defines no function called {task.name}{why}"
        report = Report(task, "runs", words)
    else:
        seed = int(np.random.default_rng().integers(2**32))
        report = judge_answer(task.id, found, seed=seed, diagnose_starter=False)
    report.notes += [*notes, *what_lacks(task, source)]
    return report


def check(exercise_id: str, answer: Any = NOTHING, *, alone: bool = False) -> None:
    """Say how far an answer came, and which idea is missing; `progress` keeps it.

    Parameters
    ----------
    exercise_id : str
        Which exercise, for example ``"cached_step"``.
    answer : callable or number
        The function, or the number of a pencil exercise. An open question is answered in a cell
        of text and takes none: its criteria are printed, and people mark it.
    alone : bool
        Grade it as a teacher will: the cell that defines the function runs alone, with NumPy and
        without the notebook's other cells, and is asked for other numbers. `progress` knows
        nothing of it.

    Raises
    ------
    ConfigError
        If there is no such exercise, or it needs an answer and got none; a wrong answer raises
        nothing.

    Notes
    -----
    Of the unchanged starter of a repair exercise the check says how many cases come out right,
    and not what is wrong: to find that is the exercise.

    Of an answer that is right the check says which names come from other cells, as these are
    missing where a teacher grades. Cells between the answer and its check count as its own there.

    Examples
    --------
    >>> check("cache_budget", ...)
    How many fit?: not attempted, 0 of 2 points
      ✗ attempted: Put your number in place of the three dots.
    """
    task = exercise(exercise_id)
    if task.kind == "open":
        print(rubric_words(task))
        return
    if answer is NOTHING:
        raise ConfigError(f"pass your answer too: {task.check}")
    if alone:
        print(_alone(task, answer))
        return
    report = judge_answer(exercise_id, answer, diagnose_starter=False)
    source = None if report.failed else cell_of(answer)
    report.notes += what_lacks(report.exercise, source) if source else []
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
        If there is no such exercise, or people mark it.
    """
    report = judge_answer(exercise_id, answer)
    if report.failed:
        raise CheckFailed(f"{report.failed}: {report.message}")
