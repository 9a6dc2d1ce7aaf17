"""What students send is found and read, in any arrangement and in any state."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from classroom.grading.grade import grade_folder
from classroom.sheets.notebook import student_notebook
from classroom.sheets.sheet import chosen
from classroom.submissions import archives
from classroom.submissions import notebook as notebook_room
from classroom.submissions.cells import SOURCE_CHARACTERS
from classroom.submissions.collect import moodle_name, read
from classroom.submissions.notebook import untouched
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise, of_chapter

SHEET = chosen(exercises="expand_heads tiled_heads")[0]
ROOT = Path(__file__).resolve().parents[2]


def notebook(**answers: str) -> dict[str, Any]:
    """A student's notebook with these answers in the place of the starters."""
    data: dict[str, Any] = json.loads(json.dumps(student_notebook(SHEET)))
    for cell in data["cells"]:
        tag = cell["metadata"].get("exercise", {})
        if tag.get("role") == "starter" and tag["id"] in answers:
            cell["source"] = answers[tag["id"]]
    return data


def tagged(data: dict[str, Any], role: str, key: str | None = None) -> int:
    """Index of the cell with a role."""
    return next(
        n
        for n, cell in enumerate(data["cells"])
        if cell["metadata"].get("exercise", {}).get("role") == role
        and key in (None, cell["metadata"]["exercise"].get("id"))
    )


