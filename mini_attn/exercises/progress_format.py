"""The file format of a learner's progress: read with every key checked, and written.

One format for the page and for Python: what either of them exports, the other imports. A
chapter holds the predictions that were answered and the exercises that were tried::

    {"format": "living-attention-progress", "version": 1, "chapters": {"kv-cache": {
      "predictions": {"passes": {"attempt": "5,050", "verdict": "right", "shown": false}},
      "exercises": {"cached_step": {"state": "solved", "points": 4}}}}}

``state`` is ``"solved"`` (a check passed), ``"done"`` (ticked by hand) or ``"tried"``, and then
``missing`` may name the check that failed. Where a page has kept what a reader wrote, the chapter
has ``answers`` too, each ``{"code": …}``, and the version is 2: a book that knows only version 1
then says so. ``returns`` holds ``{"day": "2026-11-28", "rung": 0}`` for a prediction: when it was
answered, and how often it has come back since; then the version is 3.
``widgets/js/progress/format.js`` holds the same rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from typing import Any

from mini_attn.errors import ConfigError
from mini_attn.exercises.progress_record import (
    ANSWERS,
    KINDS,
    RETURNS,
    RUNGS,
    STATES,
    VERDICTS,
    Entry,
    Record,
    entries,
)

__all__ = ["LARGEST", "OtherVersion", "as_text", "parse"]

FORMAT = "living-attention-progress"
VERSIONS = (1, 2, 3)  # without answers, with them, and with the days of what returns
LONGEST = 8_000  # characters of an answer that are kept
HALF = re.compile("[\ud800-\udfff]")  # of a character: no file in UTF-8 can hold it
LARGEST = 1_000_000  # bytes; the whole book answered makes about 12,000
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
DAY = re.compile(r"2[0-9]{3}-[0-9]{2}-[0-9]{2}")
# What a typed number may consist of; a prediction takes no other text for an answer.
ATTEMPT = re.compile(
    r"[0-9A-Za-z+.,_' ’‘`´\u00a0\u2007\u2009\u202f×·⋅*/÷:^()!%√½⅓⅔¼¾⅕⅙⅛"
    r"⁰¹²³⁴⁵⁶⁷⁸⁹⁻−~≈≃=°πµμ-]{1,40}"
)


class OtherVersion(ConfigError):
    """The record is whole, but another version of the book wrote it."""


def _refuse(what: str) -> ConfigError:
    return ConfigError(f"this is no progress that can be read: {what}")


def _short(value: Any) -> str:
    """A foreign value in a message: cut, and without line breaks."""
    return repr(value)[:40]


def _object(value: Any, where: str, allowed: tuple[str, ...] | None = None) -> dict[str, Any]:
    """A JSON object with nothing but the keys that it may have."""
    if not isinstance(value, dict):
        raise _refuse(f"{where} is {_short(value)}, expected named values")
    for key in value:
        if allowed is None:
            if not NAME.fullmatch(key):
                raise _refuse(f"{where} has the name {_short(key)}")
        elif key not in allowed:
            raise _refuse(f"{where} has the unknown key {_short(key)}")
    return value


def _one_of(value: Any, choices: tuple[str, ...], where: str) -> str:
    if not isinstance(value, str) or value not in choices:
        raise _refuse(f"{where} is {_short(value)}, expected one of {', '.join(choices)}")
    return value


def _prediction(given: Any, where: str) -> Entry:
    """One prediction, every key checked."""
    entry = _object(given, where, ("attempt", "verdict", "shown"))
    attempt, shown = entry.get("attempt"), entry.get("shown", False)
    if not isinstance(attempt, str) or not ATTEMPT.fullmatch(attempt):
        raise _refuse(f"the attempt of {where} is {_short(attempt)}, expected a typed number")
    if not isinstance(shown, bool):
        raise _refuse(f"shown of {where} is {_short(shown)}, expected true or false")
    verdict = _one_of(entry.get("verdict"), VERDICTS, f"the verdict of {where}")
    return {"attempt": attempt, "verdict": verdict, "shown": shown}


def _exercise(given: Any, where: str) -> Entry:
    """One exercise, every key checked."""
    entry = _object(given, where, ("state", "points", "missing"))
    state = _one_of(entry.get("state"), STATES, f"the state of {where}")
    points, missing = entry.get("points"), entry.get("missing")
    if not isinstance(points, int) or isinstance(points, bool) or not 0 <= points <= 100:
        raise _refuse(f"the points of {where} are {_short(points)}, expected 0 to 100")
    if points and state != "solved":
        raise _refuse(f"{where} has points and is not solved")
    if missing is None:
        return {"state": state, "points": points}
    if not isinstance(missing, str) or not re.fullmatch(r"[a-z ]{1,20}", missing):
        raise _refuse(f"what is missing in {where} is {_short(missing)}, expected a check's name")
    return {"state": state, "points": points, "missing": missing}


def _answer(given: Any, where: str) -> Entry:
    """Return what a reader wrote, in one text."""
    code = _object(given, where, ("code",)).get("code")
    if not isinstance(code, str) or not 0 < len(code) <= LONGEST or HALF.search(code):
        raise _refuse(f"the code of {where} is {_short(code)}, expected 1 to {LONGEST} characters")
    return {"code": code}


def _return(given: Any, where: str) -> Entry:
    """Return the day of a prediction's answer, and how often it has come back since."""
    entry = _object(given, where, ("day", "rung"))
    day, rung = entry.get("day"), entry.get("rung")
    if not _is_day(day):
        raise _refuse(f"the day of {where} is {_short(day)}, expected for example 2026-11-28")
    if not isinstance(rung, int) or isinstance(rung, bool) or not 0 <= rung < RUNGS:
        raise _refuse(f"the rung of {where} is {_short(rung)}, expected 0 to {RUNGS - 1}")
    return {"day": day, "rung": rung}


