"""The page of the plain text prints all of it, in its order, and leads to the chapters."""

from __future__ import annotations

import ast
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import nbformat

from mini_attn import plain
from tools import HTML, ROOT

CELLS = nbformat.read(ROOT / "book/plain.ipynb", as_version=4).cells
PRINTS = re.compile(r"\bplain\.(\w+)\b")


def functions() -> list[str]:
    """Names of the text's functions, from top to bottom."""
    tree = ast.parse(Path(plain.__file__).read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


def test_every_function_is_printed_once_and_in_order() -> None:
    cells = [cell.source for cell in CELLS if "source" in cell.metadata.get("tags", [])]
    assert [name for source in cells for name in PRINTS.findall(source)] == functions()


def test_every_part_leads_to_a_chapter() -> None:
    """Words with a link stand before each part; where it leads is checked by the build."""
    parts = [
        (words, part)
        for words, part in pairwise(CELLS)
        if "source" in part.metadata.get("tags", [])
    ]
    assert len(parts) >= 10
    for words, part in parts:
        assert words.source.startswith("## "), part.source
        assert re.search(r"\]\([\w-]+\.ipynb(#[\w-]+)?\)", words.source), words.source


class Blocks(HTMLParser):
    """The text of each block that is highlighted as Python."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.depth, self.found = 0, []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "div" and self.depth:
            self.depth += 1
        elif tag == "div" and "highlight-python" in str(dict(attrs).get("class")):
            self.depth = 1
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "div" and self.depth > 0

    def handle_data(self, data: str) -> None:
        if self.depth:
            self.found[-1] += data


def test_the_built_page_shows_the_text() -> None:
    page = HTML / "book/plain.html"
    assert page.exists(), "no built page: run `make book` first"
    shown = "\n".join(Blocks(page.read_text(encoding="utf-8")).found)
    source = Path(plain.__file__).read_text(encoding="utf-8")
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            assert str(ast.get_source_segment(source, node)) in shown, node.name
