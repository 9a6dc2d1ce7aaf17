"""Tables and zips of Moodle, Canvas and Blackboard, in their own forms: read, filled, read back.

The tables are written here byte by byte as the platforms export them; what comes out is read
with Python's csv and zipfile, in the way that each platform's own importer reads it.
"""

from __future__ import annotations

import csv
import io
import random
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from classroom.adapters import lms
from classroom.adapters.gradebook import read_gradebook
from classroom.adapters.lms import write_lms
from classroom.grading.run_folder import write_kept
from classroom.grading.tables import MARKS
from classroom.reports.report import reports
from classroom.results import Answer, Result, Run
from classroom.submissions.attempts import canvas_ids
from classroom.submissions.collect import read
from mini_attn.errors import ConfigError

ID, OPEN = "expand_heads", "block_choice"

MOODLE = (
    '\ufeffIdentifier,"Full name","Email address",Status,Grade,"Maximum grade",'
    '"Grade can be changed","Last modified (submission)","Last modified (grade)",'
    '"Feedback comments"\n'
    '"Participant 101","Ada Lovelace",ada@x.org,"Submitted for grading - ",,9.00,Yes,'
    '"Monday, 5 October 2026, 9:15 AM",-,\n'
    '"Participant 102","Bo O\'Neil_K",bo@x.org,"Submitted for grading - ",4.00,9.00,Yes,'
    '-,"Tuesday, 6 October 2026, 9:15 AM","<p>Say ""why"".\nThen, go on.</p>"\n'
    '"Participant 103","=cmd|\' /C calc\'!A0",cy@x.org,"No submission",,9.00,No,-,-,\n'
    '"Participant 104","Ada Lovelace",ada2@x.org,"No submission",,9.00,Yes,-,-,\n'
).encode()
# As in Moodle's own tests of the import, with its blank before a quotation mark.
MOODLE_BOOK = (
    '"First name","Last name","ID number",Institution,Department,"Email address",'
    '"Assignment: Week 1 (Real)", "Feedback: Week 1","Assignment: Week 1 (Percentage)",'
    '"Course total (Real)","Last downloaded from this course"\r\n'
    'Ada,Lovelace,,"Moodle HQ","Rock on!",ada@x.org,-,"We welcome feedback",-,56.00,1790000000\r\n'
    "Bo,Øst,s2,,,bo@x.org,7.00,,77.78 %,7.00,1790000000"
).encode()
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Notes,Week 1 (12345),Week 2 (12346),"
    "Labs (7) Current Score,Final Score (2026)\n"
    ",,,,,,Manual Posting,,,\n"
    "    Points Possible,,,,,,9.00,10.00,(read only),(read only)\n"
    '"Lovelace, Ada",7101,S1,ada,"L1, L2",=1+1,,3.00,(read only),\n'
    '"Neil, Bo ""B""",7102,S2,bo@x.org,L1,,EX,,,\n'
    '"Østergård, Cy",7103,,cy,L1,,5.00,,,\n'
    '"Student, Test",7999,,0123abcd,L1,,,,,\n'
).encode()
BLACKBOARD = (
    '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"Last Access"\t"Availability"\t'
    '"Weighted Total [Total Pts: up to 0 Percentage] |770"\t"Week 1 [Total Pts: 9 Score] |123456"\t'
    '"Notes [Total Pts: 0 Text] |123457"\r\n'
    '"Lovelace"\t"Ada"\t"alove"\t"S1"\t"2026-10-05 09:15:00"\t"Yes"\t""\t"Needs Grading"\t"=x"\r\n'
    '"Øst"\t"Bo"\t"bo_k"\t"S2"\t""\t"Yes"\t""\t""\t"tab\tand ""quote"""\r\n'
    '"K"\t"Cy"\t"k"\t"S3"\t""\t"No"\t""\t"8.50"\t""\r\n'
)
BLACKBOARD_CSV = ("\ufeff" + BLACKBOARD.replace('"\t"', '","')).encode()


def graded(
    folder: Path, points: dict[str, int], *, of: int = 9, names: dict[str, str] | None = None,
    roster: tuple[str, ...] = (), waiting: bool = False,
) -> Path:  # fmt: skip
    """A folder as ``make grade`` leaves it, for students with so many points."""
    key = OPEN if waiting else ID
    answer = Answer(key, "t", "heads", "implement", of, "solved")
    if waiting:
        answer = replace(answer, kind="open", state="to mark", text="Because.")
    results = [
        Result(student, (names or {}).get(student), ["x.ipynb"], [], [replace(answer, points=n)],
               points=n, of=of)
        for student, n in points.items()
    ]  # fmt: skip
    write_kept(folder, reports(Run("Week 1", [key], of, "1", {}), results, roster=roster))
    return folder


