"""Questions in words on the built pages: a field, a rubric to tick, a covered model answer."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Locator, Page, expect

from mini_attn.exercises import exercise, exercise_ids
from tests.site import THEMES, WIDTHS, assert_fits, change, serious_findings
from tools.site import Visit

pytestmark = pytest.mark.browser

OPEN = [task for task in map(exercise, exercise_ids()) if task.kind == "open"]
CHAPTER, KEY = "book/attention.html", "attention/learned_factor"
TASK = exercise("learned_factor")


def place(page: Page, title: str = TASK.title) -> Locator:
    """Where the answer is written."""
    return page.get_by_role("group", name=title, exact=True)


def kept(page: Page, kind: str) -> object:
    """What the browser keeps of the question."""
    return json.loads(page.evaluate(f"localStorage.getItem('living:{kind}:{KEY}')") or "null")


@pytest.mark.parametrize("protocol", ["http", pytest.param("file", marks=pytest.mark.exhaustive)])
def test_what_was_written_and_ticked_comes_back(visit: Visit, protocol: str) -> None:
    page = visit(CHAPTER, protocol=protocol)
    text = "It could be learned.\n\nBut <b>not</b> from there."
    place(page).get_by_label("Your answer").fill(text)
    assert kept(page, "answer") == {"code": text}
    assert kept(page, "exercise") is None  # writing is not being done
    first, second = list(TASK.rubric)[:2]
    place(page).get_by_label(first).check()
    place(page).get_by_label(second).check()
    expect(place(page).get_by_role("status")).to_have_text("You give yourself 3 of 6 points.")
    place(page).get_by_label("by my own word").check()
    assert kept(page, "exercise") == {"state": "done", "points": 0}
    expect(page.locator(".kept-sum")).to_contain_text("1 of 7 exercises done")

    page.reload()
    expect(place(page).get_by_label("Your answer")).to_have_value(text)
    expect(place(page).get_by_label(first)).to_be_checked()
    expect(place(page).get_by_label("by my own word")).to_be_checked()
    place(page).get_by_label("by my own word").uncheck()
    place(page).get_by_label("Your answer").fill("")
    assert (kept(page, "answer"), kept(page, "exercise")) == (None, None)


def test_a_model_answer_is_covered_until_something_was_written(visit: Visit) -> None:
    page = visit(CHAPTER)
    model = page.locator("#model-learned_factor")
    button = place(page).locator(".words-show")
    expect(model).to_have_attribute("hidden", "")
    expect(button).to_have_text("Show me")
    place(page).get_by_label("Your answer").fill("Perhaps.")
    expect(model).not_to_have_attribute("hidden", "")
    expect(button).to_have_text("Compare with a model answer")
    expect(model).not_to_have_attribute("open", "")
    place(page).get_by_label("Your answer").fill(" ")
    expect(model).to_have_attribute("hidden", "")
    button.click()  # it opens the help down to there
    expect(model.locator("summary")).to_be_focused()
    expect(model).to_contain_text("As a statement about what the model can compute")


def assert_questions_have_a_place_and_practice_a_model(page: Page, stem: str) -> None:
    """Each chapter is asked so in ``test_browser.py``."""
    for task in OPEN:
        if task.page == stem:
            assert place(page, task.title).count() == 1
            assert page.locator(f"#model-{task.id}").count() == (not task.assessed)
    assert page.get_by_text("a double click opens this cell").count() == 0


def test_without_scripts_the_question_and_its_rubric_are_read(visit: Visit) -> None:
    page = visit.look(CHAPTER, java_script_enabled=False)
    help_ = page.locator(".exercise-boxes:has(#model-learned_factor)")
    for summary in help_.locator("summary").all():
        summary.click()
    expect(help_.locator("#model-learned_factor > div")).to_be_visible()
    expect(page.locator(".exercise-cell-learned_factor")).to_be_visible()
    assert (
        next(iter(TASK.rubric))[:30] in page.locator(".exercise-cell-learned_factor").inner_text()
    )


@pytest.mark.exhaustive
def test_it_is_read_by_everyone(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    place(page).get_by_label("Your answer").fill("Perhaps.")
    for theme, width in zip(THEMES, WIDTHS, strict=True):
        change(page, theme, width)
        assert_fits(page)
        assert serious_findings(page, colours=theme == "dark") == []
