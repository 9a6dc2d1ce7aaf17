"""A chapter's built page as a package of SCORM 1.2.

A zip of the page with every file that it asks for, ``imsmanifest.xml``, the schemas that SCORM
wants beside it, and ``living.scorm.js``, which tells the platform what was solved. Links to other
pages of the book lose their address, as these pages are not in the package. With Python in the
page the exercises in code can be done there too; without, predictions and pencil exercises count.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

from classroom import ROOT
from classroom.adapters.markup import child, document, packed
from classroom.adapters.page import assets, without_the_book
from classroom.sheets.chapter import chapter_title
from mini_attn import __version__
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise

__all__ = ["scorm_package"]

SCHEMAS = Path(__file__).with_name("scorm_files")
CONTENT = "http://www.imsproject.org/xsd/imscp_rootv1p1p2"
ADL = "http://www.adlnet.org/xsd/adlcp_rootv1p2"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
ADAPTER = "_static/living.scorm.js"
STATIC = ROOT / "mini_attn/widgets/static"
OUTLINE = re.compile(r"\AglobalThis\.livingOutline=(.*);$", re.MULTILINE)
PYODIDE = "lite/static/pyodide"
PAGE_PYTHON = ("numpy", "mini-attn", "matplotlib")  # js/python/worker.js asks for these
TOP = '<details class="about-page">'  # stands below the first picture
STYLE = """<style>
.kept-note a, .kept-hand, .run-file, .run-links li:not(.run-print, .run-guess) {display: none}
.scorm-said {font-style: italic}
a:not([href]) {color: inherit; text-decoration: none}
</style>"""


def _read(folder: Path, path: str) -> bytes:
    try:
        return (folder / path).read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{folder / path} cannot be read: {error.strerror}; run make book first"
        ) from None


def _chapter(html: Path, page: str, *, python: bool) -> str:
    """What there is to solve in a chapter, and what of it the page can check, as JSON."""
    found = OUTLINE.search(_read(html, "_static/living.progress.js").decode())
    chapters = {one["page"]: one for one in json.loads(found[1])} if found else {}
    if page not in chapters:
        raise ConfigError(f"the book in {html} has no exercises on {page}: run make book first")
    chapter = chapters[page]
    for task in chapter["exercises"]:
        kind = exercise(task["id"]).kind
        task["counts"] = kind == "pencil" or (python and kind != "open")  # people mark words
    return json.dumps(chapter, ensure_ascii=False).replace("<", "\\u003c")


def _python(html: Path) -> list[str]:
    """The files of the page's Python, with what its packages need."""
    lock = json.loads(_read(html, f"{PYODIDE}/page-lock.json"))["packages"]
    names, todo = ["pyodide.js", "page-lock.json", "page-stdlib.zip"], list(PAGE_PYTHON)
    names += ["pyodide.asm.js", "pyodide.asm.wasm"]
    for name in todo:
        names.append(lock[name]["file_name"])
        todo += [other for other in lock[name]["depends"] if other not in todo]
    worker = ["_static/living.worker.js", "_static/living.editor.js"]
    return [f"{PYODIDE}/{name}" for name in names] + worker


def _manifest(page: str, paths: list[str]) -> bytes:
    """What is in the package, and that its page talks to the platform."""
    places = f"{CONTENT} imscp_rootv1p1p2.xsd {ADL} adlcp_rootv1p2.xsd"
    manifest = ET.Element(
        "manifest", {
            "xmlns": CONTENT, "xmlns:adlcp": ADL, "xmlns:xsi": INSTANCE,
            "xsi:schemaLocation": places, "identifier": f"mini-attn_{page}", "version": __version__,
        },
    )  # fmt: skip
    about = child(manifest, "metadata")
    child(about, "schema", "ADL SCORM")
    child(about, "schemaversion", "1.2")
    organizations = child(manifest, "organizations", default="book")
    book = child(organizations, "organization", identifier="book")
    child(book, "title", "The Living Attention Book")
    item = child(book, "item", identifier="chapter", identifierref="page", isvisible="true")
    child(item, "title", chapter_title(page))
    start = {"identifier": "page", "type": "webcontent", "href": f"book/{page}.html"}
    talks = {"adlcp:scormtype": "sco"}
    resource = child(child(manifest, "resources"), "resource", **start, **talks)
    for path in paths:
        child(resource, "file", href=path)
    ET.indent(manifest, " ")
    return document(manifest)


def scorm_package(page: str, html: Path, python: bool = False) -> bytes:
    """A chapter as a zip.

    Parameters
    ----------
    page : str
        The chapter.
    html : Path
        The built book.
    python : bool
        Whether the page brings its Python: about 20 MB, and it runs where the platform serves
        the package over http.

    Returns
    -------
    bytes
        The package, the same bytes for the same book.

    Raises
    ------
    ConfigError
        If the book is not built, or a file that the page asks for is not there.
    """
    start = f"book/{page}.html"
    text = _read(html, start).decode()
    chapter = _chapter(html, page, python=python)
    adapter = f'<script>globalThis.livingScorm={chapter};</script><script src="../{ADAPTER}">'
    text = without_the_book(text, python=python)
    text = text.replace("</head>", f"{STYLE}{adapter}</script>\n</head>", 1)
    text = text.replace(TOP, f'<p class="scorm-said" role="status"></p>\n{TOP}', 1)
    files = {start: text.encode(), ADAPTER: _read(STATIC, "living.scorm.js")}
    for path in (*assets(text, html, start), *(_python(html) if python else ())):
        files.setdefault(path, _read(html, path))
    listed = sorted(files)
    files |= {path.name: path.read_bytes() for path in SCHEMAS.glob("*.xsd")}
    files["imsmanifest.xml"] = _manifest(page, listed)
    return packed(files)