def code(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": []}


def save(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def test_notebooks_folders_and_archives_are_students(tmp_path: Path) -> None:
    save(tmp_path / "in/ada.ipynb", notebook(tiled_heads="answer = 1"))
    save(tmp_path / "in/bo/week/any name.ipynb", notebook(tiled_heads="answer = 2"))
    save(tmp_path / "cy.ipynb", notebook(tiled_heads="answer = 3"))
    with zipfile.ZipFile(tmp_path / "in/cy.zip", "w") as archive:
        archive.write(tmp_path / "cy.ipynb", "deep/er/x.ipynb")
        archive.writestr("__MACOSX/._x.ipynb", "rubbish")
    found = read(tmp_path / "in")
    assert [s.student for s in found] == ["ada", "bo", "cy"]
    assert [s.cells["tiled_heads"] for s in found] == [[f"answer = {n}"] for n in (1, 2, 3)]
    assert all(set(s.cells) == {"expand_heads", "tiled_heads"} for s in found)
    assert all(s.problems == [] for s in found)
    assert found[2].files == ["cy.zip/deep/er/x.ipynb"]


@pytest.mark.parametrize("wrapped", ["", "the course/"])
def test_one_archive_of_the_whole_class(tmp_path: Path, wrapped: str) -> None:
    """As learning platforms hand it out; archives of students may stand inside."""
    save(tmp_path / "one.ipynb", notebook())
    with zipfile.ZipFile(tmp_path / "cy.zip", "w") as inner:
        inner.write(tmp_path / "one.ipynb", "x.ipynb")
    (tmp_path / "in").mkdir()
    with zipfile.ZipFile(tmp_path / "in/all.zip", "w") as archive:
        archive.write(tmp_path / "one.ipynb", f"{wrapped}ada/x.ipynb")
        archive.write(tmp_path / "one.ipynb", f"{wrapped}bo.ipynb")
        archive.write(tmp_path / "cy.zip", f"{wrapped}cy.zip")
    assert [s.student for s in read(tmp_path / "in")] == ["ada", "bo", "cy"]


@pytest.mark.parametrize(
    ("entries", "students"),
    [
        (["week1.ipynb"], ["ada"]),
        (["hand-in/week1.ipynb"], ["ada"]),
        (["week1.ipynb", "week1 (1).ipynb", "week1-Copy1.ipynb"], ["ada"]),
        (["mla.ipynb", "kv-cache (2).ipynb"], ["ada"]),
        (["bo/week1.ipynb", "cy/week1.ipynb"], ["bo", "cy"]),
        (["bo.ipynb", "cy.ipynb"], ["bo", "cy"]),
        (["course/bo.ipynb", "course/cy.ipynb"], ["bo", "cy"]),
        (["Bo K_7_assignsubmission_file_/week1.ipynb"], ["Bo K_7"]),
        (["Bo K_7_assignsubmission_file_week1.ipynb"], ["Bo K_7"]),
    ],
)
def test_a_lone_archive_is_a_student_s_or_a_class_s(
    tmp_path: Path, entries: list[str], students: list[str]
) -> None:
    with zipfile.ZipFile(tmp_path / "ada.zip", "w") as archive:
        for entry in entries:
            archive.writestr(entry, json.dumps(notebook()))
    assert [s.student for s in read(tmp_path)] == students


def test_two_names_in_one_archive_are_two_students(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for number, name in enumerate(("Bo", "Cy")):
            data = notebook()
            data["cells"][tagged(data, "name")]["source"] = f"**Name:** {name}"
            archive.writestr(f"week1 ({number}).ipynb", json.dumps(data))
    assert [s.student for s in read(tmp_path)] == ["week1 (0)", "week1 (1)"]


def test_a_class_of_one_in_two_archives(tmp_path: Path) -> None:
    save(tmp_path / "one.ipynb", notebook())
    with zipfile.ZipFile(tmp_path / "cy.zip", "w") as inner:
        inner.write(tmp_path / "one.ipynb", "week1.ipynb")
    (tmp_path / "in").mkdir()
    with zipfile.ZipFile(tmp_path / "in/all.zip", "w") as archive:
        archive.write(tmp_path / "cy.zip", "cy.zip")
    assert [s.student for s in read(tmp_path / "in")] == ["cy"]


def test_a_class_of_one_keeps_its_name(tmp_path: Path) -> None:
    save(tmp_path / "ada/a.ipynb", notebook())
    save(tmp_path / "ada/b.ipynb", notebook())
    (found,) = read(tmp_path)
    assert found.student == "ada"
    assert found.problems == []  # the same twice needs no word


def test_the_name_that_a_student_wrote(tmp_path: Path) -> None:
    data = notebook()
    data["cells"][tagged(data, "name")]["source"] = "**Name:** Ada *L.*\n\nmore"
    save(tmp_path / "a.ipynb", data)
    save(tmp_path / "b.ipynb", notebook())
    assert [s.written_name for s in read(tmp_path)] == ["Ada *L.*", None]


def test_a_helper_between_starter_and_check_belongs_to_the_answer(tmp_path: Path) -> None:
    data = notebook()
    place = tagged(data, "check", "expand_heads")
    data["cells"].insert(place, code("def helper(): ..."))
    data["cells"].insert(place + 2, code("print('after the check')"))
    save(tmp_path / "a.ipynb", data)
    (found,) = read(tmp_path)
    assert found.cells["expand_heads"] == [exercise("expand_heads").starter, "def helper(): ..."]


def test_a_deleted_check_cell_changes_nothing(tmp_path: Path) -> None:
    data = notebook(expand_heads="mine = 1")
    del data["cells"][tagged(data, "check", "expand_heads")]
    save(tmp_path / "a.ipynb", data)
    (found,) = read(tmp_path)
    assert found.cells["expand_heads"] == ["mine = 1"]
    assert found.problems == []


def test_cells_without_marks_are_found_by_their_checks(tmp_path: Path) -> None:
    data = notebook(expand_heads="mine = 1")
    for cell in data["cells"]:
        cell["metadata"] = {}
    save(tmp_path / "a.ipynb", data)
    (found,) = read(tmp_path)
    assert found.cells["expand_heads"] == ["mine = 1"]
    assert found.cells["tiled_heads"] == [exercise("tiled_heads").starter]
    assert "lost their tags: expand_heads, tiled_heads" in found.problems[0]


def test_a_check_in_the_answer_s_own_cell_is_cut_off(tmp_path: Path) -> None:
    source = 'answer = 4\ncheck("tiled_heads", answer)\nanswer = 5'
    save(tmp_path / "a.ipynb", {"cells": [code(source)]})
    (found,) = read(tmp_path)
    assert found.cells == {"tiled_heads": ["answer = 4\n"]}


BOTH = "def expand_heads(k, n): ...\n\n\nanswer = 4\n"
CHECKS = ('check("expand_heads", expand_heads)\n', 'check("tiled_heads", answer)\n')


@pytest.mark.parametrize(
    ("cells", "first", "second"),
    [
        ([BOTH + "".join(CHECKS)], [BOTH], [BOTH + CHECKS[0]]),
        ([BOTH, *CHECKS], [BOTH], [BOTH]),
        ([BOTH + CHECKS[0], CHECKS[1]], [BOTH], [BOTH]),
        (["f = 1\n" + CHECKS[0] + "answer = 4", CHECKS[1]], ["f = 1\n"],
         ["f = 1\n" + CHECKS[0] + "answer = 4"]),
        (["f = 1\n" + CHECKS[0] + "print(f)", "answer = 4\n" + CHECKS[1]], ["f = 1\n"],
         ["answer = 4\n"]),
        (["f = 1\n" + CHECKS[0] + "f = 2\n" + "".join(CHECKS)],
         ["f = 1\n" + CHECKS[0] + "f = 2\n"], ["f = 1\n" + CHECKS[0] + "f = 2\n" + CHECKS[0]]),
    ],
)  # fmt: skip
def test_two_checks_are_two_answers(
    tmp_path: Path, cells: list[str], first: list[str], second: list[str]
) -> None:
    """In one cell, one below the other, or with the next answer between them."""
    save(tmp_path / "a.ipynb", {"cells": [code(source) for source in cells]})
    (found,) = read(tmp_path)
    assert found.cells == {"expand_heads": first, "tiled_heads": second}


@pytest.mark.parametrize("place", ["starter", "check"])
def test_two_answers_in_a_cell_that_was_handed_out(tmp_path: Path, place: str) -> None:
    data = notebook()
    cell = data["cells"][tagged(data, place, "expand_heads")]
    cell["source"] = BOTH + "".join(CHECKS)
    save(tmp_path / "a.ipynb", data)
    (found,) = read(tmp_path)
    assert [BOTH in sources[-1] for sources in found.cells.values()] == [True, True]
    assert "tiled_heads" in found.problems[0]


def test_a_heading_stands_between_two_checks(tmp_path: Path) -> None:
    heading = {"cell_type": "markdown", "metadata": {}, "source": "# Next"}
    save(tmp_path / "a.ipynb", {"cells": [code(BOTH + CHECKS[0]), heading, code(CHECKS[1])]})
    assert set(read(tmp_path)[0].cells) == {"expand_heads"}


def test_chapters_themselves_can_be_handed_in(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_bytes((ROOT / "book/mqa-gqa.ipynb").read_bytes())
    (found,) = read(tmp_path)
    assert set(found.cells) == set(of_chapter("mqa-gqa"))
    assert found.cells["expand_heads"] == [exercise("expand_heads").starter]


def test_another_version_is_said(tmp_path: Path) -> None:
    data = notebook()
    data["metadata"]["mini_attn"]["version"] = "0.0.1"
    save(tmp_path / "a.ipynb", data)
    assert "handed out by version 0.0.1" in read(tmp_path)[0].problems[0]


DEEP = b"[" * 100_000  # below the limit of parts


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"not JSON", "broken"),
        (json.dumps(notebook()).encode()[:-9], "broken"),
        (b"\xff\xfe\x00", "broken"),
        (DEEP, "broken"),
        (b"[1, 2]", "no cells"),
        (b'{"cells": 3}', "no cells"),
        (b'{"worksheets": [{"cells": []}]}', "format 3"),
        (b'{"cells": []}', "no exercise"),
        (
            b'{"cells": [1, null, {}, {"cell_type": "code", "source": {"a": 1}}]}',
            "the source of 1 cell is no text",
        ),
        (b'{"cells": [' + b"{}," * 400_000 + b"{}]}", "more parts than a notebook"),
        (b"x" * (archives.NOTEBOOK_BYTES + 1), "larger than 20 MB"),
    ],
)
def test_what_is_no_notebook_costs_its_author_alone(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "bad.ipynb").write_bytes(content)
    save(tmp_path / "good.ipynb", notebook())
    bad, good = read(tmp_path)
    assert words in bad.problems[0]
    assert bad.cells == {}
    assert good.problems == []
    assert len(good.cells) == 2


@pytest.mark.parametrize(
    "metadata", [None, 3, [], {"exercise": 3}, {"exercise": {"id": 3, "role": ["starter"]}}]
)
def test_odd_marks_are_no_marks(tmp_path: Path, metadata: Any) -> None:
    cell = {"cell_type": "code", "metadata": metadata, "source": ["x = 1\n", 3]}
    save(tmp_path / "a.ipynb", {"cells": [cell], "metadata": metadata})
    assert read(tmp_path)[0].cells == {}


def test_unknown_and_endless_answers_are_said(tmp_path: Path) -> None:
    data = notebook(expand_heads="x" * (SOURCE_CHARACTERS + 1))
    data["cells"][tagged(data, "starter", "tiled_heads")]["metadata"]["exercise"]["id"] = "no_such"
    data["cells"] = [c for c in data["cells"] if not str(c["source"]).startswith("check(")]
    save(tmp_path / "a.ipynb", data)
    (found,) = read(tmp_path)
    assert found.cells == {}
    assert "too long" in found.problems[0]
    assert "no exercise 'no_such'" in found.problems[1]


def test_links_pipes_and_hidden_files_are_not_opened(tmp_path: Path) -> None:
    secret = save(tmp_path / "secret.ipynb", notebook())
    folder = tmp_path / "in"
    save(folder / "good.ipynb", notebook())
    save(folder / ".ipynb_checkpoints/good-checkpoint.ipynb", notebook())
    (folder / "link.ipynb").symlink_to(secret)
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.ipynb")
    (folder / "folder.ipynb").mkdir()
    found = {s.student: s for s in read(folder)}
    assert set(found) == {"good", "link", "pipe", "folder"}
    assert found["link"].cells == found["pipe"].cells == {}
    assert "not a file" in found["link"].problems[0]


def test_archives_that_lie_or_are_locked(tmp_path: Path, monkeypatch: Any) -> None:
    folder = tmp_path / "in"
    save(folder / "good.ipynb", notebook())
    (folder / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    with zipfile.ZipFile(folder / "out.zip", "w") as archive:
        archive.writestr("../../../escaped.ipynb", json.dumps(notebook()))
        archive.writestr("/etc/absolute.ipynb", "{}")
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.ipynb", b" " * (archives.NOTEBOOK_BYTES + 10))
    inner = (folder / "bomb.zip").read_bytes()
    for level in range(archives.DEPTH + 2):
        with zipfile.ZipFile(folder / "nest.zip", "w") as archive:
            archive.writestr(f"level{level}.zip", inner)
        inner = (folder / "nest.zip").read_bytes()
    with zipfile.ZipFile(folder / "many.zip", "w") as archive:
        for number in range(5):
            archive.writestr(f"{number}.ipynb", "{}")
    monkeypatch.setattr(archives, "ENTRIES", 4)
    locked = zipfile.ZipInfo("locked.ipynb")
    with zipfile.ZipFile(folder / "locked.zip", "w") as archive:
        archive.writestr(locked, "{}")
    data = bytearray((folder / "locked.zip").read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1  # the mark of an encrypted entry
    data[6] |= 1
    (folder / "locked.zip").write_bytes(data)
    found = {s.student: s for s in read(folder)}
    assert set(found) == {"good", "broken", "out", "bomb", "nest", "many", "locked"}
    said = {name: " ".join(sent.problems) for name, sent in found.items()}
    assert "broken" in said["broken"]
    assert "larger than 20 MB" in said["bomb"]
    assert "too deep" in said["nest"]
    assert "more than 4 files" in said["many"]
    assert "encrypted" in said["locked"]
    assert found["out"].files == ["out.zip/escaped.ipynb"]
    assert not list(tmp_path.parent.glob("escaped*"))
    assert len(found["good"].cells) == 2


def test_one_archive_cannot_hold_up_the_class(tmp_path: Path, monkeypatch: Any) -> None:
    """What a student's archive unfolds to is bounded; others in the same archive are read."""
    monkeypatch.setattr(archives.Quota, "of_a_student", classmethod(lambda cls: cls(3, 10**6)))
    one = json.dumps(notebook())
    with zipfile.ZipFile(tmp_path / "greedy.zip", "w") as archive:
        for number in range(9):
            archive.writestr(f"{number}.ipynb", one)
    (tmp_path / "in").mkdir()
    with zipfile.ZipFile(tmp_path / "in/class.zip", "w") as archive:
        archive.write(tmp_path / "greedy.zip", "ada.zip")
        for number in range(5):
            archive.writestr(f"more{number}.ipynb", one)
    found = read(tmp_path / "in")
    assert [s.student for s in found] == ["ada", *(f"more{n}" for n in range(5))]
    assert len(found[0].files) == 3
    assert "too much in one zip file" in found[0].problems[-1]
    assert all(s.cells for s in found)


def forged(entry: str) -> bytes:
    """A student's zip file in which an entry of this name claims more than there is."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(entry, json.dumps(notebook(tiled_heads="answer = 0")))
    data = bytearray(made.getvalue())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 20, 0xFFFFFFF0)
    return bytes(data)


@pytest.mark.parametrize("broken", [False, True])
def test_what_one_zip_file_claims_is_charged_to_nobody(tmp_path: Path, broken: bool) -> None:
    """In the zip file of a class: 2 KB that claim 4 GB, before everybody else by name."""
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        bad = forged("week1.ipynb")
        archive.writestr("ada.zip", bad[:60] + bytes(90) + bad[150:] if broken else bad)
        for name in ("bo", "cy"):
            archive.writestr(f"{name}/week1.ipynb", json.dumps(notebook(tiled_heads="answer = 1")))
    ada, bo, cy = read(tmp_path)
    assert [one.cells["tiled_heads"] for one in (bo, cy)] == [["answer = 1"]] * 2
    assert bo.problems == cy.problems == []
    assert bool(ada.problems) == broken
    assert bool(ada.cells) != broken


def test_nobody_in_the_zip_file_of_a_class_spends_the_others_share(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """Bytes, files and archives are counted by student, however many there are."""
    monkeypatch.setattr(archives, "ENTRIES", 5)
    one = json.dumps(notebook())
    with zipfile.ZipFile(tmp_path / "class.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(6):
            archive.writestr(f"ada/{number}.ipynb", one)
            archive.writestr(f"bo/{number}.zip", b"x")
        for number in range(30):
            archive.writestr(f"cy{number:02}/big.ipynb", b" " * 19_000_000)
        archive.writestr("di.ipynb", one)
    found = {one.student: one for one in read(tmp_path)}
    assert found["ada"].problems == ["class.zip/ada: this zip file has more than 5 files"]
    assert found["bo"].problems == ["class.zip/bo: this zip file has more than 5 files"]
    assert len(found["di"].cells) == 2
    assert len(found) == 33
    assert not any("too much" in words for one in found.values() for words in one.problems)


@pytest.mark.parametrize("wrapped", ["", "the course/"])
def test_everybody_in_the_zip_file_of_a_class_is_listed(tmp_path: Path, wrapped: str) -> None:
    """With what they sent instead of a notebook; what systems put there is nobody's."""
    one = json.dumps(notebook())
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        for place in ("ada/week1.ipynb", "ada/report.pdf", ".bo/week1.ipynb"):
            archive.writestr(wrapped + place, one)
        for place in ("cy/report.pdf", "di.py", "ed_9_assignsubmission_file_/x.rar", "fi/a.txt",
                      "gu/", "names.csv", ".DS_Store", "ada/.DS_Store", "Thumbs.db",
                      "__MACOSX/", "__MACOSX/._x.ipynb", "__MACOSX/ada/._week1.ipynb",
                      ".ipynb_checkpoints/x.ipynb", "._ada"):  # fmt: skip
            archive.writestr(wrapped + place, b"x")
    found = {one.student: [p.split("/", 1)[1] for p in one.problems] for one in read(tmp_path)}
    instead = "this is no notebook: hand in the .ipynb file"
    assert found == {
        "ada": [], ".bo": [],
        "cy": [f"{wrapped}cy/report.pdf: {instead}"],
        "di": [f"{wrapped}di.py: {instead}"],
        "ed_9": [f"{wrapped}ed_9_assignsubmission_file_/x.rar: {instead}"],
        "fi": [f"{wrapped}fi: no notebook in this folder, only a.txt"],
        "gu": [f"{wrapped}gu: no notebook in this folder"],
    }  # fmt: skip


def test_a_folder_is_a_student_s_unless_a_system_made_it(tmp_path: Path) -> None:
    for name in (".bob", " ", "__MACOSX"):
        save(tmp_path / name / "week1.ipynb", notebook())
    assert [one.student for one in read(tmp_path)] == [" ", ".bob", "__MACOSX"]
    (tmp_path / "__MACOSX/week1.ipynb").rename(tmp_path / "__MACOSX/._week1.ipynb")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".DS_Store").write_bytes(b"x")
    save(tmp_path / ".ipynb_checkpoints/week1.ipynb", notebook())
    assert [one.student for one in read(tmp_path)] == [" ", ".bob"]


def test_a_name_of_blanks_is_shown_by_its_blanks(tmp_path: Path) -> None:
    """In the table, in the summary, and on the student's own page, which had no name."""
    save(tmp_path / "in/ /week1.ipynb", notebook())
    (tmp_path / "in/\u3000").mkdir()
    grade_folder(tmp_path / "in", tmp_path / "out", sheet=SHEET)
    read_back = {p.name: p.read_text() for p in (tmp_path / "out").rglob("*.*") if p.is_file()}
    assert r'"\x20"' in read_back["grades.csv"]
    assert r"\u3000" in read_back["summary.html"]
    pages = [text for name, text in read_back.items() if name.startswith("student-")]
    assert len(pages) == 4
    assert all(r"\x20" in page or "u3000" in page for page in pages)


def test_whatever_a_reader_did_not_foresee_is_one_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it goes wrong in the zip file or in the notebook, and in the zip file of a class."""
    whole = json.dumps(notebook())
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("bad.ipynb", whole)
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        archive.write(tmp_path / "bad.zip", "bad.zip")
        archive.writestr("bo.ipynb", whole.replace("answer", "fails"))
        archive.writestr("cy.ipynb", whole)
    (tmp_path / "in").mkdir()
    (tmp_path / "in.zip").rename(tmp_path / "in/class.zip")
    kept = archives._in_archive, notebook_room._read

    def fails(*given: Any) -> Any:
        raise IndexError

    monkeypatch.setattr(archives, "_in_archive", fails)
    monkeypatch.setattr(
        notebook_room, "_read", lambda file, known: fails() if b"fails" in (file.content or b"")
        else kept[1](file, known))  # fmt: skip
    bad, bo, cy = read(tmp_path / "in")
    assert bad.problems == ["class.zip/bad.zip: this cannot be read (IndexError)"]
    assert bo.problems == ["class.zip/bo.ipynb: this cannot be read (IndexError)"]
    assert cy.problems == []
    assert len(cy.cells) == 2


def listing(entries: int, name: bytes, *, claimed: int | None = None) -> bytes:
    """A zip file that lists this many entries, all of the same name, and holds none."""
    head = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0, 0,
                       0, 0, 0, 0) + name  # fmt: skip
    size = entries * len(head)
    counted = min(entries if claimed is None else claimed, 0xFFFF)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, counted, counted, size, 0, 0)
    return head * entries + end


def memory_and_time(call: Callable[[], Any]) -> tuple[Any, int, float]:
    """What a call gives, the bytes that Python held on the way, and its seconds."""
    tracemalloc.start()
    start = time.process_time()
    try:
        done = call()
        return done, tracemalloc.get_traced_memory()[1], time.process_time() - start
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", [b"a", b"x/" * 30_000, b"x" * 65_000 + b".ipynb"])
@pytest.mark.parametrize("claimed", [None, 1])
def test_a_list_of_contents_has_a_budget_before_it_is_read(
    tmp_path: Path, name: bytes, claimed: int | None
) -> None:
    """40 MB of names; what the end record says of their number changes nothing."""
    data = listing(40_000_000 // (46 + len(name)), name, claimed=claimed)
    with zipfile.ZipFile(tmp_path / "ada.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in.zip", data)
    (tmp_path / "bo.zip").write_bytes(data)
    save(tmp_path / "cy.ipynb", notebook())
    found, memory, seconds = memory_and_time(lambda: read(tmp_path))
    assert [s.student for s in found] == ["ada", "bo", "cy"]
    words = "the list of contents of this zip file is longer than any class needs"
    assert [s.problems[0].split(": ")[1] for s in found[:2]] == [words] * 2
    assert len(found[2].cells) == 2
    assert memory < 2.5 * len(data)  # the file, and the list is not parsed
    assert seconds < 5


def test_lists_of_contents_in_lists_share_the_budget(tmp_path: Path) -> None:
    """Forty archives in one, each with a list just below it."""
    data = listing(40_000, b"a")
    assert len(data) < archives.Quota.of_a_student().listed
    with zipfile.ZipFile(tmp_path / "ada.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(40):
            archive.writestr(f"{number}.zip", data)
    save(tmp_path / "bo.ipynb", notebook())
    start = time.process_time()
    ada, bo = read(tmp_path)
    assert time.process_time() - start < 3
    words = ("more than 20,000 files", "list of contents")
    assert [sum(word in p for p in ada.problems) for word in words] == [1, 39]
    assert len(bo.cells) == 2


def repeated(entry: bytes, central: bytes, times: int, path: Path) -> None:
    """A zip file whose list names the same entry many times."""
    many = central * times
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, times, times, len(many), len(entry), 0)
    path.write_bytes(entry + many + end)


@pytest.mark.parametrize("kind", ["broken at its end", "unfolds to nothing"])
def test_what_gives_nothing_counts_by_what_it_costs(tmp_path: Path, kind: str) -> None:
    """10,000 entries that share their bytes: each fails after 20 MB, or holds nothing in 30."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.ipynb", b" " * 19_000_000)
    data = bytearray(made.getvalue())
    start = data.index(b"PK\x01\x02")
    local, central = bytes(data[:start]), bytearray(data[start : data.index(b"PK\x05\x06")])
    if kind == "broken at its end":
        central[16] ^= 1  # its checksum
    else:
        body = b"\x00\x00\x00\xff\xff" * 6_000_000 + b"\x03\x00"
        struct.pack_into("<3I", central, 16, 0, len(body), 0)
        local = local[: 30 + len(b"a.ipynb")] + body
    repeated(local, bytes(central), 10_000, tmp_path / "ada.zip")
    save(tmp_path / "bo.ipynb", notebook())
    start_time = time.process_time()
    ada, bo = read(tmp_path)
    assert time.process_time() - start_time < 10
    assert ada.problems[-1].endswith("too much in one zip file: not read")
    assert len(ada.problems) < 20
    assert len(bo.cells) == 2


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_only_what_systems_pack_with_is_unpacked(tmp_path: Path, method: int) -> None:
    """LZMA takes as much memory as five bytes of the file ask for."""
    with zipfile.ZipFile(tmp_path / "ada.zip", "w", method) as archive:
        archive.writestr("a.ipynb", json.dumps(notebook()))
    save(tmp_path / "bo.ipynb", notebook())
    ada, bo = read(tmp_path)
    assert "make an ordinary zip file of it" in ada.problems[0]
    assert len(bo.cells) == 2


@pytest.mark.parametrize("top", ["", "week1/"])
def test_a_student_s_folder_in_the_archive_of_a_class_has_a_quota(
    tmp_path: Path, monkeypatch: Any, top: str
) -> None:
    monkeypatch.setattr(archives.Quota, "of_a_student", classmethod(lambda cls: cls(3, 10**6)))
    one = json.dumps(notebook())
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        for number in range(9):
            archive.writestr(f"{top}ada/{number}.ipynb", one)
        archive.writestr(f"{top}bo/x.ipynb", one)
    ada, bo = read(tmp_path)
    assert (len(ada.files), len(bo.files)) == (3, 1)
    assert [p.split(": ")[1] for p in ada.problems] == ["too much in one zip file"]
    assert bo.problems == []


def test_the_files_of_a_folder_have_one_quota(tmp_path: Path, monkeypatch: Any) -> None:
    """Names of one file cost a disk nothing, and many archives are as many times one."""
    monkeypatch.setattr(archives.Quota, "of_a_student", classmethod(lambda cls: cls(3, 10**6)))
    first = save(tmp_path / "ada/0.ipynb", notebook())
    for number in range(1, 9):
        os.link(first, tmp_path / f"ada/{number}.ipynb")
    for number in range(5):
        (tmp_path / "bo").mkdir(exist_ok=True)
        with zipfile.ZipFile(tmp_path / f"bo/{number}.zip", "w") as archive:
            archive.writestr("x.ipynb", json.dumps(notebook()))
    ada, bo = read(tmp_path)
    assert [len(s.files) for s in (ada, bo)] == [3, 3]
    assert ada.problems == ["ada/3.ipynb: too much in one folder: not read"]
    assert bo.problems == ["bo/3.zip: too much in one folder: not read"]


def test_reading_takes_time_in_proportion(tmp_path: Path) -> None:
    """Texts that patterns could stumble over, each a million letters long."""
    texts = ["name" + ":" * 10**6, "**Name" + "*" * 10**6, "check(" * 200_000, "\n" * 10**6,
             "check(" + " " * 10**6, "import " + " " * 10**6, "import a\n" * 10**5,
             "from " + "\t" * 10**6, 'check("a",' + " " * 10**6]  # fmt: skip
    cells = [{**code(text), "metadata": {"exercise": {"role": "name"}}} for text in texts]
    cells += [code(text) for text in texts]
    save(tmp_path / "a.ipynb", {"cells": cells})
    start = time.process_time()
    read(tmp_path)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("place", ["below the check", "above the check", "with checks", "empty"])
def test_many_cells_take_time_in_proportion(tmp_path: Path, place: str) -> None:
    """100,000 of one line each; copying those before for each of them took minutes."""
    data = notebook(tiled_heads="answer = 1")
    check = tagged(data, "check", "expand_heads")
    own = "" if place == "empty" else "expand_heads = 1"
    own += '\ncheck("expand_heads", 1)' * (place == "with checks")
    at = check if place in ("above the check", "empty") else check + 1
    data["cells"][at:at] = [{"cell_type": "code", "source": own}] * 100_000
    save(tmp_path / "a.ipynb", data)
    start = time.process_time()
    (found,) = read(tmp_path)
    assert time.process_time() - start < 4
    assert found.cells == {"tiled_heads": ["answer = 1"]}
    assert "a.ipynb: the cells of expand_heads are too long" in found.problems


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["a check below each", "many checks in each"])
def test_many_checks_take_memory_in_proportion(tmp_path: Path, kind: str) -> None:
    """A copy of what stands above for each check took gigabytes."""
    if kind == "a check below each":
        cells = [code(f"a = {n}") for n in range(20_000)]
        cells += [code(f'check("x{n}", 1)') for n in range(20_000)]
    else:
        many = "\n".join(f'check("{{}}_{n}", 1)' for n in range(100))
        cells = [code("# \U0001f600" + "x" * 195_000 + "\n" + many.format(*[c] * 100))
                 for c in range(98)]  # fmt: skip
    save(tmp_path / "a.ipynb", {"cells": cells})
    (found,), held, seconds = memory_and_time(lambda: read(tmp_path))
    assert found.cells == {}
    assert held < 400 * 2**20
    assert seconds < 20
    assert any("no exercise in this notebook" in problem for problem in found.problems)


