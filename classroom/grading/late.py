"""What is taken off for handing in late: a due date, a rule, and more time for some.

What each answer earned stays as it is; the total alone changes, and says by which rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from math import ceil
from pathlib import Path
from typing import Any

from classroom.grading.dates import duration, moment, told, zone_of
from classroom.grading.people import names_of
from classroom.grading.times import HandedIn, read_extensions, read_times, times_of_files
from classroom.reports.sanitize import clean
from classroom.submissions.collect import Submission
from mini_attn.errors import ConfigError

__all__ = ["Late", "Rule", "Times", "read_late", "take_off"]

EXAMPLE = "10 % a day, at most 50 %, 15 minutes of grace"
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
        """The rule that a text like `EXAMPLE` gives.

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

    def of(self, student: str, attempt: int) -> dict[str, Any] | None:
        """What is taken off an attempt, with the reason; None if nothing was handed in."""
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
            words += ", within the grace" if within else f", {off:g} % off ({self.rule.text})"
        return {"off": off, "words": words}

    def facts(self) -> dict[str, Any]:
        """For the reports of a run."""
        sources = sorted({source for _, source in self.handed_in.values()})
        return {"due": told(self.due, self.zone), "rule": self.rule.text, "from": sources}


def _due(text: str) -> tuple[datetime, tzinfo]:
    """The due date, and the zone that it names."""
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


def take_off(results: Sequence[dict[str, Any]], times: Times) -> list[dict[str, Any]]:
    """The results with what is left of their totals; answers keep their points.

    Parameters
    ----------
    results : sequence of dict
        With points.
    times : Times
        When they were handed in.

    Returns
    -------
    list of dict
        Who handed in has ``late``: ``off`` in percent, ``raw`` points, and ``words``.
    """
    found = []
    for result in results:
        about = times.of(result["student"], result["attempt"])
        if about is None:
            found.append(result)
            continue
        raw = result["points"]
        left = round(raw * (100 - about["off"]) / 100, 2)
        left = int(left) if left == int(left) else left
        found.append({**result, "points": left, "late": {**about, "raw": raw}})
    return found
