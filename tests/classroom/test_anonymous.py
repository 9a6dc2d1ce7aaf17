"""Grades and answers without names: the same names at each run, and a way back for one alone."""

from __future__ import annotations

import ast
import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest

from classroom.grading.anonymous import KEY, LENGTH, pseudonyms, unnamed_one
from classroom.grading.batch import grade_student
from classroom.grading.grade import grade_folder
from classroom.grading.run_folder import Settings
from classroom.results import Result
from classroom.submissions.collect import Submission, read
from mini_attn.errors import ConfigError
from tests.classroom.test_grade import reference, tree
from tests.classroom.test_marks import SHEET, mark, quick, send, table  # noqa: F401
from tests.classroom.test_submissions import notebook, save

CODE = """# Ada Lovelace, ada@x.org, for Bo Oeststrom; see /home/adal/week1.ipynb
def expand_heads(k, n_heads):
    \"\"\"By Ada Lovelace.\"\"\"
    print("lovelace", "C:\\\\Users\\\\adal\\\\x", 'max')  # not max: ADA
    return k.max() @ k.T
"""


def run(tmp_path: Path, **asked: Any) -> dict[str, Result]:
    asked = {"nameless": True, **asked}
    results = grade_folder(tmp_path / "in", tmp_path / "out", sheet=SHEET, **asked)
    return {result.student: result for result in results}


def way_back(tmp_path: Path) -> dict[str, str]:
    text = (tmp_path / "out/names.csv").read_text(encoding="utf-8-sig")
    return {row["student"]: row["pseudonym"] for row in csv.DictReader(text.splitlines())}


def hand_in(folder: Path) -> None:
    data = notebook(expand_heads=CODE, tiled_heads="answer = 2")
    data["metadata"]["authors"] = [{"name": "Ada Lovelace"}]
    for cell in data["cells"]:
        if cell["metadata"].get("exercise", {}).get("role") == "name":
            cell["source"] = "**Name:** Ada Lovelace"
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "Ada"}]
    save(folder / "Ada Lovelace_12_assignsubmission_file/ada.ipynb", data)
    send(folder, "Bo Oeststrom")


def test_no_name_is_left_and_the_way_back_is_the_teacher_s(tmp_path: Path) -> None:
    hand_in(tmp_path / "in")
    mark(tmp_path, "Ada Lovelace,expand_heads,3,well done Ada\nBo Oeststrom,,,ask Ada Lovelace\n")
    results = run(tmp_path)
    names = way_back(tmp_path)
    assert set(names) == set(results)
    files = {p.relative_to(tmp_path / "out/anonymous").as_posix(): p.read_text("utf-8")
             for p in (tmp_path / "out/anonymous").rglob("*") if p.is_file()}  # fmt: skip
    ada, bo = names["Ada Lovelace_12"], names["Bo Oeststrom"]
    assert set(files) == {"grades.csv", "summary.md", "summary.html",
                          *(f"feedback/{n}.{k}" for n in (ada, bo) for k in ("md", "html")),
                          *(f"answers/{n}.ipynb" for n in (ada, bo))}  # fmt: skip
    for name, text in files.items():
        for word in ("ada", "lovelace", "oeststrom", "adal", "assignsubmission"):
            assert word not in text.casefold().replace("metadata", ""), (name, word)
    assert f"well done {ada}" in files[f"feedback/{ada}.md"]
    rows = {r["student"]: r["total"] for r in csv.DictReader(files["grades.csv"][1:].splitlines())}
    assert rows == {ada: "4", bo: "2"}
    assert "Ada Lovelace" in (tmp_path / "out/grades.csv").read_text("utf-8")
    if os.name == "posix":
        private = [tmp_path / "out" / KEY, tmp_path / "out/names.csv", tmp_path / "out/anonymous"]
        assert [p.stat().st_mode & 0o077 for p in private] == [0, 0, 0]


def test_the_answers_do_what_they_did_and_can_be_graded(tmp_path: Path) -> None:
    """The real grader gives the exported answers the same points."""
    right = {key: f"# by Ada\n{reference(key)}" for key in SHEET.exercises}
    save(tmp_path / "in/ada.ipynb", notebook(**right))
    run(tmp_path)
    (one,) = read(tmp_path / "out/anonymous/answers")
    assert one.student == way_back(tmp_path)["ada"]
    (before,) = read(tmp_path / "in")
    for key in SHEET.exercises:
        assert one.cells[key] == [text.replace("by Ada", f"by {one.student}", 1)
                                  for text in before.cells[key]]  # fmt: skip
    answers = grade_student(one, Settings("pair", SHEET.exercises, "a", "")).answers
    assert [a.state for a in answers] == ["solved", "solved"]