SHAPES = {
    "huge whole numbers": b",".join([b"9" * 4_290] * 4_500),
    "huge numbers": b",".join([b"7" * 700 + b"." + b"7" * 3_000] * 4_000),
    "the same key": b'{"a": ' + b'1, "a": '.join([b""] * 1_000_000) + b"1}",
    "strings": b",".join([b'""'] * 2_900_000),
    "one string": b'"' + b"x" * 18_000_000 + b'"',
    "escapes": b'"' + b"\\ud800" * 3_000_000 + b'"',
    "outputs": b",".join([b'{"text": "x"}'] * 250_000),
    "attachments": b'{"' + b'": {}, "'.join(b"%d" % n for n in range(250_000)) + b'": {}}',
}


@pytest.mark.parametrize("shape", SHAPES)
def test_any_shape_of_json_takes_time_in_proportion(tmp_path: Path, shape: str) -> None:
    """Files just below the limits; what stands in them beside the cells costs little."""
    data = json.dumps(notebook(tiled_heads="answer = 1")).encode()
    body = b'{"cell_type": "code", "source": ["x = 1"], "outputs": [%b]}, ' % SHAPES[shape]
    (tmp_path / "a.ipynb").write_bytes(data.replace(b'"cells": [', b'"cells": [' + body, 1))
    assert (tmp_path / "a.ipynb").stat().st_size < archives.NOTEBOOK_BYTES
    start = time.process_time()
    (found,) = read(tmp_path)
    assert time.process_time() - start < 2.5
    assert found.cells["tiled_heads"] == ["answer = 1"], found.problems


