"""Groups of checks that count one by one, and other points than the book's, for a sheet."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from classroom.adapters import nbgrader, otter
from classroom.grading.grade import grade_folder
from classroom.grading.marks import FILE
from classroom.results import Result
from classroom.sheets import release
from classroom.sheets.notebook import student_notebook
from classroom.sheets.sheet import Sheet, chosen, sheet_of_file, weighted
from mini_attn.errors import ConfigError
from mini_attn.exercises import exercise
from mini_attn.exercises.checker import judge_answer
from mini_attn.exercises.spec import checked_ids
from tests.classroom.test_grade import ROOT, command, tree
from tests.classroom.test_judge import reference
from tests.classroom.test_submissions import save

KEYS = ("cached_step", "expand_heads")
SHEET = chosen(exercises=" ".join(KEYS), name="pair")[0]
FUNCTIONS = [i for i in checked_ids() if exercise(i).kind != "pencil"]


def wrong(key: str, name: str) -> Any:
    """A wrong answer of the book's."""
    found = importlib.import_module(f"solutions.{key}").WRONG
    return next(entry[1] for entry in found if entry[0] == name)


def cell(key: str, name: str) -> str:
    """A cell that a student who has that wrong answer may have written."""
    source = inspect.getsource(importlib.import_module(f"solutions.{key}"))
    functions = source.split("\nREFERENCE", 1)
    helpers = functions[1].split("\n", 1)[1].split("\nWRONG", 1)[0]
    # The right answer gets another name, or the wrong one that calls it would call itself.
    source = f"{functions[0]}\n{helpers}".replace(f"{exercise(key).name}(", "_right(")
    return f"{source}\n{exercise(key).name} = {wrong(key, name).__name__}"


