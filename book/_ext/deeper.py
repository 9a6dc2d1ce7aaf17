"""Sections that the rest of a chapter can do without are folded below their first paragraph.

A heading whose cell has the tag ``deeper`` says in its first paragraph what comes out; how it comes
about lies in a box with its minutes, closed until somebody wants it. Paper and Jupyter show it all.
"""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import Any

from chapter_facts import DEEPER, Chapter, chapter_at
from covers import cell_of, raw, refill
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

BOX = """<details class="deeper"><summary>Go deeper
<span class="about-note">{minutes} min; nothing below needs it</span></summary>
<div class="deeper-body">"""
KEPT_OPEN = {"exercise"}  # what nobody should have to look for


def fold(section: nodes.section, chapter: Chapter) -> None:
    """Put what follows a section's first paragraph into a box.

    Raises
    ------
    ValueError
        If it does not begin with a paragraph, or holds what has to stay open.
    """
    title, *behind = section.children
    # Places to link to may stand before the lead; those behind it stay where they are.
    unseen = list(takewhile(lambda node: isinstance(node, nodes.Invisible), behind))
    lead, *rest = behind[len(unseen) :]
    if not isinstance(lead, nodes.paragraph) or not rest:
        raise ValueError(f"{title.astext()!r} is folded, but no paragraph says what comes out")
    for number in {cell_of(node) for part in rest for node in part.findall(nodes.container)}:
        data = chapter.cells[number].metadata if number >= 0 else {}
        if held := KEPT_OPEN & {*data, *data.get("tags", [])}:
            raise ValueError(f"{title.astext()!r} is folded, but cell {number} has: {held.pop()}")
    box = BOX.format(minutes=chapter.minutes[cell_of(title)])
    refill(section, [title, *unseen, lead, raw(box), *rest, raw("</div></details>")])


def fold_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the sections of a chapter that are tagged so."""
    source = Path(app.env.doc2path(app.env.docname))
    if not (chapter := chapter_at(source)):
        return
    tagged = {n for n, c in enumerate(chapter.cells) if DEEPER in c.metadata.get("tags", [])}
    for section in list(doctree.findall(nodes.section)):
        if cell_of(section.children[0]) in tagged:
            try:
                fold(section, chapter)
            except ValueError as error:
                raise ExtensionError(f"{source.name}: {error}") from error


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx; no lid is on the cells yet."""
    app.connect("doctree-read", fold_sections, priority=560)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
