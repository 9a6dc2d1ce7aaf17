"""A built page as its file has it: ids, links, what it loads and what that weighs."""

from __future__ import annotations

import gzip
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools import HTML

MOVED = "book/index.html"  # leads to the first page, where it once was
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
NAMED = {"search", "next", "prev", "index", "canonical", "alternate"}  # by links, not loaded
RESOURCES = {"link": "href", "script": "src", "img": "src", "source": "src", "iframe": "src"}


class Page(HTMLParser):
    """The parts of one built page that the checks ask for."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.path = path
        self.ids: list[str] = []
        self.links: list[str] = []
        self.resources: list[str] = []
        self.living = 0
        self.styles: list[str] = []
        self.text: list[str] = []
        self.within: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect ids, links, resources and living elements."""
        given = {key: value or "" for key, value in attrs}
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        loads = tag != "link" or not NAMED & set(given.get("rel", "").split())
        if loads and given.get(RESOURCES.get(tag, "")):
            self.resources.append(given[RESOURCES[tag]])
        if "living" in given.get("class", "").split():
            self.living += 1
        if "style" in given:
            self.styles.append(given["style"])
        if tag not in VOID:
            self.within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Leave the element."""
        while self.within and self.within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Collect the text that is shown, and style sheets."""
        if "style" in self.within:
            self.styles.append(data)
        elif not {"script", "annotation"} & set(self.within):  # KaTeX keeps the TeX for readers
            self.text.append(data)


def names(folder: Path = HTML) -> list[str]:
    """Return the book's own pages in a built site, the first of them at its root.

    The page for old links to the first is none of them, nor is what Sphinx makes.
    """
    inside = sorted(path.relative_to(folder).as_posix() for path in folder.glob("book/*.html"))
    return ["index.html", *(name for name in inside if name != MOVED)]


def is_outside(address: str) -> bool:
    """Return whether an address names another host."""
    return bool(re.match(r"(https?:)?//", address))


def local(page: Page, address: str) -> Path:
    """File that an address on a page stands for."""
    path = unquote(urlsplit(address).path)
    target = (page.path.parent / path).resolve() if path else page.path
    return target / "index.html" if target.is_dir() else target


def css_addresses(text: str) -> list[str]:
    """Return the addresses that a style sheet loads."""
    found = re.findall(r"url\(\s*['\"]?([^'\")]+)['\"]?\s*\)|@import\s+['\"]([^'\"]+)", text)
    return [first or second for first, second in found if not (first or second).startswith("data:")]


def weight(page: Page) -> int:
    """Compressed bytes of a page with all it may load: styles, scripts, fonts, pictures."""
    files = {page.path} | {local(page, a) for a in page.resources if not a.startswith("data:")}
    for sheet in [path for path in files if path.suffix == ".css"]:
        fonts = {
            (sheet.parent / urlsplit(a).path).resolve()
            for a in css_addresses(sheet.read_text(encoding="utf-8"))
        }
        # The theme's icon font is replaced by a subset, and woff2 comes before ttf.
        files |= {f for f in fonts if "vendor" not in f.parts}
    return sum(len(gzip.compress(path.read_bytes(), 6)) for path in files)
