"""One grade from several sheets: whose they are, how they count, and what cannot be meant."""

from __future__ import annotations

import csv
import io
import os
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from classroom.adapters.lms import write_lms
from classroom.grading import totals
from classroom.grading.totals import Rules, same_students, write_totals
from mini_attn.errors import ConfigError
from tests.classroom.test_lms import CANVAS, graded

Sheets = dict[str, tuple[int, dict[str, int]]]
THREE: Sheets = {
    "week1": (10, {"ada": 10, "bo": 5, "cy": 1}),
    "week2": (20, {"ada": 10, "bo": 20}),
    "week3": (5, {"ada": 4, "bo": 1, "cy": 5}),
}


def hand_out(tmp_path: Path, sheets: Sheets = THREE, **asked: Any) -> list[Path]:
    return [
        graded(tmp_path / name, points, of=of, **asked) for name, (of, points) in sheets.items()
    ]


def table(out: Path) -> dict[str, dict[str, str]]:
    text = (out / "grades.csv").read_text(encoding="utf-8-sig")
    return {row["student"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}


def run(tmp_path: Path, sheets: Sheets = THREE, **rules: Any) -> dict[str, dict[str, str]]:
    write_totals(hand_out(tmp_path, sheets), tmp_path / "out", Rules(**rules))
    return table(tmp_path / "out")


def of_all(rows: dict[str, dict[str, str]], column: str = "total") -> list[str]:
    return [row[column] for row in rows.values()]


def test_each_sheet_is_a_share_of_its_own_points(tmp_path: Path) -> None:
    rows = run(tmp_path)
    assert list(rows) == ["ada", "bo", "cy"]
    assert of_all(rows) == ["76.67", "56.67", "36.67"]
    assert list(rows["cy"].values()) == [
        "cy", "", "1", "missing", "5", "36.67", "100", "week1 week2 week3", ""
    ]  # fmt: skip
    assert list(rows["cy"])[2:5] == ["week1 (of 10)", "week2 (of 20)", "week3 (of 5)"]
    assert os.name != "posix" or (tmp_path / "out/grades.csv").stat().st_mode & 0o077 == 0
    before = (tmp_path / "out/grades.csv").read_bytes()
    assert run(tmp_path) == rows
    assert (tmp_path / "out/grades.csv").read_bytes() == before


def test_weights_and_the_best(tmp_path: Path) -> None:
    rows = run(tmp_path, weights={"week2": Decimal(2)}, of=Decimal(20))
    assert of_all(rows) == ["14", "13.5", "5.5"]
    rows = run(tmp_path, best=2)
    assert of_all(rows) == ["90", "75", "55"]
    assert of_all(rows, "counted") == ["week1 week3", "week1 week2", "week1 week3"]
    rows = run(tmp_path, best=1, weights={"week1": Decimal(0)})
    assert of_all(rows) == ["", "100", "100"]  # of ada the best is worth nothing


def test_of_equal_shares_the_first_sheet_counts(tmp_path: Path) -> None:
    two: Sheets = {"a": (4, {"ada": 2}), "b": (2, {"ada": 1})}
    assert of_all(run(tmp_path, two, best=1), "counted") == ["a"]


def test_missing_is_0_or_excused_and_some_are_excused_by_name(tmp_path: Path) -> None:
    assert of_all(run(tmp_path, missing="excused")) == ["76.67", "56.67", "55"]
    (tmp_path / "free.csv").write_text("student;sheet\nBO;week3\ncy;week2\n\n")
    rows = run(tmp_path, excused=tmp_path / "free.csv")
    assert of_all(rows) == ["76.67", "75", "55"]
    assert rows["bo"]["week3 (of 5)"] == "excused"
    rows = run(tmp_path, excused=tmp_path / "free.csv", best=2)
    assert of_all(rows) == ["90", "75", "55"]
    (tmp_path / "free.csv").write_text("student,sheet\ncy,week1\ncy,week2\ncy,week3\n")
    assert run(tmp_path, excused=tmp_path / "free.csv")["cy"]["total"] == ""


def test_who_is_on_the_roster_alone_is_missing(tmp_path: Path) -> None:
    folders = hand_out(
        tmp_path, {"week1": (10, {"ada": 10}), "week2": (10, {"ada": 5})}, roster=["di"]
    )
    write_totals(folders, tmp_path / "out", Rules(missing="excused"))
    assert of_all(table(tmp_path / "out")) == ["75", ""]
    write_totals(folders, tmp_path / "out", Rules())
    assert of_all(table(tmp_path / "out")) == ["75", "0"]


@pytest.mark.parametrize(
    ("sheets", "people"),
    [
        ({"a": ["Ada L_101", "Bo_102"], "b": ["Ada L_245"]}, {"Ada L": 2, "Bo": 1}),
        ({"a": ["s_01", "s_02"], "b": ["s_01"]}, {"s_01": 2, "s_02": 1}),
        ({"a": ["ada"], "b": ["ADA"]}, {"ADA": 2}),
        ({"a": ["lovelaceada_late_7101_88_w"], "b": ["lovelaceada_7101_99_v-1"]},
         {"lovelaceada_7101_99_v-1": 2}),
        ({"a": ["Week 1_alove_attempt_2026-10-05-09-15-00_x",
                "Week 1_alan_attempt_2026-10-05-09-15-00"],
          "b": ["W_2_alove_attempt_2026-11-05-09-15-00_x"]},
         {"W_2_alove_attempt_2026-11-05-09-15-00_x": 2,
          "Week 1_alan_attempt_2026-10-05-09-15-00": 1}),
    ],
)  # fmt: skip
def test_students_are_the_same_whatever_a_platform_adds(
    sheets: dict[str, list[str]], people: dict[str, int]
) -> None:
    assert {name: len(person) for name, person in same_students(sheets).items()} == people


@pytest.mark.parametrize("other", [["Ada L_245", "Ada L_246"], ["Ada L_245"], ["Ada L"]])
def test_two_of_one_name_are_not_guessed(tmp_path: Path, other: list[str]) -> None:
    sheets: Sheets = {"a": (4, {"Ada L_101": 2, "Ada L_102": 3}), "b": (4, dict.fromkeys(other, 1))}
    with pytest.raises(ConfigError, match="'Ada L' are several students: who of a is who of b"):
        run(tmp_path, sheets)
    assert not (tmp_path / "out").exists()


def test_a_platform_takes_the_totals(tmp_path: Path) -> None:
    """Canvas finds its students by the number in the last file."""
    sheets: Sheets = {
        "week1": (9, {"lovelaceada_late_7101_88_w": 9, "cy": 3}),
        "week2": (4, {"lovelaceada_7101_99_w": 2, "cy": 4}),
    }
    run(tmp_path, sheets, of=Decimal(9))
    (tmp_path / "export.csv").write_bytes(CANVAS)
    write_lms(tmp_path / "out", tmp_path / "export.csv", tmp_path / "lms", column="Week 1")
    filled = (tmp_path / "lms/export.csv").read_bytes()
    assert filled == CANVAS.replace(b"=1+1,,3.00", b"=1+1,6.75,3.00").replace(
        b",L1,,5.00", b",L1,,6"
    )


def test_a_changed_table_of_totals_is_set_aside(tmp_path: Path) -> None:
    run(tmp_path)
    (tmp_path / "out/grades.csv").write_text("mine")
    run(tmp_path)
    assert (tmp_path / "out/grades.kept.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("rules", "rows", "words"),
    [
        ({"weights": {"week9": Decimal(1)}}, "", "WEIGHTS: no sheet 'week9'; there are week1"),
        ({"best": 4}, "", "BEST=4 of 3 sheets"),
        ({}, "student,sheet\neve,week1\n", "row 2: no student, or several, called 'eve'"),
        ({}, "student,sheet\nada,week9\n", "row 2: no sheet 'week9'"),
        ({}, "student\nada\n", 'the columns "student" and "sheet"'),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_line(
    tmp_path: Path, rules: dict[str, Any], rows: str, words: str
) -> None:
    if rows:
        (tmp_path / "free.csv").write_text(rows)
        rules["excused"] = tmp_path / "free.csv"
    with pytest.raises(ConfigError) as said:
        run(tmp_path, **rules)
    assert words in str(said.value)
    assert "\n" not in str(said.value)
    assert not (tmp_path / "out").exists()


def test_trouble_with_the_folders_is_one_line(tmp_path: Path) -> None:
    first, *_ = hand_out(tmp_path)
    with pytest.raises(ConfigError, match="run make grade first"):
        write_totals([tmp_path / "none"], tmp_path / "out", Rules())
    with pytest.raises(ConfigError, match="two folders are called 'week1'"):
        write_totals([first, tmp_path / "x/../week1"], tmp_path / "out", Rules())
    (first / "seed.json").write_text("{}")
    with pytest.raises(ConfigError, match="holds the grades of a sheet"):
        write_totals([first], first, Rules())
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ConfigError, match="the totals cannot be written"):
        write_totals([first], tmp_path / "out", Rules())
    text = (first / "grades.csv").read_text()
    (first / "grades.csv").write_text(text.replace('"ada","",10,10', '"ada","",10,=10'))
    with pytest.raises(ConfigError, match="row 2: '=10' is no number of points"):
        write_totals([first], tmp_path / "new", Rules())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--best", "two"], "BEST is how many sheets count"),
        (["--missing", "no"], "MISSING is 0 or excused"),
        (["--of", "0"], "OF=0"),
        (["--of", "-3"], "'-3' is no number"),
        (["--weights", "week1"], "'week1' is no weight"),
        (["--weights", "week1=1 week1=2"], "a second one"),
    ],
)
def test_a_wrong_choice_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], words: str
) -> None:
    folders = [str(folder) for folder in hand_out(tmp_path)]
    arguments = ["totals", *folders, "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", [*arguments, *options])
    with pytest.raises(SystemExit, match=r"^\[totals\] ") as ended:
        totals.main()
    assert words in str(ended.value.code)
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(sys, "argv", [*arguments, "--weights", "week1=0.5", "--best", "2"])
    totals.main()
    assert len(table(tmp_path / "out")) == 3
