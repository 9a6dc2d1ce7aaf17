"""Draw the two maps of the book: what needs what, and which factor a chapter shrinks.

In the map of prerequisites a column is a part of the book (two, where chapters of a part are side
by side), and a row is one step further from the start. The map of factors is the product of four
that makes the bytes of a cache, each with the chapters that shrink it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape

from chapter_facts import FACTORS, Chapter, before

BOX, ROW, GAP, TOP = (108, 46), 86, 18, 26
TEXT = "fill:var(--pst-color-text-base);font:12.5px/1 var(--book-sans)"
LINE = "fill:none;stroke:var(--pst-color-primary);stroke-width:1.6"
FRAME = "fill:var(--pst-color-surface);stroke:var(--pst-color-border);stroke-width:1"


def depths(chapters: dict[str, Chapter]) -> dict[str, int]:
    """Count the chapters stacked below each one, including those that only help."""
    found: dict[str, int] = {}
    for stem, chapter in chapters.items():
        earlier = [s for s in chapter.needs + chapter.helps if s in found]
        found[stem] = 1 + max((found[s] for s in earlier), default=-1)
    return found


def places(chapters: dict[str, Chapter]) -> dict[str, tuple[int, int]]:
    """Column and row of each chapter; no two share a place."""
    rows, found, first = depths(chapters), {}, 0
    for part in dict.fromkeys(c.part for c in chapters.values()):
        taken: dict[int, int] = {}
        for stem in (s for s, c in chapters.items() if c.part == part):
            column = taken.get(rows[stem], 0)
            taken[rows[stem]] = column + 1
            found[stem] = (first + column, rows[stem])
        first += max(taken.values())
    return found


def arrows(chapters: dict[str, Chapter]) -> Iterator[tuple[str, str, bool]]:
    """Yield each arrow to draw (from, to, needed), leaving out those that others imply."""
    for stem, chapter in chapters.items():
        for start in chapter.needs + chapter.helps:
            needed = start in chapter.needs
            others = chapter.needs if needed else chapter.needs + chapter.helps
            if not any(start in before(chapters, other) for other in others if other != start):
                yield start, stem, needed


def route(start: tuple[float, float], end: tuple[float, float], lean: float) -> str:
    """The way of an arrow between two boxes' corners; a long one goes down beside the boxes."""
    (x, y), (u, v) = start, end
    if y == v:  # neighbors: from side to side
        side = (x + BOX[0], u - 5) if x < u else (x, u + BOX[0] + 5)
        return f"M{side[0]:.0f} {y + 30:.0f}H{side[1]:.0f}"
    foot, top, head = x + BOX[0] / 2 + lean, y + BOX[1], u + BOX[0] / 2 - lean
    tip = f"{head:.0f} {v - 5:.0f}"
    if v - y <= ROW:
        bend = (v - top) / 2
        return f"M{foot:.0f} {top}C{foot:.0f} {top + bend:.0f} {head:.0f} {v - bend:.0f} {tip}"
    lane = u - GAP / 2 - (lean + 40) / 16 if x < u else u + BOX[0] + GAP / 2
    down = f"C{foot:.0f} {top + 26} {lane:.0f} {top + 4} {lane:.0f} {top + 36}V{v - 34}"
    return f"M{foot:.0f} {top}{down}C{lane:.0f} {v - 10} {head:.0f} {v - 30} {tip}"


def arrow(start: tuple[float, float], end: tuple[float, float], needed: bool) -> str:
    """One arrow; those of one box spread over its edge."""
    lean = max(-40.0, min(40.0, (end[0] - start[0]) / 6))
    dashes = "" if needed else ";stroke-dasharray:4 4"
    path = route(start, end, lean)
    return f'<path d="{path}" style="{LINE}{dashes}" marker-end="url(#needs)"/>'


def box(chapter: Chapter, x: float, y: float) -> str:
    """A chapter as a linked box with its title in two lines."""
    lines = textwrap.wrap(f"{chapter.number}. {chapter.title}", 18)
    first = y + BOX[1] / 2 + 4.5 - 7.5 * (len(lines) - 1)
    words = "".join(
        f'<tspan x="{x + BOX[0] / 2:.0f}" y="{first + 15 * n:.0f}">{escape(line)}</tspan>'
        for n, line in enumerate(lines)
    )
    return (
        f'<a href="{chapter.stem}.html"><rect x="{x:.0f}" y="{y:.0f}" width="{BOX[0]}" '
        f'height="{BOX[1]}" rx="6" style="{FRAME}"/>'
        f'<text text-anchor="middle" style="{TEXT}">{words}</text></a>'
    )


def draw(chapters: dict[str, Chapter]) -> str:
    """The map as SVG; its words are text, its colors those of the page."""
    place = places(chapters)
    corner = {s: (c * (BOX[0] + GAP) + 4, r * ROW + TOP) for s, (c, r) in place.items()}
    width = max(x for x, _ in corner.values()) + BOX[0] + 4
    height = max(y for _, y in corner.values()) + BOX[1] + 6
    heads: dict[str, float] = {}
    for stem, chapter in chapters.items():
        heads.setdefault(chapter.part, corner[stem][0])
    parts = [
        f'<text x="{x:.0f}" y="14" style="{TEXT};font-weight:650">{escape(part)}</text>'
        for part, x in heads.items()
    ]
    for start, end, needed in arrows(chapters):
        parts.append(arrow(corner[start], corner[end], needed))
    parts += [box(chapter, *corner[stem]) for stem, chapter in chapters.items()]
    tip = (
        '<marker id="needs" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z" style="fill:var(--pst-color-primary)"/></marker>'
    )
    return (
        '<div class="chapter-map" style="overflow-x:auto" tabindex="0" role="region" '
        'aria-label="Map of the chapters; the list below says the same in words">'
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="group" '
        'style="width:100%;min-width:640px;height:auto" '
        f'aria-label="Chapters and what they need"><defs>{tip}</defs>'
        f"{''.join(parts)}</svg></div>"
    )


def factors(chapters: dict[str, Chapter], marked: str | None = None, folder: str = "") -> str:
    """Return the product of factors as a list; one may be marked as what the page shrinks.

    The page may lie elsewhere than the chapters; then ``folder`` leads to them.
    """
    items = []
    for key, words in FACTORS.items():
        links = ", ".join(
            f'<a href="{folder}{stem}.html">{escape(chapter.title)}</a>'
            for stem, chapter in chapters.items()
            if chapter.factor == key
        )
        here = ' aria-current="true"' if key == marked else ""
        small = "this chapter" if key == marked else links
        items.append(f"<li{here}><b>{words}</b><small>{small}</small></li>")
    return (
        '<div class="factor-map" role="group" aria-label="What makes the bytes of a cache">'
        f"<span>cache bytes =</span><ul>{''.join(items)}</ul></div>"
    )
