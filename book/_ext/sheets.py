"""Sheets to print: a card for each chapter, and a poster of what makes the bytes of a cache.

A card is the chapter's own summary, read from its notebook: what to remember on one side of the
fold, the formulas on the other. The poster is the product of the four factors, each with the
chapters that shrink it, and below it all chapters of the book.
"""

from __future__ import annotations

from html import escape
from typing import Any

from chapter_facts import FACTORS, Chapter, by_part, read_chapters
from covers import raw
from docutils import nodes
from docutils.statemachine import StringList
from living import PICTURES, opening
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SUMMARY = "## Summary\n"
CARD = """<article class="sheet-card" id="card-{stem}"><p class="sheet-head"><b>{number}. <a
href="{stem}.html">{title}</a></b> <span>{part}</span></p><div class="sheet-sides">"""
SIDE = '<div class="sheet-side" role="group" aria-label="{what}">'
FACTOR = """<li class="poster-factor"><p class="poster-name">{words}</p><ul>{chapters}</ul></li>"""
SHRINKS = """<li><img src="../{pictures}/{picture}.svg" alt="" loading="lazy" />
<b>{number}. <a href="{stem}.html">{title}</a></b> <span>{question}</span></li>"""
NONE_YET = '<li class="poster-none">No chapter yet: layers that keep a state instead.</li>'
POSTER = """<div class="poster"><p class="poster-title">The bytes of a KV cache</p>
<p class="poster-lead">are a product of four factors. To make the cache smaller, shrink one.</p>
<ol class="poster-product">{factors}</ol>
<div class="poster-parts">{parts}</div></div>"""
PART = "<div><b>{part}</b><ol>{chapters}</ol></div>"


def summary(chapter: Chapter) -> tuple[str, str]:
    """Return the sentences and the table of formulas that end a chapter.

    Raises
    ------
    ValueError
        If the chapter has no such cell, or if it has something else in it.
    """
    found = [str(c.source) for c in chapter.cells if c.source.startswith(SUMMARY)]
    parts = found[0].removeprefix(SUMMARY).strip().split("\n\n") if found else []
    if [part[:1] for part in parts] != ["-", "|"]:
        raise ValueError(f"{chapter.stem} needs a summary: a list, then a table, and nothing else")
    return parts[0], parts[1]


def factor(key: str, words: str, chapters: dict[str, Chapter]) -> str:
    """Return one factor of the poster, with the chapters that shrink it."""
    shrinking = [chapter for chapter in chapters.values() if chapter.factor == key]
    items = ""
    for chapter in shrinking:
        question, picture = opening(chapter)
        items += SHRINKS.format(
            stem=chapter.stem, number=chapter.number, title=escape(chapter.title),
            question=escape(question), pictures=PICTURES, picture=picture,
        )  # fmt: skip
    return FACTOR.format(words=escape(words), chapters=items or NONE_YET)


def poster() -> str:
    """Return the poster: the product, then all chapters by part."""
    parts = "".join(
        PART.format(part=escape(part), chapters="".join(
            f'<li value="{c.number}">{escape(c.title)}</li>' for c in chapters))
        for part, chapters in by_part().items()
    )  # fmt: skip
    chapters = read_chapters()
    factors = "".join(factor(key, words, chapters) for key, words in FACTORS.items())
    return POSTER.format(factors=factors, parts=parts)


class Sheet(SphinxDirective):
    """The cards, or the poster."""

    def card(self, chapter: Chapter) -> list[nodes.Node]:
        """One chapter's card, its two sides parsed as the page's own text."""
        try:
            texts = zip(("What to remember", "Formulas"), summary(chapter), strict=True)
        except ValueError as error:
            raise self.error(str(error)) from error
        head = CARD.format(
            stem=chapter.stem, number=chapter.number, title=escape(chapter.title),
            part=escape(chapter.part),
        )  # fmt: skip
        found: list[nodes.Node] = [raw(head)]
        for what, text in texts:
            side = nodes.container()
            self.state.nested_parse(StringList(text.split("\n"), str(chapter.path)), 0, side)
            found += [raw(SIDE.format(what=what)), *side.children, raw("</div>")]
        return [*found, raw("</div></article>")]

    def run(self) -> list[nodes.Node]:
        """Draw the sheet; it is made again when a chapter changes."""
        chapters = read_chapters()
        for chapter in chapters.values():
            self.env.note_dependency(str(chapter.path))
        if self.name == "poster":
            return [raw(poster())]
        cards = [node for chapter in chapters.values() for node in self.card(chapter)]
        return [raw('<div class="cards">'), *cards, raw("</div>")]


def add_style(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the two pages their look; each has a paper of its own, so the poster's is apart."""
    body = context.get("body", "")
    for name in ("cards", "poster"):
        if f'<div class="{name}">' in body:
            app.add_css_file("sheets.css")
    if '<div class="poster">' in body:
        app.add_css_file("poster.css")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("cards", Sheet)
    app.add_directive("poster", Sheet)
    app.connect("html-page-context", add_style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
