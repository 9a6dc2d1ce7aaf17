"""Static figures on their built pages: light and dark, on paper, narrow, and their folded code."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.book.test_figures import DARK, LIGHT, contrast
from tests.site import WIDTHS, change, unfold
from tools import HTML
from tools.pages import names
from tools.site import Visit

pytestmark = pytest.mark.browser

PAGES = [HTML / name for name in names()]
DRAWN = [path.stem for path in PAGES if 'class="drawn"' in path.read_text("utf-8")]
CHAPTER = "book/mqa-gqa.html"

# Colors, as hexadecimal numbers, of the words and of the marks of all figures.
SHOWN = """() => {
  const hex = (color) => color.startsWith("rgb(") ? "#" + color.match(/\\d+/g)
    .map((part) => Number(part).toString(16).padStart(2, "0")).join("") : null;
  const seen = (what) => `.drawn:not(.drawn-card) :is(${what}):not(defs *)`;
  const all = (what, part) => [...document.querySelectorAll(seen(what))]
    .map((one) => hex(getComputedStyle(one)[part])).filter(Boolean);
  return [all("text", "fill"), [...all("path, use", "fill"), ...all("path, use", "stroke")]];
}"""

# The smallest words of the figures, in pixels of the screen, also of those that wait for a guess.
LEAST = """() => {
  document.documentElement.classList.remove("guess-first");
  const size = (word) => parseFloat(getComputedStyle(word).fontSize);
  return Math.min(...[...document.querySelectorAll(".drawn :is(text, tspan)")]
    .filter((word) => word.textContent.trim()).map((word) => size(word)
      * word.ownerSVGElement.clientWidth / word.ownerSVGElement.viewBox.baseVal.width));
}"""


def assert_shown_in(page: Page, colours: dict[str, str]) -> None:
    """All figures have a theme's colors, and nothing of them is too faint."""
    words, marks = (set(found) for found in page.evaluate(SHOWN))
    assert words
    assert words | marks <= set(colours.values())
    for word in words:
        assert contrast(word, colours["surface"]) >= 4.5, word
    for mark in marks - {colours["line"], colours["surface"]}:  # the grid is no mark
        assert contrast(mark, colours["surface"]) >= 3, mark


def test_figures_were_found() -> None:
    assert len(DRAWN) >= 10


def test_a_figure_follows_the_switch_and_prints_light(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    assert_shown_in(page, LIGHT)
    change(page, "dark", WIDTHS[0])
    assert_shown_in(page, DARK)
    page.emulate_media(media="print")
    assert_shown_in(page, LIGHT)
    page.emulate_media(media="screen")


def test_words_and_formulas_have_the_colours_of_their_page(visit: Visit) -> None:
    page = visit.look("book/notation.html")
    shown = "(e) => getComputedStyle(e).color.match(/\\d+/g).map(Number)"
    for theme, colours in (("light", LIGHT), ("dark", DARK)):
        change(page, theme, WIDTHS[0])
        for role in ("query", "key", "value", "weight", "output"):
            hue = [int(colours[role][i : i + 2], 16) for i in (1, 3, 5)]
            word = page.locator(f"article .role-{role}")
            part = page.locator(f'.katex-html [style*="color:{LIGHT[role]}"]').first
            assert (word.evaluate(shown), part.evaluate(shown)) == (hue, hue), (theme, role)


def assert_words_of_figures_are_readable(page: Page) -> None:
    """On a phone: each page with figures is asked so in ``test_browser.py``, unfolded."""
    assert page.evaluate(LEAST) >= 8.95


def test_what_scrolls_shows_it(visit: Visit) -> None:
    page = visit.look("book/attention.html", width=360)
    wide = page.locator(".cell_input pre.scrolls")
    expect(wide).not_to_have_count(0)
    assert wide.first.get_attribute("tabindex") == "0"
    shadow = "(e) => getComputedStyle(e).backgroundImage.split('linear-gradient').length - 1"
    assert wide.first.evaluate(shadow) == 4
    fits = page.locator(".drawn:not(.scrolls)").first
    assert fits.evaluate("(e) => e.scrollWidth <= e.clientWidth && !e.hasAttribute('tabindex')")
    change(page, "light", WIDTHS[0])
    expect(wide).to_have_count(0)


def test_plotting_code_is_folded_and_can_be_edited(visit: Visit) -> None:
    page = unfold(visit.look(CHAPTER))
    cell = page.locator(".page-cell", has=page.locator("#fig-mqa-trained-on"))
    fold, editor = cell.locator(".cell-fold"), cell.locator(".cm-content")
    code = cell.locator(".cell_input")
    expect(code).to_be_hidden()
    expect(fold.locator("summary")).to_have_text("Show plotting code", use_inner_text=True)
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(code).to_be_visible()
    expect(fold.locator("summary")).to_have_text("Hide plotting code", use_inner_text=True)
    cell.get_by_role("button", name="Edit cell").click()
    expect(editor).to_contain_text("fig, axes = plt.subplots")
    expect(fold).to_be_hidden()
    cell.get_by_role("button", name="Original of").click()
    expect(editor).to_have_count(0)
    expect(fold).to_be_visible()
    expect(code).to_be_visible()
