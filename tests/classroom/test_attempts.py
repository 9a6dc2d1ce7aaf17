"""Several attempts of one student, one of which counts, and some students graded again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from classroom.grading import grade
from classroom.grading.anonymous import KEY
from classroom.grading.batch import grade_student
from classroom.grading.grade import grade_folder
from classroom.grading.late import Late, Rule
from classroom.grading.run_folder import Settings
from classroom.results import Result
from classroom.submissions.attempts import attempt_of
from classroom.submissions.collect import read
from mini_attn.errors import ConfigError
from tests.classroom.test_grade import ROOT, command, reference, tree
from tests.classroom.test_marks import SHEET, mark, quick, send, table, written  # noqa: F401
from tests.classroom.test_submissions import notebook, save

BLACKBOARD = "Week 1_alove_attempt_2026-10-{}-09-15-00_x"


def run(tmp_path: Path, attempts: str | None = "best", **asked: Any) -> dict[str, Result]:
    results = grade_folder(
        tmp_path / "in", tmp_path / "out", sheet=SHEET, attempts=attempts, **asked
    )
    return {result.student: result for result in results}


def half(folder: Path, name: str) -> None:
    """An attempt at one of two exercises: one point by the stand-in for the grader."""
    data = notebook(tiled_heads="answer = 2")
    data["cells"] = [
        cell for cell in data["cells"]
        if cell["metadata"].get("exercise", {}).get("id") != "expand_heads"
    ]  # fmt: skip
    save(folder / f"{name}.ipynb", data)


@pytest.mark.parametrize(
    ("student", "below", "moodle", "found"),
    [
        ("ada", (), False, ("ada", 0, False)),
        ("ada_2", (), False, ("ada", 2, False)),
        ("ada (1)", (), False, ("ada", 1, False)),
        ("Ada L_101", (), True, ("Ada L_101", 0, False)),
        ("Ada L_101", ("week1_2.ipynb",), True, ("Ada L_101", 2, False)),
        ("ada", ("week1 (3).ipynb",), False, ("ada", 3, False)),
        ("ada", ("week1.ipynb",), False, ("ada", 0, False)),
        ("ada", ("2", "week1.ipynb"), False, ("ada", 2, False)),
        ("ada", ("attempt 2", "week1.ipynb"), False, ("ada", 2, False)),
        ("ada", ("more", "week1_2.ipynb"), False, ("ada", 0, False)),
        (BLACKBOARD.format("05"), (), False, ("Week 1_alove", 20261005091500, True)),
        ("lovelaceada_late_7101_88_week1-1", (), False, ("lovelaceada_7101", 88, True)),
        ("lovelaceada_7101_80_week1", (), False, ("lovelaceada_7101", 80, True)),
    ],
)
def test_whose_and_which_attempt_a_name_says(
    student: str, below: tuple[str, ...], moodle: bool, found: tuple[str, int, bool]
) -> None:
    assert attempt_of(student, below, moodle=moodle) == found


def test_without_the_choice_numbers_are_students(tmp_path: Path) -> None:
    for name in ("ada_1", "ada_2"):
        send(tmp_path / "in", name)
    assert [one.student for one in read(tmp_path / "in")] == ["ada_1", "ada_2"]
    assert sorted(run(tmp_path, None)) == ["ada_1", "ada_2"]


@pytest.mark.parametrize(
    ("choice", "points", "number"), [("best", 2, 2), ("last", 1, 3), ("first", 1, 1)]
)
def test_one_attempt_counts_and_the_others_are_named(
    tmp_path: Path, choice: str, points: int, number: int, quick: list[str]  # noqa: F811
) -> None:  # fmt: skip
    half(tmp_path / "in", "ada_1")
    send(tmp_path / "in", "ada_2")
    half(tmp_path / "in", "ada_10")
    send(tmp_path / "in", "bo")
    results = run(tmp_path, choice)
    assert sorted(results) == ["ada", "bo"]
    assert results["ada"].points == points
    assert results["ada"].attempts[0] == f"attempt {number} of 3 counts, the {choice}"
    assert len(results["ada"].attempts) == 3
    assert results["bo"].attempts == []
    assert len(quick) == (4 if choice == "best" else 2)
    assert f"attempt {number} of 3 counts, the {choice}" in table(tmp_path)["ada"]["attempts"]
    for name in ("feedback/ada.md", "summary.md", "summary.html"):
        assert f"attempt {number} of 3 counts, the {choice}" in written(tmp_path, name)
        assert "ada_10.ipynb" in written(tmp_path, name).replace("\\", "") or choice == "last"
    before = tree(tmp_path / "out")
    quick.clear()
    run(tmp_path, choice)
    assert tree(tmp_path / "out") == before
    assert quick == []


def test_of_equal_attempts_the_first_counts_and_late_ones_are_worth_less(tmp_path: Path) -> None:
    late = Late("2026-10-12 12:00 UTC", Rule.read("60 % a day, at most 60 %"))
    half(tmp_path / "in", "ada_1")
    send(tmp_path / "in", "ada_2")
    for name, day in (("ada_1", 11), ("ada_2", 13)):
        when = datetime(2026, 10, day, tzinfo=UTC)
        os.utime(tmp_path / f"in/{name}.ipynb", (when.timestamp(),) * 2)
    ada = run(tmp_path, late=late)["ada"]
    assert ada.attempts[0] == "attempt 1 of 2 counts, the best"
    assert ada.attempts[1].startswith("attempt 2: 0.8 points")
    assert ada.points == 1
    send(tmp_path / "in2", "ada_1")
    send(tmp_path / "in2", "ada_2")
    results = grade_folder(tmp_path / "in2", tmp_path / "out2", sheet=SHEET, attempts="best")
    assert results[0].attempts[0] == "attempt 1 of 2 counts, the best"


def test_a_platform_knows_a_student_by_the_last_file(tmp_path: Path) -> None:
    """And a mark stays where it was written, under any of the names."""
    for day in ("05", "07"):
        send(tmp_path / "in", BLACKBOARD.format(day))
    mark(tmp_path, f"{BLACKBOARD.format('05')},expand_heads,4,\n")
    results = run(tmp_path)
    assert list(results) == [BLACKBOARD.format("07")]
    assert results[BLACKBOARD.format("07")].points == 5


def test_a_file_without_an_answer_is_no_attempt(tmp_path: Path) -> None:
    send(tmp_path / "in", "ada_1")
    (tmp_path / "in/ada_2.pdf").write_text("x")
    (tmp_path / "in/bo_1.ipynb").write_text("{")
    results = run(tmp_path, "last")
    assert results["ada"].points == 2
    assert results["ada"].attempts == []
    assert "this is no notebook" in results["ada"].problems[0]
    assert results["bo"].problems != []


def test_who_sends_too_many_attempts_is_set_aside_alone(tmp_path: Path) -> None:
    send(tmp_path / "in", "ada_1")
    alone = run(tmp_path)["ada"]
    for number in range(1, 22):
        send(tmp_path / "in", f"bo_{number}")
    results = run(tmp_path)
    assert results["ada"] == alone
    assert results["bo"].points == 0
    (problem,) = results["bo"].problems
    assert "21 attempts of at most 20" in problem
    assert "if these are students, leave out ATTEMPTS" in problem


def test_each_attempt_has_cases_of_its_own() -> None:
    settings = Settings("pair", SHEET.exercises, "a", "")
    seeds = [settings.case_seed("expand_heads", attempt) for attempt in (1, 2, 3)]
    assert len(set(seeds)) == 3
    assert seeds[0] == settings.case_seed("expand_heads")


def test_times_of_attempts_are_a_column(tmp_path: Path) -> None:
    for name in ("ada_1", "ada_2"):
        send(tmp_path / "in", name)
    path = tmp_path / "t.csv"
    late = Late("2026-10-12 12:00 UTC", Rule.read("10 % a day"), times=path)
    path.write_text("student,time\nada,2026-10-12 10:00\n")
    with pytest.raises(ConfigError, match="'ada' has 2 attempts: add a column attempt"):
        run(tmp_path, late=late)
    path.write_text("student,attempt,time\nada,1,2026-10-12 13:00\nada,2,2026-10-12 10:00\n")
    assert run(tmp_path, late=late)["ada"].attempts[0].startswith("attempt 2 of 2")


# ---------- graded again ----------


def again(tmp_path: Path, *names: str, **asked: Any) -> dict[str, Result]:
    return run(tmp_path, None, again=names, **asked)


def test_one_is_graded_again_and_nothing_of_the_others_moves(
    tmp_path: Path, quick: list[str]  # noqa: F811
) -> None:  # fmt: skip
    """Also where all of the class would be graded anew: with an older grader, with new answers."""
    for name in ("ada", "Bo B", "cy"):
        send(tmp_path / "in", name)
    run(tmp_path, None)
    mark(tmp_path, "Bo B,expand_heads,4,good\n")
    run(tmp_path, None)
    before = tree(tmp_path / "out")
    for path in (tmp_path / "out/work").glob("*.json"):  # as if an older grader had made them
        path.rename(path.with_name(f"{path.stem[::-1]}.json"))
    half(tmp_path / "in", "ada")
    half(tmp_path / "in", "cy")
    quick.clear()
    results = again(tmp_path, "ADA")
    assert quick == ["ada"]
    assert [results[name].points for name in ("ada", "Bo B", "cy")] == [1, 5, 2]
    assert sorted(table(tmp_path)) == ["Bo B", "ada", "cy"]
    after = tree(tmp_path / "out")
    changed = {name for name in before if before[name] != after.get(name)}
    assert not any("feedback/Bo" in name or "feedback/cy" in name for name in changed)
    for kind in ("md", "html"):
        assert "Graded again, alone" in written(tmp_path, f"summary.{kind}")
    assert again(tmp_path, "ada", "cy")["cy"].points == 1
    assert len(list((tmp_path / "out/work").glob("*.json"))) == 3
    quick.clear()
    again(tmp_path, "cy")  # the same answer, the same grader
    assert quick == ["cy"]
    run(tmp_path, None)
    assert "Graded again" not in written(tmp_path, "summary.md")


def test_a_killed_one_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ada", "bo"):
        send(tmp_path / "in", name)
    run(tmp_path, None)
    half(tmp_path / "in", "ada")
    with monkeypatch.context() as patch:

        def killed(*_: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(grade, "write_kept", killed)
        with pytest.raises(KeyboardInterrupt):
            again(tmp_path, "ada")
    assert again(tmp_path, "ada")["ada"].points == 1
    found = tree(tmp_path / "out")
    grade_folder(tmp_path / "in", tmp_path / "whole", sheet=SHEET)
    whole = tree(tmp_path / "whole")
    assert found["grades.csv"] == whole["grades.csv"]
    assert found["feedback/ada.html"] == whole["feedback/ada.html"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"again": ["eve"]}, "AGAIN: no student, or several, called 'eve' here"),
        ({"again": ["ada"], "seed": "b"}, "SEED= with AGAIN="),
        ({"again": ["ada"], "partial": True}, "AGAIN: the last run had another PARTIAL"),
        ({"again": ["ada"], "attempts": "best"}, "another ATTEMPTS"),
        ({"again": ["ada"], "late": Late("2030-10-12 12:00 UTC")}, "another DUE and LATE"),
    ],
)
def test_what_would_change_the_others_is_refused(
    tmp_path: Path, asked: dict[str, Any], words: str, quick: list[str]  # noqa: F811
) -> None:  # fmt: skip
    for name in ("ada", "bo"):
        send(tmp_path / "in", name)
    run(tmp_path, None)
    before = tree(tmp_path / "out")
    quick.clear()
    with pytest.raises(ConfigError, match=words):
        run(tmp_path, asked.pop("attempts", None), **asked)
    assert quick == []
    assert tree(tmp_path / "out") == before


def test_who_was_never_graded_cannot_stay_as_it_was(tmp_path: Path) -> None:
    send(tmp_path / "in", "ada")
    with pytest.raises(ConfigError, match="nothing was graded in"):
        again(tmp_path, "ada")
    run(tmp_path, None)
    send(tmp_path / "in", "bo")
    with pytest.raises(ConfigError, match="'bo' was not graded for this sheet yet"):
        again(tmp_path, "ada")
    (tmp_path / "out/.run.json").write_text("[" * 10**5)
    with pytest.raises(ConfigError, match="nothing was graded"):
        again(tmp_path, "ada")


def test_names_stand_between_semicolons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Lovelace, Ada", "bo", "cy"):
        send(tmp_path / "in", name)
    arguments = ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"),
                 "--exercises", " ".join(SHEET.exercises)]  # fmt: skip
    monkeypatch.setattr(sys, "argv", arguments)
    grade.main()
    monkeypatch.setattr(sys, "argv", [*arguments, "--again", "lovelace, ada; bo;"])
    grade.main()
    assert "Lovelace, Ada, bo. All others" in written(tmp_path, "summary.md").replace("\\", "")


def test_a_right_answer_of_a_second_attempt_is_right(tmp_path: Path, monkeypatch: Any) -> None:
    """The real grader, with the cases of that attempt."""
    monkeypatch.setattr("classroom.grading.batch.grade_student", grade_student)
    send(tmp_path / "in", "ada_1")
    right = {key: reference(key) for key in SHEET.exercises}
    save(tmp_path / "in/ada_2.ipynb", notebook(**right))
    ada = run(tmp_path, "best", seed="a")["ada"]
    assert ada.points == SHEET.points
    assert ada.attempts[0].startswith("attempt 2")


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_half_way_and_resumed_a_term_s_run_is_the_same(tmp_path: Path) -> None:
    """The real grader with all choices at once, in processes of their own."""
    for number in range(4):
        for attempt in (1, 2):
            send(tmp_path / "in", f"s{number}_{attempt}", f"answer = {attempt}")
            when = datetime(2026, 10, 12, 8 * attempt, tzinfo=UTC).timestamp()
            os.utime(tmp_path / f"in/s{number}_{attempt}.ipynb", (when, when))
    out, whole = tmp_path / "out", tmp_path / "whole"
    options = ["--exercises", " ".join(SHEET.exercises), "--seed", "a", "--jobs", "2",
               "--due", "2026-10-12 12:00 UTC", "--late", "10 % a day", "--attempts", "best",
               "--anonymous"]  # fmt: skip
    for place in (out, whole):
        place.mkdir()
        (place / KEY).write_text(json.dumps({"secret": "ab" * 32}))
    first = subprocess.Popen(command(tmp_path / "in", "--out", out, *options), cwd=ROOT,
                             stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # fmt: skip
    while len(list((out / "work").glob("*.json"))) < 3:
        assert first.poll() is None
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait(60)
    assert not (out / "grades.csv").exists()
    for place in (out, whole):
        subprocess.run(command(tmp_path / "in", "--out", place, *options), cwd=ROOT, check=True,
                       capture_output=True)  # fmt: skip
    assert tree(out) == tree(whole)
    assert len(tree(out)) > 20
    assert "attempt 1 of 2 counts" in (out / "summary.md").read_text()
