"""Answers in words: collected, shown to their marker, and never judged by a machine."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import pytest

from classroom.adapters import nbgrader, otter
from classroom.grading.grade import grade_folder
from classroom.grading.marks import FILE
from classroom.results import Result
from classroom.sheets.notebook import student_notebook
from classroom.sheets.sheet import chosen, weighted
from classroom.submissions.prose import PROSE
from mini_attn.errors import ConfigError
from mini_attn.exercises import exercise
from mini_attn.exercises.spec import WORDS
from solutions import learned_factor

KEY = "learned_factor"
SHEET = chosen(exercises=f"sharp_choice {KEY}", name="week1")[0]
HOSTILE = "</p><script>alert(1)</script>\n=cmd|' /C calc'!A0\n\x07\u202eevil\n| a | b |\n# big"
Hand = Callable[..., Path]


@pytest.fixture
def hand_in(tmp_path: Path) -> Hand:
    """Writes what a student sends: a text, or a change of the whole notebook."""
    folder = tmp_path / "sent"
    folder.mkdir()

    def write(student: str, text: str = WORDS, change: Any = None) -> Path:
        notebook = student_notebook(SHEET)
        for cell in notebook.cells:
            tag = cell.metadata.get("exercise", {})
            if tag.get("role") == "starter":
                cell.source = text if tag["id"] == KEY else "answer = 3.5835"
        if change:
            change(notebook)
        nbformat.write(notebook, folder / f"{student}.ipynb")
        return folder

    return write


def graded(folder: Path, sheet: Any = SHEET, **more: Any) -> tuple[list[Result], Path]:
    out = folder.parent / "out"
    return grade_folder(folder, out, sheet=sheet, jobs=1, **more), out


def row_of(out: Path, student: str) -> dict[str, str]:
    text = (out / "grades.csv").read_text(encoding="utf-8-sig")
    return next(row for row in csv.DictReader(io.StringIO(text)) if row["student"] == student)


def mark(out: Path, *rows: str) -> None:
    text = "\r\n".join(["student,exercise,points,comment", *rows, ""])
    (out / FILE).write_text(text, encoding="utf-8")


def test_no_machine_marks_it_and_the_total_says_so(hand_in: Hand) -> None:
    hand_in("ada", f"{WORDS}\n\n{learned_factor.SAMPLES[0][1]}")
    (ada, bo), out = graded(hand_in("bo"))
    assert [(a.state, a.points) for a in ada.answers] == [("solved", 2), ("to mark", 0)]
    assert bo.answers[1].state == "not attempted"
    row = row_of(out, "ada")
    assert (row[KEY], row["total"], row["points to mark"]) == ("to mark, of 6", "2", "6")
    assert row_of(out, "bo")["points to mark"] == "0"
    page = (out / "to-mark.html").read_text(encoding="utf-8")
    assert "1 still to mark" in page
    assert all(says in unescape(page) for says in exercise(KEY).rubric)
    assert "standard deviation √128" in page
    assert "a double click opens" not in page  # the sheet's own line
    assert "Answers that wait for your marks" in (out / "summary.html").read_text("utf-8")
    student = (out / "feedback/ada.html").read_text(encoding="utf-8")
    assert "A person reads this answer" in student
    assert learned_factor.MODEL.strip()[:40] not in student


def test_marks_come_by_criterion_or_as_a_whole_and_stay(hand_in: Hand) -> None:
    hand_in("ada", "Because.")
    folder = hand_in("bo", "Why not?")
    _, out = graded(folder)
    mark(out, f"ada,{KEY},1+2+1.5+0,and the rest?", f"bo,{KEY},4,")
    written = (out / FILE).read_bytes()
    (ada, bo), _ = graded(folder)
    assert [r.answers[1].state for r in (ada, bo)] == ["marked", "marked"]
    assert [r.points for r in (ada, bo)] == [6.5, 6]
    page = (out / "feedback/ada.md").read_text(encoding="utf-8")
    assert "4.5 of 6 points." in page
    assert "1.5 of 2: Says what this does to the gradients" in page
    assert row_of(out, "ada")["points to mark"] == "0"
    files = {p: p.read_bytes() for p in out.rglob("*") if p.is_file() and p.name != ".lock"}
    for more in ({}, {"again": ["ada"]}, {}):
        graded(folder, **more)
        assert (out / FILE).read_bytes() == written
    assert {p: p.read_bytes() for p in files} == files


def test_criteria_are_scaled_to_the_points_of_a_sheet(hand_in: Hand) -> None:
    folder, sheet = hand_in("ada", "Because."), weighted(SHEET, {KEY: 12})
    _, out = graded(folder, sheet)
    mark(out, f"ada,{KEY},1+0+1+0,")
    (ada,), _ = graded(folder, sheet)
    assert ada.answers[1].points == 4


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (f"ada,{KEY},1+2,", "gives points for 2 criteria of learned_factor, which has 4"),
        (f"ada,{KEY},2+2+2+0,", "gives 2 points for criterion 1 of learned_factor, which has 1"),
        ("ada,sharp_choice,1+1,", "by criterion; sharp_choice has no criteria"),
        (f"ada,{KEY},1+x+0+0,", "'x' is no number of points"),
        (f"ada,{KEY},7,", "gives 7 points for learned_factor, which has 6"),
    ],
)
def test_marks_that_cannot_be_meant_are_refused(hand_in: Hand, row: str, words: str) -> None:
    folder = hand_in("ada", "Because.")
    _, out = graded(folder)
    before = (out / "grades.csv").read_bytes()
    mark(out, row)
    with pytest.raises(ConfigError, match=re.escape(words)):
        graded(folder)
    assert (out / "grades.csv").read_bytes() == before


def test_hostile_text_is_harmless(hand_in: Hand) -> None:
    hand_in("ada", HOSTILE)
    (ada, bo), out = graded(hand_in("bo", "x" * 10_000_000))
    assert ada.answers[1].state == bo.answers[1].state == "to mark"
    assert len(bo.answers[1].text) == PROSE
    assert "too long: the rest is left out" in bo.problems[0]
    page = (out / "to-mark.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\x07" not in page
    assert "\u202e" not in page
    assert len(page) < 100_000
    lines = (out / "to-mark.md").read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if line.startswith(("=cmd", "| a", "# big"))]


def test_a_tag_of_another_exercise_takes_nothing_from_it(hand_in: Hand) -> None:
    def change(notebook: nbformat.NotebookNode) -> None:
        tag = {"exercise": {"id": "sharp_choice", "role": "starter"}}
        notebook.cells.append(nbformat.v4.new_markdown_cell("I win.", metadata=tag))

    (ada,), _ = graded(hand_in("ada", "Because.", change))
    assert [a.state for a in ada.answers] == ["solved", "to mark"]
    assert ada.answers[1].text == "Because."


def test_it_is_found_without_tags_and_in_several_cells(hand_in: Hand) -> None:
    def change(notebook: nbformat.NotebookNode) -> None:
        for cell in notebook.cells:
            cell.metadata.pop("exercise", None)

    def split(notebook: nbformat.NotebookNode) -> None:
        places = [cell.metadata.get("exercise") for cell in notebook.cells]
        at = places.index({"id": KEY, "role": "check"})
        notebook.cells.insert(at, nbformat.v4.new_markdown_cell("# And\n\nsecondly."))

    hand_in("ada", "First.", change)
    (ada, bo), _ = graded(hand_in("bo", "First.", split))
    assert ada.answers[1].text == "First."
    assert "lost their tags" in ada.problems[0]
    assert bo.answers[1].text == "First.\n\n# And\n\nsecondly."


def test_under_a_pseudonym_the_name_is_gone(hand_in: Hand) -> None:
    _, out = graded(hand_in("ada lovelace", "As Ada Lovelace I say no."), nameless=True)
    folder = out / "anonymous"
    assert not [p for p in folder.rglob("*") if p.is_file() and "Lovelace" in p.read_text("utf-8")]
    (path,) = (folder / "answers").iterdir()
    cells = nbformat.read(path, as_version=4).cells
    assert [c.cell_type for c in cells if c.id.startswith(KEY)] == ["markdown", "markdown"]


def test_other_graders_leave_it_to_people() -> None:
    cells = {c.id: c for c in nbgrader.assignment(SHEET).cells}
    about = cells[f"{KEY}-starter"].metadata["nbgrader"]
    assert (about["grade"], about["solution"], about["points"]) == (True, True, 6)
    assert about["cell_type"] == cells[f"{KEY}-starter"].cell_type == "markdown"
    assert f"{KEY}-graded" not in cells
    assert learned_factor.MODEL.strip()[:40] not in json.dumps([c.source for c in cells.values()])
    sources = [c.source for c in otter.assignment(SHEET).cells]
    begin = f"# BEGIN QUESTION\nname: {KEY}\nmanual: true\npoints: 6\ncheck_cell: false"
    assert begin in sources
    assert learned_factor.MODEL.strip() in sources
    assert sources.index(begin) < sources.index(WORDS) < sources.index(learned_factor.MODEL.strip())


def rows_of_marks(out: Path) -> list[list[str]]:
    """Return the rows of the teacher's table."""
    text = (out / FILE).read_text(encoding="utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline="")))


def test_the_table_lists_what_waits_until_somebody_writes_in_it(hand_in: Hand) -> None:
    folder = hand_in("=ada", "Because.")
    _, out = graded(folder)
    header = ["student", "exercise", "points", "comment"]
    assert rows_of_marks(out) == [header, [row_of(out, "'=ada")["student"], KEY, "", ""]]
    hand_in("bo", "Why not?")
    hand_in("cy")  # the starter: nothing waits
    graded(folder)  # nothing was decided in it yet
    assert [row[0] for row in rows_of_marks(out)[1:]] == ["'=ada", "bo"]
    written = (out / FILE).read_text(encoding="utf-8").replace(f"bo,{KEY},,", f"bo,{KEY},2,")
    (out / FILE).write_text(written, encoding="utf-8", newline="")
    hand_in("di", "Hm.")
    results, _ = graded(folder)
    assert (out / FILE).read_bytes() == written.encode()  # the teacher's, from here on
    assert [r.answers[1].state for r in results] == [
        "to mark",
        "marked",
        "not attempted",
        "to mark",
    ]


@pytest.mark.parametrize(
    "text", ["student;exercise;points;comment\r\nada;learned_factor;;\r\n",
             "student,exercise,points,comment\nada,learned_factor,,\n",
             "student,exercise,points,comment\r\nada,learned_factor,,,\r\n"],
)  # fmt: skip
def test_a_table_that_somebody_saved_stays(hand_in: Hand, text: str) -> None:
    """Also where no row says anything yet."""
    folder = hand_in("ada", "Because.")
    _, out = graded(folder)
    (out / FILE).write_text(text, encoding="utf-8", newline="")
    hand_in("bo", "Why not?")
    graded(folder)
    assert (out / FILE).read_bytes() == text.encode()


def test_formulas_of_a_question_are_set_and_a_student_s_stay_text(
    hand_in: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = hand_in("ada", "Because $\\sqrt{d}$ <b>is</b> there.")
    _, out = graded(folder)
    page = (out / "to-mark.html").read_text(encoding="utf-8")
    task, answers = page.split("Rubric", 1)
    assert task.count("<math") == exercise(KEY).text.count("$") / 2 > 0
    assert "$" not in task.split("<h2", 1)[1]
    assert "<math" not in answers
    assert "Because $\\sqrt{d}$ &lt;b&gt;is" in answers

    def broken(source: str, display: bool, output: str) -> str:
        raise FileNotFoundError("node")

    monkeypatch.setattr("classroom.reports.to_mark.formula", broken)
    graded(folder)
    page = (out / "to-mark.html").read_text(encoding="utf-8")
    assert "<math" not in page
    assert "$1/\\sqrt{d_k}$" in unescape(page)
