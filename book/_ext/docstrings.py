"""Docstrings as pages: formulas stand out, references link to the bibliography.

A docstring's References hold keys of ``book/references.bib`` ("vaswani2017attention,
equation 1"); here they become citations. Names in single backticks become links where the
API pages have them.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

UNDERLINE = re.compile(r"^-{3,}$")
CITATION = re.compile(r"^([a-z][a-z0-9]+),?\s*(.*)$")


def section(lines: list[str], title: str) -> tuple[int, int]:
    """First and past-the-last line of a numpydoc section's text; (0, 0) if there is none."""
    for number in range(len(lines) - 1):
        if lines[number].strip() == title and UNDERLINE.match(lines[number + 1].strip()):
            end = number + 2
            while end < len(lines):
                following = lines[end + 1].strip() if end + 1 < len(lines) else ""
                if lines[end].strip() and UNDERLINE.match(following):
                    break
                end += 1
            return number + 2, end
    return 0, 0


def cite(lines: list[str]) -> None:
    """Turn the lines of References into a list of citations, in place."""
    start, end = section(lines, "References")
    entries: list[str] = []
    for line in lines[start:end]:
        text = line.strip()
        if line[:1].isspace() and entries:
            entries[-1] += f" {text}"
        elif text:
            entries.append(text)
    cited = []
    for entry in entries:
        found = CITATION.match(entry)
        key, where = found.groups() if found else ("", entry)
        cited.append(f"* :cite:t:`{key}`" + (f", {where}" if where else "") if key else where)
    if start:
        lines[start:end] = [*cited, ""]


def mark_formulas(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the paragraphs of an entry that are nothing but code, which are its formulas."""
    for content in doctree.findall(addnodes.desc_content):
        for paragraph in content.findall(nodes.paragraph):
            alone = len(paragraph.children) == 1 and isinstance(paragraph[0], nodes.literal)
            if alone and paragraph.parent is content:
                paragraph["classes"].append("formula")


def process(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Rewrite one docstring before napoleon reads it."""
    cite(lines)


def resolve(app: Sphinx, env: Any, node: Any, contnode: Any) -> nodes.Node | None:
    """Link a name in backticks wherever it is documented; otherwise show it as code."""
    if node.get("refdomain") != "py" or node.get("reftype") != "obj":
        return None
    target = node["reftarget"]
    found = env.domains["py"].find_obj(env, None, None, target, None, 1)
    literal = nodes.literal(target, target)
    if len(found) == 1:
        name, entry = found[0]
        return make_refnode(
            app.builder, node["refdoc"], entry.docname, entry.node_id, literal, name
        )
    return literal


class TorchNotes(SphinxDirective):
    """What the PyTorch side of a module says in its own Notes: ``torch-notes:: attention``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A definition list of the names whose Notes differ from the NumPy side's."""
        stem = self.arguments[0]
        sides = [importlib.import_module(f"mini_attn.{side}.{stem}") for side in ("numpy", "torch")]
        text: list[str] = []
        for name in sides[0].__all__:
            mine, other = (self.notes(getattr(side, name)) for side in sides)
            if other and other != mine:
                text += [f"``{name}``", *(f"    {line}" for line in other), ""]
        lead = f"``mini_attn.torch.{stem}`` has the same names and signatures"
        tail = "; where its notes differ:" if text else "."
        lines = StringList([f"{lead}{tail}", "", *text], source=f"mini_attn/torch/{stem}.py")
        holder = nodes.container(classes=["torch-notes"])
        self.state.nested_parse(lines, self.content_offset, holder)
        self.env.note_dependency(str(inspect.getsourcefile(sides[1])))
        return [holder]

    def notes(self, obj: object) -> list[str]:
        """Lines of an object's Notes."""
        lines = (inspect.getdoc(obj) or "").split("\n")
        start, end = section(lines, "Notes")
        return "\n".join(lines[start:end]).strip().split("\n") if start else []


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect before napoleon's own handler."""
    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("doctree-read", mark_formulas)
    app.connect("missing-reference", resolve)
    app.add_directive("torch-notes", TorchNotes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
