"""Directives of the first page: a living picture, the chapters, where to go on.

``{living} HomeModel`` is the picture in its default state. ``{chapters}`` draws each chapter with
the question and the picture that it opens with, both read from its notebook. ``{onward}`` leads to
the first chapter and to where the reader stopped, and says how long the road is.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from chapter_facts import ROAD, Chapter, by_part, hours, read_chapters
from covers import raw
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import mini_attn.widgets

PICTURES = "_static/pictures"
PICTURE = re.compile(r"(\w+)\(")
SIZE = re.compile(r'width="\d+" height="\d+"')  # in the first element of a drawing
CARD = """<li class="chapter-card" data-chapter="{stem}"><a href="book/{stem}.html">
<span class="chapter-picture"><img src="{pictures}/{picture}.svg" {size}
alt="" loading="lazy" /></span>
<b>{number}. {title}</b> <span>{question}</span></a>
<small>{reading} min to read, {trying} min to try · {tasks} exercises</small></li>"""

# Before the first paint, so that nothing jumps; what is stored is text, and an address of the book.
RESUME = """<p class="resume" hidden>You stopped at <a></a>.</p>
<script>(function (line) {
  try {
    var place = JSON.parse(localStorage.getItem("livingPlace"));
    if (!place || !/^[a-z-]+[.]html#[\\w-]+$/.test(place.page)) return;
    var name = place.chapter + (place.section === place.chapter ? "" : ": " + place.section);
    line.lastElementChild.href = "book/" + place.page;
    line.lastElementChild.textContent = name.slice(0, 120);
    line.hidden = false;
  } catch (error) {} // damaged, or not to be had: there is nothing to offer
})(document.currentScript.previousElementSibling);</script>"""
# Where to go from the first page's picture: the reason only once the model is broken.
ONWARD = """<p class="home-onward">
<a class="home-start" href="book/{first}.html">Start at the beginning →</a>
<span class="home-time">The road: {count} chapters, {hours} hours,<br>if you know Python and some
linear algebra</span> <a class="home-why" href="book/model.html">Why? →</a></p>"""


def named(words: str) -> str:
    """The name of the picture that a call of its class makes: ``HomeModel()`` is home_model."""
    name = PICTURE.match(words)
    if not name:
        raise ValueError(f"no picture in {words!r}")
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name[1]).lower()


def drawn(picture: str) -> Path:
    """The committed drawing of a picture."""
    return Path(mini_attn.widgets.__file__).parent / f"static/{picture}.svg"


def size_of(picture: str) -> str:
    """The attributes that keep room for a picture until it has come."""
    found = SIZE.search(drawn(picture).read_text(encoding="utf-8"))
    if not found:
        raise ValueError(f"{picture}.svg does not begin with its width and height")
    return found[0]


def opening(chapter: Chapter) -> tuple[str, str]:
    """The question of a chapter, and the name of its first picture."""
    question = str(chapter.cells[0].source).split("\n\n")[1].strip("*")
    call = next(c.source for c in chapter.cells if "widget" in c.metadata.get("tags", []))
    return question, named(call)


def card(chapter: Chapter) -> str:
    """A chapter's card."""
    question, picture = opening(chapter)
    return CARD.format(
        stem=chapter.stem, pictures=PICTURES, picture=picture, size=size_of(picture),
        number=chapter.number, title=escape(chapter.title), question=escape(question),
        reading=chapter.reading, trying=chapter.trying, tasks=len(chapter.exercises),
    )  # fmt: skip


class Living(SphinxDirective):
    """A living picture on a page of text."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The markup that a notebook's cell would give."""
        picture = getattr(mini_attn.widgets, self.arguments[0])()
        self.env.note_dependency(str(drawn(picture._widget)))
        return [raw(picture._html())]


class Onward(SphinxDirective):
    """Where to go from the first page's picture, and how long the road is."""

    def run(self) -> list[nodes.Node]:
        """The links and the time; a script fills in where the reader stopped."""
        road = by_part()[ROAD]
        time = hours(sum(chapter.visit for chapter in road))
        return [raw(ONWARD.format(first=road[0].stem, count=len(road), hours=time) + RESUME)]


class Chapters(SphinxDirective):
    """All chapters as cards, part by part."""

    def run(self) -> list[nodes.Node]:
        """Lists of cards under the names of their parts."""
        found: list[nodes.Node] = []
        for part, chapters in by_part().items():
            for chapter in chapters:  # a card says what its notebook says
                self.env.note_dependency(str(chapter.path))
            count = f"{len(chapters)} chapter{'s' * (len(chapters) > 1)}"
            minutes = sum(chapter.visit for chapter in chapters)
            cards = "".join(map(card, chapters))
            found.append(nodes.rubric("", f"{part} · {count}, {minutes} minutes"))
            found.append(raw(f'<ul class="chapter-cards">{cards}</ul>'))
        return found


def copy_pictures(app: Sphinx, exception: Exception | None) -> None:
    """Put the pictures of the cards, and of the first page's preview, beside the pages."""
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir, PICTURES)
    folder.mkdir(parents=True, exist_ok=True)
    shown = [drawn(opening(chapter)[1]) for chapter in read_chapters().values()]
    for source in (*shown, drawn("home_model-preview").with_suffix(".png")):
        (folder / source.name).write_bytes(source.read_bytes())


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("living", Living)
    app.add_directive("chapters", Chapters)
    app.add_directive("onward", Onward)
    app.connect("build-finished", copy_pictures)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
