"""The bug clinic: every exercise that asks for a repair, in one list, as a user reported it.

The page is drawn from the bank. A case shows its complaint; inside are the task, the broken code
with the place to repair it, and the help of its chapter. Whether it's found is the reader's
progress, the same as in the chapter. Where such code shipped stays folded, as it may name the bug,
and the exercise's title, which may too, waits until it's found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from chapter_facts import Chapter, read_chapters
from covers import raw
from docutils import nodes
from docutils.statemachine import StringList
from exercises import here, more
from markdown_it import MarkdownIt
from pages import CLINIC, script_of
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import mini_attn.widgets
from mini_attn.exercises.complaint import TOPICS
from mini_attn.exercises.spec import Exercise

PAGE = "clinic"
BANK = Path(mini_attn.widgets.__file__).parents[1] / "exercises/bank"
# Filters and the count need a script; their room is there from the first paint on.
BAR = """<form class="clinic-bar" autocomplete="off">
<p class="clinic-found">Found <b>0</b> of {count}</p>
<label>Topic <select name="topic">{topics}</select></label>
<label>Difficulty <select name="difficulty">{levels}</select></label>
<label><input type="checkbox" name="open"> Only what I haven’t found</label>
<p class="clinic-shown" role="status">{count} cases</p></form><ol class="ward">"""
CASE = """<li class="case" id="case-{id}" data-case="{page}/{id}" data-topic="{topic}"
data-difficulty="{difficulty}"><details{opened}><summary>
<span class="case-name">{name}<span class="case-title" hidden>: {title}</span></span>
<span class="case-state" hidden></span>
<span class="case-words">“{words}”</span>
<small>difficulty {dots} · {minutes} min · {points} points</small></summary>
<div class="case-body">"""
SHIPPED = """<details class="exercise-more case-shipped">
<summary>Where this shipped (spoiler)</summary><p>{told}</p></details>"""
MADE_UP = '<p class="case-made-up" hidden>This bug was made up for this book.</p>'


def cases(chapters: dict[str, Chapter]) -> list[Exercise]:
    """Everything that asks for a repair, the easiest first, then in the order of the book."""
    tasks = [t for c in chapters.values() for t in c.exercises if t.kind == "bug"]
    return sorted(tasks, key=lambda task: task.difficulty)


def options(any_word: str, values: Iterable[Any], words: Sequence[str]) -> str:
    """Return the choices of a filter, the first of which lets everything pass."""
    pairs = [("all", any_word), *zip(values, words, strict=True)]
    return "".join(f'<option value="{value}">{text}</option>' for value, text in pairs)


def curly(text: str) -> str:
    """Return a text with the apostrophes that the page's own text has."""
    return text.replace("'", "’")


def bar(tasks: list[Exercise]) -> str:
    """Return the count and the filters, with the topics and difficulties that there are."""
    levels = {task.difficulty: task.dots for task in tasks}  # the easiest first, as the tasks are
    present = {task.complaint.topic for task in tasks if task.complaint}
    topics = [topic for topic in TOPICS if topic in present]
    return BAR.format(
        count=len(tasks), topics=options("all", topics, topics),
        levels=options("any", levels, [*levels.values()]),
    )  # fmt: skip


def name(number: int, task: Exercise) -> str:
    """Return what a case is called as long as its exercise's title would say too much."""
    assert task.complaint
    return f"Case {number} · {task.complaint.topic}"


def head(task: Exercise, number: int) -> str:
    """Return what is seen of a closed case; the first one stands open."""
    assert task.complaint  # each function to repair has one
    title, words = (curly(escape(t, quote=False)) for t in (task.title, task.complaint.words))
    return CASE.format(
        id=task.id, page=task.page, name=name(number, task), title=title, words=words,
        topic=task.complaint.topic, difficulty=task.difficulty, dots=task.dots,
        minutes=task.minutes, points=task.points, opened=" open" if number == 1 else "",
    )  # fmt: skip


def foot(task: Exercise) -> str:
    """Return what comes last: where such code shipped, folded, or that it never did."""
    assert task.complaint
    told = MarkdownIt("commonmark", {"html": False}).renderInline(task.complaint.shipped)
    return (SHIPPED.format(told=told) if told else MADE_UP) + "</div></details></li>"


class Clinic(SphinxDirective):
    """All cases, with a count and filters that a script fills."""

    def parsed(self, text: str, name: str) -> nodes.container:
        """Markdown as the page's own text, in a box of this class."""
        box = nodes.container(classes=[name])
        self.state.nested_parse(StringList(text.split("\n"), str(BANK)), 0, box)
        return box

    def case(self, task: Exercise, chapter: Chapter, number: int) -> list[nodes.Node]:
        """One case: its head, the task, the broken code and what helps."""
        text = self.parsed(task.text.replace(*task.standalone), "case-task")
        place = self.parsed(
            f"An exercise of {chapter.link(task.id, chapter.title)}", "case-chapter"
        )
        code = nodes.literal_block(task.starter, task.starter, language="python")
        cell = nodes.container("", code, classes=["exercise-cell", f"exercise-cell-{task.id}"])
        return [
            raw(head(task, number)),
            text,
            cell,
            raw(here(task, name(number, task)) + more(task)),
            place,
            raw(foot(task)),
        ]

    def run(self) -> list[nodes.Node]:
        """Draw the ward; a case that changes makes the page again."""
        chapters = read_chapters()
        tasks = cases(chapters)
        found: list[nodes.Node] = [raw(bar(tasks))]
        for number, task in enumerate(tasks, 1):
            for path in (BANK / f"{task.id}.py", chapters[task.page].path):
                self.env.note_dependency(str(path))
            found += self.case(task, chapters[task.page], number)
        return [*found, raw("</ol>")]


def add_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the page its look, and its script behind all that it needs."""
    if 'class="ward"' in context.get("body", ""):
        app.add_css_file("clinic.css")
        context["body"] += script_of(app, context, CLINIC, "async ")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive(PAGE, Clinic)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
