"""Grades a class: each student answer by answer, several at a time.

What was graded before is used again.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path

from classroom.grading.judge import judge
from classroom.grading.process import end_all
from classroom.grading.run_folder import (
    Settings,
    kept_results,
    read_result,
    result_path,
    write_result,
)
from classroom.results import Answer, Result
from classroom.submissions.collect import Submission
from classroom.submissions.notebook import untouched
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import Exercise, exercise

__all__ = ["grade_all", "grade_student"]

LOST = re.compile(r"NameError: name '(\w{1,60})' is not defined")
NOT_CHANGED = "The cell is as it was handed out."
NOT_YOURS = (
    "These numbers are not yours: the notebook was handed out to somebody else. Answer with those "
    "of the notebook that you were given."
)
NOBODY = (
    "Numbers are drawn for each student by name, and nobody on the list is called like what you "
    "handed in. Tell your teacher."
)
# What one student's answers may take together: a sheet of sleepers must not hold up the class. An
# answer of ours takes a second or two, one that computes without end six.
SECONDS, SECONDS_EACH = 30, 10
TOO_LONG = (
    "Your answers together took more than the {} seconds that one student has. This one was "
    "stopped or not begun."
)


def seconds_for(exercises: Sequence[str]) -> int:
    """Return how long the answers of one student to a sheet may run, all together."""
    return SECONDS + SECONDS_EACH * len(exercises)


def _where(asked: Exercise, message: str, sent: Submission) -> str:
    """Return where a name stands that an answer lacks here and had in the notebook."""
    given = sent.checked.get(asked.id, asked.name)
    if message.startswith("The cells define no") and given != asked.name:
        return f" The check in the notebook was given {given}: keep the name {asked.name}."
    lost = LOST.search(message)
    if not lost or lost[1] not in sent.defined:
        return ""
    return (
        f" {lost[1]} is defined in {sent.defined[lost[1]]}, which is not part of this answer: put "
        "it into the answer's own cell, or into one between that and its check."
    )


def _grade_answer(exercise_id: str, sent: Submission, settings: Settings, ends_at: float) -> Answer:
    """Return the result of one answer, whose student's time is up at a moment."""
    asked, cells = exercise(exercise_id), sent.cells.get(exercise_id)
    answer = partial(Answer, exercise_id, asked.title, asked.page, asked.kind, asked.points)
    if cells is None:
        return answer("not handed in")
    if untouched(exercise_id, cells):
        return answer("not attempted", failed="attempted", message=NOT_CHANGED)
    if asked.kind == "open":
        return answer("to mark", text="\n".join(cells))
    if settings.drawn and asked.draw:
        if not sent.key:
            return answer("not yet", failed="attempted", message=NOBODY)
        asked = asked.for_student(sent.key)
    seed = settings.case_seed(exercise_id, sent.attempt)
    judged = judge(asked, cells, asked.name, seed=seed, ends_at=ends_at)
    report = judged.report
    if judged.out_of_time:
        report.message = TOO_LONG.format(seconds_for(settings.exercises))
    state = "stopped" if judged.stopped else "not yet" if report.failed else "solved"
    if report.failed == "attempted":
        state = "not attempted"
    foreign = asked is not exercise(exercise_id) and sent.keys and sent.key not in sent.keys
    if foreign and report.failed == "by hand":
        report.message = NOT_YOURS
    message = report.message + _where(asked, report.message, sent)
    notes = list(dict.fromkeys([*report.notes, *judged.notes]))
    return answer(state, report.points, report.partial, report.failed, message, notes)


