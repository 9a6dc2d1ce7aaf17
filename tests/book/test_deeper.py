"""Sections that a chapter can do without are folded, and say how long they take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import expect

from tests.scripts import script
from tools import HTML, ROOT
from tools.site import Visit

STEMS = [chapter["page"] for chapter in script("book/_ext/outline.py").outline(ROOT)]
MOST = 25  # minutes to read what stands open
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
        new_markdown_cell(f"### Below\n\n{LONG}\n\n## After\n\n{LONG}"),
        new_code_cell("x = 1\n" * 40),
        new_markdown_cell(f"### Exercise 1: A task\n\n{LONG}"),
        new_markdown_cell(f"{LONG}\n\n## Summary\n\n{LONG}"),
    ]
    chapter = chapter_of(make, tmp_path, cells)
    assert chapter.minutes == {-1: 3 + 3 + 3 + 2 + 3, 1: 3 + 1 + 3}
    assert (chapter.reading, chapter.deeper) == (14, 7)


@pytest.mark.parametrize("held", [{"tags": ["prediction"]}, {"exercise": {"id": "x"}}])
def test_what_must_stay_open_is_not_folded(make: Any, tmp_path: Path, held: Any) -> None:
    cells = [new_markdown_cell("## Why\n\nSo."), new_code_cell("x = 1", metadata=held)]
    chapter = chapter_of(make, tmp_path, cells)
    parts = [nodes.title("", "Why"), nodes.paragraph("", "So."), nodes.container()]
    for number, node in enumerate(parts):
        node.line = (2 if number == 2 else 1) * 10_000 + number
    section = nodes.section("", *parts)
    with pytest.raises(ValueError, match=r"'Why' is folded, but cell 1 has: (prediction|exercise)"):
        make.fold(section, chapter)
    section.remove(parts[1])
    with pytest.raises(ValueError, match="no paragraph says what comes out"):
        make.fold(section, chapter)


@pytest.mark.parametrize("stem", STEMS)
def test_what_stands_open_takes_no_longer_than_promised(make: Any, stem: str) -> None:
    chapter = make.read_chapters()[stem]
    assert chapter.reading <= MOST
    page = BeautifulSoup((HTML / f"book/{stem}.html").read_text(encoding="utf-8"), "html.parser")
    boxes = page.select("article details.deeper")
    told = [int(box.summary.get_text().split("Go deeper")[1].split()[0]) for box in boxes]
    assert told == [chapter.minutes[cell] for cell in sorted(chapter.minutes) if cell >= 0]
    for box in boxes:
        assert not box.has_attr("open")
        assert box.find_previous_sibling("p").get_text()
        assert not box.select(".exercise-boxes, .living[data-widget=prediction]")


@pytest.mark.browser
def test_a_link_into_a_folded_section_opens_it(visit: Visit) -> None:
    page = visit.look("book/rope.html")
    boxes = page.locator("details.deeper")
    within = boxes.first.locator("section[id], figure, pre").first
    expect(within).to_be_hidden()
    boxes.first.locator("summary").click()
    expect(within).to_be_visible()
    page.keyboard.press("Enter")
    expect(within).to_be_hidden()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.deeper:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.deeper[open]").count() == 0
    page.emulate_media(media="screen")
    inner = within.evaluate("(node) => { node.id ||= 'inside'; return node.id; }")
    page.evaluate("(id) => { location.hash = id; }", inner)
    expect(within).to_be_in_viewport()
