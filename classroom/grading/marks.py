"""What a teacher decides by hand: points and comments in ``marks.csv``, beside the grades.

Points of an open question may be given criterion by criterion, in the order of its rubric, as
``2+0.5+1``.

The file is the teacher's. A run makes it where there is none, with a row for each answer in words
that waits. Once anything was decided or changed there, a run only reads it, before anything is
graded; what it says is laid over the results of the grader.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from classroom.atomic import replace_file
from classroom.grading.credit import total
from classroom.grading.people import named_one, names_of
from classroom.grading.tables import rows_of, separator_of, text_of
from classroom.reports.feedback import COMMENT, NAME
from classroom.reports.sanitize import clean, for_spreadsheet, shown_names
from classroom.results import Answer, ByHand, Result
from classroom.submissions.collect import Submission
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import CRITERIA, exercise, exercise_ids

__all__ = ["FILE", "Mark", "apply_marks", "list_waiting", "make_table", "read_marks"]

FILE = "marks.csv"
COLUMNS = ("student", "exercise", "points", "comment")
MOST_CRITERIA = CRITERIA[1]
POINTS = re.compile(r"\d{1,4}(?:[.,]\d{1,2})?")


@dataclass(frozen=True)
class Mark:
    """One row of the table.

    Parameters
    ----------
    row : int
        Its number in a spreadsheet; the header is row 1.
    student, exercise : str
        As they are written there. Without an exercise the comment is on the whole sheet.
    points : int, float or None
        None leaves those of the grader.
    comment : str
        May be empty.
    named : str or None
        The student of this run who is meant, None if there is nobody of this name.
    parts : tuple of number
        Points criterion by criterion; empty where they were given as a whole.
    """

    row: int
    student: str
    exercise: str
    points: float | None
    comment: str
    named: str | None = None
    parts: tuple[float, ...] = ()


def _table(rows: Iterable[Sequence[str]]) -> str:
    """Return a table in which nothing is decided, of students and exercises."""
    file = io.StringIO(newline="")
    csv.writer(file).writerows([COLUMNS, *([*row, "", ""] for row in rows)])
    return f"\ufeff{file.getvalue()}"


def make_table(path: Path) -> None:
    """An empty table, where nothing has this name yet."""
    if not path.exists() and not path.is_symlink():
        replace_file(path, _table([]), private=True)


def list_waiting(path: Path, results: Sequence[Result]) -> None:
    """Give each answer that waits for points a row, as long as the table is as a run wrote it.

    Parameters
    ----------
    path : Path
        The table.
    results : sequence of Result
        With the teacher's marks.
    """
    try:
        text = path.read_bytes().decode()
        rows = [row[:2] for row in csv.reader(io.StringIO(text, newline=""))][1:]
    except (OSError, UnicodeDecodeError, csv.Error):
        return
    if path.is_symlink() or text != _table(rows):
        return
    shown = shown_names((r.student for r in results), NAME)  # as in the table of grades
    waiting = [
        (for_spreadsheet(shown[result.student]), answer.id)
        for result in results
        for answer in result.answers
        if answer.state == "to mark"
    ]
    now = _table(sorted(waiting, key=lambda row: (row[1], row[0].casefold(), row[0])))
    if now != text:
        replace_file(path, now, private=True)


def _places(path: Path, header: list[str]) -> list[int]:
    """Return where each of the columns stands."""
    names = [cell.strip().casefold() for cell in header]
    for column in COLUMNS:
        if names.count(column) != 1:
            much = "twice" if column in names else "missing"
            words = f'row 1 should name the columns {", ".join(COLUMNS)}; "{column}" is {much}'
            raise ConfigError(f"{path}: {words}")
    return [names.index(column) for column in COLUMNS]


def _number(where: str, text: str) -> float:
    if not POINTS.fullmatch(text):
        words = f"{clean(text, 40)!r} is no number of points, such as 3 or 2.5"
        raise ConfigError(f"{where}: {words}, of 0 or more")
    return _plain(float(text.replace(",", ".")))


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


def _points(where: str, text: str) -> tuple[float | None, tuple[float, ...]]:
    """Return the points, and those of each criterion where there are several."""
    if not text:
        return None, ()
    parts = tuple(_number(where, part.strip()) for part in text.split("+")[: 2 * MOST_CRITERIA])
    return _plain(round(sum(parts), 2)), parts if len(parts) > 1 else ()


def _by_criteria(where: str, mark: Mark, worth: float | None) -> Mark:
    """Return a mark whose parts are laid over the rubric, with its points on this sheet."""
    if mark.exercise not in exercise_ids():  # of another sheet, perhaps of a later version
        return mark
    rubric = exercise(mark.exercise).rubric
    if not rubric:
        raise ConfigError(f"{where} gives points by criterion; {mark.exercise} has no criteria")
    if len(mark.parts) != len(rubric):
        words = f"gives points for {len(mark.parts)} criteria of {mark.exercise}"
        raise ConfigError(f"{where} {words}, which has {len(rubric)}")
    for number, (given, most) in enumerate(zip(mark.parts, rubric.values(), strict=True), 1):
        if given > most:
            words = f"gives {given} points for criterion {number} of {mark.exercise}"
            raise ConfigError(f"{where} {words}, which has {most}")
    whole = sum(rubric.values())
    points = round(sum(mark.parts) * (worth or whole) / whole, 2)
    return replace(mark, points=_plain(points))


def _mark(path: Path, number: int, cells: list[str]) -> Mark:
    """Return one row, of which the text alone is known."""
    where = f"{path}: row {number}"
    student, about, points, comment = cells
    if not student:
        raise ConfigError(f"{where} names no student")
    if len(comment) > COMMENT:
        raise ConfigError(f"{where}: the comment has {len(comment)} characters of {COMMENT}")
    given, parts = _points(where, points)
    mark = Mark(number, student, about.casefold(), given, comment, parts=parts)
    if mark.points is not None and not about:
        raise ConfigError(f"{where} gives points and names no exercise")
    return mark


def _read(path: Path) -> list[Mark]:
    """Return all rows that say something."""
    text = text_of(path)
    rows = rows_of(path, text, separator_of(text.split("\n", 1)[0]))
    places = _places(path, rows[0] if rows else [])
    marks = []
    for number, row in enumerate(rows[1:], 2):
        if any(cell.strip() for cell in row[len(rows[0]) :]):
            words = f"has {len(row)} cells, and the header {len(rows[0])}"
            raise ConfigError(f"{path}: row {number} {words}: put quotes around a comment")
        cells = [row[place].strip() if place < len(row) else "" for place in places]
        if any(cells):
            marks.append(_mark(path, number, cells))
    return [mark for mark in marks if mark.points is not None or mark.comment]


def read_marks(
    path: Path,
    sent: Sequence[Submission],
    worth: Mapping[str, float],
    others: Mapping[str, str] | None = None,
) -> list[Mark]:
    """Read the table, and refuse what cannot be meant.

    Parameters
    ----------
    path : Path
        The table.
    sent : sequence of Submission
        All of the run.
    worth : dict of str to number
        Points of each exercise of the sheet.
    others : dict of str to str or None
        Pseudonyms of the students.

    Returns
    -------
    list of Mark
        In the order of the rows. One of a student or an exercise that is not there is kept.

    Raises
    ------
    ConfigError
        If the file is no such table, a row gives more points than there are or less than none, or
        two rows are about the same.
    """
    names = names_of(sent, others)
    marks, rows = [], dict[tuple[str, str], int]()
    for mark in _read(path):
        named = named_one(names, mark.student)
        most = worth.get(mark.exercise)
        if mark.parts:
            mark = _by_criteria(f"{path}: row {mark.row}", mark, most)
        if mark.points is not None and most is not None and mark.points > most:
            words = f"gives {mark.points} points for {mark.exercise}, which has {most}"
            raise ConfigError(f"{path}: row {mark.row} {words}")
        key = (mark.student if named is None else named, mark.exercise)
        if key in rows:
            about = f"{clean(mark.student, 80)!r} and {mark.exercise or 'the whole sheet'}"
            raise ConfigError(f"{path}: rows {rows[key]} and {mark.row} are both about {about}")
        rows[key] = mark.row
        marks.append(replace(mark, named=named))
    return marks


def apply_marks(
    results: Sequence[Result], marks: Sequence[Mark], changed: set[int]
) -> list[Result]:
    """Return the results with what the teacher decided; those that are kept stay as they are.

    Parameters
    ----------
    results : sequence of Result
        Of the grader.
    marks : sequence of Mark
        As `read_marks` found them.
    changed : set of int
        Rows of those whose answer is another one by now.

    Returns
    -------
    list of Result
        An answer that was marked has ``mark``; one to mark that got points is ``marked``. A
        student with a comment on the whole sheet has ``remark``.
    """
    by_place = {(m.named, m.exercise): m for m in marks if m.named is not None}

    def marked(student: str, answer: Answer) -> Answer:
        mark = by_place.get((student, answer.id))
        if mark is None:
            return answer
        is_open = answer.state == "to mark"
        about = ByHand(mark.comment, mark.row in changed, mark.points, answer.points, mark.parts,
                       first=is_open)  # fmt: skip
        if mark.points is None:
            return replace(answer, mark=about)
        state = "marked" if is_open else answer.state
        return replace(answer, state=state, points=mark.points, mark=about)

    marked_results = []
    for result in results:
        answers = [marked(result.student, answer) for answer in result.answers]
        whole = replace(result, answers=answers, points=total(answers))
        if remark := by_place.get((result.student, "")):
            whole = replace(whole, remark=ByHand(remark.comment, remark.row in changed))
        marked_results.append(whole)
    return marked_results
