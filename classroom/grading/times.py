"""When students handed in, and who has more time: a teacher's or a platform's tables, or files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from classroom.grading.dates import moment
from classroom.grading.people import named_one
from classroom.grading.roster import name_columns
from classroom.grading.tables import rows_of, separator_of, text_of
from classroom.reports.sanitize import clean, folded
from classroom.submissions.attempts import ATTEMPT
from classroom.submissions.collect import Submission
from mini_attn.errors import ConfigError

__all__ = ["HandedIn", "read_extensions", "read_times", "times_of_files"]

# Headers of hand-in times: a teacher's own, and those of Moodle and Canvas.
HANDED_IN = ("handed in", "last modified (submission)", "submitted at", "submission time",
             "submission date", "date submitted", "time")  # fmt: skip
DUE = ("due", "until")
NOTHING = ("", "-")  # of who has handed in nothing
YEARS = range(2000, 2100)  # a file's time from another year says nothing
MORE = re.compile(r"(\d{1,3}) (hour|day|week)s?")

HandedIn = dict[tuple[str, int], tuple[datetime, str]]  # by student and attempt; where it stands


@dataclass(frozen=True)
class Entry:
    """A row of a table: where it stands, whom it is about, and what it says."""

    where: str
    student: str
    attempt: str
    text: str


def _entries(
    path: Path,
    names: Mapping[str, Sequence[str]],
    headers: tuple[str, ...],
    roster: Sequence[str],
) -> Iterator[Entry]:
    """The rows that say something under one of the headers; refuses what names nobody."""
    others = {folded(clean(name, 300)) for name in roster}
    text = text_of(path)
    rows = rows_of(path, text, separator_of(text.split("\n", 1)[0]))
    header = [cell.strip().casefold().replace("_", " ") for cell in rows[0]] if rows else []
    who, said = name_columns(header), [n for n, cell in enumerate(header) if cell in headers]
    if who is None or len(said) != 1:
        words = f'row 1 should name a column "student" and one column "{headers[0]}"'
        raise ConfigError(f"{path}: {words}")
    for number, row in enumerate(rows[1:], 2):
        cells = dict(zip(header, (cell.strip() for cell in row), strict=False))
        written = " ".join(row[place].strip() for place in who if place < len(row)).strip()
        value = cells.get(header[said[0]], "")
        if value in NOTHING:
            continue
        where = f"{path}: row {number}"
        numbered = re.search(r"\d+$", cells.get("identifier", ""))  # Moodle's, as its folders have
        forms = [*([f"{written}_{numbered[0]}"] if numbered else []), written]
        student = next(filter(None, (named_one(names, form) for form in forms)), None)
        if student is None and folded(clean(written, 300)) in others:
            continue  # nothing came from them
        if student is None:
            raise ConfigError(
                f"{where}: no student, or several, called {clean(written, 80)!r} here"
            )
        yield Entry(where, student, cells.get("attempt", ""), value)


def read_times(
    path: Path, sent: Sequence[Submission], names: Mapping[str, Sequence[str]], zone: tzinfo,
    roster: Sequence[str] = (),
) -> HandedIn:  # fmt: skip
    """Hand-in times from a table.

    Parameters
    ----------
    path : Path
        With a column for the student and one for the time, and perhaps one ``attempt``; Moodle's
        grading worksheet is one.
    sent : sequence of Submission
        All of the run.
    names : dict of str to sequence of str
        What students are called.
    zone : tzinfo
        For times that name none.
    roster : sequence of str
        Others whom it may name.

    Returns
    -------
    dict
        Of everybody who handed in a notebook.

    Raises
    ------
    ConfigError
        If it cannot be read, names somebody who is not there, has no date or two of one attempt,
        or says nothing of somebody who handed in.
    """
    found: HandedIn = {}
    rows: dict[tuple[str, int], str] = {}
    attempts = {student: [one.attempt for one in sent if one.student == student and one.cells]
                for student in {one.student for one in sent}}  # fmt: skip
    for entry in _entries(path, names, HANDED_IN, roster):
        there = attempts[entry.student] or [1]
        if not entry.attempt and len(there) > 1:
            words = f"{entry.student!r} has {len(there)} attempts: add a column attempt, with 1, 2"
            raise ConfigError(f"{entry.where}: {words}")
        when = moment(entry.text, zone)
        if when is None:
            raise ConfigError(f"{entry.where}: {clean(entry.text, 60)!r} is no date with a time")
        key = (entry.student, int(entry.attempt) if entry.attempt.isdecimal() else there[0])
        if key in found:
            words = f"a second date for {entry.student!r}; the first is in {rows[key]}"
            raise ConfigError(f"{entry.where} has {words}")
        found[key], rows[key] = (when, path.name), entry.where.rsplit(": ", 1)[1]
    lost = [one.student for one in sent if one.cells and (one.student, one.attempt) not in found]
    if lost:
        words = f"no time for {len(lost)} of those who handed in: {', '.join(map(repr, lost[:6]))}"
        raise ConfigError(f"{path} has {words}")
    return found


def read_extensions(
    path: Path, names: Mapping[str, Sequence[str]], due: datetime, zone: tzinfo,
    roster: Sequence[str] = (),
) -> dict[str, datetime]:  # fmt: skip
    """Later due dates from a table with the columns ``student`` and ``due``.

    Raises
    ------
    ConfigError
        If it cannot be read, names somebody who is not there, has two rows about one student, or
        a date that is none or before the due date of all.
    """
    found: dict[str, datetime] = {}
    for entry in _entries(path, names, DUE, roster):
        more = MORE.fullmatch(entry.text.casefold())
        when = moment(entry.text, zone)
        if more:
            when = due + int(more[1]) * timedelta(**{f"{more[2]}s": 1})
        if when is None:
            words = f"{clean(entry.text, 60)!r} is no date with a time, nor a number of days"
            raise ConfigError(f"{entry.where}: {words}")
        if when < due:
            raise ConfigError(f"{entry.where}: {clean(entry.text, 60)!r} is before the due date")
        if entry.student in found:
            raise ConfigError(f"{entry.where} is a second one about {entry.student!r}")
        found[entry.student] = when
    return found


def times_of_files(sent: Sequence[Submission], zone: tzinfo) -> HandedIn:
    """Hand-in times of all who handed in a notebook: from a file's name, or as files have them."""
    found: HandedIn = {}
    for one in sent:
        parts = [part.rsplit(".", 1)[0] for place in one.files for part in place.split("/")]
        named = [found for found in map(ATTEMPT.search, parts) if found]
        if named:  # Blackboard's
            when = moment(named[-1][1], zone)
            source = "in the file's name"
        elif one.time is not None and one.time.year not in YEARS:
            when = None  # nor can all of them be told in another zone
        elif one.time is not None:
            naive = one.time.tzinfo is None
            when = (one.time.replace(tzinfo=zone) if naive else one.time).astimezone(UTC)
            source = "in the zip file" if naive else "the file's own time"
        else:
            continue
        if when is None or when.year not in YEARS:
            words = "its own time is none from 2000 to 2099"
            one.problems.append(f"when it was handed in is not known: {words}")
        else:
            found[one.student, one.attempt] = (when, source)
    return found
