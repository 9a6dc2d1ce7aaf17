"""Whom the teacher looks at after a run: files, stopped answers, marks, late work, attempts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from classroom.reports.feedback import (
    DEFAULT,
    LINE,
    NAME,
    by_hand,
    late_words,
    shortened,
)
from classroom.reports.sanitize import clean, shown_names
from classroom.results import Dates, Result, Run

__all__ = ["handed_in", "persons"]

MARK = 2_500  # characters of what the teacher wrote about one exercise: all of it
ENTRY, ENTRIES = 110, 2  # characters and entries behind a name: 200 names stay one light page


def handed_in(results: Sequence[Result], missing: Sequence[str]) -> str:
    """Return how many of a class handed in a notebook; nothing if everybody did."""
    count, of = sum(bool(r.files) for r in results), len(results) + len(missing)
    return f"{count} of {of} handed in a notebook" if count < of else ""


def _due(late: Dates | None) -> str:
    """Return when it was due, the rule, and the clock; empty without a due date."""
    if late is None:
        return ""
    sources = " and ".join(late.sources) or "nobody handed in"
    return clean(f"Due {late.due}; {late.rule}. Hand-in times: {sources}.", MARK)


def persons(run: Run, results: Sequence[Result], names: dict[str, str]) -> dict[str, Any]:
    """Return whose files or answers need a look."""
    shown = shown_names((r.student for r in results), NAME)

    def people(
        entries_of: Callable[[Result], list[str]],
        limit: int = ENTRY,
        many: int | None = ENTRIES,
    ) -> list[dict[str, Any]]:
        return [
            {"name": shown[r.student], "file": names[r.student],
             "entries": shortened(entries, limit, many)}
            for r in results if (entries := entries_of(r))
        ]  # fmt: skip

    def stopped(result: Result) -> list[str]:
        ended = [a for a in result.answers if a.state == "stopped"]
        return [f"{a.title}: {a.message or DEFAULT['stopped']}" for a in ended]

    def to_mark(result: Result) -> list[str]:
        return [a.title for a in result.answers if a.state == "to mark"]

    return {
        "to_mark": people(to_mark),
        "problems": people(lambda r: list(r.problems)),
        "stopped": people(stopped),
        "marked": people(by_hand, MARK, None),
        "late": people(lambda r: [late_words(r)] if r.late and r.late.off else [], MARK),
        "attempts": people(lambda r: list(r.attempts), LINE, None),
        "regraded": [clean(shown.get(name, name), NAME) for name in run.again],
        "due": _due(run.late),
    }
