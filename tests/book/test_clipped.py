"""Nothing on a page is cut off: code lines are short, and what is wider than a phone scrolls."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page

from mini_attn.exercises.spec import exercise, exercise_ids
from tests.pages import built_page
from tests.sampling import sampled
from tests.scripts import script
from tests.site import change
from tools import HTML, ROOT
from tools.site import Visit

COLUMNS = 72  # of code, which fit beside both sidebars of a window of 1,300 pixels
UNSEEN = {"remove-cell", "remove-input"}
read_chapters = script("book/_ext/living.py").read_chapters

NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
PAGES = sorted(path.relative_to(HTML).as_posix() for path in HTML.glob("book/*.html"))
ROAD = {c.stem for c in read_chapters().values() if c.part == "The road"}
FENCED = re.compile(r"^```(?:\{code[^}]*\}|\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)

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


def too_long(code: str) -> list[str]:
    """Lines of code that a page can't show whole."""
    return [line for line in code.splitlines() if len(line) > COLUMNS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_lines_of_cells_fit(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code" and not UNSEEN & {*cell.metadata.get("tags", [])}:
            assert too_long(cell.source) == []
        elif cell.cell_type == "markdown":
            assert [too_long(code) for code in FENCED.findall(cell.source) if too_long(code)] == []


def test_lines_of_exercises_and_their_solutions_fit() -> None:
    tasks = [exercise(name) for name in exercise_ids()]
    assert {task.id: too_long(task.starter) for task in tasks if too_long(task.starter)} == {}
    blocks = [block for path in PAGES for block in built_page(path).select(".exercise-boxes pre")]
    assert len(blocks) >= 30
    assert [block.get_text() for block in blocks if too_long(block.get_text())] == []


def test_lines_of_examples_fit() -> None:
    for path in sorted((ROOT / "book").glob("*.md")):
        for code in FENCED.findall(path.read_text(encoding="utf-8")):
            assert [line for line in too_long(code) if "://" not in line] == [], path.name


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
@pytest.mark.parametrize("name", sampled(PAGES, lambda name: Path(name).stem in ROAD, 6))
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