def test_empty_folders_archives_and_other_files_are_said(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada/notes.txt").write_text("x")
    with zipfile.ZipFile(tmp_path / "bo.zip", "w") as archive:
        archive.writestr("report.pdf", "x")
    (tmp_path / "cy.pdf").write_text("x")
    (tmp_path / "names.csv").write_text("x")
    said = {s.student: s.problems for s in read(tmp_path)}
    assert said == {
        "ada": ["ada: no notebook in this folder, only notes.txt"],
        "bo": ["bo.zip/report.pdf: this is no notebook: hand in the .ipynb file"],
        "cy": ["cy.pdf: this is no notebook: hand in the .ipynb file"],
    }


def test_folders_in_folders_without_end(tmp_path: Path) -> None:
    deep = tmp_path / "ada" / "/".join("d" * 200)
    deep.mkdir(parents=True)
    save(deep / "a.ipynb", notebook())
    save(tmp_path / "bo.ipynb", notebook())
    ada, bo = read(tmp_path)
    assert ada.problems == ["ada/d: folders stand in folders too deep"]
    assert len(bo.cells) == 2


def test_a_deleted_answer_is_not_handed_in(tmp_path: Path) -> None:
    data = notebook()
    del data["cells"][tagged(data, "starter", "expand_heads")]
    save(tmp_path / "a.ipynb", data)
    assert set(read(tmp_path)[0].cells) == {"tiled_heads"}


def test_names_of_any_kind(tmp_path: Path) -> None:
    names = ["a b", "Ünïcode", "new\nline", "=1+1", "quote'\"", "x" * 240]
    for name in names:
        save(tmp_path / f"{name}.ipynb", notebook())
    with open(os.fsencode(tmp_path) + b"/bytes\xff.ipynb", "w") as file:
        json.dump(notebook(), file)
    found = read(tmp_path)
    assert {s.student for s in found} == {*names, r"bytes\udcff"}
    json.dumps([s.student for s in found]).encode()


# Reads submissions as somebody whom rights on files hold back, root too.
AS_ANYBODY = """
import sys
from pathlib import Path
from classroom.sandbox import linux
from classroom.submissions.collect import read
linux.drop_capabilities(linux.load_libc())
for sent in read(Path(sys.argv[1])):
    print(sent.student, len(sent.cells), *sent.problems)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="root of other systems may read everything")
def test_what_may_not_be_read_costs_its_author_alone(tmp_path: Path) -> None:
    """Folders and files without rights, below a student's folder too."""
    for place in ("ada/x", "bo/sub/x", "bo/mine", "cy", "di"):
        save(tmp_path / f"{place}.ipynb", notebook())
    closed = [tmp_path / name for name in ("ada", "bo/sub", "cy.ipynb")]
    for path in closed:
        path.chmod(0)
    said = [sys.executable, "-c", AS_ANYBODY, str(tmp_path)]
    done = subprocess.run(said, cwd=ROOT, capture_output=True, text=True, check=False)
    for path in closed:
        path.chmod(0o700)
    assert done.stdout.splitlines() == [
        "ada 0 ada: this folder cannot be read: Permission denied",
        "bo 2 bo/sub: this folder cannot be read: Permission denied",
        "cy 0 cy.ipynb: this file cannot be read: Permission denied",
        "di 2",
    ], done.stderr  # fmt: skip
    tmp_path.chmod(0)
    done = subprocess.run(said, cwd=ROOT, capture_output=True, text=True, check=False)
    tmp_path.chmod(0o700)
    assert "ConfigError: the folder" in done.stderr
    assert "cannot be read: Permission denied" in done.stderr


def test_a_path_longer_than_the_system_takes(tmp_path: Path) -> None:
    """Made step by step, as an archive can make it; a notebook stands at its end."""
    folder = tmp_path / "in"
    save(folder / "bo.ipynb", notebook())
    (folder / "ada").mkdir()
    handle = os.open(folder / "ada", os.O_RDONLY)
    try:
        for _ in range(20):
            os.mkdir("d" * 250, dir_fd=handle)
            below = os.open("d" * 250, os.O_RDONLY, dir_fd=handle)
            os.close(handle)
            handle = below
        os.close(os.open("x.ipynb", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
        ada, bo = read(folder)
        assert "this folder cannot be read: File name too long" in ada.problems[0]
        assert len(bo.cells) == 2
    finally:
        os.close(handle)
        subprocess.run(["rm", "-rf", str(folder)], check=True)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no folder"):
        read(tmp_path / "nowhere")


def test_a_fresh_copy_never_takes_the_place_of_an_answer(tmp_path: Path) -> None:
    """A browser calls the second download "week1 (1)"; either may be the one that was filled."""
    mine = notebook(expand_heads="mine = 1", tiled_heads="answer = 1")
    for student, first, second in (("ada", mine, notebook()), ("bo", notebook(), mine)):
        save(tmp_path / student / "week1.ipynb", first)
        save(tmp_path / student / "week1 (1).ipynb", second)
    for found in read(tmp_path):
        assert found.cells == {"expand_heads": ["mine = 1"], "tiled_heads": ["answer = 1"]}
        assert found.problems == []
        assert len(found.files) == 2


EDITED = {
    "line ends": lambda source: source.replace("\n", "\r\n"),
    "a blank behind": lambda source: source.replace("\n", " \n") + "\t",
    "empty lines": lambda source: "\n\n" + source.replace("\n", "\n\n") + "\n",
    "a comment": lambda source: f"# later\n{source}  # todo",
    "brackets": lambda source: source.replace("answer = ...", "answer = (...)"),
}


@pytest.mark.parametrize("edit", EDITED)
def test_a_copy_that_an_editor_saved_is_as_it_was_handed_out(tmp_path: Path, edit: str) -> None:
    starters = {key: EDITED[edit](exercise(key).starter) for key in SHEET.exercises}
    assert all(untouched(key, [source]) for key, source in starters.items())
    mine = notebook(expand_heads="mine = 1\n", tiled_heads="answer = 1")
    save(tmp_path / "ada/week1.ipynb", mine)
    save(tmp_path / "ada/week1 (1).ipynb", notebook(**starters))
    (found,) = read(tmp_path)
    assert found.cells == {"expand_heads": ["mine = 1\n"], "tiled_heads": ["answer = 1"]}
    assert found.problems == []


@pytest.mark.parametrize(
    "source",
    ["answer = ..,", "answer = 3", "answer = ...\nanswer = 2", "(" * 150 + "0", "x" * 9999],
)
def test_what_python_reads_otherwise_is_an_answer(source: str) -> None:
    assert not untouched("tiled_heads", [source])


def test_the_same_answer_with_other_line_ends_is_the_same(tmp_path: Path) -> None:
    for name, source in (("a", "mine = 1\nx = 2"), ("b", "mine = 1\r\nx = 2 ")):
        save(tmp_path / f"ada/{name}.ipynb", notebook(expand_heads=source))
    assert read(tmp_path)[0].problems == []


def test_of_different_answers_the_last_by_name_counts(tmp_path: Path) -> None:
    """Numbers count as numbers, and a copy that Jupyter kept comes before every other file."""
    names = ["week1", "week1 (2)", "week1 (10)", "week2-checkpoint"]
    for number, name in enumerate(names):
        save(tmp_path / f"ada/{name}.ipynb", notebook(tiled_heads=f"answer = {number}"))
    (found,) = read(tmp_path)
    assert found.cells["tiled_heads"] == ["answer = 2"]
    assert [Path(file).stem for file in found.files] == [names[n] for n in (3, 0, 1, 2)]
    words = "answers differ from those in another file; these count: tiled_heads"
    assert found.problems == [f"ada/{names[n]}.ipynb: {words}" for n in (0, 1, 2)]


@pytest.mark.parametrize("checked", [False, True])
def test_an_answer_in_a_cell_of_its_own_is_found(tmp_path: Path, checked: bool) -> None:
    """Below the check, or at the end with a check of its own; scratch cells are left out."""
    data = notebook()
    own = "def helper(): ...\n\n\ndef expand_heads(k, n): ...\n"
    place = len(data["cells"]) if checked else tagged(data, "check", "expand_heads") + 1
    added = [code(own + 'check("expand_heads", expand_heads)' * checked), code("1 / 0")]
    data["cells"][place:place] = added
    save(tmp_path / "a.ipynb", data)
    (found,) = read(tmp_path)
    assert found.cells == {"expand_heads": [own], "tiled_heads": [exercise("tiled_heads").starter]}
    words = "answered in another cell than the one meant for it: expand_heads"
    assert found.problems == [f"a.ipynb: {words}"]


@pytest.mark.parametrize(
    "source", ["expand_heads(1)", "expand_heads == 3", "def expand_heads_2(): ..."]
)
def test_a_cell_that_defines_nothing_asked_for_is_no_answer(tmp_path: Path, source: str) -> None:
    data = notebook(tiled_heads="answer = 4")
    data["cells"].insert(tagged(data, "check", "expand_heads") + 1, code(source))
    data["cells"].append(code("def expand_heads(k): ..."))  # below another exercise
    data["cells"].append(code("answer = 5"))  # the cell for it was used
    save(tmp_path / "a.ipynb", data)
    (found,) = read(tmp_path)
    starter = exercise("expand_heads").starter
    assert found.cells == {"expand_heads": [starter], "tiled_heads": ["answer = 4"]}
    assert found.problems == []


def test_a_notebook_saved_by_an_editor_in_another_encoding(tmp_path: Path) -> None:
    data = notebook(tiled_heads="answer = 4  # für alle")
    data["cells"][tagged(data, "name")]["source"] = "**Name:** Jörg"
    text = json.dumps(data, ensure_ascii=False)
    for name, encoding in (("a", "cp1252"), ("b", "utf-16"), ("c", "utf-8-sig")):
        (tmp_path / f"{name}.ipynb").write_bytes(text.encode(encoding, "replace"))
    found = read(tmp_path)
    assert [s.written_name for s in found] == ["Jörg"] * 3
    assert {s.cells["tiled_heads"][0] for s in found} == {"answer = 4  # für alle"}
    said = "a.ipynb: this file is not in UTF-8; it was read as Windows-1252"
    assert [s.problems for s in found] == [[said], [], []]


def test_a_notebook_of_another_program_loses_tags_and_nothing_else(tmp_path: Path) -> None:
    """Sources as lists of lines, ids in the metadata, no tags."""
    data = notebook(expand_heads="mine = 1\nyours = 2", tiled_heads="answer = 1")
    data["cells"][tagged(data, "name")]["source"] = "**Name:** Ida"
    for cell in data["cells"]:
        cell["metadata"] = {"id": cell.pop("id"), "colab": {"base_uri": "x"}}
        cell["source"] = cell["source"].splitlines(keepends=True)
    data |= {"metadata": {"colab": {"provenance": []}}, "nbformat_minor": 0}
    save(tmp_path / "a.ipynb", data)
    (found,) = read(tmp_path)
    assert found.cells == {"expand_heads": ["mine = 1\nyours = 2"], "tiled_heads": ["answer = 1"]}
    assert found.written_name == "Ida"


def test_names_as_moodle_gives_them(tmp_path: Path) -> None:
    """Folders or single files; the number keeps two of the same name apart."""
    for place in ("Ada L_7_assignsubmission_file_/x", "Ada L_8_assignsubmission_file_x",
                  "Ada L_8_assignsubmission_file_y", "bo_7/x"):  # fmt: skip
        save(tmp_path / f"{place}.ipynb", notebook())
    (tmp_path / "Ada L_7_assignsubmission_onlinetext_").mkdir()
    found = read(tmp_path)
    assert [s.student for s in found] == ["Ada L_7", "Ada L_8", "bo_7"]
    assert [len(s.files) for s in found] == [1, 2, 1]
    assert [moodle_name(s.student, s.files) for s in found] == ["Ada L", "Ada L", None]


def test_a_moodle_name_within_a_moodle_name(tmp_path: Path) -> None:
    """Ada handed in a file that she had from somebody, or that she named like one."""
    names = ["Ada L_7_assignsubmission_file_Bo K_8_assignsubmission_file_x",
             "Cy_3_9_assignsubmission_file_Ada L_7_assignsubmission_file_"]  # fmt: skip
    for name in names:
        save(tmp_path / f"{name}.ipynb", notebook())
    found = read(tmp_path)
    assert [s.student for s in found] == ["Ada L_7", "Cy_3_9"]
    assert [moodle_name(s.student, s.files) for s in found] == ["Ada L", "Cy_3"]


def test_a_report_beside_the_notebook_is_the_same_student_s(tmp_path: Path) -> None:
    save(tmp_path / "ada.ipynb", notebook())
    (tmp_path / "ada.pdf").write_text("x")
    save(tmp_path / "bo.pdf/x.ipynb", notebook())
    found = {s.student: s for s in read(tmp_path)}
    assert set(found) == {"ada", "bo.pdf"}
    assert len(found["ada"].cells) == 2
    assert "no notebook" in found["ada"].problems[0]


def test_a_notebook_that_a_browser_renamed_is_one(tmp_path: Path) -> None:
    """Some save it as a text or as JSON; its student's name ends before that."""
    for place in (
        "ada.ipynb.txt",
        "bo/week1.ipynb.json",
        "Cy L_9_assignsubmission_file_x.ipynb.txt",
    ):
        save(tmp_path / place, notebook())
    (tmp_path / "names.txt").write_text("ada")
    (tmp_path / "marks.json").write_text("{}")
    found = read(tmp_path)
    assert [s.student for s in found] == ["Cy L_9", "ada", "bo"]
    assert [len(s.cells) for s in found] == [2, 2, 2]
    assert [s.problems for s in found] == [[], [], []]
