"""Terms of the glossary are linked where a page first uses them, with their meaning at hand.

A page that introduces a term explains it, and needs no link; nor does what is folded or covered.
The notebooks stay plain: the links are made when a page is written. The meaning travels with the
link, and ``terms.js`` shows it on hover and focus; without it, or on paper, the word is as it was.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from chapter_facts import LINK, read_chapters
from covers import raw
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

GLOSSARY = "book/glossary"
EVERYDAY = {"attention", "position", "step", "value"}  # most uses are the word, not the term
# In these a word is not explained, or is no word of the text.
CLOSED = (
    nodes.Admonition, nodes.FixedTextElement, nodes.caption, nodes.literal, nodes.math,
    nodes.reference, nodes.strong, nodes.term, nodes.title,
)  # fmt: skip
HOLDING = ("a", "details", "div")
ENTRY = re.compile(r"^(\w[^\n]*)\n(?:  [^\n]*\n|\n)*?  First in (\[[^\n]*)$", re.MULTILINE)
SCRIPT = Path(__file__).with_name("templates") / "terms.js"


def introduced(text: str) -> dict[str, set[str]]:
    """Return the chapters that introduce each term, from the source of the glossary.

    Two chapters introduce a term if a reader may begin with either.
    """
    return {term: set(LINK.findall(places)) for term, places in ENTRY.findall(text)}


def meanings(env: BuildEnvironment) -> dict[str, tuple[str, str]]:
    """Anchor and meaning of each term, as the glossary page has them."""
    found = {}
    for entry in env.get_doctree(GLOSSARY).findall(nodes.definition_list_item):
        (definition,) = entry.findall(nodes.definition)
        meaning = next(definition.findall(nodes.paragraph))  # the next one says where it's from
        for term in entry.findall(nodes.term):
            words = term.astext()
            if words not in EVERYDAY:
                found[words] = (term["ids"][0], " ".join(meaning.astext().split()))
    return found


def pattern(terms: list[str]) -> re.Pattern[str]:
    """Any of some terms, as a word; longer ones first; also the plural, also at a beginning."""
    longest = sorted(terms, key=len, reverse=True)
    either = "|".join(
        f"[{term[0].upper()}{term[0].lower()}]{re.escape(term[1:])}" for term in longest
    )
    return re.compile(rf"(?<![\w-])({either})(?:e?s)?(?![\w-])")


def link(words: str, entry: tuple[str, str]) -> nodes.raw:
    """A word that leads to its entry and carries its meaning."""
    anchor, meaning = entry
    return raw(
        f'<a class="term-link" href="{Path(GLOSSARY).name}.html#{anchor}" '
        f'data-meaning="{escape(meaning)}">{escape(words)}</a>'
    )


def in_markup(node: nodes.Node) -> bool:
    """Return whether it's inside a link, a fold or a cover that is written as markup."""
    before = node.parent.children[: node.parent.index(node)]
    markup = "".join(part.astext() for part in before if isinstance(part, nodes.raw))
    return any(len(re.findall(rf"<{tag}\b", markup)) > markup.count(f"</{tag}>") for tag in HOLDING)


def is_open(text: nodes.Text) -> bool:
    """Return whether a word of this text may become a link."""
    node: nodes.Node = text
    while not isinstance(above := node.parent, nodes.document):
        if isinstance(above, CLOSED) or "about-goals" in above["classes"] or in_markup(node):
            return False
        node = above
    return True


def name_of(words: str, terms: dict[str, tuple[str, str]]) -> str:
    """The term that some words of a page are."""
    known = {term.lower(): term for term in terms}
    endings = (words.lower().removesuffix(end) for end in ("", "s", "es"))
    return next(known[form] for form in endings if form in known)


def link_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Link what a chapter uses of the glossary, each term once."""
    if app.builder.format != "html" or Path(docname).name not in read_chapters():
        return
    places = introduced(Path(app.env.doc2path(GLOSSARY)).read_text(encoding="utf-8"))
    here = {term for term, stems in places.items() if Path(docname).name in stems}
    left = {term: entry for term, entry in meanings(app.env).items() if term not in here}
    terms = pattern(list(left))
    for text in filter(is_open, list(doctree.findall(nodes.Text))):
        parts: list[nodes.Node] = []
        words, done = text.astext(), 0
        while left and (found := terms.search(words, done)):
            entry = left.pop(name_of(found[0], left))
            terms = pattern(list(left))  # each is linked once
            parts += [nodes.Text(words[done : found.start()]), link(found[0], entry)]
            done = found.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(words[done:])])


def add_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """The script that shows meanings, on pages that have some."""
    if 'class="term-link"' in context.get("body", ""):
        context["body"] += f"<script>{SCRIPT.read_text(encoding='utf-8')}</script>\n"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx; references are resolved by then."""
    app.connect("doctree-resolved", link_terms, priority=800)
    app.connect("html-page-context", add_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