def fill(tmp_path: Path, export: bytes, grades: Path, **asked: object) -> tuple[bytes, list[str]]:
    """The table that the platform gets, and what was said."""
    source = tmp_path / "export.csv"
    source.write_bytes(export)
    lines = write_lms(grades, source, tmp_path / "out", **asked)  # type: ignore[arg-type]
    assert source.read_bytes() == export
    return (tmp_path / "out/export.csv").read_bytes(), lines


def zipped(tmp_path: Path) -> dict[str, str]:
    """The pages in the zip."""
    with zipfile.ZipFile(tmp_path / "out/feedback.zip") as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_moodle_s_grading_worksheet(tmp_path: Path) -> None:
    grades = graded(
        tmp_path / "week1", {"Ada Lovelace_101": 9, "Bo ONeil K_102": 7, "Nobody_999": 3}
    )
    table, lines = fill(tmp_path, MOODLE, grades)
    expected = MOODLE.replace(b'grading - ",,9.00', b'grading - ",9,9.00', 1)
    assert table == expected.replace(b"4.00,9.00", b"7,9.00")
    assert any("Nobody_999" in line and "not in the table" in line for line in lines)
    assert any("4.00 becomes 7" in line for line in lines)
    # As Moodle's importer: columns by name, the number behind "Participant ".
    rows = list(csv.DictReader(io.StringIO(table.decode("utf-8-sig"), newline="")))
    assert {r["Identifier"][len("Participant ") :]: r["Grade"] for r in rows} == {
        "101": "9", "102": "7", "103": "", "104": ""
    }  # fmt: skip
    # As its zip importer: the name has no underscore, the number stands second.
    pages = zipped(tmp_path)
    parts = {name: name.split("/")[0].split("_", 4) for name in pages}
    assert {tuple(p[1:]) for p in parts.values()} == {
        ("101", "assignsubmission", "file", ""), ("102", "assignsubmission", "file", "")
    }  # fmt: skip
    assert set(pages) == {
        "Ada Lovelace_101_assignsubmission_file_/feedback.html",
        "Bo ONeil K_102_assignsubmission_file_/feedback.html",
    }
    assert "Ada Lovelace" in pages["Ada Lovelace_101_assignsubmission_file_/feedback.html"]


def test_a_sheet_with_an_open_question(tmp_path: Path) -> None:
    """Its table of grades has a column more, which says what waits for the teacher."""
    grades = graded(tmp_path / "week1", {"Ada Lovelace_101": 3}, waiting=True)
    table, lines = fill(tmp_path, MOODLE, grades)
    assert table == MOODLE.replace(b'grading - ",,9.00', b'grading - ",3,9.00', 1)
    words = "1 students have answers in words that nobody has marked yet"
    assert any(words in line for line in lines)


def test_the_number_of_another_assignment_is_not_believed(tmp_path: Path) -> None:
    """Nor the name that a student wrote, where Moodle's says something else."""
    grades = graded(
        tmp_path / "week1", {"Eve_101": 9, "Bo ONeil K_101": 8},
        names={"Eve_101": "Ada Lovelace", "Bo ONeil K_101": "Bo O'Neil_K"},
    )  # fmt: skip
    table, lines = fill(tmp_path, MOODLE, grades)
    assert table == MOODLE
    assert zipped(tmp_path) == {}
    assert sum(line.startswith("left as it was") for line in lines) == 2


def test_two_of_one_name_a_locked_grade_and_a_formula(tmp_path: Path) -> None:
    formula = "=cmd|' /C calc'!A0"
    grades = graded(tmp_path / "week1", {"Ada Lovelace": 9, formula: 5})
    table, lines = fill(tmp_path, MOODLE, grades)
    assert table == MOODLE
    assert any("fits 2 rows" in line for line in lines)
    assert any("a locked grade stays" in line for line in lines)  # the formula's row was found


def test_of_two_columns_of_one_name_the_first_counts(tmp_path: Path) -> None:
    """A column that a teacher added changes nobody's name."""
    export = b"Student,ID,SIS Login ID,Section,Student,Week 1 (5)\nA,7,a,L,B,\nB,8,b,L,A,\n"
    table, _ = fill(tmp_path, export, graded(tmp_path / "week1", {"A": 3, "B": 4}))
    assert table == export.replace(b"L,B,", b"L,B,3").replace(b"L,A,", b"L,A,4")


