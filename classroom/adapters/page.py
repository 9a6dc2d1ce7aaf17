"""A page of the built book that stands alone: without links to others, with what it asks for."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path

from mini_attn.errors import ConfigError

__all__ = ["assets", "without_the_book"]

# What leads through the book, by class or id; the page's own table of contents stays.
NAVIGATION = {
    "bd-sidebar-primary", "prev-next-footer", "search-button", "primary-toggle",
    "search-button__wrapper", "pst-search-dialog", "run-here", "run-exercise", "run-download",
    "run-single", "run-hosts", "exercise-ward",
}  # fmt: skip
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
LED = re.compile(r'\s(?:href|target)="[^"]*"')
OUTSIDE = re.compile(r"^(?:[a-z]+:|//)", re.IGNORECASE)
OF_CSS = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")
TRAINED, MODELS = "_static/living.trained.js", "_static/models"
PYTHON = "living.python.js"


class _Page(HTMLParser):
    """Writes a page again, without what leads out of it."""

    def __init__(self, *, python: bool) -> None:
        super().__init__(convert_charrefs=False)
        self.python, self.inside = python, 0
        self.kept: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Leave out navigation; give links their place."""
        values = {name: value or "" for name, value in attrs}
        if self.inside or self._leads(tag, values):
            self.inside += tag not in VOID
            return
        raw = self.get_starttag_text() or ""
        target = values.get("href", "")
        if tag == "a" and OUTSIDE.match(target):
            # A platform shows the page in a frame, where most other sites refuse to be.
            raw = f'{LED.sub("", raw)[:-1]} href="{escape(target)}" target="_blank">'
        elif tag == "a" and target and not target.startswith("#"):
            raw = LED.sub("", raw)
        self.kept.append(raw)

    def _leads(self, tag: str, values: dict[str, str]) -> bool:
        """Whether an element is of the book, of an open build, or of Python where there is none."""
        if "data-assessed" in values:  # a package is for a class, whatever the book was built for
            return True
        if tag == "link":
            return values.get("rel") in ("index", "search", "next", "prev")
        if tag == "script":
            return not self.python and PYTHON in values.get("src", "")
        return not NAVIGATION.isdisjoint([*values.get("class", "").split(), values.get("id")])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element that closes itself."""
        before = self.inside
        self.handle_starttag(tag, attrs)
        self.inside = before

    def handle_endtag(self, tag: str) -> None:
        """Whether what was left out ends here."""
        if self.inside:
            self.inside -= tag not in VOID
        else:
            self.kept.append(f"</{tag}>")

    def _keep(self, text: str) -> None:
        if not self.inside:
            self.kept.append(text)

    def handle_data(self, data: str) -> None:
        """Text, and the source of scripts."""
        self._keep(data)

    def handle_entityref(self, name: str) -> None:
        """A named character."""
        self._keep(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """A numbered one."""
        self._keep(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        """Nobody reads it."""

    def handle_decl(self, decl: str) -> None:
        """The type of the document."""
        self._keep(f"<!{decl}>")


def without_the_book(text: str, *, python: bool) -> str:
    """The page without what leads out of it.

    Parameters
    ----------
    text : str
        The built page.
    python : bool
        Whether the script stays that offers Python.

    Returns
    -------
    str
        The same page; a link to another page is its words, and one to another site opens a
        window of its own.
    """
    page = _Page(python=python)
    page.feed(text)
    page.close()
    return "".join(page.kept)


def _asked(text: str, path: str) -> Iterator[str]:
    """Addresses that a file asks for when it is shown."""
    if path.endswith(".css"):
        for address, imported in OF_CSS.findall(text):
            yield address or imported
        return
    for tag in re.findall(r"<(?:img|script|link|source|audio|video|iframe)\b[^>]*>", text):
        if found := re.search(r'\s(?:src|href)="([^"]+)"', tag):
            yield unescape(found[1])


def assets(text: str, html: Path, start: str) -> list[str]:
    """The files of the book that a page needs, by their paths in it.

    Parameters
    ----------
    text : str
        The page.
    html : Path
        The built book.
    start : str
        Where the page lies in it.

    Returns
    -------
    list of str
        Without the page itself, each once.

    Raises
    ------
    ConfigError
        If the page asks for a file outside of the book, or for one that is not there.
    """
    found: dict[str, None] = {}
    todo = [(start, text)]
    for path, content in todo:
        for address in _asked(content, path):
            local = address.split("#")[0].split("?")[0]
            if not local or OUTSIDE.match(address):
                continue
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), local))
            if target in found or target == "_static/living.scorm.js":
                continue
            if target.startswith("../") or not (html / target).is_file():
                raise ConfigError(f"{path} asks for {target}, which is not in {html}")
            found[target] = None
            if target.endswith(".css"):
                todo.append((target, (html / target).read_text(encoding="utf-8")))
    if TRAINED in found:
        found |= dict.fromkeys(sorted(f"{MODELS}/{one.name}" for one in (html / MODELS).iterdir()))
    return list(found)
