"""Where one is in the book and on the page, and the question that comes next."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.pages import built_page
from tests.scripts import script
from tools.site import Visit

ONWARD = script("book/_ext/onward.py")
CHAPTERS = script("book/_ext/living.py").read_chapters()
LAST = list(CHAPTERS)[-1]
IN_SIGHT = """(bar) => {
  const line = bar.querySelector("a.current").getBoundingClientRect();
  const room = bar.getBoundingClientRect();
  const end = Math.min(room.bottom, innerHeight);
  return line.height > 0 && line.top >= room.top && line.bottom <= end;
}"""


@pytest.mark.parametrize("stem", CHAPTERS)
def test_a_chapter_tells_its_place_and_lists_its_top_headings(stem: str) -> None:
    page, chapter = built_page(f"book/{stem}.html"), CHAPTERS[stem]
    told = page.select_one(".bd-header-article .where").get_text()
    assert told == f"{chapter.part} · {chapter.number} of {len(CHAPTERS)}"
    listed = page.select(".bd-sidebar-secondary nav a")
    headings = page.select("article > section > section > h2")
    assert [link["href"][1:] for link in listed] == [h.parent["id"] for h in headings]
    assert not page.select("#jb-print-docs-body")


@pytest.mark.parametrize("stem", CHAPTERS)
def test_the_next_question_stands_before_the_references(stem: str) -> None:
    cards = built_page(f"book/{stem}.html").select("article .next-chapter")
    assert len(cards) == (stem != LAST)
    for card in cards:
        onward = ONWARD.following(CHAPTERS, stem)
        question, picture = ONWARD.opening(onward)
        assert card.a["href"] == f"{onward.stem}.html"
        assert card.select_one(".next-question").get_text() == question
        assert card.img["src"].endswith(f"/{picture}.svg")
        assert card.find_next_sibling("section")["id"] == "references"
        assert built_page(f"book/{onward.stem}.html").select_one(".question").get_text() == question


def test_the_contents_of_a_page_end_at_its_sections() -> None:
    below = "<ul><li><a>Exercise 1</a></li></ul>"
    toc = f"<ul><li><a>Page</a><ul><li><a>Exercises</a>{below}</li></ul></li></ul>"
    assert ONWARD.top_headings(toc) == toc.replace(below, "")


def assert_in_sight(page: Page, bar: str) -> None:
    """The current page is in the list's window; two frames later it lies where it was."""
    assert page.locator(bar).evaluate(IN_SIGHT), page.url


@pytest.mark.browser
def test_the_list_of_pages_is_at_the_page_that_is_read(visit: Visit) -> None:
    """After a jump from the top and from the bottom of the list, and after the theme's scripts."""
    page = visit("index.html")
    bar = "#pst-primary-sidebar"
    page.set_viewport_size({"width": 1300, "height": 600})
    for stem in ("paged", "start", "bits", "sliding-window"):
        page.goto(visit.url(f"book/{stem}.html", "http"), wait_until="commit")
        page.locator("article h1").wait_for()
        assert_in_sight(page, bar)
        before = page.locator(bar).evaluate("(bar) => bar.scrollTop")
        page.wait_for_load_state()
        assert page.locator(bar).evaluate("(bar) => bar.scrollTop") == before
    page.locator(".next-chapter a").click()
    expect(page.locator("article h1")).to_contain_text("Which keys may stay")
    assert_in_sight(page, bar)


@pytest.mark.browser
def test_on_a_phone_the_list_opens_at_the_page_that_is_read(visit: Visit) -> None:
    page = visit.look("book/paged.html", width=390)
    page.locator(".primary-toggle").click()
    page.locator("dialog[open] a.current").wait_for()
    page.wait_for_timeout(100)
    assert_in_sight(page, "dialog[open]")


@pytest.mark.browser
def test_a_line_grows_with_what_was_read(visit: Visit) -> None:
    page = visit.look("book/start.html")
    line = page.locator(".read-line")
    width = (
        "(line) => line.getBoundingClientRect().width / line.parentElement.offsetParent.clientWidth"
    )
    assert line.evaluate(width) == 0
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight / 2, behavior: 'instant'})")
    page.wait_for_function("document.querySelector('.read-line').style.scale > '0.3'")
    assert 0.3 < line.evaluate(width) < 0.7