def test_moodle_s_anonymous_marking(tmp_path: Path) -> None:
    export = b"Identifier,Status,Grade\nParticipant 55,x,\nParticipant 56,x,\n"
    table, _ = fill(tmp_path, export, graded(tmp_path / "week1", {"Participant_56": 4}))
    assert table == export.replace(b"56,x,", b"56,x,4")
    assert set(zipped(tmp_path)) == {"Participant_56_assignsubmission_file_/feedback.html"}


def test_moodle_s_gradebook(tmp_path: Path) -> None:
    grades = graded(
        tmp_path / "week1", {"Ada Lovelace_101": 9, "heft": 6}, names={"heft": "bo  øst"}
    )
    table, lines = fill(tmp_path, MOODLE_BOOK, grades)
    expected = MOODLE_BOOK.replace(b"ada@x.org,-", b"ada@x.org,9")
    assert table == expected.replace(b"bo@x.org,7.00", b"bo@x.org,6")
    assert any("heft: by the name in the notebook, Bo Øst" in line for line in lines)
    assert set(zipped(tmp_path)) == {"Ada Lovelace_101_assignsubmission_file_/feedback.html"}


def test_canvas(tmp_path: Path) -> None:
    points = {"lovelaceada_late_7101_88_week1": 8, "neilbo_7102_89_week1": 9, "cy": 5,
              "someone_7777_90_week1": 1}  # fmt: skip
    table, lines = fill(tmp_path, CANVAS, graded(tmp_path / "week1", points))
    assert table == CANVAS.replace(b"=1+1,,3.00", b"=1+1,8,3.00")
    assert any("neilbo_7102_89_week1: EX stays" in line for line in lines)
    assert any("someone_7777" in line for line in lines)
    assert not any("Test Student" in line or "Points" in line for line in lines)
    # As Canvas's importer: the first two numbers between underscores.
    ids = {tuple(re.findall(r"(?<=_)\d+(?=_)", name)[:2]) for name in zipped(tmp_path)}
    assert ids == {("7101", "88"), ("7102", "89")}
    assert set(zipped(tmp_path)) == {
        "lovelaceada_late_7101_88_week1.html", "neilbo_7102_89_week1.html"
    }  # fmt: skip
    assert any(line.startswith("cy: no number") for line in lines)


def test_canvas_with_semicolons_and_a_name_in_two_columns(tmp_path: Path) -> None:
    export = (
        "\ufeffLastName;FirstName;ID;SIS Login ID;Section;Week 1 (5)\n"
        "    Points Possible;;;;;9,00\nLovelace;Ada;7;ada;L1;8,00\nNeil;Bo;8;bo;L1;4,00\n"
    ).encode()
    grades = graded(tmp_path / "any", {"Lovelace, Ada": 8, "bo": 6})
    table, _ = fill(tmp_path, export, grades)  # 8,00 is 8 and stays as it was written
    assert table == export.replace(b"4,00", b"6")


@pytest.mark.parametrize("kind", ["utf-16-le", "utf-8"])
def test_blackboard(tmp_path: Path, kind: str) -> None:
    wide = kind == "utf-16-le"
    export = b"\xff\xfe" + BLACKBOARD.encode("utf-16-le") if wide else BLACKBOARD_CSV
    points = {"Week 1_alove_attempt_2026-10-05-09-15-00_x": 9,
              "Week 1_bo_k_attempt_2026-10-05-09-15-00_week1_k_attempt_2026-01-01-01-01-01": 6,
              "Cy K": 7}  # fmt: skip
    table, lines = fill(tmp_path, export, graded(tmp_path / "week1", points))
    if wide:
        assert table.startswith(b"\xff\xfe")
        said, mark = table[2:].decode("utf-16-le"), BLACKBOARD
    else:
        said, mark = table.decode(), BLACKBOARD_CSV.decode()
    # "bo_k" and "k" both end the name that Blackboard wrote: nobody gets these points.
    assert said == mark.replace("Needs Grading", "9").replace('"8.50"', '"7"')
    assert any("fits 2 rows" in line for line in lines)
    assert any("no files of feedback" in line for line in lines)
    assert not (tmp_path / "out/feedback.zip").exists()
    back = list(csv.DictReader(io.StringIO(said.lstrip("\ufeff"), newline=""),
                               delimiter="\t" if wide else ","))  # fmt: skip
    assert [r["Week 1 [Total Pts: 9 Score] |123456"] for r in back] == ["9", "", "7"]


