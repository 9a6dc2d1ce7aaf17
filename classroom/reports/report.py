"""What a class gets back: grades.csv, feedback for each student, and a summary for the teacher.

Texts, for somebody else to write. Nothing of them knows the time, so that the same results give
the same bytes.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from classroom.reports.feedback import NAME, by_hand, feedback, shortened
from classroom.reports.likeness import likeness_table
from classroom.reports.persons import handed_in
from classroom.reports.sanitize import (
    clean,
    file_names,
    folded,
    for_markdown,
    for_spreadsheet,
    shown_names,
)
from classroom.reports.summary import summary
from classroom.reports.to_mark import TO_MARK, to_mark, unmarked
from classroom.results import Answer, Result, Run
from classroom.submissions.collect import moodle_name
from mini_attn.errors import ConfigError

__all__ = ["reports", "student_names", "who_is_missing"]

NAMED = 6  # students in a line for a terminal
HERE = Path(__file__).resolve().parent
# Columns that stand there if the run was asked for it.
TERM = {"before late": "late", "late": "late", "attempts": "attempts"}


def _markdown(value: object) -> object:
    """Escapes what a template prints, as autoescaping does for HTML."""
    return value if isinstance(value, Markup | int | float) else Markup(for_markdown(str(value)))


@cache
def _templates(kind: str) -> jinja2.Environment:
    """Return the templates of ``html`` or ``md``; both escape all that is not theirs."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=kind == "html",
        finalize=_markdown if kind == "md" else None,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@cache
def _style() -> tuple[Markup, str]:
    """Return the stylesheet, and its hash, which alone the page allows."""
    text = (HERE / "report.css").read_text(encoding="utf-8")
    digest = hashlib.sha256(text.encode()).digest()
    return Markup(text), f"sha256-{base64.b64encode(digest).decode()}"


def _page(name: str, kind: str, view: dict[str, Any]) -> str:
    """Return one page of feedback or summary."""
    style, digest = _style()
    template = _templates(kind).get_template(f"{name}.{kind}.jinja")
    return template.render(view, style=style, style_hash=digest)


def _by_name(name: str) -> tuple[str, str]:
    """Small and capital letters alike."""
    return name.casefold(), name


def _in_order(results: Iterable[Result]) -> list[Result]:
    """By name, each student once."""
    ordered = sorted(results, key=lambda r: _by_name(r.student))
    twice = [name for name, n in Counter(r.student for r in ordered).items() if n > 1]
    if twice:
        raise ConfigError(f"two results for the same student: {clean(twice[0], NAME)}")
    return ordered


def _points(answer: Answer | None) -> float | str:
    """Return the points of an exercise; empty where nothing was handed in or given by hand."""
    if answer is None:
        return ""
    if answer.state == "to mark":
        return f"to mark, of {answer.of}"
    given = answer.mark is not None and answer.mark.points is not None
    empty = answer.state == "not handed in" and not given
    return "" if empty else answer.points


def _by_hand(result: Result) -> str:
    """Return all that the teacher decided about a student, for a cell."""
    return for_spreadsheet(" · ".join(by_hand(result, ids=True)))


def _of_term(result: Result) -> dict[str, str | float]:
    """Return what was taken off for being late, and which attempt counts, for cells."""
    raw, late = (result.late.raw, result.late.words) if result.late else (result.points, "")
    words = [for_spreadsheet(clean(text, 300)) for text in (
        late, " · ".join(result.attempts))]  # fmt: skip
    return dict(zip(TERM, (raw, *words), strict=True))


def student_names(students: Iterable[tuple[str, Iterable[str]]]) -> dict[str, Sequence[str]]:
    """Return what the table of grades and the teacher call each student.

    Parameters
    ----------
    students : iterable of (str, iterable of str)
        Each one's name, and the places of the files.

    Returns
    -------
    dict of str to sequence of str
        The name as it was found, as it is shown, and without Moodle's number.
    """
    places = dict(students)
    shown = shown_names(places, NAME)
    names = {s: (s, shown[s], for_spreadsheet(shown[s]), moodle_name(s, places[s])) for s in places}
    return {student: [form for form in forms if form] for student, forms in names.items()}


