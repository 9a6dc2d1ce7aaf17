"""Where a reader is in the book, what the page holds, and which question comes next.

The header names a chapter's part and number. The contents beside it list its top headings alone.
The next chapter's question and picture stand as a card before the references; they are put into
the finished page, as in the text the search would find them here.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup
from chapter_facts import Chapter, read_chapters
from docutils import nodes
from living import PICTURES, opening, size_of
from sphinx.application import Sphinx

REFERENCES = '<section id="references"'
CARD = """<nav class="next-chapter" aria-label="Next chapter"><a href="{stem}.html">
<span class="next-picture"><img src="../{pictures}/{picture}.svg" {size}
alt="" loading="lazy" /></span>
<span class="next-words"><small>Next: {where}</small> <b>{title}</b>
<span class="next-question">{question}</span></span></a></nav>
"""


def where(chapter: Chapter, count: int) -> str:
    """Its part, and its number among all."""
    return f"{chapter.part} · {chapter.number} of {count}"


def following(chapters: dict[str, Chapter], stem: str) -> Chapter | None:
    """The chapter after one, if it isn't the last."""
    number = chapters[stem].number + 1
    return next((c for c in chapters.values() if c.number == number), None)


def card(chapter: Chapter, count: int) -> str:
    """The question and the picture that a chapter opens with."""
    question, picture = opening(chapter)
    return CARD.format(
        stem=chapter.stem, pictures=PICTURES, picture=picture, size=size_of(picture),
        where=where(chapter, count), title=escape(chapter.title), question=escape(question),
    )  # fmt: skip


def top_headings(toc: str) -> str:
    """A page's contents without what lies below its sections."""
    soup = BeautifulSoup(toc, "html.parser")
    for deeper in soup.select("ul ul ul"):
        deeper.decompose()
    return str(soup)


def place_chapter(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Tell a chapter's place in the book on its page."""
    chapters, stem = read_chapters(), Path(pagename).name
    if stem not in chapters:
        return
    context["where"] = where(chapters[stem], len(chapters))
    context["toc"] = top_headings(context["toc"])
    if onward := following(chapters, stem):
        text, mark, references = context["body"].rpartition(REFERENCES)
        context["body"] = text + card(onward, len(chapters)) + mark + references


def note_next(app: Sphinx, doctree: nodes.document) -> None:
    """A page is made again when the chapter that its card shows has changed."""
    chapters, stem = read_chapters(), Path(app.env.docname).name
    if stem in chapters and (onward := following(chapters, stem)):
        app.env.note_dependency(str(onward.path))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, before the theme draws the header and the contents."""
    app.connect("doctree-read", note_next)
    app.connect("html-page-context", place_chapter, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
