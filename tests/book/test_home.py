"""The first page: its picture and what it leads to, on one screen; a shared link has a picture."""

from __future__ import annotations

import re
import struct

import pytest
from playwright.sync_api import expect

from benchmarks.pages import chapters
from mini_attn.widgets.base import STATIC
from tests.pages import HTML, built_page
from tests.widgets.test_home_model import BROKEN, head, say
from tools.site import Visit

SCREENS = [(1300, 800), (390, 844)]


@pytest.mark.browser
@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_the_first_screen_holds_it(visit: Visit, width: int, height: int) -> None:
    """Title, sentence, picture and what it says; how long the road is on a wide one."""
    page = visit.look("index.html", width=width)
    page.set_viewport_size({"width": width, "height": height})
    bottom = "(part) => part.getBoundingClientRect().bottom"
    head(page, "L0H1").click()
    expect(say(page)).to_contain_text(BROKEN)
    page.evaluate("scrollTo(0, 0)")
    assert page.locator(".living-say").evaluate(bottom) <= height
    if width > 500:
        assert page.locator(".home-why").evaluate(bottom) <= height
        assert page.locator(".home-time").evaluate(bottom) <= height
    assert page.locator("#after-the-road-you-can h2").evaluate(bottom) <= 2 * height
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
def test_the_reason_is_offered_once_it_is_broken(visit: Visit) -> None:
    page = visit("index.html")
    why = page.get_by_role("link", name="Why?")
    expect(why).to_be_hidden()
    top = page.locator(".home-time").bounding_box()
    head(page, "L0H2").click()
    expect(why).to_be_hidden()
    head(page, "L0H2").click()
    head(page, "L0H1").click()
    expect(why).to_be_visible()
    assert page.locator(".home-time").bounding_box() == top, "nothing has moved"
    why.click()
    expect(page.locator("article h1")).to_contain_text("Inside a model")


@pytest.mark.browser
def test_without_scripts_it_is_a_picture_with_links(visit: Visit) -> None:
    page = visit.look("index.html", java_script_enabled=False)
    picture = page.locator(".living[data-widget=home_model] .living-picture svg")
    expect(picture).to_be_visible()
    expect(picture).to_contain_text("Switch off one head so that it forgets who has the ball.")
    expect(page.locator(".home-start")).to_be_visible()


@pytest.mark.browser
def test_chapters_are_cards_with_their_questions_and_pictures(visit: Visit) -> None:
    page = visit("index.html")
    cards = page.locator(".chapter-card")
    expect(cards).to_have_count(len(chapters()))
    for card in cards.all():
        assert card.locator("a span").last.inner_text().endswith("?")
        picture = card.locator("img")
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("complete", True)
        assert picture.evaluate("(one) => one.naturalWidth") > 0
    cards.first.click(position={"x": 20, "y": 20})
    expect(page.locator("article h1")).to_contain_text("Before attention")


@pytest.mark.browser
def test_cards_say_what_is_done(visit: Visit) -> None:
    page = visit("index.html")
    card = page.locator("[data-chapter=matmul]")
    tops = page.evaluate("[...document.querySelectorAll('.chapter-card')].map((c) => c.offsetTop)")
    expect(page.locator(".card-done:visible")).to_have_count(0)
    page.evaluate("""localStorage.setItem("living:prediction:matmul/flops",
      JSON.stringify({attempt: "1024", verdict: "right", shown: false}))""")
    page.evaluate("""localStorage.setItem("living:exercise:matmul/tile_product",
      JSON.stringify({state: "solved", points: 3}))""")
    page.reload()
    expect(card.locator(".card-done")).to_have_text(re.compile(r"^2 of \d+ done$"))
    expect(page.locator(".card-done:visible")).to_have_count(1)
    now = page.evaluate("[...document.querySelectorAll('.chapter-card')].map((c) => c.offsetTop)")
    assert [n - now[0] for n in now] == [n - tops[0] for n in tops]  # nothing has moved
    page.goto(page.url.replace("index.html", "book/about.html"))
    page.locator(".kept").get_by_role("button", name="Reset all").click()
    page.locator(".kept").get_by_role("button", name="Forget").click()
    page.goto(page.url.replace("book/about.html", "index.html"))
    expect(page.locator(".card-done:visible")).to_have_count(0)


def test_a_shared_link_has_its_picture() -> None:
    """As large as sites ask for, of the state that one shares; only the first page has it."""
    page = built_page("index.html")
    facts = {
        tag.get("property") or tag.get("name"): tag["content"]
        for tag in page.select("meta[property], meta[name]")
    }
    path = HTML / facts["og:image"]
    assert path.read_bytes() == (STATIC / "home_model-preview.png").read_bytes()
    assert struct.unpack(">II", path.read_bytes()[16:24]) == (1200, 630)
    assert facts["twitter:card"] == "summary_large_image"
    assert "taking a trained model apart" in facts["og:description"]
    drawn = (STATIC / "home_model-preview.svg").read_text("utf-8")
    assert re.search(r'class="home-word home-said home-wrong"[^>]*>lily<', drawn)
    assert ">93%<" in drawn
    assert not built_page("book/mla.html").select("meta[property='og:image']")
