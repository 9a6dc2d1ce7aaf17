"""One column: lines that are easily read, few sizes of type, pictures as wide as there is room."""

from __future__ import annotations

from statistics import mean
from typing import Any

import pytest
from playwright.sync_api import Page

from tools.site import Visit

pytestmark = pytest.mark.browser
PAGES = ["attention", "kv-cache"]
# How many characters stand on each line of the open paragraphs; the last lines are not full.
LINES = """() => {
  const full = [], range = document.createRange();
  for (const p of document.querySelectorAll("article > section section > p")) {
    if (!p.offsetHeight || p.closest("details") || p.querySelector(".katex")) continue;
    const lines = [], walk = document.createTreeWalker(p, NodeFilter.SHOW_TEXT);
    for (let text; (text = walk.nextNode());) for (let i = 0; i < text.length; i += 1) {
      range.setStart(text, i);
      range.setEnd(text, i + 1);
      const place = range.getClientRects()[0], line = lines.at(-1);
      if (!place) continue;
      if (line && Math.abs(line.bottom - place.bottom) < 10) line.count += 1;
      else lines.push({ bottom: place.bottom, count: 1 });
    }
    full.push(...lines.slice(0, -1).map((line) => line.count));
  }
  return full;
}"""
SIZES = """() => {
  const sizes = new Set(), walk = document.createTreeWalker(
    document.querySelector(".bd-main"), NodeFilter.SHOW_TEXT);
  for (let text; (text = walk.nextNode());) {
    const own = text.parentElement;
    if (!text.data.trim() || own.closest("svg, .katex, .living, .here, script, style")) continue;
    if (own.getClientRects().length) sizes.add(getComputedStyle(own).fontSize);
  }
  return [...sizes];
}"""
BOXES = """() => {
  const box = (one) => (({left, right, width}) => ({left, right, width}))(
    document.querySelector(one).getBoundingClientRect());
  return {picture: box("article .living"), text: box("article .question"),
          contents: box(".bd-sidebar-secondary")};
}"""


def places(page: Page, width: int) -> dict[str, Any]:
    """Where the first picture, the text and the page's contents are in a window so wide."""
    page.set_viewport_size({"width": width, "height": 900})
    return dict(page.evaluate(BOXES))


@pytest.mark.parametrize("name", PAGES)
def test_prose_has_short_lines_and_a_page_few_sizes(visit: Visit, name: str) -> None:
    page = visit.look(f"book/{name}.html")
    counts = page.evaluate(LINES)
    assert len(counts) > 20
    assert 66 <= mean(counts) <= 72
    assert len(page.evaluate(SIZES)) <= 10


def test_a_picture_takes_the_room_there_is(visit: Visit) -> None:
    """From where the text begins, 960 pixels at most, and never below the page's contents."""
    page = visit.look("book/kv-cache.html")
    for width, least in ((1300, 700), (1440, 820), (1920, 960)):
        at = places(page, width)
        assert least <= at["picture"]["width"] <= 960, width
        assert at["picture"]["left"] == at["text"]["left"]
        assert at["picture"]["right"] < at["contents"]["left"]
        assert at["text"]["width"] == pytest.approx(608, abs=1)