def test_code_stays_and_comments_and_strings_are_cleaned() -> None:
    sent = Submission("ada_l", written_name="Ada Lovelace", files=["ada_l/x.ipynb"])
    who = unnamed_one(sent, "KTWQ", ["Bo Oeststrom"], ["expand_heads"])
    text, left = who.source(CODE)
    assert not left
    assert text == (
        "# KTWQ, KTWQ@…, for KTWQ; see /home/KTWQ/week1.ipynb\n"
        "def expand_heads(k, n_heads):\n"
        '    """By KTWQ."""\n'
        '    print("lovelace", "C:\\\\Users\\\\KTWQ\\\\x", \'max\')  # not max: KTWQ\n'
        "    return k.max() @ k.T\n"
    ).replace('"lovelace"', '"KTWQ"')
    max_one = unnamed_one(Submission("max"), "KTWQ", [], ["expand_heads"])
    same = "y = x.max() if mode == 'max' else np.maximum(x, heads)\n"
    assert max_one.source(same) == (same, False)
    assert max_one.source("def max_of(x): pass\n")[1]
    assert who.source("def f(:  # Ada\n  'Ada") == ("def f(:  # KTWQ\n  'Ada", True)
    assert who.text("cell 3 of ada_l/x.ipynb, x.ipynb") == "cell 3 of KTWQ, KTWQ"


def test_nobodys_name_changes_a_classmates_code() -> None:
    """Whatever a student is called: only comments and docstrings lose the names of others."""
    names = ["qd,kd->qk", "Bo Oeststrom", "float32"]
    code = 'S = np.einsum("qd,kd->qk", q, k).astype("float32")  # {}\n'
    source = 'def f(q, k):\n    """By Bo Oeststrom, qd,kd->qk."""\n    ' + code + "    return S\n"
    source += 'kind = lambda: "float32"\n'
    who = unnamed_one(Submission("ada"), "KTWQ", names, [])
    cleaned, left = who.source(source.format("with Bo Oeststrom"))
    assert not left
    assert cleaned == source.replace("Bo Oeststrom, qd,kd->qk", "KTWQ, KTWQ").format("with KTWQ")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_cleaned_program_means_the_same(newline: str) -> None:
    source = 'def f():\n    """é Ada"""\n    s = """a\n  Ada\n"""; t = f"{1}Ada"  # ü Ada\n'
    who = unnamed_one(Submission("Ada"), "KTWQ", [], [])
    text, _ = who.source(source.replace("\n", newline))
    expected = ast.dump(ast.parse(source.replace("Ada", "KTWQ")))
    assert ast.dump(ast.parse(text)) == expected
    assert "Ada" not in text


def test_names_hold_at_every_run_and_in_marks(tmp_path: Path, quick: list[str]) -> None:  # noqa: F811
    for name in ("ada", "bo"):
        send(tmp_path / "in", name)
    run(tmp_path)
    names, before = way_back(tmp_path), tree(tmp_path / "out")
    assert all(len(name) == LENGTH for name in names.values())
    run(tmp_path)
    assert tree(tmp_path / "out") == before
    send(tmp_path / "in", "cy")
    mark(tmp_path, f"{names['bo'].lower()},expand_heads,4,fine\n")
    quick.clear()
    results = run(tmp_path, nameless=False)
    assert results["bo"].points == 5
    assert quick == ["cy"]
    assert table(tmp_path)["bo"]["by hand"] == "expand_heads: 4 of 4 points instead of 1. fine"
    assert not (tmp_path / "out/names.csv").exists()
    assert not (tmp_path / "out/anonymous/grades.csv").exists()
    run(tmp_path)
    assert {k: v for k, v in way_back(tmp_path).items() if k != "cy"} == names


def test_another_folder_has_other_names_and_attempts_keep_theirs() -> None:
    name = "Week 1_alove_attempt_2026-10-{}-09-15-00_x"
    first = Submission(name.format("05"))
    later = Submission(name.format("07"), aliases=[name.format("05")])
    assert list(pseudonyms(b"a", [first]).values()) == list(pseudonyms(b"a", [later]).values())
    assert pseudonyms(b"a", [first]) != pseudonyms(b"b", [first])


def test_names_that_would_be_alike_are_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classroom.grading.anonymous.LENGTH", 1)
    found = pseudonyms(b"a", [Submission(f"s{n}") for n in range(12)])
    assert len(set(found.values())) == 12
    assert {len(name) for name in found.values()} == {1, 2}


@pytest.mark.parametrize("broken", ["", "{", '{"secret": 3}', '{"secret": "xyz"}', "[" * 10**5])
def test_a_broken_secret_is_one_line_and_stays(
    tmp_path: Path, broken: str, quick: list[str]  # noqa: F811
) -> None:  # fmt: skip
    send(tmp_path / "in", "ada")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / KEY).write_text(broken)
    with pytest.raises(ConfigError, match="it holds no secret"):
        run(tmp_path)
    assert quick == []
    assert (tmp_path / "out" / KEY).read_text() == broken


def test_a_name_in_the_code_itself_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    send(tmp_path / "in", "lovelace", "def lovelace_heads(k): return k")
    send(tmp_path / "in", "bo", "def f(k): return k")
    run(tmp_path)
    said = [line for line in capsys.readouterr().err.splitlines() if "look before" in line]
    name = way_back(tmp_path)["lovelace"]
    assert said == [f"[grade] anonymous/answers/{name}.ipynb: a name may stand in the code itself: "
                    "look before you pass it on"]  # fmt: skip


def test_answers_are_notebooks(tmp_path: Path) -> None:
    import nbformat

    hand_in(tmp_path / "in")
    run(tmp_path)
    for path in (tmp_path / "out/anonymous/answers").iterdir():
        nbformat.validate(nbformat.read(path, as_version=4))
        assert set(json.loads(path.read_text())["metadata"]) == {"language_info"}