def notebook(**answers: str) -> dict[str, Any]:
    """A student's notebook with these answers in the place of the starters."""
    data: dict[str, Any] = json.loads(json.dumps(student_notebook(SHEET)))
    for one in data["cells"]:
        tag = one["metadata"].get("exercise", {})
        if tag.get("role") == "starter":
            one["source"] = answers[tag["id"]]
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One all right, one nearly, one as handed out but for a line."""
    place = tmp_path_factory.mktemp("class")
    save(place / "ada.ipynb", notebook(**{key: reference(key) for key in KEYS}))
    nearly = cell("cached_step", "nothing seen at the start")
    save(place / "bo.ipynb", notebook(cached_step=nearly, expand_heads="1 / 0"))
    tried = f"{exercise('expand_heads').starter}\n\nmine = 1"
    save(place / "cy.ipynb", notebook(cached_step="mine = 1", expand_heads=tried))
    return place


def points(results: list[Result]) -> dict[str, list[float]]:
    return {r.student: [*(a.points for a in r.answers), r.points] for r in results}


@pytest.mark.parametrize("key", FUNCTIONS)
def test_what_was_handed_out_earns_no_part_of_anything(key: str) -> None:
    names: dict[str, Any] = {"np": np}
    exec(exercise(key).starter, names)
    assert judge_answer(key, names[exercise(key).name]).partial == 0


@pytest.mark.parametrize(
    ("key", "name", "passed", "part"),
    [
        ("cached_step", "nothing seen at the start", ["by hand", "random", "property"], 3),
        ("attention_gradient", "overflow", ["by hand", "random"], 2),
        ("chain_order", "overflow", ["by hand", "random", "property"], 3),
        ("expand_heads", "starter: tile", [], 0),
    ],
)
def test_groups_before_the_first_fault_count(
    key: str, name: str, passed: list[str], part: int
) -> None:
    report = judge_answer(key, wrong(key, name))
    assert (report.passed, report.partial, report.points) == (passed, part, 0)


def test_an_answer_that_knows_the_small_case_by_heart_earns_nothing() -> None:
    """No exercise gives points for what everybody has seen."""
    assert all("by hand" not in exercise(key).groups for key in FUNCTIONS)


def test_a_right_answer_earns_all_either_way() -> None:
    report = judge_answer("cached_step", importlib.import_module("solutions.cached_step").REFERENCE)
    assert report.partial == report.points == exercise("cached_step").points
    assert report.passed == ["by hand", "random", "property", "edges"]


def test_partial_or_not_is_chosen_again_at_each_run_without_grading(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_or_none = grade_folder(folder, tmp_path, sheet=SHEET, seed="a")
    assert points(all_or_none) == {"ada": [4, 3, 7], "bo": [0, 0, 0], "cy": [0, 0, 0]}
    before = tree(tmp_path)
    assert b"all points of its exercise or none" in before["summary.html"]

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("graded again")

    monkeypatch.setattr("classroom.grading.batch.judge", never)
    part = grade_folder(folder, tmp_path, sheet=SHEET, partial=True)
    assert points(part) == {"ada": [4, 3, 7], "bo": [3, 0, 3], "cy": [0, 0, 0]}
    for name in ("summary.html", "summary.md", "feedback/bo.md", "feedback/bo.html"):
        assert "earns its share" in (tmp_path / name).read_text()
    assert '"bo","",3,0,3,7' in (tmp_path / "grades.csv").read_text()
    assert grade_folder(folder, tmp_path, sheet=SHEET) == all_or_none
    assert tree(tmp_path) == before


def test_a_sheet_s_own_points_are_followed_everywhere(folder: Path, tmp_path: Path) -> None:
    sheet = weighted(SHEET, {"cached_step": 10})
    (tmp_path / FILE).write_text("student,exercise,points,comment\ncy,cached_step,9.5,\n")
    results = grade_folder(folder, tmp_path, sheet=sheet, seed="a", partial=True)
    assert points(results) == {"ada": [10, 3, 13], "bo": [7.5, 0, 7.5], "cy": [9.5, 0, 9.5]}
    assert {r.of for r in results} == {sheet.points} == {13}
    grades = (tmp_path / "grades.csv").read_text()
    assert '"bo","",7.5,0,7.5,13' in grades
    assert "**7.5 of 13 points**" in (tmp_path / "feedback/bo.md").read_text()
    assert "mean 10.0 of 13 points" in (tmp_path / "summary.md").read_text()
    (tmp_path / FILE).write_text("student,exercise,points,comment\ncy,cached_step,10.5,\n")
    with pytest.raises(ConfigError, match=r"row 2 gives 10.5 points .* which has 10"):
        grade_folder(folder, tmp_path, sheet=sheet, partial=True)
    assert (tmp_path / "grades.csv").read_text() == grades


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_and_resumed_in_parts(folder: Path, tmp_path: Path) -> None:
    """Also where parts count only from the second run on."""
    out, whole = tmp_path / "out", tmp_path / "whole"
    options = ["--exercises", " ".join(KEYS), "--seed", "a", "--jobs", "1"]
    first = subprocess.Popen(command(folder, "--out", out, *options), cwd=ROOT,
                             stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # fmt: skip
    while not list((out / "work").glob("*.json")):
        assert first.poll() is None
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait(60)
    assert not (out / "grades.csv").exists()
    for place in (out, whole):
        subprocess.run(command(folder, "--out", place, *options, "--partial"), cwd=ROOT,
                       check=True, capture_output=True)  # fmt: skip
    assert tree(out) == tree(whole)
    assert '"bo","",3,0,3,7' in (out / "grades.csv").read_text()


def facts(sheet: Sheet) -> dict[str, Any]:
    return release.manifest(sheet, b"")


def test_the_file_of_a_sheet_carries_points_and_choice(tmp_path: Path) -> None:
    path = tmp_path / "pair.json"
    sheet = Sheet(SHEET.name, KEYS, SHEET.version, (("expand_heads", 6),), partial=True)
    path.write_text(json.dumps(facts(sheet)))
    assert sheet_of_file(path) == sheet
    data = facts(sheet)
    assert (data["points"], data["partial"]) == ({"expand_heads": 6}, True)
    assert [task["points"] for task in data["tasks"]] == [4, 6]
    plain = facts(SHEET)
    assert (plain["points"], "partial" in plain) == (7, False)
    text = "\n".join(c.source for c in student_notebook(sheet).cells)
    assert "*10 points · made from" in text
    assert " · 6 points*" in text
    assert " · 3 points*" not in text


def test_the_choice_in_the_file_is_enough(folder: Path, tmp_path: Path) -> None:
    sheet = Sheet(SHEET.name, KEYS, SHEET.version, partial=True)
    assert points(grade_folder(folder, tmp_path, sheet=sheet, seed="a"))["bo"] == [3, 0, 3]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"points": {"late_mask": 2}}, "points for 'late_mask', which is not on 'pair'"),
        ({"points": {"cached_step": 0}}, "cached_step: points are whole numbers from 1 to 1000"),
        ({"points": {"cached_step": 2.5}}, "not '2.5'"),
        ({"points": {"cached_step": True}}, "not 'True'"),
        ({"points": {"cached_step": 10**6}}, "not '1000000'"),
        ({"partial": "yes"}, '"partial" is true or false'),
    ],
)
def test_a_file_with_other_points_than_there_can_be_is_refused(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    path = tmp_path / "pair.json"
    path.write_text(json.dumps({**facts(SHEET), **changes}))
    with pytest.raises(ConfigError) as said:
        sheet_of_file(path)
    assert words in str(said.value)


@pytest.mark.parametrize("program", [nbgrader, otter])
def test_other_graders_get_the_points_of_the_sheet(program: ModuleType, tmp_path: Path) -> None:
    options = ["--exercises", "cached_step cache_budget", "--points", "cached_step=7"]
    assert program.main([*options, "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.rglob("sheet.ipynb")
    found = path.read_text(encoding="utf-8")
    points = [int(n) for n in re.findall(r'(?:"points": |\\npoints: |"points: )(\d+)', found)]
    assert points == [7, exercise("cache_budget").points]


def test_a_sheet_that_says_its_points_is_not_graded_with_others(tmp_path: Path) -> None:
    command = ["x", str(tmp_path), "--sheet", "week1.json", "--points", "cached_step=7"]
    done = subprocess.run(
        [sys.executable, "-m", "classroom.grading.grade", *command[1:]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "leave out POINTS" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--exercises", " ".join(KEYS), "--points", "late_mask=3"], "is not on 'sheet'"),
        (["--exercises", " ".join(KEYS), "--points", "cached_step"], "whole numbers"),
        (["--exercises", " ".join(KEYS), "--points", "cached_step=-1"], "not '-1'"),
        (["--exercises", " ".join(KEYS), "--points", "cached_step=1 cached_step=2"], "twice"),
        (["--points", "cached_step=3"], "one chapter or one list"),
    ],
)
def test_a_release_with_points_that_cannot_be_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert release.main([*options, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()
