"""The book's first picture: its numbers are the package's, and it plays by itself, politely."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import mini_attn.numpy as ma
from mini_attn import example
from tests.javascript import run
from tests.scripts import script
from tools import ROOT
from tools.site import Visit


@pytest.fixture(scope="module")
def moments() -> list[dict[str, Any]]:
    """What JavaScript computes at each moment."""
    states = [{"moment": n} for n in range(12)]
    return run("return input.map(living.registry.first_look.compute);", states)


def test_numbers_are_those_of_the_package(moments: list[dict[str, Any]]) -> None:
    x = np.array(example.EMBEDDINGS)[:4]
    q, k = (x @ np.array(example.WEIGHTS[name])[:, 4:] for name in "qk")
    scores = q @ k.T * example.HEAD_DIM**-0.5
    for n, result in enumerate(moments):
        assert (result["word"], result["beat"]) == divmod(n, 3)
        for i in range(4):
            np.testing.assert_allclose(result["scores"][i], scores[i, : i + 1])
            np.testing.assert_allclose(result["weights"][i], ma.softmax(scores[i, : i + 1]))


def test_each_moment_has_its_beat_in_words(moments: list[dict[str, Any]]) -> None:
    said = run("return input.map(living.registry.first_look.describe);", moments)
    assert [words[0] for words in said] == list("123" * 4)
    assert said[-1] == (
        "3 of 3. “time” takes 66% from “time”, 31% from “Once”, 2% from “upon”, 2% from “a”."
    )


def test_a_tap_on_a_word_ends_its_row() -> None:
    body = "return input.map((id) => living.registry.first_look.choose({}, {}, id));"
    assert run(body, ["row-0", "row-3", "cell-2-1"]) == [{"moment": 2}, {"moment": 11}, None]


def test_its_link_asks_for_the_same_row_and_rule(moments: list[dict[str, Any]]) -> None:
    found = run("return input.map(living.registry.first_look.carries);", moments)
    start = "#attention_explorer:"
    assert found[9:] == [
        f"{start}show=scores&mask=before&at=q-3",
        f"{start}mask=before&at=out-3",
        f"{start}mask=before&at=out-3",
    ]
    assert [link.rpartition("-")[2] for link in found] == [str(n // 3) for n in range(12)]


@pytest.mark.browser
@pytest.mark.parametrize("protocol", ["http", pytest.param("file", marks=pytest.mark.exhaustive)])
def test_the_chapter_opens_on_the_row_that_was_tapped(visit: Visit, protocol: str) -> None:
    page = visit("book/index.html", protocol=protocol, reduced_motion="reduce")
    page.locator(".living[data-widget=first_look] [data-id=row-2]").click()
    page.locator("a.carries").press("Enter")
    page.wait_for_url("**/attention.html#attention_explorer:mask=before&at=out-2")
    view = page.locator(".living[data-widget=attention_explorer]")
    expect(view.get_by_label("Hide later tokens")).to_have_value("before")
    expect(view.locator(".living-detail")).to_contain_text("The output of “a”")
    expect(view.locator("[data-id=out-2]")).to_have_class(re.compile("living-lit"))
    page.goto(page.url.replace("at=out-2", "at=no-such"))  # a part that there is not
    expect(view.locator(".living-note")).to_be_hidden()


@pytest.mark.browser
def test_cards_say_what_is_done(visit: Visit) -> None:
    page = visit("book/index.html")
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
    page.locator(".kept").get_by_role("button", name="Reset all").click()
    page.locator(".kept").get_by_role("button", name="Forget").click()
    expect(page.locator(".card-done:visible")).to_have_count(0)


@pytest.mark.browser
def test_it_plays_once_it_is_seen_until_somebody_acts(visit: Visit) -> None:
    page = visit("book/index.html")
    view = page.locator(".living[data-widget=first_look]")
    expect(view.get_by_role("button", name="Pause")).to_be_visible()
    expect(view.locator(".living-say")).to_contain_text("2 of 3")
    view.locator("[data-id=row-3]").click()
    expect(view.get_by_role("button", name="Play")).to_be_visible()
    expect(view.get_by_role("slider")).to_have_value("11")


@pytest.mark.browser
def test_it_rests_where_nothing_should_move(visit: Visit) -> None:
    page = visit("book/index.html", reduced_motion="reduce")
    view = page.locator(".living[data-widget=first_look]")
    expect(view.get_by_role("slider")).to_have_value("11")
    page.wait_for_timeout(2000)
    expect(view.get_by_role("slider")).to_have_value("11")
    expect(view.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.browser
def test_chapters_are_cards_with_their_questions_and_pictures(visit: Visit) -> None:
    page = visit("book/index.html")
    cards = page.locator(".chapter-card")
    expect(cards).to_have_count(len(script("book/_ext/outline.py").outline(ROOT)))
    for card in cards.all():
        assert card.locator("a span").last.inner_text().endswith("?")
        picture = card.locator("img")
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("complete", True)
        assert picture.evaluate("(one) => one.naturalWidth") > 0
    cards.first.click(position={"x": 20, "y": 20})
    expect(page.locator("article h1")).to_contain_text("Before attention")
