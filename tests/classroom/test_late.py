"""What is taken off for being late: by which rule, from which time, and refused before grading."""

from __future__ import annotations

import os
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from classroom.grading import grade
from classroom.grading.grade import grade_folder
from classroom.grading.late import Late, Rule, duration, moment, told, zone_of
from classroom.results import Result
from mini_attn.errors import ConfigError
from tests.classroom.test_marks import FILE, SHEET, mark, quick, send, table, written  # noqa: F401

DUE = "2026-10-12 23:59 Europe/Berlin"
RULE = Rule.read("10 % a day, at most 50 %, 15 minutes of grace")
HOUR = 3_600


def at(path: Path, text: str) -> None:
    """Give a file such a time."""
    when = moment(text)
    assert when is not None
    os.utime(path, (when.timestamp(), when.timestamp()))


def run(tmp_path: Path, **asked: Any) -> dict[str, Result]:
    late = Late(DUE, RULE, **asked)
    results = grade_folder(tmp_path / "in", tmp_path / "out", sheet=SHEET, seed="a", late=late)
    return {result.student: result for result in results}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-10-12 23:59 Europe/Berlin", "2026-10-12 21:59"),
        ("2026-10-12T23:59:30+02:00", "2026-10-12 21:59"),
        ("2026-10-12T21:59:00Z", "2026-10-12 21:59"),
        ("2026-10-12 9:05 +0000", "2026-10-12 09:05"),
        ("2026-10-05-09-15-00 UTC", "2026-10-05 09:15"),
        ("2026-10-05T09:15:00.123Z", "2026-10-05 09:15"),
        ("2026-10-25 02:30 Europe/Berlin", "2026-10-25 01:30"),  # twice there: the second
        ("2026-03-29 02:30 Europe/Berlin", None),  # left out
        ("2026-06-31 10:00 UTC", None),
        ("2026-10-12 23:59", None),
        ("2026-10-12 Europe/Berlin", None),
        ("2026-10-12 23:59 Europe/Berlln", None),
        ("2026-10-12 23:59 Europe", None),
        ("12.10.2026 23:59 UTC", None),
        ("10/12/2026 23:59 UTC", None),
        ("0001-01-01 00:00 +14:00", None),
        ("", None),
    ],
)
def test_a_date_needs_a_time_and_a_zone(text: str, said: str | None) -> None:
    found = moment(text)
    assert (found and f"{found:%Y-%m-%d %H:%M}") == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Monday, 5 October 2026, 9:15 AM", "2026-10-05 09:15 CEST"),
        ("Monday, 5 October 2026, 12:15 AM", "2026-10-05 00:15 CEST"),
        ("5 Dec 2026, 12:15 PM", "2026-12-05 12:15 CET"),
        ("Monday, 5 October 2026, 21:15", "2026-10-05 21:15 CEST"),
        ("2026-10-05 09:15", "2026-10-05 09:15 CEST"),
    ],
)
def test_times_of_platforms_are_read_in_the_zone_of_the_due_date(text: str, said: str) -> None:
    zone = zone_of("Europe/Berlin")
    assert zone is not None
    found = moment(text, zone)
    assert found is not None
    assert told(found, zone) == said


@pytest.mark.parametrize(
    ("seconds", "off"),
    [(-5, 0), (0, 0), (15 * 60, 0), (15 * 60 + 1, 10), (24 * HOUR, 10), (24 * HOUR + 1, 20),
     (96 * HOUR, 40), (96 * HOUR + 1, 50), (10**9, 50)],
)  # fmt: skip
def test_each_started_day_counts_and_grace_does_not(seconds: int, off: float) -> None:
    assert RULE.off(seconds) == off


def test_a_rule_is_read_in_the_words_of_a_teacher() -> None:
    assert Rule(RULE.text, 10, 24 * HOUR, 50, 15 * 60) == RULE
    assert Rule.read("2,5% per started hour").off(HOUR + 1) == 5
    assert Rule.read("100 % each week").off(1) == 100
    assert Rule.read("up to 30 %; 20 % off every day; 1 hour grace").off(90_000) == 30
    assert Rule().off(10**9) == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ten % a day", "'ten % a day' is not understood"),
        ("10 % a day, 20 % a day", "'20 % a day' stands there twice"),
        ("at most 50 %", "what is taken off?"),
        ("", "is not understood"),
        ("0 % a day", "no percentage"),
        ("200 % a day", "no percentage"),
        ("10 % a day, 5 minutes", "'5 minutes' is not understood"),
    ],
)
def test_a_rule_that_is_none_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as said:
        Rule.read(text)
    assert words in str(said.value)