def test_a_name_in_a_notebook_takes_nothing_from_another(tmp_path: Path) -> None:
    points = {"lovelaceada_7101_88_x": 8, "eve": 9, "bo": 1, "also": 2}
    names = {"eve": "Ada Lovelace", "bo": "Cy Østergård", "also": "cy"}
    table, lines = fill(tmp_path, CANVAS, graded(tmp_path / "week1", points, names=names))
    assert table == CANVAS.replace(b"=1+1,,3.00", b"=1+1,8,3.00")
    listed = [line.split(": ")[1] for line in lines if line.startswith("left as it was")]
    assert sorted(listed) == ["also", "bo", "eve"]


def test_two_submissions_of_one_student_are_both_listed(tmp_path: Path) -> None:
    points = {"lovelaceada_7101_88_x": 8, "lovelaceada_7101_89_y": 9}
    table, lines = fill(tmp_path, CANVAS, graded(tmp_path / "week1", points))
    assert table == CANVAS
    assert sum("2 submissions are of Ada Lovelace" in line for line in lines) == 2


def test_who_sent_nothing_gets_what_the_table_of_grades_says(tmp_path: Path) -> None:
    grades = graded(tmp_path / "week1", {"cy": 5}, roster=("Ada Lovelace", "cy"))
    table, lines = fill(tmp_path, CANVAS, grades)
    assert table == CANVAS.replace(b"=1+1,,3.00", b"=1+1,0,3.00")
    assert any("nothing graded: Bo" in line for line in lines)


def test_points_are_converted_only_if_that_is_asked_for(tmp_path: Path) -> None:
    grades = graded(tmp_path / "week1", {"ada": 2}, of=6)
    with pytest.raises(ConfigError, match=r"takes 9.00 points and the sheet gives 6.*SCALE=1"):
        fill(tmp_path, CANVAS, grades)
    assert not (tmp_path / "out").exists()
    table, _ = fill(tmp_path, CANVAS, grades, scale=True)
    assert table == CANVAS.replace(b"=1+1,,3.00", b"=1+1,3,3.00")
    third = graded(tmp_path / "week1", {"ada": 1}, of=27)
    write_lms(third, tmp_path / "export.csv", tmp_path / "third", scale=True)
    assert b"=1+1,0.33,3.00" in (tmp_path / "third/export.csv").read_bytes()
    with pytest.raises(ConfigError, match="does not say how many points"):
        fill(tmp_path, MOODLE_BOOK, graded(tmp_path / "week1", {"ada@x.org": 1}), scale=True)


def test_the_column_is_named_or_is_the_only_one(tmp_path: Path) -> None:
    grades = graded(tmp_path / "grades", {"ada": 9})
    with pytest.raises(ConfigError, match=r"2 columns.*COLUMN=.*'Week 1 \(12345\)'"):
        fill(tmp_path, CANVAS, grades)
    with pytest.raises(ConfigError, match=r"no column.*'Week'"):
        fill(tmp_path, CANVAS, grades, column="Week")
    for column in ("Week 1", "Week 1 (12345)"):
        table, _ = fill(tmp_path, CANVAS, grades, column=column)
        assert table == CANVAS.replace(b"=1+1,,3.00", b"=1+1,9,3.00")


def test_no_file_is_written_over_and_all_are_private(tmp_path: Path) -> None:
    grades = graded(tmp_path / "week1", {"ada": 9})
    first, _ = fill(tmp_path, CANVAS, grades)
    before = sorted(p.relative_to(grades) for p in grades.rglob("*"))
    graded(tmp_path / "week1", {"ada": 3})
    again, lines = fill(tmp_path, CANVAS, grades)
    assert again == first
    assert b"=1+1,3,3.00" in (tmp_path / "out/export-2.csv").read_bytes()
    assert any("export-2.csv" in line for line in lines)
    assert (tmp_path / "out/feedback-2.zip").exists()
    assert {p.stat().st_mode & 0o077 for p in (tmp_path / "out").iterdir()} == {0}
    assert sorted(p.relative_to(grades) for p in grades.rglob("*")) == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1,2\n", "no table of grades of Moodle, Canvas or Blackboard"),
        (b"", "no table of grades"),
        (b"\x00\x01", "is no text"),
        (b"\x81\x00\xff", "is no text"),
        (CANVAS + b'"Open,1,,x,L1,,,,,\n', "quotation mark in row 8"),
        (CANVAS + b'"Shut"x,1,,x,L1,,,,,\n', "quotation mark in row 8"),
    ],
)
def test_what_is_no_table_is_said_in_a_line(tmp_path: Path, content: bytes, words: str) -> None:
    grades = graded(tmp_path / "week1", {"ada": 9})
    with pytest.raises(ConfigError, match=words):
        fill(tmp_path, content, grades)
    assert not (tmp_path / "out").exists()


