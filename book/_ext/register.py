"""The index at the end: under each term of the glossary, the sections that treat it.

A section belongs to a term if its heading names it. The glossary's own entries and the names
of the package are in the index anyway.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


@cache
def terms(glossary: Path) -> dict[str, re.Pattern[str]]:
    """The glossary's terms, each with a pattern that finds it in a heading, plural included."""
    body = glossary.read_text(encoding="utf-8").split("```{glossary}")[1].split("```")[0]
    names = [line.strip() for line in body.splitlines() if re.match(r"[A-Za-z]", line)]
    return {name: re.compile(rf"\b{re.escape(name)}(s|es)?\b", re.IGNORECASE) for name in names}


class IndexHeadings(SphinxTransform):
    """Give every section of a chapter its entries."""

    default_priority = 840  # before the domains collect what is in the index

    def apply(self, **options: object) -> None:
        """Insert index nodes in front of the headings' texts."""
        if not self.env.doc2path(self.env.docname).endswith(".ipynb"):
            return
        known = terms(Path(self.app.confdir, "book/glossary.md"))
        chapter = ""
        for section in self.document.findall(nodes.section):
            heading = section.next_node(nodes.title)
            text = heading.astext() if heading is not None else "Exercise"
            if text.startswith("Exercise") or not section["ids"]:
                continue
            chapter = chapter or text
            where = chapter if text == chapter else f"{chapter}, {text}"
            entries = [
                ("single", f"{term}; {where.replace(';', ',')}", section["ids"][0], "", None)
                for term, pattern in known.items()
                if pattern.search(text)
            ]
            if entries:
                section.insert(1, addnodes.index(entries=entries))


def setup(app: Sphinx) -> dict[str, bool]:
    """Read the headings while the pages are read."""
    app.add_transform(IndexHeadings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