def test_the_total_alone_changes_and_says_why(tmp_path: Path) -> None:
    """Marks by hand are in what is taken off of; the answers' points stay."""
    for name, when in (
        ("ada", "2026-10-12 23:00"),
        ("bo", "2026-10-14 10:02"),
        ("cy", "2026-10-13 00:10"),
    ):
        send(tmp_path / "in", name)
        at(tmp_path / f"in/{name}.ipynb", f"{when} Europe/Berlin")
    mark(tmp_path, "bo,expand_heads,4,\n")
    results = run(tmp_path)
    assert [results[name].points for name in ("ada", "bo", "cy")] == [2, 4, 2]
    assert [a.points for a in results["bo"].answers] == [4, 1]
    rows = table(tmp_path)
    assert [rows["bo"][key] for key in ("total", "before late")] == ["4", "5"]
    assert rows["bo"]["late"] == (
        "handed in 2026-10-14 10:02 CEST (the file's own time), due 2026-10-12 23:59 CEST: "
        "1 day 10 hours late, 20% off (10 % a day, at most 50 %, 15 minutes of grace)"
    )
    assert rows["ada"]["late"].endswith("CEST: in time")
    assert rows["cy"]["late"].endswith("11 minutes late, within the grace")
    for kind in ("md", "html"):
        assert "5 points become 4." in written(tmp_path, f"feedback/bo.{kind}")
        assert "in time." in written(tmp_path, f"feedback/ada.{kind}")
        summary = written(tmp_path, f"summary.{kind}")
        assert "5 points become 4." in summary
        assert "Due 2026-10-12 23:59 CEST; 10 % a day" in summary
    grade_folder(tmp_path / "in", tmp_path / "out", sheet=SHEET)
    assert table(tmp_path)["bo"]["total"] == "5"
    assert "late" not in table(tmp_path)["bo"]
    assert "Handed in" not in written(tmp_path, "feedback/bo.md")


def test_a_new_file_time_grades_nothing_anew(tmp_path: Path, quick: list[str]) -> None:  # noqa: F811
    send(tmp_path / "in", "ada")
    run(tmp_path)
    at(tmp_path / "in/ada.ipynb", "2026-11-14 10:02 UTC")
    quick.clear()
    assert run(tmp_path)["ada"].points == 1
    assert quick == []


