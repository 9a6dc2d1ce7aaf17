"""One grade from several sheets: ``make totals DIR="grades/week1 grades/week2"``.

Each sheet is a share of its own points; the total is the mean of the shares by their weights. A
platform gives the same student other numbers each time, so who is who is found first.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from itertools import combinations
from pathlib import Path

from filelock import FileLock, Timeout

from classroom import ROOT
from classroom.atomic import said_of
from classroom.grading.people import name_columns, named_one
from classroom.grading.run_folder import write_kept
from classroom.grading.tables import read_grades, rows_of, separator_of, text_of
from classroom.reports.sanitize import clean, folded
from classroom.submissions.attempts import ATTEMPT, NUMBERED, canvas_ids
from mini_attn.errors import ConfigError

__all__ = ["Grade", "Person", "Rules", "main", "same_students", "write_totals"]

Person = dict[str, str]  # the name in each sheet's table of grades, by sheet


def _titled(names: Sequence[str]) -> str:
    """Return what Blackboard writes before the user names of one sheet: its title."""
    before = {name[: found.start()] for name in names if (found := ATTEMPT.search(name))}
    first, last = min(before, default=""), max(before, default="")
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    return first[: first.rfind("_", 0, same) + 1]


def _plain(name: str, title: str) -> tuple[str, bool]:
    """Return a name without what changes from sheet to sheet, and whether a platform wrote that."""
    if found := ATTEMPT.search(name):
        return name[: found.start()].removeprefix(title), True
    if ids := canvas_ids(name):
        before = name[: name.index(f"_{ids[0]}_{ids[1]}")]
        return f"{before.removesuffix('_late')}_{ids[0]}", True
    numbered = NUMBERED.fullmatch(name)
    return (numbered[1] if numbered else name), False


def _refuse_twins(plain: str, sheets: Mapping[str, set[str]]) -> None:
    """Two of one name whose numbers differ from sheet to sheet cannot be told apart."""
    for (one, first), (other, second) in combinations(sheets.items(), 2):
        if not first & second:
            words = f"{clean(plain, 60)!r} are several students: who of {one} is who of {other}?"
            raise ConfigError(f"{words} Make the names alike in both tables, grades.csv")


def same_students(sheets: Mapping[str, Sequence[str]]) -> dict[str, Person]:
    """Return the students of all sheets.

    Parameters
    ----------
    sheets : dict of str to sequence of str
        Names in the table of grades, by sheet.

    Returns
    -------
    dict of str to dict
        By the name to show, sorted: without Moodle's number, and with Canvas's and Blackboard's
        as in the last sheet, by which the platform finds the student.

    Raises
    ------
    ConfigError
        If two students of one name cannot be told apart.
    """
    found: dict[str, dict[str, Person]] = {}  # names by plain name, sheet, and exact form
    for sheet, names in sheets.items():
        title = _titled(names)
        for name in names:
            plain, platform = _plain(name, title)
            exact_forms = found.setdefault(folded(plain), {}).setdefault(sheet, {})
            exact_forms[folded(name)] = name
    people: dict[str, Person] = {}
    single = {key: by for key, by in found.items() if all(len(n) == 1 for n in by.values())}
    # Numbers that differ between sheets are Moodle's; those that do not are part of a name.
    moved = any(len({exact for n in by.values() for exact in n}) > 1 for by in single.values())
    for key, by_sheet in found.items():
        if key not in single:
            name = next(name for names in by_sheet.values() for name in names.values())
            _refuse_twins(
                _plain(name, "")[0], {sheet: {*names} for sheet, names in by_sheet.items()}
            )
        groups: dict[str, Person] = {}
        for sheet, exact_names in by_sheet.items():
            for exact, name in exact_names.items():
                groups.setdefault(key if key in single else exact, {})[sheet] = name
        for person in groups.values():
            last = list(person.values())[-1]
            plain, platform = _plain(last, "")
            strip = key in single and moved and not platform
            people[plain if strip else last] = person
    return dict(sorted(people.items(), key=lambda item: (item[0].casefold(), item[0])))


@dataclass(frozen=True)
class Rules:
    """How sheets become one grade.

    Parameters
    ----------
    weights : dict of str to Decimal
        Of sheets that count otherwise than once.
    best : int or None
        How many sheets count, those with the highest shares; None for all.
    of : Decimal
        Points of the total.
    missing : str
        Whether a sheet of which nothing came is ``0`` or ``excused``.
    excused : Path or None
        A table with the columns ``student`` and ``sheet``.
    """

    weights: Mapping[str, Decimal] = field(default_factory=dict)
    best: int | None = None
    of: Decimal = Decimal(100)
    missing: str = "0"
    excused: Path | None = None


@dataclass(frozen=True)
class Grade:
    """A row of a sheet's table of grades."""

    written_name: str
    points: Decimal
    of: Decimal
    came: bool

    @property
    def share(self) -> Decimal:
        """Of the sheet's points, from 0 to 1."""
        return self.points / self.of if self.of else Decimal(0)


