"""Grades some students again, as all others were graded: a record says how that was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from classroom.drawing import seal
from classroom.grading.late import Late
from classroom.grading.people import named_one
from classroom.reports.sanitize import clean
from classroom.sheets.sheet import Sheet
from mini_attn.errors import ConfigError

__all__ = ["RECORD", "as_asked", "to_grade_again"]

RECORD = ".run.json"


def as_asked(
    sheet: Sheet, *, partial: bool, attempts: str | None, late: Late | None, draw: str | None
) -> dict[str, str]:
    """The choices on which everybody's points depend, under the names of ``make``."""
    return {
        "SHEET": json.dumps(sheet.as_data(), sort_keys=True),
        "PARTIAL": "1" if partial else "",
        "ATTEMPTS": attempts or "",
        "DUE": late.due if late else "",
        "LATE": late.rule.text if late else "",
        "DRAW": seal(draw) if draw else "",
    }


def _before(path: Path) -> dict[str, str]:
    """The choices of the last run; nothing if none came to its end."""
    try:
        return {str(key): str(value) for key, value in json.loads(path.read_bytes()).items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def to_grade_again(
    written: Sequence[str], names: Mapping[str, Sequence[str]], out: Path, now: Mapping[str, str]
) -> frozenset[str]:
    """The students who are to be graded again.

    Parameters
    ----------
    written : sequence of str
        Their names, as the teacher writes them.
    names : dict of str to sequence of str
        What students are called.
    out : Path
        The folder of the run.
    now : dict of str to str
        The choices of this run.

    Raises
    ------
    ConfigError
        If a name fits nobody or several, or the last run had other choices or there was none:
        then the others' points would change too.
    """
    found = set()
    for name in written:
        student = named_one(names, name)
        if student is None:
            raise ConfigError(f"AGAIN: no student, or several, called {clean(name, 80)!r} here")
        found.add(student)
    before = _before(out / RECORD) if written else dict(now)
    if not before:
        raise ConfigError(f"AGAIN: nothing was graded in {str(out)!r} yet: leave it out first")
    other = [key for key, value in now.items() if before.get(key) != value]
    if other:
        words = f"the last run had another {' and '.join(other)}"
        raise ConfigError(f"AGAIN: {words}; repeat its choices, or grade all without AGAIN=")
    return frozenset(found)
