"""Takes off what handing in late costs: dates, hand-in times, a rule, and more time for some.

Dates are as teachers and learning platforms write them; when somebody handed in stands in a
table, or in the files. What each answer earned stays as it is; the total alone changes, and says
by which rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from math import ceil
from pathlib import Path
from zoneinfo import ZoneInfo

from classroom.grading.people import name_columns, named_one, names_of
from classroom.grading.tables import rows_of, separator_of, text_of
from classroom.reports.sanitize import clean, folded
from classroom.results import Dates, Deduction, Result
from classroom.submissions.attempts import ATTEMPT
from classroom.submissions.collect import Submission
from mini_attn.errors import ConfigError

__all__ = ["Late", "Rule", "Times", "duration", "moment", "read_late", "take_off", "told",
           "zone_of"]  # fmt: skip

ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ]|-(?=\d\d-\d\d-))(\d{1,2})[:-](\d\d)(?:[:-](\d\d)(?:\.\d+)?)?"
    r"(?: ?(Z|[+-]\d\d:?\d\d|[A-Za-z][\w+/-]*))?"
)
# Moodle's, as in "Monday, 5 October 2026, 9:15 AM".
LONG = re.compile(
    r"(?:[A-Za-z]+, )?(\d{1,2}) ([A-Za-z]{3,9}) (\d{4}), (\d{1,2}):(\d\d)(?: ([AP])M)?"
)
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
          "october", "november", "december")  # fmt: skip
OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


def zone_of(name: str) -> tzinfo | None:
    """Return a time zone by name ("Europe/Berlin"), offset ("+02:00") or "Z", or None."""
    if name in ("Z", "UTC"):
        return UTC
    try:
        if offset := OFFSET.fullmatch(name):
            minutes = int(offset[2]) * 60 + int(offset[3])
            return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # what is unknown, or no file of a zone
        return None


def _read(text: str) -> tuple[datetime, str | None] | None:
    """Return the numbers of a date, and the zone that it names."""
    iso, long = ISO.fullmatch(text), LONG.fullmatch(text)
    try:
        if iso:
            year, month, day, hour, minute, second = (int(part or 0) for part in iso.groups()[:6])
            return datetime(year, month, day, hour, minute, second), iso[7]
        if long:
            starts = [n for n, m in enumerate(MONTHS, 1) if m.startswith(long[2].casefold())]
            hour = int(long[4]) % 12 + 12 * (long[6] == "P") if long[6] else int(long[4])
            (month,) = starts
            return datetime(int(long[3]), month, int(long[1]), hour, int(long[5])), None
    except ValueError:  # the 31st of June
        pass
    return None


def moment(text: str, zone: tzinfo | None = None) -> datetime | None:
    """Return a date with a time and a zone.

    Parameters
    ----------
    text : str
        ``2026-10-12 23:59 Europe/Berlin``, ``2026-10-12T21:59:00Z``, ``2026-10-12-21-59-00``, or
        ``Monday, 12 October 2026, 11:59 PM``.
    zone : tzinfo or None
        For a text that names none; None refuses it.

    Returns
    -------
    datetime or None
        In UTC. None if it is not such a text, has no zone, or there is no such time: clocks that go
        forward leave out an hour. Of an hour that clocks have twice it is the second.
    """
    found = _read(" ".join(text.split()))
    zone = zone_of(found[1]) if found and found[1] else zone
    if found is None or zone is None:
        return None
    there = found[0].replace(tzinfo=zone, fold=1)
    try:
        now = there.astimezone(UTC)
        return now if now.astimezone(zone).replace(tzinfo=None) == found[0] else None
    except OverflowError:  # the first and the last day that there are
        return None


def told(when: datetime, zone: tzinfo) -> str:
    """Return a date as it is shown, in a zone."""
    there = when.astimezone(zone)
    return f"{there:%Y-%m-%d %H:%M} {there.tzname()}"


def duration(seconds: float) -> str:
    """Return a time in its two largest units, as in "1 day 4 hours"."""
    words, rest = [], int(seconds)
    for name, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        count, rest = divmod(rest, size)
        words += [f"{count} {name}{'s' * (count != 1)}"] * bool(count)
    return " ".join(words[:2]) or "0 seconds"


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
    """Yield the rows that say something under one of the headers; refuses what names nobody."""
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


EXAMPLE = "10% a day, at most 50%, 15 minutes of grace"
SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
NUMBER = r"(\d{1,3}(?:[.,]\d{1,2})?) ?%"
PIECES = {
    "rate": re.compile(rf"{NUMBER}(?: off)? (?:an?|per|each|every)(?: started)? (hour|day|week)"),
    "most": re.compile(rf"(?:at most|up to) {NUMBER}"),
    "grace": re.compile(r"(\d{1,4}) (minute|hour|day)s?(?: of)? grace"),
}


@dataclass(frozen=True)
class Rule:
    """What being late costs.

    Parameters
    ----------
    text : str
        As the teacher wrote it.
    rate, most : float
        Percent of the points for each started unit, and of all of them together.
    unit, grace : int
        Seconds; who is late by the grace or less loses nothing.
    """

    text: str = "nothing is taken off"
    rate: float = 0
    unit: int = 86_400
    most: float = 100
    grace: int = 0

    @classmethod
    def read(cls, text: str) -> Rule:
        """Return the rule that a text like `EXAMPLE` gives.

        Raises
        ------
        ConfigError
            If a part of it is not understood or there twice, or it takes off more than all.
        """
        parts: dict[str, tuple[str, ...]] = {}
        for piece in re.split(r"[,;]\s+|;", text.strip()):
            plain = " ".join(piece.split()).casefold()
            fits = [(name, m.groups()) for name, p in PIECES.items() if (m := p.fullmatch(plain))]
            if not fits or fits[0][0] in parts:
                twice = "stands there twice" if fits else "is not understood"
                raise ConfigError(f'LATE: {clean(piece, 60)!r} {twice}; write it as "{EXAMPLE}"')
            parts |= fits
        if "rate" not in parts:
            raise ConfigError(f'LATE: what is taken off? Write it as "{EXAMPLE}"')
        rate, most = (float(n.replace(",", ".")) for n in
                      (parts["rate"][0], parts.get("most", ("100",))[0]))  # fmt: skip
        if not 0 < rate <= 100 or not 0 < most <= 100:
            raise ConfigError(f"LATE: {clean(text, 80)!r} takes off no percentage from 0 to 100")
        grace = parts.get("grace", ("0", "minute"))
        return cls(" ".join(text.split()), rate, SECONDS[parts["rate"][1]], most,
                   int(grace[0]) * SECONDS[grace[1]])  # fmt: skip

    def off(self, seconds: float) -> float:
        """Percent that are taken off who is late by so many seconds."""
        if seconds <= self.grace or not self.rate:
            return 0
        return min(self.most, self.rate * ceil(seconds / self.unit))


@dataclass(frozen=True)
class Late:
    """What a teacher asks for.

    Parameters
    ----------
    due : str
        A date with a time and a zone.
    rule : Rule
        What being late costs.
    times : Path or None
        A table of hand-in times; None takes those of the files.
    extensions : Path or None
        A table of later due dates.
    """

    due: str
    rule: Rule = field(default_factory=Rule)
    times: Path | None = None
    extensions: Path | None = None


@dataclass(frozen=True)
class Times:
    """When everybody should hand in, and did.

    Parameters
    ----------
    due : datetime
        For all who have no other.
    zone : tzinfo
        In which times are shown, and read where they name none.
    own : dict of str to datetime
        Due dates of students with an extension.
    handed_in : dict of (str, int) to (datetime, str)
        When, by student and attempt, and where that stands.
    rule : Rule
        What being late costs.
    """

    due: datetime
    zone: tzinfo
    own: dict[str, datetime]
    handed_in: HandedIn
    rule: Rule

    def of(self, student: str, attempt: int) -> Deduction | None:
        """Return what is taken off an attempt, with the reason; None if nothing was handed in."""
        found = self.handed_in.get((student, attempt))
        if found is None:
            return None
        when, source = found
        due = self.own.get(student, self.due)
        late = (when - due).total_seconds()
        off = self.rule.off(late)
        more = " (extended)" if student in self.own else ""
        words = f"handed in {told(when, self.zone)} ({source}), due {told(due, self.zone)}{more}: "
        words += f"{duration(late)} late" if late > 0 else "in time"
        if late > 0:
            within = self.rule.grace > 0 and late <= self.rule.grace
            words += ", within the grace" if within else f", {off:g}% off ({self.rule.text})"
        return Deduction(off, words)

    def dates(self) -> Dates:
        """Return what the reports of a run say of them."""
        sources = sorted({source for _, source in self.handed_in.values()})
        return Dates(told(self.due, self.zone), self.rule.text, sources)


def _due(text: str) -> tuple[datetime, tzinfo]:
    """Return the due date, and the zone that it names."""
    due = moment(text)
    zone = zone_of(text.split()[-1]) or (due.tzinfo if due else None)
    if due is None or zone is None:
        form = "2026-10-12 23:59 Europe/Berlin"
        words = "is no date with a time and a time zone; write it as"
        raise ConfigError(f'DUE: {clean(text, 60)!r} {words} "{form}"')
    return due, zone


def read_late(late: Late, sent: Sequence[Submission], roster: Sequence[str] = ()) -> Times:
    """Read all dates, before anything is graded.

    Parameters
    ----------
    late : Late
        What the teacher asks for.
    sent : sequence of Submission
        All attempts of the run.
    roster : sequence of str
        Others whom the tables may name.

    Raises
    ------
    ConfigError
        For a date that is none, two for one student, and somebody who is not there.
    """
    due, zone = _due(late.due)
    names = names_of(sent)
    own = read_extensions(late.extensions, names, due, zone, roster) if late.extensions else {}
    if late.times:
        handed_in = read_times(late.times, sent, names, zone, roster)
    else:
        handed_in = times_of_files(sent, zone)
    return Times(due, zone, own, handed_in, late.rule)


def take_off(results: Sequence[Result], times: Times) -> list[Result]:
    """Return the results with what is left of their totals; answers keep their points.

    Parameters
    ----------
    results : sequence of Result
        With points.
    times : Times
        When they were handed in.

    Returns
    -------
    list of Result
        Who handed in has ``late``.
    """
    found = []
    for result in results:
        about = times.of(result.student, result.attempt)
        if about is None:
            found.append(result)
            continue
        raw = result.points
        left = round(about.left(raw), 2)
        left = int(left) if left == int(left) else left
        found.append(replace(result, points=left, late=replace(about, raw=raw)))
    return found