def test_trouble_with_the_other_files_is_said_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run make grade first"):
        fill(tmp_path, CANVAS, tmp_path / "week1")
    grades = graded(tmp_path / "week1", {"ada": 9, "cy_7103_90_x": 1})
    with pytest.raises(ConfigError, match="cannot be read"):
        write_lms(grades, tmp_path / "none.csv", tmp_path / "out")
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ConfigError, match="cannot be written"):
        fill(tmp_path, CANVAS, grades)
    assert (tmp_path / "out").read_text() == "mine"
    (tmp_path / "out").unlink()
    table = (grades / "grades.csv").read_text()
    (grades / "grades.csv").write_text(table.replace(",9,9,9,", ',9,"=9",9,').replace(
        "feedback/cy_7103_90_x.html", "feedback/../../export.csv"))  # fmt: skip
    filled, lines = fill(tmp_path, CANVAS, grades)
    assert filled == CANVAS.replace(b",L1,,5.00", b",L1,,1")
    assert any("'=9' of '9' points are no grade" in line for line in lines)
    assert any("cy_7103_90_x: there is no page of feedback" in line for line in lines)
    assert any("ada: no number" in line for line in lines)
    assert zipped(tmp_path) == {}
    (grades / "grades.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ConfigError, match="not as make grade writes it"):
        fill(tmp_path, CANVAS, grades)


@pytest.mark.parametrize("export", [MOODLE, MOODLE_BOOK, CANVAS, BLACKBOARD_CSV])
def test_cells_are_those_that_csv_reads(tmp_path: Path, export: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(export)
    book = read_gradebook(path, lambda header: len(header) > 1)
    assert book is not None
    text = export.decode("utf-8-sig")
    assert [[c.text for c in row] for row in book.rows] == list(
        csv.reader(io.StringIO(text, newline=""))
    )
    assert book.changed({}) == export


@pytest.mark.parametrize("seed", range(40))
def test_one_cell_changes_in_any_table(tmp_path: Path, seed: int) -> None:
    """Whatever separates, quotes and ends; read back with the csv module."""
    draw = random.Random(seed)
    texts = ["", "a", "ü,;\t", 'say "x"', "two\nlines", "=1+1", " b ", "end\r\n", "7,5", "'"]
    rows = [[draw.choice(texts) for _ in range(4)] for _ in range(5)]
    rows[0] = ["Identifier", "Full name", "Grade", draw.choice(["Straße", "a,b", 'x "y"'])]
    mark, encoding = draw.choice([*MARKS, (b"", "utf-8"), (b"", "cp1252")])
    separator, end = draw.choice("\t;,"), draw.choice(["\r\n", "\n"])
    file = io.StringIO(newline="")
    quoting: Literal[0, 1] = 1 if draw.random() < 0.5 else 0  # all cells, or those that need it
    csv.writer(file, delimiter=separator, lineterminator=end, quoting=quoting).writerows(rows)
    text = file.getvalue()
    text = text.removesuffix(end) if draw.random() < 0.5 else text
    path = tmp_path / "x.csv"
    path.write_bytes(mark + text.encode(encoding))
    book = read_gradebook(path, lambda header: "Identifier" in header)
    assert book is not None
    assert [[cell.text for cell in row] for row in book.rows] == rows
    place = draw.randrange(1, 5), draw.randrange(4)
    content = book.changed({place: "7.5"})
    assert content.startswith(mark)
    again = io.StringIO(content[len(mark) :].decode(encoding), newline="")
    rows[place[0]][place[1]] = "7.5"
    assert list(csv.reader(again, delimiter=separator)) == rows
    cell = book.rows[place[0]][place[1]]
    quote = '"' * text[cell.start :].startswith('"')
    changed = text[: cell.start] + f"{quote}7.5{quote}" + text[cell.end :]
    assert content == mark + changed.encode(encoding)


def test_names_as_the_platforms_zips_give_them(tmp_path: Path) -> None:
    """The names in the tests above are those that the grader makes of the real files."""
    real = {
        "Ada Lovelace_101_assignsubmission_file_/week1.ipynb": "Ada Lovelace_101",
        "Bo ONeil K_102_assignsubmission_file/week1.ipynb": "Bo ONeil K_102",
        "lovelaceada_late_7101_88_week1.ipynb": "lovelaceada_late_7101_88_week1",
        "Week 1_alove_attempt_2026-10-05-09-15-00_x.ipynb":
            "Week 1_alove_attempt_2026-10-05-09-15-00_x",
    }  # fmt: skip
    for name in real:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    assert {one.student for one in read(tmp_path)} == set(real.values())


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("lovelaceada_123_4567_week1", ("123", "4567")),
        ("lovelaceada_late_123_4567_week_1_2", ("123", "4567")),
        ("anon_ab12c_4567_week1", None),
        ("4567_week1", None),
        ("123_4567_week1", None),
        ("lovelaceada_123", None),
        ("lovelaceada", None),
    ],
)
def test_numbers_in_canvas_names(name: str, ids: tuple[str, str] | None) -> None:
    assert canvas_ids(name) == ids


