"""Grades for a learning platform: ``make lms DIR=grades/week1 FROM=export.csv``.

Reads what Moodle, Canvas or Blackboard exported, and writes the same file with the points of
the class in one column, and the pages of feedback as a zip in the form that the platform takes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from classroom.adapters.feedback_zip import feedback_zip
from classroom.adapters.gradebook import Gradebook, read_gradebook
from classroom.adapters.matching import Person, matched, people
from classroom.adapters.platforms import (
    CHANGEABLE,
    Column,
    choose_column,
    columns,
    number,
    platform_of,
)
from classroom.atomic import free_name, replace_file, said_of
from classroom.grading.tables import GradeRow, read_grades
from classroom.reports.sanitize import clean
from mini_attn.errors import ConfigError

__all__ = ["main", "write_lms"]

MAXIMUM = ("Maximum grade", "Maximum Grade")  # of Moodle's worksheet, row by row
DECIDED = ("EX", "N/A")  # of Canvas: excused, and not asked of this student
DECIMALS = 5  # that Moodle keeps; the others show two
LINE = 400  # characters of what is said in a line, with a name and a path


def _points(one: GradeRow, of: str | None, *, scale: bool) -> str | None:
    """The points that a platform gets, as a plain number; None if there are none."""
    total, own = number(one.total), number(one.of)
    if total is None or own is None:
        return None
    most = number(of) if of else None
    if scale and (most is None or not own):
        raise ConfigError(
            "the table does not say how many points the column takes: leave out SCALE"
        )
    if scale and most is not None:
        total = (total * most / own).quantize(Decimal("0.01"))
    elif most is not None and most != own:
        raise ConfigError(
            f"the column takes {most:f} points and the sheet gives {own:f}: make them the same on "
            "the platform, or let SCALE=1 convert them"
        )
    return f"{round(total, DECIMALS).normalize():f}"


def _filled(
    book: Gradebook, column: Column, pairs: Sequence[tuple[GradeRow, Person]], *, scale: bool
) -> tuple[dict[tuple[int, int], str], list[str]]:
    """New texts by row and column, and what is said about them."""
    cells, said = {}, []
    for one, person in pairs:
        row = book.said(person.row)
        if column.place >= len(book.rows[person.row]):
            said.append(f"{one.student}: row {person.row + 1} of the table is too short")
            continue
        old = book.rows[person.row][column.place].text.strip()
        most = column.of or next((row[name] for name in MAXIMUM if name in row), None)
        new = _points(one, most, scale=scale)
        if new is None:
            said.append(f"{one.student}: {one.total!r} of {one.of!r} points are no grade")
        elif old in DECIDED or row.get(CHANGEABLE) == "No":
            said.append(f"{one.student}: {old or 'a locked grade'} stays")
        elif number(old) != number(new):
            cells[person.row, column.place] = new
            if number(old) is not None:
                said.append(f"{one.student}: {old} becomes {new}")
    return cells, said


def _write(path: Path, content: bytes) -> Path:
    """Write a file under a name that no file has yet, for its owner alone."""
    free = free_name(path)
    replace_file(free, content, private=True)
    return free


def write_lms(
    folder: Path, export: Path, out: Path, *, column: str | None = None, scale: bool = False
) -> list[str]:
    """Write the table that the platform imports, and the zip of feedback.

    Parameters
    ----------
    folder : Path
        Of the grades, as ``make grade`` writes it. Nothing in it is changed.
    export : Path
        The table, as the platform exported it; it is not changed either.
    out : Path
        Gets two new files; an older one is never written over.
    column : str or None
        The header or the title of the column; None takes the one that is called like the folder
        (``week1`` is "Week 1"), or the only one.
    scale : bool
        Whether points are converted to those that the column takes.

    Returns
    -------
    list of str
        What was written, and what was left as it was, with the reason.

    Raises
    ------
    ConfigError
        If a file cannot be read, the table is none of those known, no column or several fit, or
        the column takes another number of points; nothing is written then. Or if a file cannot
        be written.
    """
    book = read_gradebook(export, lambda header: platform_of(header) is not None)
    platform = platform_of([cell.text for cell in book.rows[0]]) if book else None
    if book is None or platform is None:
        raise ConfigError(
            f"{export} is no table of grades of Moodle, Canvas or Blackboard with English headers"
        )
    chosen = choose_column(columns(platform, book), column, folder.resolve().name)
    graded = read_grades(folder)
    everybody = people(platform, book)
    pairs, left, written = matched(platform, graded, everybody)
    cells, said = _filled(book, chosen, pairs, scale=scale)
    head = f"{platform.name}, column {chosen.header!r}: {len(cells)} new grades, of {len(graded)}"
    lines = [head]
    if waiting := sum(one.to_mark != "0" for one in graded):
        words = "answers in words that nobody has marked yet: their points are missing"
        lines.append(f"{waiting} students have {words}")
    try:
        zipped, lost = feedback_zip(folder, platform, pairs)
        table = _write(out / export.name, book.changed(cells))
        lines.append(f"{table}: the table, for {platform.how}")
        if platform.pages:
            archive = _write(out / "feedback.zip", zipped)
            lines.append(f"{archive}: the pages of feedback, for {platform.pages}")
        else:
            lines.append(f"{platform.name} takes back no files of feedback for a whole class")
    except OSError as error:
        raise ConfigError(f"the files cannot be written: {said_of(error, out)}") from None
    here = {person for _, person in pairs}
    absent = [p.name for p in everybody if p not in here and p.name != "Test Student"]
    lines += [f"left as it was: {one}" for one in left]
    lines += [*written, *said, *lost, *(f"nothing graded: {name}" for name in absent)]
    return [clean(line, LINE) for line in lines]


def main() -> None:
    """The command behind ``make lms``."""
    parser = argparse.ArgumentParser(prog="lms", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("export", type=Path)
    parser.add_argument("--column")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    out = asked.out or asked.folder / "lms"
    try:
        lines = write_lms(asked.folder, asked.export, out, column=asked.column, scale=asked.scale)
    except ConfigError as error:
        sys.exit(f"[lms] {error}")
    for line in lines:
        print(f"[lms] {line}")


if __name__ == "__main__":
    main()
