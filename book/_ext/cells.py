"""Gives a page the sources of its notebook's cells, so that they can be run where they stand.

The sources come from the notebook itself, in its order, and not from what is shown: a cell may
be hidden and still make what a later one needs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx

# What a page does not run, by the tag that says so.
PICTURES = {"widget", "prediction"}
SKIPPED = "skip-execution"

# What a cell printed in columns: wide gaps in a line, or the rows of an array.
COLUMNS = re.compile(r"\S {3,}\S|\S {2}\S.*\S {2}\S|^\s*\[.*\n *\[", re.MULTILINE)


def kind_of(cell: nbformat.NotebookNode) -> str:
    """Return how a page runs a cell.

    ``run`` is offered; ``quiet`` only makes what later cells need; ``picture`` is alive already,
    ``exercise`` is done elsewhere and ``never`` needs what no browser has.
    """
    tags = set(cell.metadata.get("tags", []))
    if tags & PICTURES:
        return "picture"
    if "exercise" in cell.metadata:
        return "exercise"
    if SKIPPED in tags:
        return "never"
    # The page shows its own progress, of which its Python knows nothing.
    quiet = tags & {"torch", "remove-input"} or cell.source == "progress()"
    return "quiet" if quiet else "run"


def cells_of(path: Path) -> list[list[Any]]:
    """Number, kind and source of each code cell of a notebook."""
    cells = nbformat.read(path, as_version=4).cells
    return [
        [number, kind_of(cell), cell.source]
        for number, cell in enumerate(cells)
        if cell.cell_type == "code"
    ]


def add_sources(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the cells that are seen, and put the sources at the page's end."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code":
            number = cell["cell_index"]
            cell["classes"] += ["page-cell", f"page-cell-{number}"]
            if "torch" in cell.get("cell_metadata", {}).get("tags", []):
                cell["classes"].append("page-cell-torch")
            for text in cell.findall(nodes.literal_block):
                # Sentences are wrapped; columns would lose their order, and scroll.
                if text.get("language") == "myst-ansi" and not COLUMNS.search(text.astext()):
                    text["classes"].append("wraps")
    # "</script>" inside a source would end the element that carries it.
    data = json.dumps(cells_of(path), ensure_ascii=False).replace("<", "\\u003c")
    script = f'<script type="application/json" id="page-cells">{data}</script>'
    doctree.append(nodes.raw("", script, format="html"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-read", add_sources)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
