"""Results stay covered until the reader has guessed.

A cell with the tag ``covered-by:kv-cache/passes`` holds what the prediction of that name asks for;
with several such tags it waits for all of them. Cells that follow each other and wait for the same
predictions are covered as one. A prediction after which nothing gives its answer away has the tag
``no-result``. A plain Jupyter shows all of it; so do paper and a browser without JavaScript.
"""

from __future__ import annotations

import re
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

TAG = "covered-by:"
ASKED = re.compile(r'Prediction\("([\w/-]+)"\)')
# The choice and the covers are there before the first paint, so that nothing jumps.
SCRIPT = Path(__file__).with_name("templates") / "covers.js"
LID = """<div class="covered" data-covered-by="{keys}">
<div class="covered-lid" role="group" aria-label="A covered result">
<p><b>Covered until you {guess}:</b> {what}.</p>
<button type="button" class="covered-show" aria-expanded="false"
aria-controls="covered-{number}" aria-label="Show me: {what}">Show me</button>
<button type="button" class="covered-off">Never cover results</button></div>
<script>livingCovers.see(document.currentScript.parentNode)</script>
<div class="covered-body" id="covered-{number}" tabindex="-1">"""


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


def named(cells: list[nbformat.NotebookNode]) -> str:
    """Name the contents of one cover."""
    kinds = dict.fromkeys(
        "a figure" if re.search(r"\b(plt|axe?s?|axes)\.|\bLivingPlot\(", cell.source)
        else "a cell with its output" if "print(" in cell.source
        else "a cell of code" if cell.cell_type == "code"
        else "what follows from it" if number else "the text with the answer"
        for number, cell in enumerate(cells)
    )  # fmt: skip
    return listed(list(kinds))


def listed(words: list[str]) -> str:
    """One, two and three."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def guess(keys: list[str]) -> str:
    """Tell the reader to guess first, with a link to each prediction."""
    links = [f'<a href="#ask-{key.split("/")[1]}">{{}}</a>' for key in keys]
    if len(keys) == 1:
        return links[0].format("guess")
    numbered = [link.format(number) for number, link in enumerate(links, 1)]
    return f"answer {len(keys)} predictions, {listed(numbered)}"


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


def anchor(node: nodes.Node, cells: list[nbformat.NotebookNode]) -> list[nodes.Node]:
    """A place to go to before a prediction."""
    if not isinstance(node, nodes.container) or "tag_prediction" not in node["classes"]:
        return []
    (key,) = ASKED.findall(cells[cell_of(node)].source)
    return [raw(f'<span id="ask-{key.split("/")[1]}"></span>')]


def cover(app: Sphinx, doctree: nodes.document) -> None:
    """Put a lid on every run of covered cells."""
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
    count = 0
    for room in list(doctree.findall(nodes.section)):
        parts: list[nodes.Node] = []
        for keys, run in groupby(list(room.children), lambda n: waiting.get(cell_of(n), "")):
            inside = list(run)
            if keys:
                count += 1
                numbers = dict.fromkeys(map(cell_of, inside))
                what = named([cells[number] for number in numbers])
                how = guess(keys.split())
                lid = LID.format(keys=escape(keys), guess=how, what=what, number=count)
                inside = [raw(lid), *inside, raw("</div></div>")]
            parts += inside
        refill(room, [part for node in parts for part in (*anchor(node, cells), node)])


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
