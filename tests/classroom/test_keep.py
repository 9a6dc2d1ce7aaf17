"""What a teacher writes into the folder of the grades stays; what is ours is for its owner."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from classroom.grading import run_folder
from classroom.grading.grade import grade_folder
from tests.classroom.test_grade import SHEET, hand_in, tree

PAGES = {"grades.csv": "a", "feedback/ada.md": "b", "feedback/bo.md": "c"}


def texts(out: Path) -> dict[str, str]:
    """All files but the record."""
    paths = [p for p in out.rglob("*") if p.is_file() and p.name != run_folder.WRITTEN]
    return {p.relative_to(out).as_posix(): p.read_text() for p in paths}


def test_the_teacher_s_own_files_stay(tmp_path: Path) -> None:
    folder, out = hand_in(tmp_path / "in"), tmp_path / "out"
    grade_folder(folder, out, sheet=SHEET, seed="a")
    before = tree(out)
    mine = {"feedback/notes.md": "call bo", "feedback/list.html": "x", "work/todo.json": "{}",
            "work/ada.json": "{}"}  # fmt: skip
    for name, text in mine.items():
        (out / name).write_text(text)
    grade_folder(folder, out, sheet=SHEET)
    assert {name: (out / name).read_text() for name in mine} == mine
    assert {n: c for n, c in tree(out).items() if n not in mine} == before


def test_what_the_teacher_changed_is_set_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder.write_kept(tmp_path, PAGES)
    (tmp_path / "feedback/ada.md").write_text("b, and see me")
    (tmp_path / "grades.csv").write_text("a, my column")
    run_folder.write_kept(tmp_path, PAGES)
    mine = {"feedback/ada.kept.md": "b, and see me", "grades.kept.csv": "a, my column"}
    assert texts(tmp_path) == PAGES | mine
    assert "kept as" in capsys.readouterr().err
    (tmp_path / "grades.csv").write_text("once more")
    run_folder.write_kept(tmp_path, PAGES)
    assert texts(tmp_path) == PAGES | mine | {"grades.kept-2.csv": "once more"}


def test_a_page_of_somebody_who_left_goes_unless_it_was_changed(tmp_path: Path) -> None:
    run_folder.write_kept(tmp_path, PAGES)
    (tmp_path / "feedback/bo.md").write_text("changed")
    run_folder.write_kept(tmp_path, {"grades.csv": "d"})
    assert texts(tmp_path) == {"grades.csv": "d", "feedback/bo.md": "changed"}


def test_files_of_unknown_origin_are_the_teacher_s(tmp_path: Path) -> None:
    """Also a folder in the place of a file, and a record that is broken."""
    (tmp_path / "feedback/ada.md").mkdir(parents=True)
    (tmp_path / "grades.csv").write_text("mine")
    (tmp_path / run_folder.WRITTEN).write_text("[")
    run_folder.write_kept(tmp_path, PAGES)
    assert texts(tmp_path) == PAGES | {"grades.kept.csv": "mine"}
    assert (tmp_path / "feedback/ada.kept.md").is_dir()


@pytest.mark.parametrize("after", range(5))
def test_killed_while_it_writes_all_stays_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """The next run finds no file that it would take for the teacher's."""
    run_folder.write_kept(tmp_path, PAGES)
    changed = {name: f"{text}, again" for name, text in PAGES.items()}
    moves = iter(range(after))

    def replace(part: Path, path: Path) -> None:
        if next(moves, None) is None:
            raise KeyboardInterrupt
        Path(part).rename(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            run_folder.write_kept(tmp_path, changed)
    run_folder.write_kept(tmp_path, PAGES)
    assert texts(tmp_path) == PAGES


@pytest.mark.skipif(os.name != "posix", reason="rights of files")
def test_grades_are_for_their_owner_alone(tmp_path: Path) -> None:
    """On a machine that a class shares, whatever others made of the folder's rights."""
    before = os.umask(0)
    try:
        grade_folder(hand_in(tmp_path / "in"), tmp_path / "out", sheet=SHEET, seed="a")
    finally:
        os.umask(before)
    made = [tmp_path / "out", *(tmp_path / "out").rglob("*")]
    open_to_others = [p for p in made if p.stat().st_mode & 0o077 and p.name != ".lock"]
    assert open_to_others == []
    assert json.loads((tmp_path / "out" / run_folder.WRITTEN).read_text())["grades.csv"]
