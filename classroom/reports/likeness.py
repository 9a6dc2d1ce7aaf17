"""Which answers of two students are alike, as a table and in the summary: for the teacher alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from classroom.reports.sanitize import clean, for_spreadsheet, shown_names
from classroom.results import Alike

__all__ = ["likeness", "likeness_table"]

NAME = 80  # characters of a name that are shown
SHOWN = 30  # pairs in the summary; the table has all


def _rows(alike: Sequence[Alike]) -> list[tuple[list[str], list[tuple[str, int]]]]:
    """Two names, and the exercises with how near they are in percent, the nearest first."""
    names = shown_names({name for pair in alike for name in pair.students}, NAME)
    rows = []
    for pair in alike:
        near = sorted(pair.exercises.items(), key=lambda one: (-one[1], one[0]))
        found = [(clean(key, NAME), round(100 * share)) for key, share in near]
        rows.append(([names[name] for name in pair.students], found))
    return rows


def likeness_table(alike: Sequence[Alike]) -> str:
    """Return the table: a row for each exercise of each pair.

    Parameters
    ----------
    alike : sequence of Alike
        As `classroom.grading.likeness.alike` gives it.

    Returns
    -------
    str
        Comma-separated values with a byte order mark.
    """
    out = io.StringIO(newline="")
    out.write("\ufeff")
    table = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    table.writerow(["student", "other student", "exercise", "alike in percent"])
    for names, near in _rows(alike):
        table.writerows([*map(for_spreadsheet, names), key, share] for key, share in near)
    return out.getvalue()


def likeness(alike: Sequence[Alike]) -> dict[str, Any]:
    """Return what the summary shows of it."""
    rows = _rows(alike)
    texts = [
        f"{' and '.join(names)}: {', '.join(f'{key} {share}%' for key, share in near)}"
        for names, near in rows[:SHOWN]
    ]
    return {"alike": texts, "alike_more": max(len(rows) - SHOWN, 0)}