def grades(run: Run, results: Sequence[Result], roster: Sequence[str] = ()) -> str:
    """Return the table of grades.

    Parameters
    ----------
    run, results
        As the grader writes them.
    roster : sequence of str
        Names of everybody; who is missing among the results gets a row with 0 points.

    Returns
    -------
    str
        Comma-separated values with a byte order mark, which makes spreadsheets read UTF-8.
    """
    out = io.StringIO(newline="")
    out.write("\ufeff")
    table = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    ids = list(run.exercises)
    more = [name for name, key in TERM.items() if getattr(run, key)]
    by_people = [TO_MARK] * any(answer.kind == "open" for r in results for answer in r.answers)
    table.writerow(["student", "written name", *ids, "total", "of", "problems", "feedback",
                    "by hand", *more, *by_people])  # fmt: skip
    names = file_names(r.student for r in results)
    shown = shown_names((r.student for r in results), NAME)
    rows: list[tuple[str, list[str | float]]] = []  # a name to sort by, and the row
    for result in results:
        answers = {answer.id: answer for answer in result.answers}
        problems = " · ".join(clean(p, 300) for p in result.problems[:5])
        texts = map(for_spreadsheet, (shown[result.student], clean(result.written_name, NAME)))
        cells = [*texts, *(_points(answers.get(i)) for i in ids)]
        file = f"feedback/{names[result.student]}.html"
        cells += [result.points, result.of, for_spreadsheet(problems), file]
        cells += [_by_hand(result), *(_of_term(result)[name] for name in more)]
        cells += [unmarked(result)] * len(by_people)
        rows.append((result.student, cells))
    for name in missing(results, roster):
        empty = ["", *[""] * len(ids)]
        cells = [for_spreadsheet(clean(name, NAME)), *empty, 0, run.of]
        rows.append((name, [*cells, "nothing handed in", "", "", *[""] * len([*more, *by_people])]))
    table.writerows(cells for _, cells in sorted(rows, key=lambda row: _by_name(row[0])))
    return out.getvalue()


def missing(results: Sequence[Result], roster: Sequence[str]) -> list[str]:
    """Return names of the roster from whom nothing came."""
    here = {folded(clean(r.student, 300)) for r in results}
    for r in results:
        numberless = moodle_name(r.student, [*r.files, *r.problems])
        here |= {folded(clean(numberless, 300))} if numberless else set()
    return [name for name in dict.fromkeys(roster) if folded(clean(name, 300)) not in here]


def who_is_missing(results: Sequence[Result], roster: Sequence[str]) -> list[str]:
    """Return lines about who handed in no notebook, for a terminal; none if everybody did."""
    nothing = missing(results, roster)
    shown = shown_names((r.student for r in results), NAME)
    unread = [shown[r.student] for r in results if not r.files]
    found = [handed_in(results, nothing)]
    for words, names in (("no notebook in what came from", unread), ("nothing came from", nothing)):
        few = shortened(names, NAME, NAMED)
        found += [f"{words} {', '.join(few)}"] * bool(names)
    return found if found[0] else []


def reports(run: Run, results: Sequence[Result], *, roster: Sequence[str] = ()) -> dict[str, str]:
    """Return all that a run writes: grades, feedback and summary.

    Parameters
    ----------
    run, results
        As the grader writes them.
    roster : sequence of str
        Names of everybody in the class, as the grader names them; empty if not known.

    Returns
    -------
    dict of str to str
        Texts by name: ``grades.csv``, ``feedback/…``, ``summary.md`` and ``summary.html``; with
        answers in words ``to-mark.md`` and ``to-mark.html`` too.

    Raises
    ------
    ConfigError
        If two results are of the same student.
    """
    ordered = _in_order(results)
    names = file_names(r.student for r in ordered)
    views = {f"feedback/{names[r.student]}": feedback(run, r) for r in ordered}
    files = {
        f"{stem}.{kind}": _page("feedback", kind, view)
        for stem, view in views.items()
        for kind in ("md", "html")
    }
    whole = summary(run, ordered, names, missing(ordered, roster))
    files |= {f"summary.{kind}": _page("summary", kind, whole) for kind in ("md", "html")}
    if found := to_mark(run, ordered):
        files |= {f"to-mark.{kind}": _page("to-mark", kind, found) for kind in ("md", "html")}
    files["grades.csv"] = grades(run, ordered, roster)
    if run.alike:
        files["likeness.csv"] = likeness_table(run.alike)
    return files
