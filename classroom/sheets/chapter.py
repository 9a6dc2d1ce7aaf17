"""What the classroom takes from a chapter's notebook: its title, its headings, its equations."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache

from classroom import BOOK

__all__ = ["Equation", "chapter_title", "equation", "headings"]

HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Equation:
    """An equation of a chapter: its mathematics with the dollars, and the section it is from."""

    source: str
    section: str


@cache
def _prose(page: str) -> str:
    """Return all Markdown of a chapter; none where there is no such page."""
    path = BOOK / f"{page}.ipynb"
    if not re.fullmatch(r"[a-z0-9-]+", page) or not path.is_file():
        return ""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


@cache
def headings(page: str) -> tuple[str, ...]:
    """Return all headings of a chapter in order, its title first; none if there's no page."""
    return tuple(HEADING.findall(_prose(page)))


def chapter_title(page: str) -> str:
    """Title of a chapter, or the page's own name where there is no such chapter."""
    return headings(page)[0] if headings(page) else page


def equation(page: str, label: str) -> Equation:
    """Return an equation by its label."""
    before, _, _ = _prose(page).partition(f"$$ ({label})")
    return Equation(f"$${before.rpartition('$$')[2]}$$", HEADING.findall(before)[-1])