def _total(shares: Mapping[str, Decimal], rules: Rules) -> tuple[str, list[str]]:
    """Return the total of the sheets that a student is asked, and which of them count."""
    places = {sheet: place for place, sheet in enumerate(shares)}
    ranked = sorted(shares, key=lambda sheet: (-shares[sheet], places[sheet]))
    counting = sorted(ranked[: rules.best or len(ranked)], key=lambda sheet: places[sheet])
    weights = {sheet: rules.weights.get(sheet, Decimal(1)) for sheet in counting}
    if not sum(weights.values()):
        return "", counting  # excused from everything
    whole = sum((weights[s] * shares[s] for s in counting), Decimal(0))
    mean = whole / sum(weights.values(), Decimal(0))
    total = (mean * rules.of).quantize(Decimal("0.01"), ROUND_HALF_UP).normalize()
    return f"{total:f}", counting


def table_of_totals(
    people: Mapping[str, Person],
    sheets: Mapping[str, Mapping[str, Grade]],
    excused: set[tuple[str, str]],
    rules: Rules,
) -> str:
    """Return the table of totals, in the form of a table of grades."""
    out = io.StringIO(newline="")
    out.write("\ufeff")
    table = csv.writer(out, quoting=csv.QUOTE_MINIMAL)
    worth = {s: max((g.of for g in rows.values()), default=0) for s, rows in sheets.items()}
    heads = [f"{sheet} (of {worth[sheet]:f})" for sheet in sheets]
    table.writerow(["student", "written name", *heads, "total", "of", "counted", "feedback"])
    for student, person in people.items():
        grades = {s: sheets[s][name] for s, name in person.items()}
        came = {s: grade for s, grade in grades.items() if grade.came}
        free = {s for s in sheets if (student, s) in excused}
        free |= {s for s in sheets if s not in came and rules.missing == "excused"}
        shares = {s: came[s].share if s in came else Decimal(0) for s in sheets if s not in free}
        cells = ["excused" if s in free else f"{came[s].points:f}" if s in came else "missing"
                 for s in sheets]  # fmt: skip
        total, counting = _total(shares, rules)
        written = next((g.written_name for g in grades.values() if g.written_name), "")
        table.writerow([student, written, *cells, total, f"{rules.of.normalize():f}",
                        " ".join(counting), ""])  # fmt: skip
    return out.getvalue()


NUMBER = re.compile(r"\d{1,6}(?:\.\d{1,20})?")
MISSING = ("0", "excused")
NAMED = 6  # students in a line


def _number(text: str, where: str) -> Decimal:
    if not NUMBER.fullmatch(text):
        raise ConfigError(f"{where}: {clean(text, 40)!r} is no number of points")
    return Decimal(text)


def _sheet(folder: Path) -> dict[str, Grade]:
    """Return the grades of one sheet, by the name in its table."""
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
    """Return who need not hand in what."""
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
    """Return the names of the sheets; refuses what cannot be meant."""
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
    parser = argparse.ArgumentParser(prog="totals", description=__doc__)
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
