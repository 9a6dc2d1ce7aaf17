"""The checks of an answer, in a fixed order; the first that fails names the missing idea."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mini_attn.exercises.choosing import Tried, what_to_say
from mini_attn.exercises.form import Missing, arrays_of, not_finite, number_of
from mini_attn.exercises.report import Report
from mini_attn.exercises.runner import Run
from mini_attn.exercises.spec import GROUPS, Exercise, Inputs, Outputs

__all__ = ["count_right", "judge_function", "judge_number"]

ROUGH = "right to float32's precision: float64 would keep twice as many digits"
Call = Callable[[Inputs], Run]


def _call(call: Call, inputs: Inputs, report: Report) -> Run:
    """One call; what it wrote, warned or changed becomes advice."""
    result = call(inputs)
    advice = []
    if result.complaints:
        advice.append(f"while running it warned: {result.complaints.splitlines()[0][:160]}")
    if result.mutated and not report.exercise.keeps_inputs:
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
    """Return what the outputs lack; an error in a check is never the learner's."""
    try:
        with np.errstate(all="ignore"):
            return task.judge(inputs, outputs)
    except Exception as error:  # an odd answer may reach a line that no test has reached
        return _broken(error)


def _rough(task: Exercise, case: Tried, outputs: Outputs, fault: str | None) -> bool:
    """Return whether outputs are right to float32's precision, and no better."""
    other = np.float32 if fault else np.float64
    with np.errstate(over="ignore"):
        cast = {n: a.astype(other) if a.dtype.kind == "f" else a for n, a in outputs.items()}
    if all(cast[name].dtype == array.dtype for name, array in outputs.items()):
        return False
    return (_judge(task, case.inputs, cast) is None) == (fault is not None)


def _broken(error: Exception) -> str:
    name = type(error).__name__
    return f"The check itself failed on this answer, with {name}: please report it."


def _try(task: Exercise, call: Call, case: Tried, report: Report, *, twice: bool) -> Tried:
    """One case: everything up to what is wrong with the outputs."""
    expected = task.expected(case.inputs)
    ran = _call(call, case.inputs, report)
    returned = arrays_of(ran.value, expected)
    outputs = task.asked(case.inputs, returned)
    if fault := not_finite(outputs, case.inputs, ran.complaints):
        return replace(case, outputs=outputs, fault=fault, finite=False)
    if task.keeps_inputs and ran.mutated:
        names = " and ".join(ran.mutated)
        raise Missing("repeatable", f"It writes into {names}, which should stay as passed in.")
    if task.room and ran.peak > (room := task.room(case.inputs))[0]:
        raise Missing(case.group, room[1])
    if twice and not _same(returned, arrays_of(_call(call, case.inputs, report).value, expected)):
        raise Missing("repeatable", "The same inputs give another answer the second time.")
    fault = _judge(task, case.inputs, outputs)
    return replace(case, outputs=outputs, fault=fault, rough=_rough(task, case, outputs, fault))


def _all_cases(task: Exercise, call: Call, seed: int, report: Report) -> list[Tried]:
    """All cases, group by group; the first of each group is called twice.

    The first fault decides. What comes after it is called once, as evidence of what it is.
    """
    tried: list[Tried] = []
    failed = False
    for group, drawn in task.cases(np.random.default_rng(seed)).items():
        for number, inputs in enumerate(drawn):
            notes = Report(task) if failed else report
            try:
                case = Tried(group, inputs, {})
                case = _try(task, call, case, notes, twice=number == 0 and not failed)
            except Missing as missing:
                if missing.misfit and all(one.misfit for one in tried if one.fault):
                    failed = True
                    case.fault, case.misfit = missing.message, missing.misfit
                    tried.append(case)
                    continue
                if not failed:
                    raise
                if missing.name == "runs":  # an endless loop is waited for once
                    return tried
            except Exception:
                if not failed:
                    raise
                return tried  # the process of the answer has gone: the first fault stands
            else:
                tried.append(case)
                failed = failed or case.fault is not None
        if not failed:
            report.passed.append(group)
    return tried


def _first_fault(task: Exercise, tried: list[Tried], report: Report) -> None:
    """Raise the check that failed, and the idea behind it; what is right may get a note."""
    try:
        with np.errstate(all="ignore"):
            said = what_to_say(task, tried)
    except Exception as error:  # as in _judge
        said = next(case.group for case in tried if case.fault), _broken(error)
    if said:
        raise Missing(*said)
    if any(case.rough for case in tried):
        report.notes.append(ROUGH)


def count_right(task: Exercise, call: Call, *, seed: int) -> tuple[int, int]:
    """Return how many cases come out right, each judged by itself.

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
    right, of : int
        Cases that are right, and all cases.
    """
    right = of = 0
    for group, drawn in task.cases(np.random.default_rng(seed)).items():
        for inputs in drawn:
            of += 1
            try:
                case = _try(task, call, Tried(group, inputs, {}), Report(task), twice=False)
            except Missing:
                continue
            right += case.fault is None
    return right, of


def judge_function(task: Exercise, call: Call, *, seed: int) -> Report:
    """Check a function, however it is called: here, or in its own process.

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
        _first_fault(task, _all_cases(task, call, seed, report), report)
    except Missing as missing:
        report.failed, report.message = missing.name, missing.message
    return report


def judge_number(task: Exercise, answer: Any) -> Report:
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
    from mini_attn.questions import judge  # a page with functions alone doesn't wait for it

    report = Report(task)
    try:
        judged = judge(task.question, number_of(answer))
    except Missing as missing:
        report.failed, report.message = missing.name, missing.message
    else:
        if judged.verdict != "right":
            report.failed, report.message = GROUPS[0], judged.message
    return report
