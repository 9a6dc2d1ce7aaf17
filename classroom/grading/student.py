"""Grades what one student handed in, answer by answer."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

from classroom.grading.judge import judge
from classroom.grading.resume import Settings
from classroom.submissions.collect import Submission
from classroom.submissions.notebook import untouched
from mini_attn.exercises.spec import Exercise, exercise

__all__ = ["grade_student"]

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
    """Where a name stands that an answer lacks here and had in the notebook."""
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


def _grade_answer(
    exercise_id: str, sent: Submission, settings: Settings, ends_at: float
) -> dict[str, Any]:
    """Return the result of one answer, whose student's time is up at a moment."""
    asked, cells = exercise(exercise_id), sent.cells.get(exercise_id)
    about = {
        "id": exercise_id, "title": asked.title, "page": asked.page,
        "kind": asked.kind, "of": asked.points, "points": 0, "partial": 0, "failed": None,
        "message": "", "notes": [],
    }  # fmt: skip
    if cells is None:
        return {**about, "state": "not handed in"}
    if untouched(exercise_id, cells):
        unchanged = {"state": "not attempted", "failed": "attempted", "message": NOT_CHANGED}
        return {**about, **unchanged}
    if asked.kind == "open":
        return {**about, "state": "to mark", "text": "\n".join(cells)}
    if settings.drawn and asked.draw:
        if not sent.key:
            return {**about, "state": "not yet", "failed": "attempted", "message": NOBODY}
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
    notes = list(dict.fromkeys([*report.notes, *judged.notes]))
    return {
        **about, "state": state, "points": report.points, "partial": report.partial,
        "failed": report.failed,
        "message": report.message + _where(asked, report.message, sent), "notes": notes,
    }  # fmt: skip


def grade_student(sent: Submission, settings: Settings) -> dict[str, Any]:
    """The result of one student.

    Parameters
    ----------
    sent : Submission
        What was handed in.
    settings : Settings
        Those of the run.

    Returns
    -------
    dict
        For the reports: for each exercise of the sheet points, a state and a message; of an open
        question the text, which people mark.
    """
    seconds = seconds_for(settings.exercises)
    ends_at = time.monotonic() + seconds
    answers = [_grade_answer(i, sent, settings, ends_at) for i in settings.exercises]
    too_long = TOO_LONG.format(seconds)
    late = [answer["id"] for answer in answers if answer["message"] == too_long]
    words = f"the answers took more than {seconds} s together; stopped: "
    return {
        "student": sent.student,
        "attempt": sent.attempt,
        "written_name": sent.written_name,
        "files": sent.files,
        "problems": [*sent.problems, *([words + ", ".join(late)] if late else [])],
        "answers": answers,
    }
