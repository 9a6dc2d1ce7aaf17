"""From shares of several sheets to one total, by a teacher's rules."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from classroom.grading.identity import Person

__all__ = ["Grade", "Rules", "table_of_totals"]


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
    """The total of the sheets that a student is asked, and which of them count."""
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
    """The table of totals, in the form of a table of grades."""
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