def test_the_command_says_what_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    grades = graded(tmp_path / "week1", {"ada": 9, "=x": 1})
    (tmp_path / "export.csv").write_bytes(CANVAS)
    arguments = ["lms", str(grades), str(tmp_path / "export.csv")]
    monkeypatch.setattr("sys.argv", arguments)
    lms.main()
    printed = capsys.readouterr().out
    assert "1 new grades, of 2" in printed
    assert (grades / "lms/export.csv").exists()
    monkeypatch.setattr("sys.argv", [*arguments, "--column", "None"])
    with pytest.raises(SystemExit, match=r"\[lms\] no column"):
        lms.main()


@pytest.mark.parametrize(
    ("total", "said"),
    [("10", "10"), ("100.0", "100"), ("7.50", "7.5"), ("7.333333333333333", "7.33333"), ("0", "0"),
     ("0.0", "0"), ("-1", None), ("1e1", None), ("=1", None)],
)  # fmt: skip
def test_points_are_plain_numbers(tmp_path: Path, total: str, said: str | None) -> None:
    export = b"Identifier,Full name,Grade\nParticipant 1,Ada,x\n"
    (tmp_path / "week1").mkdir()
    header = "student,written name,total,of,feedback,by hand\n"
    (tmp_path / "week1/grades.csv").write_text(f"{header}Ada_1,,{total},9,,\n")
    table, _ = fill(tmp_path, export, tmp_path / "week1")
    assert table == export.replace(b",x", b"," + (said or "x").encode())


@pytest.mark.parametrize(
    ("old", "new", "header"),
    [
        (b"Assignment: Week 1 (", b"Assignment: Final Grade (", "Assignment: Final Grade (Real)"),
        (b"Assignment: Week 1 (Real)", b"Assignment: Current Score", "Assignment: Current Score"),
    ],
)
def test_only_canvas_computes_by_such_names(
    tmp_path: Path, old: bytes, new: bytes, header: str
) -> None:
    export = MOODLE_BOOK.replace(old, new)
    table, lines = fill(tmp_path, export, graded(tmp_path / "week1", {"Ada Lovelace_101": 9}))
    assert table == export.replace(b"ada@x.org,-", b"ada@x.org,9")
    assert repr(header) in lines[0]


def test_a_final_score_of_blackboard_s_takes_points(tmp_path: Path) -> None:
    export = BLACKBOARD_CSV.replace(b"Week 1 [Total Pts", b"Final Score [Total Pts")
    table, lines = fill(tmp_path, export, graded(tmp_path / "week1", {"Cy K": 7}))
    assert table == export.replace(b'"8.50"', b'"7"')
    assert "'Final Score [Total Pts: 9 Score] |123456'" in lines[0]


def test_what_canvas_computes_takes_no_points_without_the_row_that_says_so(tmp_path: Path) -> None:
    export = b"Student,ID,Section,Labs Current Score (7),Labs (8)\nA,1,L,,\n"
    table, _ = fill(tmp_path, export, graded(tmp_path / "week1", {"A": 7}))
    assert table == export.replace(b"A,1,L,,", b"A,1,L,,7")


def test_percentages_and_letters_of_moodle_s_take_no_points(tmp_path: Path) -> None:
    export = MOODLE_BOOK.replace(b'"Assignment: Week 1 (Real)"', b'"Assignment: Week 1 (Letter)"')
    with pytest.raises(ConfigError, match="no column"):
        fill(tmp_path, export, graded(tmp_path / "week1", {"Ada Lovelace_101": 9}))
