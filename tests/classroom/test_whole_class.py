"""Everybody who sent something is listed with what it was, and who is missing is counted."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from classroom.grading.grade import main
from classroom.grading.totals import Rules, write_totals
from classroom.submissions.collect import read
from tests.classroom.test_lms import graded
from tests.classroom.test_submissions import notebook, save

INSTEAD = "this is no notebook: hand in the .ipynb file"
SENT = ["ada/week1.ipynb", "bo/photo.HEIC", "cy.jpg", "di/week1.xlsx", "di/b.csv", "di/.DS_Store",
        "Ed L_9_assignsubmission_file_notes.xlsx", "fi_8_assignsubmission_file_/notes.numbers",
        "gu.tex", "names.xlsx"]  # fmt: skip
LISTED = {
    "ada": [],
    "bo": [f"bo/photo.HEIC: {INSTEAD}"],
    "cy": [f"cy.jpg: {INSTEAD}"],
    "di": ["di: no notebook in this folder, only b.csv, week1.xlsx"],
    "Ed L_9": [f"Ed L_9_assignsubmission_file_notes.xlsx: {INSTEAD}"],
    "fi_8": ["fi_8_assignsubmission_file_: no notebook in this folder, only notes.numbers"],
    "gu": [f"gu.tex: {INSTEAD}"],
}


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_everybody_is_listed_with_what_they_sent(kind: str, tmp_path: Path) -> None:
    """The teacher's own list beside the submissions is nobody's."""
    for place in SENT:
        path = tmp_path / "in" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(notebook()) if place.endswith("ipynb") else "x")
    if kind == "zip":
        with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
            for place in SENT:
                archive.write(tmp_path / "in" / place, place)
        (tmp_path / "zip").mkdir()
        (tmp_path / "class.zip").rename(tmp_path / "zip/class.zip")
    found = {
        one.student: one.problems for one in read(tmp_path / ("zip" if kind == "zip" else "in"))
    }
    assert {s: [p.removeprefix("class.zip/") for p in said] for s, said in found.items()} == LISTED


def test_a_zip_file_without_a_notebook_says_what_is_in_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ada.zip", "w") as archive:
        for number in range(5):
            archive.writestr(f"data/{number}.npy", "x")
    save(tmp_path / "bo.ipynb", notebook())
    ada, _ = read(tmp_path)
    (problem,) = ada.problems
    files = "data/0.npy, data/1.npy, data/2.npy and 2 more"
    assert problem == f"ada.zip: no notebook in this zip file, only {files}"


def grade(folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch, *options: object) -> None:
    arguments = ["grade", folder, "--out", out, "--exercises", "tiled_heads", *options]
    monkeypatch.setattr(sys, "argv", [str(one) for one in arguments])
    main()


def test_how_many_of_the_class_handed_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Three of six: one sent a report, of two on the roster nothing came."""
    for name in ("ada", "bo", "cy"):
        save(tmp_path / f"in/{name}.ipynb", notebook())
    grade(tmp_path / "in", tmp_path / "whole", monkeypatch)
    assert "handed in a notebook" not in capsys.readouterr().out
    assert "handed in a notebook" not in (tmp_path / "whole/summary.html").read_text()
    (tmp_path / "in/di.pdf").write_text("x")
    (tmp_path / "names.txt").write_text("ada\nbo\ncy\ndi\ned\nfi\n")
    grade(tmp_path / "in", tmp_path / "out", monkeypatch, "--roster", tmp_path / "names.txt")
    said = capsys.readouterr().out
    for words in ("3 of 6 handed in a notebook", "no notebook in what came from di",
                  "nothing came from ed, fi"):  # fmt: skip
        assert f"[grade] {words}\n" in said
    for name in ("summary.md", "summary.html"):
        assert "3 of 6 handed in a notebook" in (tmp_path / "out" / name).read_text()


def test_totals_name_who_stands_in_one_sheet_only(tmp_path: Path, capsys: Any) -> None:
    """As when Moodle's names one week are Canvas's the next."""
    names = [f"Ada {n}_10{n}" for n in range(9)]
    week1 = graded(tmp_path / "week1", {"bo": 3, **dict.fromkeys(names, 1)}, of=4)
    week2 = graded(tmp_path / "week2", {"bo": 3, "adal_7_8_x": 1}, of=4)
    write_totals([week1], tmp_path / "one", Rules())
    assert capsys.readouterr().err == ""
    write_totals([week1, week2], tmp_path / "out", Rules())
    said = capsys.readouterr().err
    assert "[totals] in one sheet only: 10 of 11 students: Ada 0_100 (week1), " in said
    assert (
        " and 4 more. If some have another name in the other sheets, make the names alike" in said
    )
    assert said.count("\n") == 1
    write_totals([week2, graded(tmp_path / "week3", {"bo": 3, "adal_7_9_x": 1}, of=4)],
                 tmp_path / "same", Rules())  # fmt: skip
    assert capsys.readouterr().err == ""