def test_of_a_class_in_one_archive_its_clock_counts_and_never_the_students(tmp_path: Path) -> None:
    send(tmp_path / "x", "ada")
    content = (tmp_path / "x/ada.ipynb").read_bytes()
    with zipfile.ZipFile(tmp_path / "own.zip", "w") as own:  # a time that the student chose
        own.writestr(zipfile.ZipInfo("bo.ipynb", (1990, 1, 1, 0, 0, 0)), content)
    (tmp_path / "in").mkdir()
    with zipfile.ZipFile(tmp_path / "in/all.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("ada/x.ipynb", (2026, 10, 12, 23, 58, 0)), content)
        archive.writestr(
            zipfile.ZipInfo("bo/y.zip", (2026, 10, 13, 0, 20, 0)),
            (tmp_path / "own.zip").read_bytes(),
        )
        archive.writestr(zipfile.ZipInfo("cy/z.ipynb", (2026, 0, 0, 0, 0, 0)), content)
    results = run(tmp_path)
    assert results["ada"].late.off == 0
    assert results["bo"].late.off == 10
    assert "2026-10-13 00:20 CEST (in the zip file)" in results["bo"].late.words
    assert results["cy"].late is None


def test_blackboard_writes_the_time_into_the_name(tmp_path: Path) -> None:
    name = "Week 1_alove_attempt_2026-10-{}-00-00-00{}"
    send(tmp_path / "in", name.format(14, ""))
    send(tmp_path / "in" / name.format(13, "_x"), "week1")
    late = Late(DUE, RULE)
    asked: dict[str, Any] = {"sheet": SHEET, "late": late, "attempts": "best"}
    (found,) = grade_folder(tmp_path / "in", tmp_path / "out", **asked)
    assert found.attempts[0] == "attempt 1 of 2 counts, the best"
    assert found.late.off == 0
    (last,) = grade_folder(tmp_path / "in", tmp_path / "out", **{**asked, "attempts": "last"})
    assert last.late.off == 20
    assert "(in the file's name)" in last.late.words


MOODLE = (
    "Identifier,Full name,Grade,Last modified (submission),Last modified (grade)\n"
    'Participant 101,Ada L,,"Tuesday, 13 October 2026, 12:30 AM",-\n'
    'Participant 102,Ada L,,"Monday, 12 October 2026, 9:15 AM",-\n'
    "Participant 103,Nobody,,-,-\n"
)


def test_times_stand_in_moodle_s_worksheet(tmp_path: Path) -> None:
    for number in (101, 102):
        send(tmp_path / f"in/Ada L_{number}_assignsubmission_file", "x")
    (tmp_path / "sheet.csv").write_text(MOODLE)
    results = run(tmp_path, times=tmp_path / "sheet.csv")
    assert [results[f"Ada L_{n}"].late.off for n in (101, 102)] == [10, 0]
    assert "(sheet.csv)" in results["Ada L_101"].late.words
    assert "Hand-in times: sheet.csv." in written(tmp_path, "summary.md").replace("\\", "")


def test_extensions_are_dates_or_days_and_may_name_who_sent_nothing(tmp_path: Path) -> None:
    for name in ("ada", "bo", "cy"):
        send(tmp_path / "in", name)
        at(tmp_path / f"in/{name}.ipynb", "2026-10-15 10:00 UTC")
    rows = "student,due\nada,3 days\nBO,2026-10-14 11:59\nZoe,1 week\n"
    (tmp_path / "more.csv").write_text(rows)
    late = Late(DUE, RULE, extensions=tmp_path / "more.csv")
    results = grade_folder(
        tmp_path / "in", tmp_path / "out", sheet=SHEET, late=late, roster=["zoe"]
    )
    assert [r.late.off for r in results] == [0, 20, 30]
    assert "due 2026-10-15 23:59 CEST (extended)" in results[0].late.words


@pytest.mark.parametrize(
    ("asked", "rows", "words"),
    [
        ("times", "student,time\neve,2026-10-12 10:00\n", "row 2: no student, or several, called"),
        ("times", "student,time\nada,yesterday\n", "row 2: 'yesterday' is no date with a time"),
        ("times", "student,time\nada,2026-10-12 10:00\nADA,2026-10-12 11:00\n",
         "row 3 has a second date for 'ada'; the first is in row 2"),
        ("times", "student,time\nada,2026-10-12 10:00\n", "for 1 of those who handed in: 'bo'"),
        ("times", "student,points\nada,3\n", 'a column "student" and one column "handed in"'),
        ("times", "", 'a column "student"'),
        ("extensions", "student,due\neve,2 days\n", "row 2: no student, or several, called"),
        ("extensions", "student,due\nada,2 days\nada,3 days\n", "row 3 is a second one"),
        ("extensions", "student,due\nada,soon\n", "row 2: 'soon' is no date with a time, nor"),
        ("extensions", "student,due\nada,2026-10-11 10:00\n", "'2026-10-11 10:00' is before"),
        ("extensions", None, "cannot be read: No such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_line_and_nothing_is_graded(
    tmp_path: Path, asked: str, rows: str | None, words: str, quick: list[str]  # noqa: F811
) -> None:  # fmt: skip
    for name in ("ada", "bo"):
        send(tmp_path / "in", name)
    if rows is not None:
        (tmp_path / "t.csv").write_text(rows)
    with pytest.raises(ConfigError) as said:
        run(tmp_path, **{asked: tmp_path / "t.csv"})
    assert words in str(said.value)
    assert "\n" not in str(said.value)
    assert quick == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--due", "tomorrow"], "DUE: 'tomorrow' is no date with a time and a time zone"),
        (["--due", "2026-10-12 23:59"], 'write it as "2026-10-12 23:59 Europe/Berlin"'),
        (["--late", "10 % a day"], "go with DUE="),
        (["--due", DUE, "--late", "x"], "LATE: 'x' is not understood"),
        (["--attempts", "worst"], "ATTEMPTS is best, last or first, not 'worst'"),
    ],
)
def test_a_wrong_choice_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], words: str
) -> None:
    send(tmp_path / "in", "ada")
    arguments = ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), *options]
    monkeypatch.setattr(sys, "argv", [*arguments, "--exercises", "expand_heads"])
    with pytest.raises(SystemExit) as ended:
        grade.main()
    assert words in str(ended.value.code)
    assert not (tmp_path / "out").exists()


def test_durations_are_said_in_two_units() -> None:
    assert duration(59) == "59 seconds"
    assert duration(86_400 + 3_661) == "1 day 1 hour"
    assert duration(0.5) == "0 seconds"
    assert told(datetime(2026, 1, 1, tzinfo=UTC), UTC) == "2026-01-01 00:00 UTC"


@pytest.mark.parametrize("year", [1, 1901, 1999, 2100, 9999])
def test_a_time_from_another_century_is_none(tmp_path: Path, year: int) -> None:
    """It costs nothing, is said, and is no other student's matter."""
    send(tmp_path / "in", "ada")
    at(tmp_path / "in/ada.ipynb", "2026-10-13 12:00 Europe/Berlin")
    alone = run(tmp_path)["ada"]
    entry = zipfile.ZipInfo("week1.ipynb")
    with zipfile.ZipFile(tmp_path / "in/bo.zip", "w") as archive:
        archive.writestr(entry, (tmp_path / "in/ada.ipynb").read_bytes())
    seconds = (datetime(year, 6, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    os.utime(tmp_path / "in/bo.zip", (seconds, seconds))
    results = run(tmp_path)
    assert results["ada"] == alone
    assert results["bo"].late is None
    assert any("from 2000 to 2099" in problem for problem in results["bo"].problems)
    given = tmp_path / "times.csv"
    rows = "".join(f"{name},2026-10-12 12:00\n" for name in ("ada", "bo"))
    given.write_text(f"student,handed in\n{rows}")
    assert run(tmp_path, times=given)["bo"].problems == []  # a table knows when
