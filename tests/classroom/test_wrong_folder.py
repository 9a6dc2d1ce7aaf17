"""A folder that no class has handed in is refused in one line, before anything is written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from classroom import BOOK, ROOT
from classroom.grading.grade import grade_folder, main
from classroom.sheets.sheet import chosen
from mini_attn.errors import ConfigError
from tests.classroom.test_submissions import notebook, save

SHEET = chosen(exercises="expand_heads tiled_heads")[0]


@pytest.mark.parametrize("folder", [BOOK, ROOT, ROOT / "book/../book", BOOK / "_static"])
@pytest.mark.parametrize("options", [[], ["--chapter", "mla"]])
def test_the_book_is_no_class(
    folder: Path, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It used to be 46 students with 0.0 of 0 points."""
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["grade", str(folder), "--out", str(out), *options])
    with pytest.raises(SystemExit) as ended:
        main()
    said = str(ended.value.code)
    assert "belongs to the book, and no class has handed it in: DIR= is the folder of" in said
    assert "\n" not in said
    assert not out.exists()


def test_a_folder_of_grades_is_no_class(tmp_path: Path) -> None:
    save(tmp_path / "in/ada.ipynb", notebook())
    out = tmp_path / "out"
    grade_folder(tmp_path / "in", out, sheet=SHEET, nameless=True)
    with pytest.raises(ConfigError, match="holds the grades of a run: DIR= is the folder of"):
        grade_folder(out, tmp_path / "again", sheet=SHEET)
    assert not (tmp_path / "again").exists()
    # The answers without names can be graded, and a student's file alone refuses nobody.
    grade_folder(out / "anonymous/answers", tmp_path / "again", sheet=SHEET)
    save(tmp_path / "in/seed.json", {"seed": "mine"})
    grade_folder(tmp_path / "in", out, sheet=SHEET)


def test_where_nobody_answers_what_others_do_the_sheet_is_asked_for(tmp_path: Path) -> None:
    """A copy of the chapters, or a class of which nothing can be read."""
    for path in sorted(BOOK.glob("*.ipynb"))[:12]:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with pytest.raises(ConfigError, match=r"No exercise was handed in by more than half of 1\d st"):
        grade_folder(tmp_path, tmp_path.parent / "out")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/ada.ipynb").write_text("{")
    with pytest.raises(ConfigError, match=r"more than half of 0 students with an answer\. Is this"):
        grade_folder(tmp_path / "broken", tmp_path / "out")
    (ada,) = grade_folder(tmp_path / "broken", tmp_path.parent / "named", sheet=SHEET)
    assert "broken" in ada.problems[0]
