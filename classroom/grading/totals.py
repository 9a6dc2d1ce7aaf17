"""One grade from several sheets: ``make totals DIR="grades/week1 grades/week2"``.

Each sheet is a share of its own points; the total is the mean of the shares by their weights.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from filelock import FileLock, Timeout

from classroom import ROOT
from classroom.atomic import said_of
from classroom.grading.identity import Person, same_students
from classroom.grading.keep import write_kept
from classroom.grading.people import named_one
from classroom.grading.roster import name_columns
from classroom.grading.shares import Grade, Rules, table_of_totals
from classroom.grading.tables import read_grades, rows_of, separator_of, text_of
from classroom.reports.sanitize import clean
from mini_attn.errors import ConfigError

__all__ = ["Rules", "main", "write_totals"]

NUMBER = re.compile(r"\d{1,6}(?:\.\d{1,20})?")
MISSING = ("0", "excused")
NAMED = 6  # students in a line


def _number(text: str, where: str) -> Decimal:
    if not NUMBER.fullmatch(text):
        raise ConfigError(f"{where}: {clean(text, 40)!r} is no number of points")
    return Decimal(text)


def _sheet(folder: Path) -> dict[str, Grade]:
    """The grades of one sheet, by the name in its table."""
    found, waiting = {}, 0
    for number, row in enumerate(read_grades(folder), 2):
        where, student = f"{folder / 'grades.csv'}: row {number}", row.student
        if student in found:
            raise ConfigError(f"{where}: {clean(student, 80)!r} stands there twice")
        points, of = (_number(cell, where) for cell in (row.total, row.of))
        # A point by hand, for a sheet on paper, is a sheet that came.
        found[student] = Grade(row.written_name, points, of, bool(row.feedback or points))
        waiting += row.to_mark != "0"
    if waiting:
        words = f"{waiting} students have answers in words that nobody has marked yet"
        print(
            f"[totals] {folder}: {words}; their points are missing in the totals", file=sys.stderr
        )
    return found


def _excused(
    path: Path, people: Mapping[str, Person], sheets: Sequence[str]
) -> set[tuple[str, str]]:
    """Who need not hand in what."""
    text = text_of(path)
    rows = rows_of(path, text, separator_of(text.split("\n", 1)[0]))
    header = [cell.strip().casefold() for cell in rows[0]] if rows else []
    who = name_columns(header)
    if who is None or header.count("sheet") != 1:
        raise ConfigError(f'{path}: row 1 should name the columns "student" and "sheet"')
    names = {shown: [shown, *person.values()] for shown, person in people.items()}
    found = set()
    for number, row in enumerate(rows[1:], 2):
        cells = [cell.strip() for cell in row] + [""] * len(header)
        written, sheet = " ".join(cells[n] for n in who).strip(), cells[header.index("sheet")]
        if not written and not sheet:
            continue
        student = named_one(names, written)
        if student is None:
            words = f"no student, or several, called {clean(written, 80)!r}"
            raise ConfigError(f"{path}: row {number}: {words} on these sheets")
        if sheet not in sheets:
            words = f"no sheet {clean(sheet, 40)!r}; there are {', '.join(sheets)}"
            raise ConfigError(f"{path}: row {number}: {words}")
        found.add((student, sheet))
    return found


def _check(folders: Sequence[Path], out: Path, rules: Rules) -> list[str]:
    """The names of the sheets; refuses what cannot be meant."""
    names = [folder.resolve().name for folder in folders]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"two folders are called {twice[0]!r}: a sheet is named by its folder")
    lost = [sheet for sheet in rules.weights if sheet not in names]
    if lost:
        words = f"WEIGHTS: no sheet {clean(lost[0], 40)!r}; there are {', '.join(names)}"
        raise ConfigError(words)
    if rules.best is not None and not 1 <= rules.best <= len(names):
        raise ConfigError(f"BEST={rules.best} of {len(names)} sheets cannot be")
    if (out / "work").exists() or (out / "seed.json").exists():
        raise ConfigError(f"{str(out)!r} holds the grades of a sheet: choose another OUT")
    return names


def _warn_of_lone_names(people: Mapping[str, Person]) -> None:
    """Name those who stand in one of several sheets: perhaps they are called otherwise there."""
    if len({sheet for person in people.values() for sheet in person}) < 2:
        return
    lone = [f"{clean(name, 40)} ({next(iter(person))})" for name, person in people.items()
            if len(person) == 1]  # fmt: skip
    if lone:
        more = f" and {len(lone) - NAMED} more" if len(lone) > NAMED else ""
        print(
            f"[totals] in one sheet only: {len(lone)} of {len(people)} students: "
            f"{', '.join(lone[:NAMED])}{more}. If some have another name in the other sheets, make "
            "the names alike in the tables, grades.csv",
            file=sys.stderr,
        )


def write_totals(folders: Sequence[Path], out: Path, rules: Rules) -> dict[str, Person]:
    """Write ``grades.csv`` with the totals of all students.

    Parameters
    ----------
    folders : sequence of Path
        Of the grades, as ``make grade`` writes them. Nothing in them is changed.
    out : Path
        Folder that gets the table.
    rules : Rules
        How sheets become one grade.

    Returns
    -------
    dict of str to dict
        The students, as `same_students`.

    Raises
    ------
    ConfigError
        If a table cannot be read, students cannot be told apart, a name is not there, or ``out``
        holds the grades of a sheet or cannot be written to.
    """
    names = _check(folders, out, rules)
    sheets = {name: _sheet(folder) for name, folder in zip(names, folders, strict=True)}
    people = same_students({name: [*rows] for name, rows in sheets.items()})
    _warn_of_lone_names(people)
    excused = _excused(rules.excused, people, names) if rules.excused else set()
    text = table_of_totals(people, sheets, excused, rules)
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(out / ".lock", timeout=0):
            write_kept(out, {"grades.csv": text})
    except Timeout:
        raise ConfigError(f"another run is writing into {str(out)!r}") from None
    except OSError as error:
        raise ConfigError(f"the totals cannot be written: {said_of(error, out)}") from None
    return people


def _weights(text: str) -> dict[str, Decimal]:
    """Weights as in "week1=2 project=4"."""
    found: dict[str, Decimal] = {}
    for part in text.split():
        sheet, _, number = part.rpartition("=")
        if not sheet or sheet in found or not NUMBER.fullmatch(number):
            words = f"{clean(part, 40)!r} is no weight, or a second one"
            raise ConfigError(f'WEIGHTS: {words}; write "week1=2 project=4"')
        found[sheet] = Decimal(number)
    return found


def main() -> None:
    """The command behind ``make totals``."""
    parser = argparse.ArgumentParser(prog="make totals", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=ROOT / "grades" / "totals")
    parser.add_argument("--weights", default="")
    parser.add_argument("--best", default="")
    parser.add_argument("--of", default="100")
    parser.add_argument("--missing", default="0")
    parser.add_argument("--excused", type=Path)
    asked = parser.parse_args()
    try:
        if asked.best and not re.fullmatch(r"\d{1,4}", asked.best):
            raise ConfigError(f"BEST is how many sheets count, not {clean(asked.best, 40)!r}")
        if asked.missing not in MISSING:
            raise ConfigError(f"MISSING is 0 or excused, not {clean(asked.missing, 40)!r}")
        of = _number(asked.of, "OF")
        if not of:
            raise ConfigError("OF=0: a total is of more points than none")
        best = int(asked.best) if asked.best else None
        rules = Rules(_weights(asked.weights), best, of, asked.missing, asked.excused)
        people = write_totals(asked.folders, asked.out, rules)
    except ConfigError as error:
        sys.exit(f"[totals] {error}")
    print(f"[totals] {len(people)} students, {len(asked.folders)} sheets")
    print(f"[totals] {asked.out / 'grades.csv'}, for make lms DIR={asked.out} FROM=…")


if __name__ == "__main__":
    main()
