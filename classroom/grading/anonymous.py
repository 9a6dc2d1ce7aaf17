"""The grades of a class and its answers without names: to mark by hand, or to pass on."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from classroom.grading.pseudonyms import name_table
from classroom.grading.unnamed import Unnamed, unnamed_one
from classroom.reports.report import reports
from classroom.submissions.collect import Submission
from mini_attn.exercises.spec import exercise

__all__ = ["FOLDER", "anonymous"]

FOLDER = "anonymous"
OURS = ("id", "title", "page", "kind", "state", "failed")  # texts that no student writes


def _nameless(value: Any, unnamed: Unnamed) -> Any:
    """A result in which every text of a student's or a teacher's is cleaned."""
    if isinstance(value, str):
        return unnamed.text(value)
    if isinstance(value, list):
        return [_nameless(one, unnamed) for one in value]
    if isinstance(value, dict):
        return {k: v if k in OURS else _nameless(v, unnamed) for k, v in value.items()}
    return value


def _result(result: dict[str, Any], unnamed: Unnamed) -> dict[str, Any]:
    """A result under a pseudonym."""
    files = [f"{unnamed.name}.ipynb"] if result["files"] else []
    about = {"student": unnamed.name, "written_name": None, "files": files}
    return _nameless(result, unnamed) | about


def _notebook(one: Submission, exercises: Sequence[str], unnamed: Unnamed) -> tuple[str, bool]:
    """The answers alone, and whether a name may be left in their code."""
    cells: list[dict[str, Any]] = []
    left = False
    for key in exercises:
        for number, source in enumerate(one.cells.get(key, [])):
            if not number:
                cells.append({"cell_type": "markdown", "id": f"{key}-title", "metadata": {},
                              "source": f"## {exercise(key).title}"})  # fmt: skip
            about = {"id": f"{key}-{number}",
                     "metadata": {"exercise": {"id": key, "role": "starter"}}}  # fmt: skip
            if exercise(key).kind == "open":
                text = unnamed.text(source)
                cells.append({"cell_type": "markdown", "source": text, **about})
                continue
            text, named = unnamed.source(source)
            left = left or named
            cells.append({"cell_type": "code", "source": text, "outputs": [],
                          "execution_count": None, **about})  # fmt: skip
    kernel = {"language_info": {"name": "python"}}
    data = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n", left


def anonymous(
    run: dict[str, Any],
    results: Sequence[dict[str, Any]],
    sent: Sequence[Submission],
    names: Mapping[str, str],
) -> dict[str, str]:
    """Grades, feedback, summary and answers under pseudonyms, and the way back.

    Parameters
    ----------
    run, results
        As the reports get them.
    sent : sequence of Submission
        The attempts that count.
    names : dict of str to str
        The pseudonym of each student.

    Returns
    -------
    dict of str to str
        Texts by name: all in `FOLDER` but ``names.csv``, which stays with the teacher.
    """
    everybody = [form for one in sent
                 for form in (one.student, *one.aliases, one.written_name) if form]  # fmt: skip
    exercises = run["exercises"]
    by_student = {one.student: one for one in sent}
    unnamed = {student: unnamed_one(one, names[student], everybody, exercises)
               for student, one in by_student.items()}  # fmt: skip
    nameless = [_result(result, unnamed[result["student"]]) for result in results]
    again = [names.get(student, "") for student in run["again"]]
    texts = reports({**run, "unfit": [], "again": again}, nameless)
    for student, one in by_student.items():
        text, left = _notebook(one, exercises, unnamed[student])
        place = f"answers/{names[student]}.ipynb"
        texts[place] = text
        if left:
            words = "a name may stand in the code itself: look before you pass it on"
            print(f"[grade] {FOLDER}/{place}: {words}", file=sys.stderr)
    return {f"{FOLDER}/{place}": text for place, text in texts.items()} | {
        "names.csv": name_table(names)
    }
