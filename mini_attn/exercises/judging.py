"""The checks of an answer, in a fixed order; the first that fails names the missing idea."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mini_attn.exercises.form import Missing, arrays_of, check_finite, number_of
from mini_attn.exercises.report import Report
from mini_attn.exercises.runner import Run
from mini_attn.exercises.spec import Exercise, Inputs, Outputs

__all__ = ["examine_function", "examine_number"]

Call = Callable[[Inputs], Run]


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
            if idea := _examine_case(task, call, inputs, report, twice=number == 0):
                raise Missing(group, idea)


def _one_number(task: Exercise, answer: Any) -> None:
    """The number of a pencil exercise, whose cases are not drawn."""
    outputs = {"answer": np.asarray(number_of(answer))}
    for group, given in task.cases(np.random.default_rng(0)).items():
        for inputs in given:
            if idea := _judge(task, inputs, outputs):
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
