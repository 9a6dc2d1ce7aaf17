"""Dates with times, as teachers and learning platforms write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

__all__ = ["duration", "moment", "told", "zone_of"]

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
    """A time zone by name ("Europe/Berlin"), offset ("+02:00") or "Z"; None if there is none."""
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
    """The numbers of a date, and the zone that it names."""
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
    """A date with a time and a zone.

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
    """A date as it is shown, in a zone."""
    there = when.astimezone(zone)
    return f"{there:%Y-%m-%d %H:%M} {there.tzname()}"


def duration(seconds: float) -> str:
    """A time in its two largest units, as in "1 day 4 hours"."""
    words, rest = [], int(seconds)
    for name, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        count, rest = divmod(rest, size)
        words += [f"{count} {name}{'s' * (count != 1)}"] * bool(count)
    return " ".join(words[:2]) or "0 seconds"
