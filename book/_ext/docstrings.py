"""Docstrings as pages: formulas stand out, references link to the bibliography.

A docstring's References hold keys of ``book/references.bib`` ("vaswani2017attention,
equation 1"); here they become citations. Names in single backticks become links where the
API pages have them.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode, nested_parse_with_titles

BOOK = Path(__file__).resolve().parents[1]
PACKAGE = BOOK.parent / "mini_attn"
SHOWS = re.compile(r"^\.\. api:: (.+)$", re.M)
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


class Api(SphinxDirective):
    """Entries of whole modules, made from their docstrings: ``.. api:: softmax mask caches.*``.

    A stem of both backends shows the NumPy side, and where PyTorch's notes differ. ``room.*`` is
    every module of a room that no page names.
    """

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """One section for each module."""
        lines: list[str] = []
        for room in re.findall(r"(\w+)\.\*", self.arguments[0]):
            for place in (PACKAGE / room, PACKAGE / "numpy" / room):
                if place.is_dir():  # a new module counts as well
                    self.env.note_dependency(str(place))
        for stem in stems_of(self.arguments[0]):
            sides = modules_of(stem)
            for side in sides:
                self.env.note_dependency(str(inspect.getsourcefile(side)))
            lines += entries(sides[0])
            if len(sides) > 1:
                lines += torch_lines(*sides)
            elif sides[0].__name__.startswith("mini_attn.torch."):
                lines += ["PyTorch only: NumPy has no counterpart.", ""]
        holder = nodes.section()
        holder.document = self.state.document
        nested_parse_with_titles(self.state, StringList(lines, source=""), holder)
        return holder.children


def stems_of(arguments: str) -> list[str]:
    """Return the stems of one directive's modules, those of ``room.*`` in their place."""
    pages = (path.read_text(encoding="utf-8") for path in BOOK.glob("api-*.md"))
    named = {word for page in pages for line in SHOWS.findall(page) for word in line.split()}
    stems: list[str] = []
    for word in arguments.split():
        room, _, rest = word.partition(".")
        if rest != "*":
            stems.append(word)
            continue
        own = (PACKAGE / room).is_dir()  # read one by one, as ``plain.later``
        files = sorted((PACKAGE / ("" if own else "numpy") / room).glob("[!_]*.py"))
        found = [f"{room}.{path.stem}" if own else path.stem for path in files]
        stems += [stem for stem in found if stem not in named]
    return stems


def modules_of(stem: str) -> list[ModuleType]:
    """The modules of a stem: NumPy's before PyTorch's, or the one that is in no backend."""
    places = [*(PACKAGE / "numpy").glob(f"*/{stem}.py"), *(PACKAGE / "torch").glob(f"*/{stem}.py")]
    names = [".".join(place.with_suffix("").relative_to(PACKAGE).parts) for place in places]
    return [importlib.import_module(f"mini_attn.{name}") for name in names or [stem]]


def entries(module: ModuleType) -> list[str]:
    """A heading, the names with their first lines, and each one's entry."""
    title = f"``{module.__name__}``"
    names = public(module)
    lines = [title, "=" * len(title), "", f".. automodule:: {module.__name__}", ""]
    for name in names:
        first = (inspect.getdoc(getattr(module, name)) or "").split("\n", 1)[0]
        if is_entry(getattr(module, name)):
            lines.append(f"* :py:obj:`{name} <{module.__name__}.{name}>`: {first}")
    lines.append("")
    for name in names:
        thing = getattr(module, name)
        if inspect.isclass(thing):
            lines += [f".. autoclass:: {name}", "   :members:", "   :special-members: __call__"]
        elif inspect.isfunction(thing):
            lines.append(f".. autofunction:: {name}")
        else:
            lines += [f".. py:data:: {name}", "", f"   {held(thing)}"]
        lines.append("")
    return lines


def public(module: ModuleType) -> list[str]:
    """The module's names in the order of its source, or as it lists them."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = [n for n, thing in vars(module).items() if is_entry(thing) and not n.startswith("_")]
    return [name for name in own if getattr(module, name).__module__ == module.__name__]


def is_entry(thing: object) -> bool:
    """Return whether an object has its own docstring."""
    return inspect.isclass(thing) or inspect.isfunction(thing)


def held(thing: object) -> str:
    """Return the contents of a table or constant as one line of markup."""
    if isinstance(thing, dict):
        keys = ", ".join(f"``{key}``" for key in thing)
        kind = type(next(iter(thing.values()))).__name__
        return f"{len(thing)} entries, each a ``{kind}``: {keys}."
    text = re.sub(r"\b(\w+\.)+", "", repr(thing))
    if len(text) > 200 and isinstance(thing, list | tuple):
        return f"A {type(thing).__name__} of {len(thing)}."
    return f"``{text}``"


def torch_lines(mine: ModuleType, other: ModuleType) -> list[str]:
    """A definition list of the names whose Notes differ from the NumPy side's."""
    text: list[str] = []
    for name in mine.__all__:
        here, there = (notes(getattr(side, name)) for side in (mine, other))
        if there and there != here:
            text += [f"   ``{name}``", *(f"       {line}" for line in there), ""]
    tail = "; where its notes differ:" if text else "."
    lead = f"   ``{other.__name__}`` has the same names and signatures{tail}"
    return [".. container:: torch-notes", "", lead, "", *text, ""]


def notes(obj: object) -> list[str]:
    """Lines of an object's Notes."""
    lines = (inspect.getdoc(obj) or "").split("\n")
    start, end = section(lines, "Notes")
    return "\n".join(lines[start:end]).strip().split("\n") if start else []


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect before napoleon's own handler."""
    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("doctree-read", mark_formulas)
    app.connect("missing-reference", resolve)
    app.add_directive("api", Api)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
