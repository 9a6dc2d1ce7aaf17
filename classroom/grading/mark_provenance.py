"""Which answer a mark was given for, so that a later answer does not get it unnoticed.

A record beside the grades has a digest of each answer that the last run showed, and for each row
of ``marks.csv`` that of the answer it is about: the one that was shown when the row was written or
changed last. The teacher's table itself is left alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classroom.grading.marks import FILE, Mark, apply_marks
from classroom.grading.run_folder import digest
from classroom.reports.sanitize import clean
from classroom.results import Result
from classroom.submissions.collect import Submission
from classroom.submissions.notebook import gist

__all__ = ["RECORD", "Marked", "lay_marks"]

RECORD = ".marked.json"
Record = dict[str, dict[str, Any]]


def _read_record(path: Path) -> Record:
    """Return what the last run kept; nothing if there was none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        shown = {str(s): {str(k): str(v) for k, v in a.items()} for s, a in found["shown"].items()}
        marks = {str(k): [str(said), str(about)] for k, (said, about) in found["marks"].items()}
        return {"shown": shown, "marks": marks}
    except FileNotFoundError:
        pass
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        words = "is broken: marks by hand are taken to be about the answers of now"
        print(f"[grade] {path} {words}", file=sys.stderr)
    return {"shown": {}, "marks": {}}


def _answers(sent: Submission, exercises: Sequence[str]) -> dict[str, str]:
    """Return a digest of each answer, and of all together for a comment on the whole sheet."""
    each = {key: digest(gist(sent.cells.get(key, []))) for key in exercises}
    return {**each, "": digest(each)}


def _newer_record(
    record: Record, marks: Sequence[Mark], sent: Sequence[Submission], exercises: Sequence[str]
) -> Record:
    """Return the record once this run is shown; a student who is not there now may come again."""
    now = {s.student: _answers(s, exercises) for s in sent}
    kept = {}
    for mark in marks:
        key = digest(mark.student, mark.exercise)
        said = digest(mark.points, mark.comment, *mark.parts)
        earlier = record["marks"].get(key)
        if earlier and earlier[0] == said:
            kept[key] = earlier
        elif mark.named is not None and mark.exercise in now[mark.named]:
            seen = record["shown"].get(mark.named, {})
            kept[key] = [said, seen.get(mark.exercise, now[mark.named][mark.exercise])]
    shown = {s: {**record["shown"].get(s, {}), **answers} for s, answers in now.items()}
    return {"shown": {**record["shown"], **shown}, "marks": kept}


def _changed_rows(record: Record, marks: Sequence[Mark]) -> set[int]:
    """Rows whose answer is not the one that the mark is about; of a newer record."""
    rows = set()
    for mark in marks:
        known = record["marks"].get(digest(mark.student, mark.exercise))
        now = record["shown"].get(mark.named or "", {}).get(mark.exercise)
        if known and mark.named is not None and now is not None and known[1] != now:
            rows.add(mark.row)
    return rows


def _unfit(marks: Sequence[Mark], exercises: Sequence[str]) -> list[str]:
    """Return words for each mark that fits nothing of this run."""
    said = []
    for mark in marks:
        student = clean(mark.student, 80)
        if mark.named is None:
            said.append(f"row {mark.row}: no student, or several, called {student!r} here")
        elif mark.exercise and mark.exercise not in exercises:
            named = clean(mark.exercise, 80)
            said.append(f"row {mark.row}: no exercise {named!r} on this sheet, for {student!r}")
    return said


@dataclass(frozen=True)
class Marked:
    """Results with the teacher's marks on them.

    Parameters
    ----------
    results : list of Result
        As `apply_marks` gives them.
    record : dict
        Which answers the marks are about: to be kept as `RECORD` once the results are shown.
    unfit : list of str
        Words for each mark that fits nothing of this run.
    """

    results: list[Result]
    record: Record
    unfit: list[str]


def lay_marks(
    out: Path,
    marks: Sequence[Mark],
    sent: Sequence[Submission],
    exercises: Sequence[str],
    results: Sequence[Result],
) -> Marked:
    """Lay a teacher's marks over results, and say which are to be looked at again.

    Parameters
    ----------
    out : Path
        The folder of the run, with the record of the last one.
    marks : sequence of Mark
        As `read_marks` found them.
    sent : sequence of Submission
        All of the run.
    exercises : sequence of str
        The sheet.
    results : sequence of Result
        Of the grader.

    Returns
    -------
    Marked
        What the reports show, and what is to be kept.
    """
    record = _newer_record(_read_record(out / RECORD), marks, sent, exercises)
    changed, lost = _changed_rows(record, marks), _unfit(marks, exercises)
    for words in lost:
        print(f"[grade] {FILE}, {words}; the row is kept", file=sys.stderr)
    for mark in marks:
        if mark.row in changed:
            who = f"row {mark.row}: {clean(mark.named, 80)} has changed the answer since then"
            print(f"[grade] {FILE}, {who}; it stands until you change it", file=sys.stderr)
    return Marked(apply_marks(results, marks, changed), record, lost)
