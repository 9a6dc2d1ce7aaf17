"""A chapter opens with its question and its picture; what else it has to say first is folded.

The notebook's order stays what a notebook needs: the cells that import come before the picture.
On the page they, the goals, the needs and the links to run the chapter lie in one box below the
picture, which is closed until somebody wants it. Paper shows its content.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chapter_facts import (
    GOALS,
    LINES_A_MINUTE,
    MINUTES_A_TRY,
    WORDS_A_MINUTE,
    Chapter,
    chapter_at,
    read_chapters,
)
from chapter_map import factors
from covers import cell_of, raw, refill
from docutils import nodes
from sphinx.application import Sphinx

# Where the page puts the links to run, to download and to print.
RUN_LINKS = "<!-- run links -->"
BOX = """<details class="about-page"><summary>About this page
<span class="about-note">what you will learn and need, running and printing it, set-up</span>
<span class="about-time">{reading} min to read · {trying} min to predict and try{deeper} ·
{tasks} min of exercises</span></summary>
<div class="about-body">
<p class="about-minutes">Reading time covers the open text and code, at {words} words or {lines}
lines of code per minute. Each open prediction or picture adds {tries} minutes, and each exercise
states its own time. {sums}</p>"""


def goals_of(room: nodes.section) -> list[nodes.Element]:
    """The paragraph that begins the goals, and what follows from the same cell."""
    begins = next(n for n in room.children if n.astext().startswith(GOALS))
    cell = cell_of(begins)
    return [node for node in room.children[room.index(begins) :] if cell_of(node) == cell]


def summed(chapter: Chapter) -> str:
    """Add up the minutes and name each kind in the sum."""
    visit, tasks = chapter.visit, chapter.working
    kinds = [f"{visit} for the open text"]
    kinds += [f"{chapter.deeper} for the folded sections"] if chapter.deeper else []
    kinds += [f"{tasks} for the exercises"] if tasks else []
    listed = " and ".join([", ".join(kinds[:-1]), kinds[-1]] if kinds[1:] else kinds)
    return f"Together that is about {visit + chapter.deeper + tasks} minutes: {listed}."


def fold(room: nodes.section, chapter: Chapter) -> None:
    """Put what a reader need not see first into a box where the goals begin."""
    imports = [
        node
        for node in room.children
        if isinstance(node, nodes.container) and "tag_import" in node["classes"]
    ]
    goals = goals_of(room)
    place = room.index(goals[0])
    deeper = f" · {chapter.deeper} min deeper" if chapter.deeper else ""
    box = BOX.format(
        reading=chapter.reading, trying=chapter.trying, deeper=deeper, tasks=chapter.working,
        words=WORDS_A_MINUTE, lines=LINES_A_MINUTE, tries=MINUTES_A_TRY, sums=summed(chapter),
    )  # fmt: skip
    heading = nodes.paragraph("", "", nodes.strong("", "Set-up"), classes=["about-setup"])
    kept = nodes.container("", *goals, classes=["about-goals"])
    strip = [raw(factors(read_chapters(), chapter.factor))] if chapter.factor else []
    inside = [*strip, raw(box), kept, raw(RUN_LINKS), heading, *imports, raw("</div></details>")]
    before, behind = room.children[:place], room.children[place + len(goals) :]
    refill(room, [node for node in before if node not in imports] + inside + behind)


def name_the_question(room: nodes.section) -> None:
    """The first two paragraphs are the question and the guess, and look like it."""
    question, guess = [n for n in room.children if isinstance(n, nodes.paragraph)][:2]
    question["classes"].append("question")
    guess["classes"].append("guess")


def open_with_the_picture(app: Sphinx, doctree: nodes.document) -> None:
    """Shape a chapter's first screen."""
    if chapter := chapter_at(Path(app.env.doc2path(app.env.docname))):
        room = next(doctree.findall(nodes.section))
        name_the_question(room)
        fold(room, chapter)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx; cells have their sources by then, and no lid is on them yet."""
    app.connect("doctree-read", open_with_the_picture, priority=550)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
