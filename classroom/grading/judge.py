"""Judges one answer, which runs in a process of its own."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import partial

from classroom.grading.process import AnswerProcess, Stopped
from mini_attn.errors import ConfigError
from mini_attn.exercises.checker import SEED
from mini_attn.exercises.judging import judge_function, judge_number
from mini_attn.exercises.report import Report
from mini_attn.exercises.spec import Exercise

__all__ = ["WALL_SECONDS", "Judged", "judge", "probe"]

WALL_SECONDS = 30.0
UNJUDGED = "The grader could not judge this answer ({}): show it to your teacher."
# Checks whose words an answer chooses, and what is said where only the grader's cases fail them.
UNSEEN = {
    "runs": "It ran into an error.",
    "type": "It returns something of another kind than is asked.",
    "shape": "What it returns has another shape than is asked.",
    "dtype": "What it returns has another data type than is asked.",
    "finite": "What it returns holds NaN or infinity.",
    "repeatable": "It changes its inputs, or gives another answer the second time.",
}


@dataclass
class Judged:
    """How one answer did.

    Parameters
    ----------
    report : Report
        The checks, as in the notebook.
    stopped : bool
        Whether its process was ended or ended itself.
    notes : list of str
        What its cells complained about.
    out_of_time : bool
        Whether it was ended, or not begun, because its student's answers had used up their time.
    """

    report: Report
    stopped: bool = False
    notes: list[str] = field(default_factory=list)
    out_of_time: bool = False


def _judge_in(process: AnswerProcess, task: Exercise, cells: list[str], name: str, *,
              seed: int) -> tuple[Report, list[str]]:  # fmt: skip
    """Return the report on an answer, and what its cells complained about."""
    process.start()
    found = process.prepare(cells, name)
    notes = found.notes
    if not found.known:
        kind = "number" if task.kind == "pencil" else "function"
        why = f": {notes[0]}" if notes else "."
        return Report(task, "runs", f"The cells define no {kind} called {name}{why}"), notes
    if task.kind == "pencil":
        return judge_number(task, found.value), notes
    if not found.callable:
        kind = type(found.value).__name__
        return Report(task, "type", f"{name} should be a function; it is a {kind}."), notes
    call = partial(process.call, measured=task.room is not None)
    return judge_function(task, call, seed=seed), notes


def _judge_once(
    task: Exercise, cells: list[str], name: str, *, seed: int, wall_seconds: float, ends_at: float
) -> Judged:
    """Judge an answer in one process, which ends after so many seconds, and when all time is up."""
    left = ends_at - time.monotonic()
    if left <= 0:
        return Judged(Report(task, "runs"), stopped=True, out_of_time=True)
    process = AnswerProcess(min(wall_seconds, left))
    judged = Judged(Report(task))
    try:
        judged.report, judged.notes = _judge_in(process, task, cells, name, seed=seed)
    except Stopped as stopped:
        judged.report, judged.stopped = Report(task, "runs", str(stopped)), True
        judged.out_of_time = process.late and left < wall_seconds
    except Exception as error:  # one answer's trouble is one answer's result
        words = UNJUDGED.format(type(error).__name__)
        judged.report, judged.stopped = Report(task, "runs", words), True
    finally:
        process.close()
    return judged


def _retold(report: Report, openly: Report) -> None:
    """Put what an answer said about the learner's own cases in the place of what it said here."""
    report.notes = openly.notes
    if report.failed == openly.failed:
        report.message = openly.message
    elif report.failed in UNSEEN:
        words = "This happens in a case that the notebook's own check does not have."
        report.message = f"{UNSEEN[report.failed]} {words}"


def judge(
    task: Exercise, cells: list[str], name: str, *, seed: int, wall_seconds: float = WALL_SECONDS,
    ends_at: float = math.inf,
) -> Judged:  # fmt: skip
    """Run an answer's cells and judge what they define.

    Parameters
    ----------
    task : Exercise
        Which exercise.
    cells : list of str
        Sources of the student's cells, in order.
    name : str
        What they should define: a function, or the number of a pencil exercise.
    seed : int
        Seeds the cases. They are drawn here, one by one, after the answer asked for them.
    wall_seconds : float
        When its process is ended, whatever it does.
    ends_at : float
        When the time of all its student's answers is up, on the clock of `time.monotonic`.

    Returns
    -------
    Judged
        Never raises because of what an answer does.

    Notes
    -----
    What an answer says itself (an exception, what it prints, the shape it returns) could hold the
    inputs of this run. Its words come from a second process, which is given those of the
    notebook's check.
    """
    run = partial(_judge_once, task, cells, name, wall_seconds=wall_seconds, ends_at=ends_at)
    judged = run(seed=seed)
    report = judged.report
    speaks = task.kind != "pencil" and (report.failed in UNSEEN or report.notes)
    if speaks and not judged.stopped and seed != SEED:
        openly = run(seed=SEED)
        if openly.out_of_time and report.failed:
            return openly
        _retold(report, openly.report)
    return judged


def probe() -> dict[str, bool]:
    """See whether an answer can be run here at all, and how well it is locked up.

    Returns
    -------
    dict of str to bool
        Layers of isolation: ``limits``, ``landlock``, ``seccomp``, ``hook``.

    Raises
    ------
    ConfigError
        If an honest answer does not run: every grade would be wrong.
    """
    process = AnswerProcess(WALL_SECONDS)
    try:
        in_force = process.start()
        found = process.prepare(["answer = float(np.arange(5).sum())"], "answer")
    except Stopped as stopped:
        raise ConfigError(f"answers cannot be run on this machine: {stopped}") from None
    finally:
        process.close()
    if found.value != 10:
        raise ConfigError(f"answers cannot be run on this machine: {found.notes}")
    return in_force
