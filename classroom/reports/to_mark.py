"""The page from which people mark answers in words: each with its rubric, and how others were.

It holds model answers, and is for the teacher alone, as the summary is.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from markupsafe import Markup

from classroom.reports.feedback import DEFAULT, LINE, NAME, place_of
from classroom.reports.sanitize import clean, shown_names
from classroom.results import Answer, Result, Run
from classroom.sheets.typeset import formula, html
from mini_attn.exercises.spec import exercise

__all__ = ["TO_MARK", "lines_of", "to_mark", "unmarked"]

TO_MARK = "points to mark"  # a column of the grades where a sheet asks for words
LINES = 400  # of one answer that are shown
LENGTH = 4_000  # characters of a line


def unmarked(result: Result) -> float:
    """Return points of a student's answers that nobody has marked yet."""
    return sum(a.of for a in result.answers if a.state == "to mark")


def lines_of(text: str) -> list[str]:
    """Return a text of a student's, line by line, each cleaned; empty ones are left out."""
    lines = [clean(line, LENGTH) for line in text.splitlines() if line.strip()]
    more = len(lines) - LINES
    return [*lines[:LINES], f"and {more} more lines"] if more > 0 else lines


def _paragraphs(text: str) -> list[str]:
    """Return a text of ours, whose lines are broken to fit a source."""
    return [clean(part, LENGTH) for part in text.strip().split("\n\n")]


def _set(text: str) -> Markup | None:
    """Return a text of ours with its formulas set, as MathML; None where nothing can set them."""
    try:
        return html(text, lambda source, display: formula(source, display, "mathml"))
    except (OSError, ValueError):  # no Node.js on this machine: the page shows the source
        return None


def _known(exercise_id: str, of: float) -> dict[str, Any]:
    """Return what a marker goes by: rubric, model answer, and answers marked already."""
    task, solution = exercise(exercise_id), import_module(f"solutions.{exercise_id}")
    example = "+".join(str(points) for points in task.rubric.values())
    return {
        "id": exercise_id,
        "title": task.title,
        "text": lines_of(task.text),
        "set": _set(task.text),
        "rubric": list(task.rubric.items()),
        "of": of,
        "scaled": "" if of == task.points else f"{task.points} points become {of} on this sheet.",
        "example": example,
        "model": _paragraphs(solution.MODEL),
        "samples": [
            {"name": name, "lines": _paragraphs(text), "marks": "+".join(map(str, marks)),
             "sum": sum(marks)}
            for name, text, marks in solution.SAMPLES
        ],
        **place_of(exercise_id, task.page),
    }  # fmt: skip


def _answer(name: str, answer: Answer) -> dict[str, Any]:
    """Return one answer as it is shown to its marker."""
    given = answer.mark.points if answer.mark else None
    return {
        "name": name,
        "state": answer.state,
        "points": "" if given is None else f"{given} of {answer.of} points",
        "lines": lines_of(answer.text or ""),
        "note": clean(DEFAULT[answer.state], LINE) if answer.text is None else "",
    }


def to_mark(run: Run, results: Sequence[Result]) -> dict[str, Any] | None:
    """Return all answers in words, question by question.

    Parameters
    ----------
    run, results
        As the grader writes them; the results in the order of the names.

    Returns
    -------
    dict or None
        For the templates; every text is one cleaned line, none is escaped. None for a sheet that
        asks for no words.
    """
    shown = shown_names((r.student for r in results), NAME)
    found: dict[str, dict[str, Any]] = {}
    for result in results:
        for answer in result.answers:
            if answer.kind == "open":
                known = found.setdefault(answer.id, _known(answer.id, answer.of) | {"answers": []})
                known["answers"].append(_answer(shown[result.student], answer))
    if not found:
        return None
    left = sum(a["state"] == "to mark" for one in found.values() for a in one["answers"])
    about = {"sheet": clean(run.sheet, NAME), "version": clean(run.version, NAME)}
    return {**about, "questions": list(found.values()), "left": left}
