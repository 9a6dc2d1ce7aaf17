"""What returns on the first page: after a day, in the form that it had, and off by one switch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from mini_attn.widgets.questions import AGAIN, QUESTIONS
from tests.sampling import sampled
from tests.scripts import script
from tests.site import THEMES, assert_fits, change, layout_shift, serious_findings
from tools.site import Visit

FIRST = datetime(2026, 11, 28, 9)
HOME, CHAPTER, CLAIMS = "index.html", "book/kv-cache.html", "book/claims.html"
KEY, CLAIM = "kv-cache/passes", "claims/claim-1"
KEPT = "key => JSON.parse(localStorage.getItem(`living:return:${key}`))"


def test_each_prediction_and_claim_can_be_asked_again() -> None:
    returns = script("book/_ext/returns.py")
    asked = {page["page"]: returns.questions(page) for page in returns.pages()}
    assert sum(map(len, asked.values())) >= len(QUESTIONS)
    for page, questions in asked.items():
        for name, about in questions.items():
            key = f"{page}/{name}"
            if key in QUESTIONS:
                assert len(about["drawn"]) == 1 + len(AGAIN.get(key, ()))
            else:
                assert re.fullmatch("“.*”.*", about["claim"]["text"]), key
                assert about["claim"]["holds"] in ("disagree", "it depends")
    with pytest.raises(ValueError, match="nothing says what it asks"):
        returns.questions({"page": "kv-cache", "predictions": ["nonsense"]})


@pytest.fixture
def page(visit: Visit) -> Iterator[Page]:
    """A reader who answers a prediction and a claim on the first day."""
    page = visit("book/notation.html")
    page.clock.set_fixed_time(FIRST)
    go(visit, page, CHAPTER)
    box = page.locator(".living[data-widget=prediction]").first
    box.get_by_role("textbox").fill("5050")
    box.get_by_role("button", name="Check").click()
    go(visit, page, CLAIMS)
    page.locator(".claim").first.get_by_role("button", name="Agree", exact=True).click()
    return page


def go(visit: Visit, page: Page, name: str, days: int = 0) -> None:
    """Open a page so many days later."""
    page.clock.set_fixed_time(FIRST + timedelta(days))
    page.goto(visit.url(name, "http"))


def row(page: Page, key: str) -> Locator:
    return page.locator(f".return[data-key='{key}']")


def answer(page: Page, key: str, value: Any) -> None:
    """Open a row by keyboard, and answer its number."""
    row(page, key).locator("summary").focus()
    page.keyboard.press("Enter")
    row(page, key).get_by_role("textbox").fill(str(value))
    page.keyboard.press("Enter")


def right(page: Page, key: str) -> float:
    """The right answer to whichever drawing is asked."""
    text = row(page, key).locator(".predict-text").inner_text().removeprefix("New numbers. ")
    drawn = (QUESTIONS[key], *AGAIN.get(key, ()))
    return next(q.answer for q in drawn if q.text.replace("`", "") == text)


def test_nothing_is_seen_before_it_is_due(visit: Visit, page: Page) -> None:
    assert page.evaluate(KEPT, KEY) == {"day": "2026-11-28", "rung": 0}
    go(visit, page, HOME)
    expect(page.locator(".returns")).to_be_hidden()
    assert not page.locator("script[src*='living.returns']").count()
    go(visit, page, HOME, 1)
    expect(page.locator(".returns-head")).to_have_text("Two to try again")
    expect(page.locator(".return")).to_have_count(2)
    assert layout_shift(page) < 0.02


def test_it_is_asked_with_other_numbers_and_the_first_answer_counts(
    visit: Visit, page: Page
) -> None:
    go(visit, page, HOME, 1)
    answer(page, KEY, "no number")
    assert page.evaluate(KEPT, KEY)["day"] == "2026-11-28", "that was no answer"
    text = row(page, KEY).locator(".predict-text")
    expect(text).to_contain_text("New numbers.")
    expect(text).not_to_contain_text("writes 100 tokens")
    row(page, KEY).get_by_role("textbox").fill(str(right(page, KEY)))
    page.keyboard.press("Enter")
    expect(row(page, KEY).get_by_role("status")).to_contain_text("Right.")
    expect(row(page, KEY)).to_contain_text("comes back in 3 days")
    assert page.evaluate(KEPT, KEY) == {"day": "2026-11-29", "rung": 1}
    row(page, KEY).get_by_role("textbox").fill("7")
    page.keyboard.press("Enter")
    assert page.evaluate(KEPT, KEY) == {"day": "2026-11-29", "rung": 1}
    kept = json.loads(page.evaluate(f"localStorage.getItem('living:prediction:{KEY}')"))
    assert kept["attempt"] == "5050", "what was answered in the chapter stays there"


def test_three_times_right_is_done_and_wrong_begins_again(visit: Visit, page: Page) -> None:
    for day, rung in ((1, 1), (4, 2), (14, 3)):
        go(visit, page, HOME, day)
        row(page, KEY).locator("summary").click()
        number = right(page, KEY)
        row(page, KEY).get_by_role("textbox").fill(str(number))
        page.keyboard.press("Enter")
        assert page.evaluate(KEPT, KEY)["rung"] == rung
    expect(row(page, KEY)).to_contain_text("it won't come back")
    row(page, CLAIM).locator("summary").click()
    row(page, CLAIM).get_by_role("button", name="It depends").click()
    expect(row(page, CLAIM).get_by_role("status")).to_contain_text("Not yet.")
    expect(row(page, CLAIM)).to_contain_text("comes back tomorrow")
    assert page.evaluate(KEPT, CLAIM) == {"day": "2026-12-12", "rung": 0}
    go(visit, page, HOME, 60)
    expect(page.locator(".return")).to_have_count(1)
    row(page, CLAIM).locator("summary").click()
    row(page, CLAIM).get_by_role("button", name="Disagree").click()
    expect(row(page, CLAIM).get_by_role("status")).to_contain_text("Right.")
    row(page, CLAIM).get_by_role("link", name="Where it was asked").click()
    expect(page.locator("#predict-1-text")).to_be_in_viewport()


def test_the_answer_is_shown_to_who_asks_after_a_wrong_one(visit: Visit, page: Page) -> None:
    go(visit, page, HOME, 1)
    answer(page, KEY, 7)
    said = row(page, KEY).get_by_role("status")
    expect(said).to_contain_text("Not yet.")
    row(page, KEY).get_by_role("button", name="Show the answer").click()
    expect(said).to_contain_text("The answer is")
    expect(said).to_be_focused()


def test_one_switch_turns_it_off_and_on(visit: Visit, page: Page) -> None:
    go(visit, page, HOME, 1)
    page.get_by_role("switch", name="Let answers come back").uncheck()
    expect(page.locator(".returns-said")).to_contain_text("nothing comes back")
    page.reload()
    expect(page.locator(".returns")).to_be_hidden()
    go(visit, page, "book/about.html", 1)
    switch = page.locator(".kept").get_by_role("switch", name="Let answers come back")
    expect(switch).not_to_be_checked()
    switch.check()
    go(visit, page, HOME, 1)
    expect(page.locator(".returns")).to_be_visible()


def test_what_is_taken_back_or_forgotten_does_not_return(visit: Visit, page: Page) -> None:
    go(visit, page, CHAPTER)
    box = page.locator(".living[data-widget=prediction]").first
    box.get_by_role("button", name="Start again").click()
    assert page.evaluate(KEPT, KEY) is None
    go(visit, page, "book/about.html")
    page.locator(".kept").get_by_role("button", name="Reset all").click()
    page.locator(".kept").get_by_role("button", name="Forget").click()
    assert page.evaluate("Object.keys(localStorage).filter((k) => /:return:/.test(k))") == []
    go(visit, page, HOME, 30)
    expect(page.locator(".returns")).to_be_hidden()


def test_at_most_three_are_asked_at_a_time(visit: Visit, page: Page) -> None:
    for name in list(QUESTIONS)[:5]:
        page.evaluate(
            """(key) => {
              localStorage.setItem(`living:prediction:${key}`,
                JSON.stringify({attempt: "1", verdict: "wrong", shown: false}));
              localStorage.setItem(`living:return:${key}`,
                JSON.stringify({day: "2026-11-20", rung: 0}));
            }""",
            name,
        )
    page.evaluate("localStorage.setItem('living:return:kv-cache/novel', '{\"day\": 7}')")
    go(visit, page, HOME, 1)
    expect(page.locator(".return")).to_have_count(3)
    expect(page.locator(".returns-note")).to_contain_text("4 more wait")
    keys = page.locator(".return").evaluate_all("all => all.map((one) => one.dataset.key)")
    assert set(keys) < set(list(QUESTIONS)[:5]), "what has waited longest"


@pytest.mark.parametrize(
    ("theme", "width"), sampled(product(THEMES, [1300, 390]), lambda so: so[0])
)
def test_it_fits_and_axe_finds_nothing(visit: Visit, page: Page, theme: str, width: int) -> None:
    go(visit, page, HOME, 1)
    change(page, theme, width)
    for summary in page.locator(".return > summary").all():
        summary.click()
    answer_box = row(page, KEY).get_by_role("textbox")
    answer_box.fill("7")
    page.keyboard.press("Enter")
    assert_fits(page)
    assert serious_findings(page, sparing=True) == []


def test_from_a_folder_it_returns_too(visit: Visit) -> None:
    """A page from a folder may load no data: the questions come as a script."""
    page = visit(HOME, protocol="file")
    page.evaluate(
        """(key) => {
          localStorage.setItem(`living:prediction:${key}`,
            JSON.stringify({attempt: "1", verdict: "wrong", shown: false}));
          localStorage.setItem(`living:return:${key}`,
            JSON.stringify({day: "2026-01-02", rung: 0}));
        }""",
        KEY,
    )
    page.reload()
    row(page, KEY).locator("summary").click()
    expect(row(page, KEY).get_by_role("textbox")).to_be_visible()


pytestmark = pytest.mark.browser