def grade_student(sent: Submission, settings: Settings) -> Result:
    """Return the result of one student.

    Parameters
    ----------
    sent : Submission
        What was handed in.
    settings : Settings
        Those of the run.

    Returns
    -------
    Result
        As it's kept: with the book's points, and without marks and what being late costs.
    """
    seconds = seconds_for(settings.exercises)
    ends_at = time.monotonic() + seconds
    answers = [_grade_answer(i, sent, settings, ends_at) for i in settings.exercises]
    too_long = TOO_LONG.format(seconds)
    late = [answer.id for answer in answers if answer.message == too_long]
    words = f"the answers took more than {seconds} s together; stopped: "
    problems = [*sent.problems, *([words + ", ".join(late)] if late else [])]
    return Result(
        sent.student, sent.written_name, sent.files, problems, answers, attempt=sent.attempt
    )


Key = tuple[str, int]  # student and attempt
Kept = dict[Key, tuple[Path, Result]]


def _bar(total: int) -> Callable[[int], None]:
    """Shows how many students are done: a bar on a terminal, else a line every tenth."""
    last = -1

    def show(done: int) -> None:
        nonlocal last
        tenth = done * 10 // total if total else 10
        if sys.stderr.isatty():
            full = done * 30 // total if total else 30
            bar = "█" * full + "░" * (30 - full)
            print(f"\r[grade] {bar} {done} of {total}", end="", file=sys.stderr, flush=True)
        elif tenth != last:
            print(f"[grade] {done} of {total} students", file=sys.stderr, flush=True)
        last = tenth

    return show


def _kept(work: Path) -> Kept:
    """Return all results that are there, by student and attempt."""
    found: Kept = {}
    for path in kept_results(work):
        result = read_result(path)
        if result is not None:
            found[result.student, result.attempt] = path, result
    return found


def _of_before(
    sent: Sequence[Submission], kept: Kept, again: frozenset[str], exercises: Sequence[str]
) -> Kept:
    """Return the results of those who aren't graded again; refuse if there are none."""
    found: Kept = {}
    for key in ((one.student, one.attempt) for one in sent if one.student not in again):
        if key not in kept or [a.id for a in kept[key][1].answers] != list(exercises):
            words = "was not graded for this sheet yet: run make grade without AGAIN= first"
            raise ConfigError(f"{key[0]!r} {words}")
        found[key] = kept[key]
    return found


def grade_all(
    sent: Sequence[Submission],
    settings: Settings,
    work: Path,
    jobs: int,
    again: frozenset[str] = frozenset(),
) -> list[Result]:
    """Results of all students, those of earlier runs included.

    Parameters
    ----------
    sent : sequence of Submission
        What is to be graded.
    settings : Settings
        Those of the run.
    work : Path
        Where results are kept.
    jobs : int
        Answers graded at the same time.
    again : frozenset of str
        If it names students, they alone are graded, whatever is kept of them; the others keep the
        results they have, whatever they handed in since.

    Returns
    -------
    list of Result
        By student and attempt.

    Raises
    ------
    ConfigError
        If somebody who is not graded again has no result.
    """
    kept = _kept(work) if again else {}
    before = _of_before(sent, kept, again, settings.exercises) if again else {}
    keys = {(s.student, s.attempt): s for s in sent}
    paths = {key: result_path(work, settings, s) for key, s in keys.items()}
    paths |= {key: path for key, (path, _) in before.items()}
    results = {key: None if key[0] in again else read_result(path) for key, path in paths.items()}
    open_ones = {key: s for key, s in keys.items() if results[key] is None}
    show = _bar(len(keys))
    show(len(keys) - len(open_ones))
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(grade_student, s, settings): key for key, s in open_ones.items()}
        try:
            for future in as_completed(futures):
                key = futures[future]
                results[key] = result = future.result()
                write_result(paths[key], result)
                show(sum(result is not None for result in results.values()))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            end_all()
            raise
    # Of an answer, a seed or a grader that is no more; of others nothing goes.
    old = {kept[key][0] for key in kept if key[0] in again} if again else {*kept_results(work)}
    for path in old - set(paths.values()):
        path.unlink()
    return [result for _, result in sorted(results.items()) if result is not None]
