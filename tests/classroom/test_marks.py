"""What a teacher writes into marks.csv holds at every run, is text, and is never written over."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from classroom.grading import grade
from classroom.grading.grade import grade_folder
from classroom.grading.mark_provenance import RECORD
from classroom.grading.marks import FILE, make_table, read_marks
from classroom.results import Answer, Result
from classroom.sheets.sheet import weighted
from classroom.submissions.collect import Submission
from mini_attn.errors import ConfigError
from tests.classroom.test_grade import ROOT, command, hand_in, tree
from tests.classroom.test_grade import SHEET as PAIR
from tests.classroom.test_submissions import notebook, save

HEADER = "student,exercise,points,comment\n"
WORTH = {"expand_heads": 4, "tiled_heads": 6}
SHEET = weighted(PAIR, WORTH)
CLASS = [Submission(name) for name in ("ada", "Bo B", "=cy", "twin", "TWIN")]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grades by the length of an answer, as what is tested comes after; gives who was graded."""
    graded: list[str] = []

    def stand_in(sent: Submission, settings: Any) -> Result:
        graded.append(sent.student)
        answers = [
            Answer(key, key, "mqa-gqa", "write", WORTH[key],
                   *(("not yet", 1) if key in sent.cells else ("not handed in", 0)))
            for key in settings.exercises
        ]  # fmt: skip
        return Result(sent.student, None, sent.files, sent.problems, answers, sent.attempt)

    monkeypatch.setattr("classroom.grading.batch.grade_student", stand_in)
    return graded


def send(folder: Path, name: str, text: str = "answer = 1") -> None:
    save(folder / f"{name}.ipynb", notebook(expand_heads=text, tiled_heads="answer = 2"))


def run(tmp_path: Path) -> dict[str, Result]:
    results = grade_folder(tmp_path / "in", tmp_path / "out", sheet=SHEET, seed="a")
    return {result.student: result for result in results}


def mark(tmp_path: Path, rows: str) -> None:
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out" / FILE).write_text(HEADER + rows, encoding="utf-8")


def written(tmp_path: Path, name: str) -> str:
    return (tmp_path / "out" / name).read_text(encoding="utf-8")


def table(tmp_path: Path) -> dict[str, dict[str, str]]:
    text = (tmp_path / "out/grades.csv").read_text(encoding="utf-8-sig")
    return {row["student"]: row for row in csv.DictReader(text.splitlines())}


def test_a_run_makes_the_table_once_and_never_writes_it_again(tmp_path: Path) -> None:
    send(tmp_path / "in", "ada")
    run(tmp_path)
    path = tmp_path / "out" / FILE
    assert path.read_bytes() == b"\xef\xbb\xbfstudent,exercise,points,comment\r\n"
    assert os.name != "posix" or path.stat().st_mode & 0o077 == 0
    mine = (HEADER + "ada,expand_heads,2.5,good\n\n,,,\n").encode("utf-16")
    path.write_bytes(mine)
    assert run(tmp_path)["ada"].answers[0].points == 2.5
    assert path.read_bytes() == mine


def test_marks_hold_at_every_run_and_nothing_is_graded_again(
    tmp_path: Path, quick: list[str]
) -> None:
    send(tmp_path / "in", "ada")
    send(tmp_path / "in", "bo")
    assert run(tmp_path)["ada"].points == 2
    mark(tmp_path, "ada,expand_heads,3,see me\nbo,,,well done\nbo,tiled_heads,,half an idea\n")
    quick.clear()
    results = run(tmp_path)
    assert quick == []
    assert [results[name].points for name in ("ada", "bo")] == [4, 2]
    assert [a.points for a in results["ada"].answers] == [3, 1]
    grades = table(tmp_path)
    assert (grades["ada"]["expand_heads"], grades["ada"]["total"]) == ("3", "4")
    assert grades["ada"]["by hand"] == "expand_heads: 3 of 4 points instead of 1. see me"
    assert grades["bo"]["by hand"] == "tiled_heads: half an idea · whole sheet: well done"
    for kind in ("md", "html"):
        assert "see me" in written(tmp_path, f"feedback/ada.{kind}")
        assert "3 of 4 points instead of 1." in written(tmp_path, f"feedback/ada.{kind}")
        assert written(tmp_path, f"feedback/bo.{kind}").count("Your teacher") == 2
        for words in ("see me", "well done", "half an idea", "3 of 4 points instead of 1."):
            assert words in written(tmp_path, f"summary.{kind}")
    before = tree(tmp_path / "out")
    assert run(tmp_path) == results
    assert tree(tmp_path / "out") == before
    send(tmp_path / "in", "cy")  # somebody new
    assert run(tmp_path)["ada"] == results["ada"]
    assert quick == ["cy"]
    mark(tmp_path, "")
    assert run(tmp_path)["ada"].points == 2
    assert "see me" not in written(tmp_path, "feedback/ada.md")


