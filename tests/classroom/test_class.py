"""A sample of the simulated class: every grade as expected, killed twice, resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mini_attn.errors import ConfigError
from mini_attn.exercises import checker, exercise
from tests.classroom.hostile import SHEET
from tests.classroom.rehearse import Run, differences, grade_again, mistakes, results
from tests.classroom.simulate import answers_to, simulate

STUDENTS = 12  # `make class` has 200
ANSWERS = [answer for i in SHEET for answer in answers_to(i)]


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("class") / "class"
    return out, simulate(STUDENTS, 1, out)


@pytest.fixture(scope="module")
def graded(handed_in: tuple[Path, dict[str, Any]]) -> tuple[Path, dict[str, Any]]:
    """Graded by the real command."""
    out, expected = handed_in
    Run(out / "submissions", out / "grades", 2).wait()
    return out, expected


def test_every_grade_is_as_expected(graded: tuple[Path, dict[str, Any]]) -> None:
    out, expected = graded
    assert mistakes(expected, results(out / "grades")) == []


@pytest.mark.exhaustive
def test_a_killed_run_goes_on_and_gives_the_same_bytes(
    graded: tuple[Path, dict[str, Any]],
) -> None:
    out, _ = graded
    first, second = grade_again(out, STUDENTS, 2)
    assert 0 < first <= second < STUDENTS
    assert differences(out / "grades", out / "again") == []


def test_a_wrong_grade_would_be_seen(graded: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    out, expected = graded
    found = results(out / "grades")
    student = next(iter(found))
    found[student]["answers"][0]["points"] += 1
    assert [line.split(":")[0].split(",")[0] for line in mistakes(expected, found)] == [student]
    del found[student]
    assert mistakes(expected, found) == [f"{student}: no grade"]
    (tmp_path / "grades.csv").write_bytes((out / "grades" / "grades.csv").read_bytes() + b"x")
    assert "grades.csv" in differences(out / "grades", tmp_path)


def test_the_class_holds_every_kind(handed_in: tuple[Path, dict[str, Any]]) -> None:
    _, expected = handed_in
    kinds = {answer["kind"] for student in expected.values() for answer in student["answers"]}
    assert {"right", "wrong", "starter", "missing", "hostile"} <= kinds
    assert {student["kind"] for student in expected.values()} > {"answers"}


def test_the_same_seed_gives_the_same_class(
    handed_in: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    out, expected = handed_in
    assert simulate(STUDENTS, 1, tmp_path / "again") == expected
    names = {p.relative_to(out / "submissions") for p in (out / "submissions").rglob("*")}
    again = tmp_path / "again" / "submissions"
    assert {p.relative_to(again) for p in again.rglob("*")} == names
    same = [
        (again / n).read_bytes() == (out / "submissions" / n).read_bytes()
        for n in names
        if n.suffix == ".zip" and (again / n).is_file()
    ]
    assert same
    assert all(same)
    assert simulate(STUDENTS, 2, tmp_path / "other") != expected
    assert json.loads((tmp_path / "again" / "expected.json").read_text()).keys() == expected.keys()


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: f"{a.id}-{a.kind}-{a.name}")
def test_a_cell_is_faithful_to_its_answer(answer: Any) -> None:
    """What stands in the bank as a function is the same function as a cell of text."""
    if answer.cell is None:
        return
    space: dict[str, Any] = {"np": np}
    exec(answer.cell, space)
    report = checker.judge_answer(answer.id, space[exercise(answer.id).name], seed=11)
    if answer.kind == "starter" and exercise(answer.id).kind == "bug":
        assert report.failed  # the grader tells a cell that was not changed by its text
    else:
        assert report.points == answer.points
        assert report.failed in (answer.failed or (None,))
        assert any(word in report.message for word in answer.words)


@pytest.mark.parametrize("students", [0, -1])
def test_an_empty_class_is_refused(students: int, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at least one student"):
        simulate(students, 1, tmp_path / "class")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="new folder"):
        simulate(3, 1, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
