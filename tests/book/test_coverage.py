"""Every topic of the notes behind the book has its place in a page."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.pages import built_page

TABLE = tomllib.loads(Path(__file__).with_name("coverage.toml").read_text(encoding="utf-8"))
TOPICS = [tuple(topic) for part in TABLE.values() for topic in part["topics"]]


@cache
def sections(page: str) -> dict[str, tuple[str, str]]:
    """Anchor and text of every section of a built page, by its title."""
    found = {}
    for section in built_page(f"book/{page}.html").select("article section"):
        heading = section.find(re.compile("^h[1-6]$"))
        title = heading.get_text().removesuffix(heading.select_one(".headerlink").get_text())
        # Mathematics stands twice in the markup: set, and as its source.
        text = " ".join(section.get_text().split())
        found[" ".join(title.split())] = (section.get("id", ""), text)
    return found


def fault(topic: tuple[str, ...]) -> str | None:
    """What is missing of a topic, or None."""
    name, page, title, *words = topic
    if title not in sections(page):
        return f"{name}: {page} has no section {title!r}"
    anchor, text = sections(page)[title]
    if not anchor:
        return f"{name}: the section {title!r} of {page} has no anchor"
    missing = [word for word in words if word.lower() not in text.lower()]
    return f"{name}: {page}#{anchor} does not hold {missing}" if missing else None


@pytest.mark.parametrize("topic", TOPICS, ids=[topic[0] for topic in TOPICS])
def test_topic_is_found(topic: tuple[str, ...]) -> None:
    assert fault(topic) is None


def test_missing_topics_are_seen() -> None:
    """The check can fail: a section that is not there, and a word that is not in it."""
    assert "has no section" in str(fault(("x", "start", "No such section")))
    assert "does not hold" in str(fault(("x", "start", "Temperature", "no such word")))
    assert len(TOPICS) > 75
