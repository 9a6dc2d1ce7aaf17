"""What students send is found and read, in any arrangement and in any state."""

from __future__ import annotations

import json
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from classroom.sheets.notebook import student_notebook
from classroom.sheets.sheet import chosen
from classroom.submissions import files
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
        (b'{"cells": [1, null, {}, {"cell_type": "code", "source": {"a": 1}}]}', "no exercise"),
        (b'{"cells": [' + b"{}," * 400_000 + b"{}]}", "more parts than a notebook"),
        (b"x" * (files.NOTEBOOK_BYTES + 1), "larger than 20 MB"),
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
        archive.writestr("bomb.ipynb", b" " * (files.NOTEBOOK_BYTES + 10))
    inner = (folder / "bomb.zip").read_bytes()
    for level in range(files.DEPTH + 2):
        with zipfile.ZipFile(folder / "nest.zip", "w") as archive:
            archive.writestr(f"level{level}.zip", inner)
        inner = (folder / "nest.zip").read_bytes()
    with zipfile.ZipFile(folder / "many.zip", "w") as archive:
        for number in range(5):
            archive.writestr(f"{number}.ipynb", "{}")
    monkeypatch.setattr(files, "ENTRIES", 4)
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
    monkeypatch.setattr(files._Quota, "of_a_student", classmethod(lambda cls: cls(3, 10**6)))
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


def test_empty_folders_archives_and_other_files_are_said(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada/notes.txt").write_text("x")
    with zipfile.ZipFile(tmp_path / "bo.zip", "w") as archive:
        archive.writestr("report.pdf", "x")
    (tmp_path / "cy.pdf").write_text("x")
    (tmp_path / "names.csv").write_text("x")
    said = {s.student: s.problems for s in read(tmp_path)}
    assert said == {
        "ada": ["ada: no notebook in this folder"],
        "bo": ["bo.zip: no notebook in this zip file"],
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