def test_an_answer_that_changed_since_is_named_until_the_row_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the new answer came before the first run that saw the mark."""
    send(tmp_path / "in", "ada")
    run(tmp_path)
    mark(tmp_path, "ada,expand_heads,3,\nada,tiled_heads,2,\n")
    send(tmp_path / "in", "ada", "answer  = 1   \n\n# more")
    capsys.readouterr()
    for _ in range(2):
        results = run(tmp_path)
        said = [line for line in capsys.readouterr().err.splitlines() if FILE in line]
        assert said == [
            "[grade] marks.csv, row 2: ada has changed the answer since then; "
            "it stands until you change it"
        ]
        assert [a.mark.changed for a in results["ada"].answers] == [True, False]
        assert results["ada"].points == 5
        for name in ("feedback/ada.md", "feedback/ada.html", "summary.md", "grades.csv"):
            assert written(tmp_path, name).count("has changed since then") == 1
    mark(tmp_path, "ada,expand_heads,3,seen\nada,tiled_heads,2,\n")
    run(tmp_path)
    assert "changed the answer" not in capsys.readouterr().err


def test_blanks_that_an_editor_changes_are_no_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    send(tmp_path / "in", "ada", "answer = 1")
    mark(tmp_path, "ada,expand_heads,3,\n")
    run(tmp_path)
    send(tmp_path / "in", "ada", "answer = 1  \r\n\r\n")
    run(tmp_path)
    assert "changed" not in capsys.readouterr().err


def test_a_student_who_comes_back_with_another_answer_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    send(tmp_path / "in", "ada")
    send(tmp_path / "in", "bo")
    mark(tmp_path, "ada,expand_heads,3,\n")
    run(tmp_path)
    (tmp_path / "in/ada.ipynb").unlink()
    run(tmp_path)
    send(tmp_path / "in", "ada", "answer = 7")
    capsys.readouterr()
    assert run(tmp_path)["ada"].answers[0].mark.changed
    assert "row 2: ada has changed" in capsys.readouterr().err


def test_a_broken_record_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    send(tmp_path / "in", "ada")
    mark(tmp_path, "ada,expand_heads,3,\n")
    for broken in ("{", "[]", '{"shown": 3, "marks": {}}', '{"shown": {}, "marks": {"a": 1}}'):
        (tmp_path / "out" / RECORD).write_text(broken)
        assert run(tmp_path)["ada"].points == 4
        assert f"{RECORD} is broken" in capsys.readouterr().err
    json.loads(written(tmp_path, RECORD))


def test_a_mark_that_fits_nothing_is_named_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    send(tmp_path / "in", "ada")
    rows = "eve,expand_heads,3,\nada,late_mask,999,\nada,expand_heads,4,\n"
    mark(tmp_path, rows)
    assert run(tmp_path)["ada"].points == 5
    said = capsys.readouterr().err
    for words in ("row 2: no student, or several, called 'eve' here",
                  "row 3: no exercise 'late_mask' on this sheet, for 'ada'"):  # fmt: skip
        assert f"{words}; the row is kept" in said
        assert words in written(tmp_path, "summary.html").replace("&#39;", "'")
    assert (tmp_path / "out" / FILE).read_text() == HEADER + rows


def test_points_for_what_was_never_handed_in_count(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/di.ipynb").write_text("{")
    mark(tmp_path, "di,tiled_heads,6,on paper\n")
    run(tmp_path)
    di = table(tmp_path)["di"]
    assert [di[key] for key in ("expand_heads", "tiled_heads", "total")] == ["", "6", "6"]


@pytest.mark.parametrize(
    "text",
    [
        "student,exercise,points,comment\nada,expand_heads,2.5,a; b\n",
        '\ufeffStudent;Exercise;Points;Comment\r\nada;expand_heads;2,5;"a; b"\r\n',
        "comment\tpoints\tmine\texercise\tstudent\na; b\t2,50\tx\texpand_heads\t ADA \n",
        'student,exercise,points,comment\n"ada","Expand_Heads","2,5","a;\nb"\n\n,,,\n',
    ],
)
def test_a_table_is_read_as_a_spreadsheet_saves_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / FILE
    path.write_bytes(text.encode())
    (found,) = read_marks(path, CLASS, WORTH)
    assert (found.named, found.exercise, found.points) == ("ada", "expand_heads", 2.5)
    assert found.comment.split() == ["a;", "b"]
    assert found.row == 2


@pytest.mark.parametrize(
    ("student", "named"),
    [("ada", "ada"), ("bo b", "Bo B"), ("=cy", "=cy"), ("'=cy", "=cy"), ("twin", "twin"),
     ("TWIN", "TWIN"), ("Twin", None), ("", None)],
)  # fmt: skip
def test_a_student_is_found_as_the_table_of_grades_says(
    tmp_path: Path, student: str, named: str | None
) -> None:
    (tmp_path / FILE).write_text(f"{HEADER}{student or 'nobody'},expand_heads,1,\n")
    assert [m.named for m in read_marks(tmp_path / FILE, CLASS, WORTH)] == [named]


def test_a_student_of_moodle_needs_no_number(tmp_path: Path) -> None:
    ada = Submission("Ada L_12", files=["Ada L_12_assignsubmission_file/x.ipynb"])
    (tmp_path / FILE).write_text(f"{HEADER}ada l,expand_heads,1,\n")
    assert [m.named for m in read_marks(tmp_path / FILE, [ada], WORTH)] == ["Ada L_12"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("ada,expand_heads,4.5,", "row 2 gives 4.5 points for expand_heads, which has 4"),
        ("\nada,expand_heads,-1,", "row 3: '-1' is no number of points"),
        ("ada,expand_heads,nan,", "row 2: 'nan' is no number of points"),
        ("ada,expand_heads,1e3,", "row 2: '1e3' is no number of points"),
        ("ada,expand_heads,2,5,good", "row 2 has 5 cells, and the header 4"),
        (",expand_heads,2,", "row 2 names no student"),
        ("ada,,2,", "row 2 gives points and names no exercise"),
        ("ada,expand_heads,2,\nbo b,,,x\nADA,expand_heads,,x", "rows 2 and 4 are both about"),
        (f"ada,,,{'x' * 2001}", "row 2: the comment has 2001 characters of 2000"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_nothing_is_written(
    tmp_path: Path, rows: str, words: str, quick: list[str]
) -> None:
    for name in ("ada", "Bo B"):
        send(tmp_path / "in", name)
    mark(tmp_path, rows)
    with pytest.raises(ConfigError) as said:
        run(tmp_path)
    assert words in str(said.value)
    assert "\n" not in str(said.value)
    assert quick == []
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [".lock", FILE]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", '"student" is missing'),
        ("ada,expand_heads,2,\n", '"student" is missing'),
        ("student,exercise,points\n", '"comment" is missing'),
        ("student,exercise,points,points,comment\n", '"points" is twice'),
        (HEADER + "x" * 200_000, "field larger"),
        ("\x81\x8d", "save it as text in UTF-8"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError) as said:
        read_marks(tmp_path / FILE, CLASS, WORTH)
    assert words in str(said.value)


def test_a_folder_in_its_place_is_one_line(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    make_table(tmp_path / FILE)
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_marks(tmp_path / FILE, CLASS, WORTH)


def test_what_the_teacher_writes_is_text(tmp_path: Path) -> None:
    send(tmp_path / "in", "ada")
    comment = "<script>alert(1)</script> **x** {{ 7 * 7 }} [a](http://x.org)"
    mark(tmp_path, f'ada,expand_heads,1,"{comment}"\nada,,,"=1+1"\n')
    run(tmp_path)
    for name in ("feedback/ada", "summary"):
        page = written(tmp_path, f"{name}.html")
        assert "<script" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert "{{ 7 * 7 }}" in page
        text = written(tmp_path, f"{name}.md")
        assert "<script" not in text
        assert r"\[a\](" in text
        assert r"\*\*x\*\*" in text
    assert "whole sheet: =1+1" in table(tmp_path)["ada"]["by hand"]
    assert not table(tmp_path)["ada"]["by hand"].startswith(("=", "+", "-", "@"))


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_half_way_and_resumed_the_marks_are_there(tmp_path: Path) -> None:
    """The real grader, in processes of its own."""
    folder, out, whole = hand_in(tmp_path / "in", 12), tmp_path / "out", tmp_path / "whole"
    options = ["--exercises", " ".join(SHEET.exercises), "--seed", "a", "--jobs", "2"]
    rows = f"{HEADER}bo,expand_heads,2,a start\nmore03,,,thanks\neve,,,who\n"
    for place in (out, whole):
        place.mkdir()
        (place / FILE).write_text(rows)
    first = subprocess.Popen(command(folder, "--out", out, *options), cwd=ROOT,
                             stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # fmt: skip
    while len(list((out / "work").glob("*.json"))) < 3:
        assert first.poll() is None
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait(60)
    assert not (out / "grades.csv").exists()
    for place in (out, whole):
        subprocess.run(command(folder, "--out", place, *options), cwd=ROOT, check=True,
                       capture_output=True)  # fmt: skip
    assert tree(out) == tree(whole)
    assert (out / FILE).read_text() == rows
    assert "a start" in (out / "feedback/bo.md").read_text()


@pytest.mark.parametrize("broken", ["write_kept", "write_data"])
def test_killed_while_it_writes_the_next_run_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Before and after the reports, with an answer that has changed."""
    send(tmp_path / "in", "ada")
    run(tmp_path)
    mark(tmp_path, "ada,expand_heads,3,\n")
    send(tmp_path / "in", "ada", "answer = 7")
    with monkeypatch.context() as patch:
        real = getattr(grade, broken)

        def killed(path: Path, *rest: Any, **more: Any) -> None:
            if broken == "write_kept" or path.name == RECORD:
                raise KeyboardInterrupt
            real(path, *rest, **more)

        patch.setattr(grade, broken, killed)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path)
    assert run(tmp_path)["ada"].answers[0].mark.changed
    assert run(tmp_path)["ada"].answers[0].mark.changed
