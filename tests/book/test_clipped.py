"""Nothing on a page is cut off: code lines are short, and what is wider than a phone scrolls."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.pages import built_page
from tests.sampling import sampled
from tests.scripts import script
from tests.site import change
from tools.pages import names
from tools.site import Visit

COLUMNS = 72  # of code, which fit beside both sidebars of a window of 1,300 pixels
read_chapters = script("book/_ext/living.py").read_chapters

PAGES = names()
ROAD = {c.stem for c in read_chapters().values() if c.part == "The road"}
SAMPLE = sampled(PAGES, lambda name: Path(name).stem in ROAD, 2)

# All that is folded or covered is open, and is laid out once more.
OPEN = """async () => {
  document.documentElement.classList.remove("guess-first");
  for (const box of document.querySelectorAll("details")) box.open = true;
  dispatchEvent(new Event("resize"));
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
}"""

# Blocks of a page outside its living pictures that are wider than their place: how they are called,
# by how many pixels, and whether they scroll in themselves, say so, and take the focus.
WIDE = """() => [...document.querySelectorAll(
  "article :is(pre, table, img, .katex-display, .drawn, .output)")].flatMap((block) => {
  if (block.closest(".living") || !block.checkVisibility() || !block.clientWidth) return [];
  let over = block.scrollWidth - block.clientWidth, room = block;
  const cuts = (box) => getComputedStyle(box).overflowX !== "visible";
  while (!cuts(room) && room.parentElement) {
    room = room.parentElement;
    const edge = room.getBoundingClientRect().right;
    if (room.clientWidth) over = Math.max(over, block.getBoundingClientRect().right - edge);
  }
  if (over <= 1) return [];
  const scrolls = ["auto", "scroll"].includes(getComputedStyle(room).overflowX)
    && room.classList.contains("scrolls") && room.tabIndex === 0;
  return [[block.tagName, block.textContent.trim().slice(0, 60), Math.round(over), scrolls]];
})"""

# Words of figures that leave them, and pairs that lie on each other. The box around a slanted word
# is larger than the word.
WORDS = """() => [...document.querySelectorAll(".drawn svg")].flatMap((figure) => {
  const slanted = (word) => {
    const turned = /rotate\\((-?[\\d.]+)/.exec(word.getAttribute("transform"));
    return turned && Math.abs(turned[1]) % 90 > 1;
  };
  const words = [...figure.querySelectorAll("text")]
    .filter((word) => word.textContent.trim() && word.checkVisibility() && !slanted(word))
    .map((word) => [word.textContent.trim(), word.getBoundingClientRect()]);
  const room = figure.getBoundingClientRect();
  const out = words.filter(([, box]) => box.left < room.left - 1 || box.right > room.right + 1
    || box.top < room.top - 1 || box.bottom > room.bottom + 1);
  const meet = (low, high, other) => Math.min(high, other[1]) - Math.max(low, other[0]);
  const pairs = words.flatMap(([word, a], i) => words.slice(i + 1)
    .filter(([, b]) => meet(a.left, a.right, [b.left, b.right]) > 0.3 * Math.min(a.width, b.width)
      && meet(a.top, a.bottom, [b.top, b.bottom]) > 0.3 * Math.min(a.height, b.height))
    .map(([other]) => `${word} | ${other}`));
  return [...out.map(([word]) => word), ...pairs];
})"""


@pytest.mark.parametrize("name", SAMPLE)
def test_lines_of_code_fit(name: str) -> None:
    """Cells, folded ones too, starters, solutions and commands; what the package says wraps."""
    for block in built_page(name).select("article pre"):
        if not block.find_parent(class_="cell_output") and not block.find_parent("dl", class_="py"):
            lines = [line for line in block.get_text().splitlines() if "://" not in line]
            assert [line for line in lines if len(line) > COLUMNS] == []


def assert_nothing_is_cut(page: Page) -> None:
    """Beside the sidebars all blocks are whole; on a phone the wide ones scroll in themselves."""
    change(page, "light", 1300)
    page.evaluate(OPEN)
    assert page.evaluate(WIDE) == []
    change(page, "light", 390)
    page.evaluate(OPEN)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert [block for block in page.evaluate(WIDE) if not block[-1]] == []
    assert page.evaluate(WORDS) == []


@pytest.mark.browser
@pytest.mark.parametrize("name", SAMPLE)
def test_nothing_on_a_page_is_cut(visit: Visit, name: str) -> None:
    assert_nothing_is_cut(visit.look(name, protocol="file"))


@pytest.mark.browser
def test_what_is_cut_is_seen(visit: Visit) -> None:
    """The check can fail: a block that hides its end, and a figure's words on each other."""
    page = visit.look("book/mqa-gqa.html", protocol="file")
    page.evaluate("""() => {
      const block = document.querySelector("article pre");
      block.textContent = "x".repeat(500);
      block.style.cssText = "white-space: pre; overflow: hidden";
      const word = document.querySelector(".drawn text");
      word.after(word.cloneNode(true));
    }""")
    page.evaluate(OPEN)
    assert any(
        text.startswith("xxx") and not scrolls for _, text, _, scrolls in page.evaluate(WIDE)
    )
    assert page.evaluate(WORDS)
