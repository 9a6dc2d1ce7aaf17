"""The checks of an answer, in a fixed order; the first that fails names the missing idea."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from textwrap import fill
from typing import Any

import numpy as np

from mini_attn.errors import CheckFailed
from mini_attn.exercises.form import Missing, arrays_of, check_finite
from mini_attn.exercises.progress_store import remember
from mini_attn.exercises.runner import Run, run
from mini_attn.exercises.spec import Exercise, Inputs, Outputs, exercise

__all__ = ["CHECKS", "Report", "check", "examine", "examine_function", "examine_number", "grade"]

Call = Callable[[Inputs], Run]

FORM = ("attempted", "runs", "type", "shape", "dtype", "finite", "repeatable")
CHECKS = (*FORM, "by hand", "random", "property", "edges")
PENCIL_CHECKS = ("attempted", "type", "finite", "by hand")
LINE = 84  # characters that a cell's output shows without scrolling
SEED = 20_260_101  # a learner sees the same cases each time; a grader passes its own


@dataclass
class Report:
    """How far an answer came.

    Parameters
    ----------
    exercise : Exercise
        Which exercise.
    failed : str or None
        Name of the first check that failed.
    message : str
        The missing idea.
    notes : list of str
        Advice that costs no points.
    """

    exercise: Exercise
    failed: str | None = None
    message: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def points(self) -> int:
        """All points, or none."""
        return 0 if self.failed else self.exercise.points

    def __str__(self) -> str:
        checks = PENCIL_CHECKS if self.exercise.kind == "pencil" else CHECKS
        passed = checks[: checks.index(self.failed)] if self.failed else checks
        head = "solved" if not self.failed else "not yet"
        if self.failed == "attempted":
            head = "not attempted"
        lines = [f"{self.exercise.title}: {head}, {self.points} of {self.exercise.points} points"]
        if passed:
            lines.append(f"  ✓ {', '.join(passed)}")
        if self.failed:
            lines.append(f"  ✗ {self.failed}: {self.message}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(fill(line, LINE, subsequent_indent="    ") for line in lines)


def _call(call: Call, inputs: Inputs, report: Report) -> Run:
    """One call; what it wrote, warned or changed becomes advice."""
    result = call(inputs)
    advice = []
    if result.complaints:
        advice.append(f"while running it warned: {result.complaints.splitlines()[0][:160]}")
    if result.mutated:
        advice.append(f"it changed its input {', '.join(result.mutated)}: work on a copy")
    if result.printed:
        advice.append(f"it printed: {result.printed.splitlines()[0][:80]}")
    report.notes += [note for note in advice if note not in report.notes]
    if not result.attempted:
        raise Missing("attempted", "Replace the line that raises NotImplementedError.")
    if result.problem:
        raise Missing("runs", result.problem)
    return result


def _same(first: Outputs, second: Outputs) -> bool:
    return all(
        np.array_equal(first[n], second[n], equal_nan=first[n].dtype.kind == "f") for n in first
    )


def _judge(task: Exercise, inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea that the outputs lack; an error in a check is never the learner's."""
    try:
        with np.errstate(all="ignore"):
            return task.judge(inputs, outputs)
    except Exception as error:  # an odd answer may reach a line that no test has reached
        name = type(error).__name__
        return f"The check itself failed on this answer, with {name}: please report it."


def _examine_case(
    task: Exercise, call: Call, inputs: Inputs, report: Report, *, twice: bool
) -> str | None:
    """One case: everything up to the idea that the judge misses."""
    expected = task.expected(inputs)
    outputs = arrays_of(_call(call, inputs, report).value, expected)
    check_finite(outputs, inputs)
    if twice and not _same(outputs, arrays_of(_call(call, inputs, report).value, expected)):
        raise Missing("repeatable", "The same inputs give another answer the second time.")
    return _judge(task, inputs, outputs)


def _all_cases(task: Exercise, call: Call, seed: int, report: Report) -> None:
    """All cases, group by group; the first of each group is called twice."""
    for group, drawn in task.cases(np.random.default_rng(seed)).items():
        for number, inputs in enumerate(drawn):
            idea = _examine_case(task, call, inputs, report, twice=number == 0)
            if idea:
                raise Missing(group, idea)


def _one_number(task: Exercise, answer: Any) -> None:
    """A pencil exercise."""
    if answer is None or answer is ...:
        raise Missing("attempted", "Put your number in place of the three dots.")
    if isinstance(answer, np.ndarray) and answer.ndim == 0:
        answer = answer.item()
    if isinstance(answer, bool) or not isinstance(answer, int | float | np.integer | np.floating):
        raise Missing("type", f"The answer is one number; this is a {type(answer).__name__}.")
    try:
        number = float(answer)
    except OverflowError:  # a whole number beyond every float
        number = np.inf
    if not np.isfinite(number):
        raise Missing("finite", "The answer is a finite number of ordinary size.")
    for group, drawn in task.cases(np.random.default_rng(SEED)).items():
        for inputs in drawn:
            if idea := _judge(task, inputs, {"answer": np.asarray(number)}):
                raise Missing(group, idea)


def examine_function(task: Exercise, call: Call, *, seed: int) -> Report:
    """Check a function, however it is called: here, or in a process of its own.

    Parameters
    ----------
    task : Exercise
        Which exercise.
    call : callable (inputs) -> Run
        Calls the answer with one case.
    seed : int
        Seeds the random cases.

    Returns
    -------
    Report
        How far it came.
    """
    report = Report(task)
    try:
        _all_cases(task, call, seed, report)
    except Missing as missing:
        report.failed, report.message = missing.name, missing.message
    return report


def examine_number(task: Exercise, answer: Any) -> Report:
    """Check the number of a pencil exercise.

    Parameters
    ----------
    task : Exercise
        Which exercise.
    answer : number
        What the learner found; anything else is told what it is.

    Returns
    -------
    Report
        Whether it is right.
    """
    report = Report(task)
    try:
        _one_number(task, answer)
    except Missing as missing:
        report.failed, report.message = missing.name, missing.message
    return report


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
        report = examine_function(task, partial(run, answer), seed=seed)
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
