"""Results stay hidden until the reader has guessed.

A cell with the tag ``covered-by:kv-cache/passes`` holds what the prediction of that name asks for;
with several such tags it waits for all of them. Cells that follow each other and wait for the same
predictions are covered as one, and come with the prediction's card. A prediction after which
nothing gives its answer away has the tag ``no-result``. A plain Jupyter shows all of it; so do
paper and a browser without JavaScript.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from mini_attn.widgets.questions import inline, question

TAG = "covered-by:"
ASKED = re.compile(r'Prediction\("([\w/-]+)"\)')
# The choice and the covers are there before the first paint, so that nothing jumps.
SCRIPT = Path(__file__).with_name("templates") / "covers.js"
COVER = """<div class="covered" data-covered-by="{keys}">{note}
<script>livingCovers.see(document.currentScript.parentNode)</script>
<div class="covered-body">"""
NOTE = '<p class="covered-note">Hidden until you’ve answered {questions}</p>'
LINK = '<span><a href="#ask-{name}" data-asks="{key}">{title}</a></span>'


def waits_for(cell: nbformat.NotebookNode) -> str:
    """The predictions that a cell waits for, with blanks between."""
    tags = cell.metadata.get("tags", [])
    return " ".join(tag.removeprefix(TAG) for tag in tags if tag.startswith(TAG))


def covers_of(cells: list[nbformat.NotebookNode]) -> dict[int, str]:
    """Return the predictions that each covered cell waits for, by the cell's number.

    Raises
    ------
    ValueError
        If a cell waits for what was not asked before it, or has what may not be covered.
    """
    found, asked = {}, set()
    for number, cell in enumerate(cells):
        asked |= set(ASKED.findall(cell.source)) if cell.cell_type == "code" else set()
        if not (keys := waits_for(cell)):
            continue
        if missing := set(keys.split()) - asked:
            raise ValueError(f"cell {number} is covered by {', '.join(missing)}, not asked before")
        if {"prediction", "widget"} & set(cell.metadata["tags"]) or re.search(
            r"^#+ ", cell.source if cell.cell_type == "markdown" else "", re.MULTILINE
        ):
            raise ValueError(f"cell {number} is covered and holds a heading or a living picture")
        found[number] = keys
    return found


def note(keys: list[str]) -> str:
    """Say in one line which questions a cover waits for; the script leaves out the answered."""
    links = (
        LINK.format(name=key.split("/")[1], key=escape(key), title=title(question(key).text))
        for key in keys
    )
    return NOTE.format(questions="".join(links))


def title(text: str) -> str:
    """The sentence of a prediction that asks."""
    return inline([part for part in re.split(r"(?<=[.?!]) ", text) if part.endswith("?")][-1])


def cell_of(node: nodes.Node) -> int:
    """The number of the notebook's cell that a node comes from: myst-nb counts lines so."""
    return (node.line or 0) // 10_000 - 1


def raw(markup: str) -> nodes.raw:
    """Markup as it stands."""
    return nodes.raw("", markup, format="html")


def refill(room: nodes.Element, parts: list[nodes.Node]) -> None:
    """Give an element other children, with the lines that they have: `cell_of` reads those."""
    room.children = parts
    for part in parts:
        part.parent = room


def asks(node: nodes.Node, cells: list[nbformat.NotebookNode]) -> str:
    """The prediction that a node shows."""
    if not isinstance(node, nodes.container) or "tag_prediction" not in node["classes"]:
        return ""
    (key,) = ASKED.findall(cells[cell_of(node)].source)
    return str(key)


def dressed(
    room: nodes.section, cells: list[nbformat.NotebookNode], waiting: dict[int, str]
) -> Iterator[nodes.Node]:
    """A section's parts, with a place to go to before a prediction and its covers behind it.

    What follows its prediction at once is simply not there until that is answered. A cover
    farther below, or of several predictions, leaves one line.
    """
    above: set[str] = set()  # predictions of which only results stand between them and here
    for keys, run in groupby(list(room.children), lambda n: waiting.get(cell_of(n), "")):
        if keys:
            names = keys.split()
            line = "" if len(names) == 1 and names[0] in above else note(names)
            yield from (raw(COVER.format(keys=escape(keys), note=line)), *run, raw("</div></div>"))
            continue
        for node in run:
            if key := asks(node, cells):
                above.add(key)
                yield raw(f'<span id="ask-{key.split("/")[1]}"></span>')
            elif not isinstance(node, nodes.Invisible):
                above.clear()
            yield node


def cover(app: Sphinx, doctree: nodes.document) -> None:
    """Put a cover on every run of cells that wait for an answer."""
    source = Path(app.env.doc2path(app.env.docname))
    if source.suffix != ".ipynb":
        return
    cells = nbformat.read(source, as_version=4).cells
    try:
        waiting = covers_of(cells)
    except ValueError as error:
        raise ExtensionError(f"{source.name}: {error}") from error
    if not waiting:
        return
    for room in list(doctree.findall(nodes.section)):
        refill(room, list(dressed(room, cells, waiting)))


def add_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """The script of the covers, in the head of a chapter."""
    if 'class="covered"' in context.get("body", ""):
        script = f"<script>{SCRIPT.read_text(encoding='utf-8')}</script>\n"
        context["metatags"] = context.get("metatags", "") + script


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx; boxes of exercises are in their places by then."""
    app.connect("doctree-read", cover, priority=600)
    app.connect("html-page-context", add_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
