"""The search finds chapters by what they are about, and shows them before what Sphinx finds.

A chapter is known by its title, question, goals and headings, all from its notebook, and by the
words of ``book/subjects.yml``. They are few, so the search page holds them itself: it needs no
request, and works from a folder. What a word is worth, ``finder.js`` says.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from chapter_facts import HEADING, Chapter, read_chapters
from living import opening
from onward import where
from sphinx.application import Sphinx

SUBJECTS = Path(__file__).resolve().parents[1] / "subjects.yml"
SCRIPT = Path(__file__).with_name("templates") / "finder.js"
COMMON = {"Exercises", "Summary", "References", "How to do an exercise"}


def subjects() -> dict[str, list[str]]:
    """Return what each chapter is about, as phrases.

    Raises
    ------
    ValueError
        If a chapter has none.
    """
    found = yaml.safe_load(SUBJECTS.read_text(encoding="utf-8"))
    if missing := set(read_chapters()) - set(found):
        raise ValueError(f"{SUBJECTS.name} needs phrases for {', '.join(sorted(missing))}")
    return {stem: [p for line in lines for p in line.split(", ")] for stem, lines in found.items()}


def headings(chapter: Chapter) -> list[str]:
    """The headings of a chapter, without those that all chapters have."""
    text = "\n".join(cell.source for cell in chapter.cells if cell.cell_type == "markdown")
    return [words for words in HEADING.findall(text) if words not in COMMON]


@cache
def known() -> str:
    """All that the search knows of the chapters, as JSON."""
    chapters, about = read_chapters(), subjects()
    return json.dumps(
        [
            {
                "page": f"book/{stem}.html",
                "title": chapter.title,
                "question": opening(chapter)[0],
                "where": where(chapter, len(chapters)),
                "about": about[stem],
                "more": [re.sub(r"[`$*\\]", "", t) for t in chapter.goals + headings(chapter)],
            }
            for stem, chapter in chapters.items()
        ],
        ensure_ascii=False,
    ).replace("</", "<\\/")


def add_finder(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Hand the chapters and the script to the search page's template."""
    if pagename == "search":
        script = SCRIPT.read_text(encoding="utf-8")
        context["finder"] = f"<script>var chapters = {known()};\n{script}</script>"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("html-page-context", add_finder)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
