"""What a page exports can be handed in, and no other file of JSON becomes a student."""

from __future__ import annotations

import io
import json
import struct
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from classroom.grading.grade import grade_folder
from classroom.sheets.sheet import chosen
from classroom.submissions.collect import read
from mini_attn.exercises.progress_format import as_text
from mini_attn.exercises.spec import exercise
from tests.classroom.test_judge import reference
from tests.classroom.test_submissions import notebook, repeated, save

SHEET = chosen(exercises="expand_heads tiled_heads")[0]
FILE = "living-attention-progress.json"


def progress(**answers: str) -> bytes:
    """What the page exports, for these answers; each was ticked as solved, too."""
    record: dict[str, Any] = {}
    for key, code in answers.items():
        kinds = record.setdefault(exercise(key).page, {"exercises": {}, "answers": {}})
        kinds["exercises"][key] = {"state": "solved", "points": 4}
        kinds["answers"][key] = {"code": code}
    return as_text(record).encode()


RIGHT = {key: reference(key) for key in SHEET.exercises}


def test_the_exported_progress_is_graded_like_a_notebook(tmp_path: Path) -> None:
    """As a file, in a folder, in a zip file, under Moodle's name; its claims earn nothing."""
    folder = tmp_path / "in"
    for place in ("ada.json", f"bo/{FILE}", f"Cy L_7_assignsubmission_file_{FILE}", "di.JSON.txt",
                  "hi/week1.ipynb"):  # fmt: skip
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(progress(**RIGHT))
    with zipfile.ZipFile(folder / "ed.zip", "w") as archive:
        archive.writestr(FILE, progress(**RIGHT))
    (folder / "fi.json").write_bytes(progress(expand_heads="1 / 0", tiled_heads="3"))
    save(folder / "gu.json", notebook(**RIGHT))
    save(folder / "marks.json", {"ada": 3})
    results = grade_folder(folder, tmp_path / "out", sheet=SHEET)
    points = {one.student: one.points for one in results}
    full = dict.fromkeys(("Cy L_7", "ada", "bo", "di", "ed", "gu", "hi"), SHEET.points)
    assert points == {**full, "fi": 0}
    assert all(one.problems == [] for one in results)


@pytest.mark.parametrize("top", ["", "course/"])
def test_progress_in_the_zip_file_of_a_class(tmp_path: Path, top: str) -> None:
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr(f"{top}ada.json", progress(**RIGHT))
        archive.writestr(f"{top}bo/{FILE}", progress(**RIGHT))
        archive.writestr(f"{top}cy.ipynb", json.dumps(notebook()))
        archive.writestr(f"{top}week1.json", '{"exercises": []}')
    found = read(tmp_path)
    assert [one.student for one in found] == ["ada", "bo", "cy"]
    assert [len(one.cells) for one in found] == [2, 2, 2]


@pytest.mark.parametrize(
    ("typed", "cell"),
    [("4", "answer = 4"), (" 1,024 ", "answer = 1024"), ("-2.5e3", "answer = -2.5e3"),
     ("answer = 2 * 2", "answer = 2 * 2"), ("1/5", None), ("four", None), ("", None),
     ("1,2", None), ("9" * 400, None)],
)  # fmt: skip
def test_a_number_typed_on_the_page(tmp_path: Path, typed: str, cell: str | None) -> None:
    """What the page reads and a cell can't is said, with what was typed."""
    (tmp_path / "ada.json").write_bytes(progress(tiled_heads=typed))
    (one,) = read(tmp_path)
    assert one.cells.get("tiled_heads") == (None if cell is None else [cell])
    if typed and cell is None:
        words = f"the answer to tiled_heads, {typed[:40]!r}, is no plain number"
        assert one.problems == [f"ada.json: {words}: hand in the notebook"]


def test_progress_that_cannot_be_used_is_its_student_s_problem(tmp_path: Path) -> None:
    whole = progress(**RIGHT)
    (tmp_path / "ada.json").write_bytes(whole[:-20])
    (tmp_path / "bo.json").write_bytes(whole.replace(b"expand_heads", b"no_such"))
    (tmp_path / "cy.json").write_bytes(progress())
    (tmp_path / "di").mkdir()
    (tmp_path / "di/other.json").write_text("{}")
    (tmp_path / "ed_7_assignsubmission_file_x.json").write_text("{}")
    said = {one.student: one.problems for one in read(tmp_path)}
    assert said == {
        "ada": ["ada.json: this is no progress that can be read: it is not JSON text"],
        "bo": ["bo.json: there is no exercise 'no_such'"],
        "cy": ["cy.json: this progress holds no answer: write it on the page, or hand in the "
               "notebook"],
        "di": ["di: no notebook in this folder, only other.json"],
        "ed_7": ["ed_7_assignsubmission_file_x.json: this is no notebook: hand in the .ipynb file"],
    }  # fmt: skip


def test_looking_at_files_of_json_takes_little(tmp_path: Path) -> None:
    """10,000 entries that share 30 MB which unfold to nothing."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", "x")
    data = bytearray(made.getvalue())
    start = data.index(b"PK\x01\x02")
    body = b"\x00\x00\x00\xff\xff" * 6_000_000 + b"\x03\x00"
    central = bytearray(data[start : data.index(b"PK\x05\x06")])
    struct.pack_into("<3I", central, 16, 0, len(body), 0)
    local = bytes(data[: 30 + len(b"a.json")]) + body
    repeated(local, bytes(central), 10_000, tmp_path / "ada.zip")
    save(tmp_path / "bo.ipynb", notebook())
    begun = time.process_time()
    ada, bo = read(tmp_path)
    assert time.process_time() - begun < 5
    assert "no notebook in this zip file, only a.json" in ada.problems[0]
    assert len(bo.cells) == 2