def _is_day(value: Any) -> bool:
    if not isinstance(value, str) or not DAY.fullmatch(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:  # the 30th of February
        return False
    return True


READERS: dict[str, Callable[[Any, str], Entry]] = {
    "predictions": _prediction,
    "exercises": _exercise,
    ANSWERS: _answer,
    RETURNS: _return,
}


def parse(content: bytes) -> Record:
    """Read a file's content.

    Parameters
    ----------
    content : bytes
        JSON in UTF-8, at most `LARGEST` bytes.

    Returns
    -------
    Record
        Chapter, then ``"predictions"`` or ``"exercises"``, then name, then what is kept.

    Raises
    ------
    ConfigError
        With the first thing that does not fit the format; nothing is taken from such a file.
    OtherVersion
        If the format has another version.
    """
    if len(content) > LARGEST:
        raise _refuse(f"it has {len(content):,} bytes, expected at most {LARGEST:,}")
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise _refuse("it is not JSON text") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise _refuse(f"it does not say that its format is {FORMAT!r}")
    number = data.get("version")
    if number not in VERSIONS or isinstance(number, bool):
        known = ", ".join(map(str, VERSIONS))
        raise OtherVersion(
            f"the progress has version {_short(number)} of its format, this book reads {known}"
        )
    allowed = tuple(READERS)[: number + 1]
    _object(data, "the file", ("format", "version", "chapters"))
    record: Record = {}
    for page, kinds in _object(data.get("chapters"), "the list of chapters").items():
        _object(kinds, f"chapter {page}", allowed)
        record[page] = {
            kind: {
                name: READERS[kind](entry, f"{page}/{name}")
                for name, entry in _object(kinds.get(kind, {}), f"{kind} of {page}").items()
            }
            for kind in dict.fromkeys((*KINDS, *kinds))
        }
    return record


def as_text(record: Record) -> str:
    """The file's content, one value a line; the same text for the same record.

    Parameters
    ----------
    record : Record
        What `parse` gives.

    Returns
    -------
    str
        JSON.
    """
    chapters = {page: {k: v for k, v in named.items() if v} for page, named in record.items()}
    kinds = {kind for _, kind, _, _ in entries(record)}
    data = {
        "format": FORMAT,
        "version": 3 if RETURNS in kinds else 2 if ANSWERS in kinds else 1,
        "chapters": {page: named for page, named in chapters.items() if named},
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
