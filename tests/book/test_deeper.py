"""Sections that a chapter can do without are folded, and say how long they take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from docutils import nodes
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.scripts import script

LONG = " ".join(["word"] * 600)


@pytest.fixture(scope="module")
def make() -> Any:
    """The extension that folds; it brings what reads chapters."""
    return script("book/_ext/deeper.py")


def chapter_of(make: Any, folder: Path, cells: list[Any]) -> Any:
    """A chapter from cells, by way of a file."""
    (folder / "book").mkdir()
    nbformat.write(new_notebook(cells=cells), folder / "book/page.ipynb")

    class There(make.Chapter):
        path = folder / "book/page.ipynb"

    return There("page", "Part", 1)


def test_folded_minutes_are_counted_apart(make: Any, tmp_path: Path) -> None:
    """The lead stands open; a heading of the same rank ends the fold, one below it does not."""
    cells = [
        new_markdown_cell(f"# Page\n\n{LONG}"),
        new_markdown_cell(f"## Why\n\n{LONG}\n\n{LONG}", metadata={"tags": ["deeper"]}),
        new_code_cell("\n\n".join(["x = 1"] * 20)),
        new_code_cell("import numpy as np\n" * 40, metadata={"tags": ["import"]}),
        new_code_cell("plot()", metadata={"tags": ["living-plot", "hide-input"]}),
        new_markdown_cell(f"### Below\n\n{LONG}\n\n## After\n\n{LONG}"),
        new_code_cell("x = 1\n" * 40),
        new_code_cell("look()", metadata={"tags": ["widget", "remove-input"]}),
        new_code_cell("guess()", metadata={"tags": ["prediction", "remove-input"]}),
        new_markdown_cell(f"### Exercise 1: A task\n\n{LONG}"),
        new_markdown_cell(f"{LONG}\n\n## Summary\n\n{LONG}"),
    ]
    chapter = chapter_of(make, tmp_path, cells)
    text, open_code, folded_code, a_try = 600 / 150, 40 / 12, 20 / 12, 1.5
    assert chapter.minutes == {
        -1: round(4 * text + open_code), 1: round(2 * text + folded_code + a_try)
    }  # fmt: skip
    assert (chapter.reading, chapter.trying, chapter.deeper) == (19, 3, 11)
    assert chapter.visit == 22


def test_an_exercise_is_not_folded(make: Any, tmp_path: Path) -> None:
    exercise = new_code_cell("x = 1", metadata={"exercise": {"id": "x"}})
    cells = [new_markdown_cell("## Why\n\nSo."), exercise]
    chapter = chapter_of(make, tmp_path, cells)
    parts = [nodes.title("", "Why"), nodes.paragraph("", "So."), nodes.container()]
    for number, node in enumerate(parts):
        node.line = (2 if number == 2 else 1) * 10_000 + number
    section = nodes.section("", *parts)
    with pytest.raises(ValueError, match="'Why' is folded, but cell 1 has: exercise"):
        make.fold(section, chapter)
    section.append(section.pop(1))  # a picture first
    with pytest.raises(ValueError, match="no paragraph says what comes out"):
        make.fold(section, chapter)
