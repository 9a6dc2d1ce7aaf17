"""Pencil exercises on the built pages: a number and a Check, from a disk too."""

from __future__ import annotations

import json
from importlib import import_module

import pytest
from playwright.sync_api import Locator, Page, expect

from mini_attn.exercises import exercise, exercise_ids
from tests.site import THEMES, WIDTHS, assert_fits, change, serious_findings
from tools.site import Visit

pytestmark = pytest.mark.browser

PENCIL = [item for item in map(exercise, exercise_ids()) if item.kind == "pencil"]
# The judge of every exercise is asked in Node as well: chapters of each part stand for the others.
OFTEN = ("attention", "kv-cache", "mla", "paged")
CHAPTER, TITLE, KEY = "book/kv-cache.html", "How many fit?", "kv-cache/cache_budget"
RIGHT = "Solved, 2 of 2 points."


def place(page: Page, title: str = TITLE) -> Locator:
    """Where the number of an exercise is typed."""
    return page.get_by_role("group", name=title, exact=True)


def told(page: Page) -> Locator:
    """What the page says of the answer; nothing is no status for a screen reader either."""
    return place(page).locator(".predict-feedback")


def answer(page: Page, text: str, title: str = TITLE) -> Locator:
    """Answer by keyboard alone; gives what is said then."""
    box = place(page, title)
    box.get_by_label("Your answer").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)
    page.keyboard.press("Enter")
    return box.get_by_role("status")


def kept(page: Page, kind: str, key: str = KEY) -> object:
    """What the browser keeps of the exercise."""
    return json.loads(page.evaluate(f"localStorage.getItem('living:{kind}:{key}')") or "null")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in OFTEN else pytest.mark.exhaustive)
        for name in sorted({task.page for task in PENCIL})
    ],
)
def test_every_pencil_exercise_is_done_in_its_page_from_a_disk(visit: Visit, name: str) -> None:
    page = visit.look(f"book/{name}.html", protocol="file")
    for task in [task for task in PENCIL if task.page == name]:
        bank = import_module(f"solutions.{task.id}")
        wrong = next(a for _, a, check, _ in bank.WRONG if check == "by hand")
        said = answer(page, repr(float(wrong)), task.title)
        expect(said).to_contain_text("Not yet. ")
        said = answer(page, repr(bank.REFERENCE), task.title)
        expect(said).to_contain_text(f"Solved, {task.points} of {task.points} points.")
        key = f"{task.page}/{task.id}"
        assert kept(page, "exercise", key) == {"state": "solved", "points": task.points}


@pytest.mark.parametrize("protocol", ["http", pytest.param("file", marks=pytest.mark.exhaustive)])
def test_what_was_typed_and_solved_comes_back(visit: Visit, protocol: str) -> None:
    page = visit(CHAPTER, protocol=protocol)
    expect(told(page)).to_be_empty()
    expect(answer(page, "a lot")).to_contain_text("not a number")
    assert (kept(page, "exercise"), kept(page, "answer")) == (None, None)
    expect(answer(page, "31")).to_contain_text("Not yet. You rounded up")
    assert kept(page, "exercise") == {"state": "tried", "points": 0, "missing": "by hand"}
    expect(answer(page, "30 sequences")).to_contain_text(RIGHT)
    expect(page.locator(".kept-sum")).to_contain_text("1 of 5 exercises done")

    page.reload()
    expect(place(page).get_by_role("status")).to_contain_text(RIGHT)
    assert place(page).get_by_label("Your answer").input_value() == "30 sequences"
    expect(answer(page, "7")).to_contain_text("too few")  # what was solved stays solved
    assert kept(page, "exercise") == {"state": "solved", "points": 2}


@pytest.mark.exhaustive
def test_it_knows_what_was_solved_elsewhere_and_forgotten(visit: Visit) -> None:
    page = visit(CHAPTER)
    other = page.context.new_page()
    other.goto(page.url)
    text = json.dumps({"state": "solved", "points": 2})
    other.evaluate(f"localStorage.setItem('living:exercise:{KEY}', '{text}')")
    expect(place(page).get_by_role("status")).to_contain_text(RIGHT)
    page.locator(".kept summary").press("Enter")
    page.get_by_role("button", name="Reset chapter").click()
    page.get_by_role("button", name="Forget").click()
    expect(told(page)).to_be_empty()
    expect(told(other)).to_be_empty()


def test_its_cells_are_for_paper_and_for_pages_without_scripts(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    cells = page.locator(".exercise-cell-cache_budget")
    assert cells.count() == 1  # its check is for notebooks
    expect(cells.first).to_be_hidden()
    page.emulate_media(media="print")
    expect(cells.first).to_be_visible()
    expect(page.locator(".pencil").first).to_be_hidden()
    page = visit.look(CHAPTER, java_script_enabled=False)
    expect(page.locator(".exercise-cell-cache_budget").first).to_be_visible()
    expect(page.locator(".pencil").first).to_be_hidden()


@pytest.mark.exhaustive
def test_it_is_read_by_everyone(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    expect(answer(page, "31")).to_contain_text("Not yet.")
    for theme, width in zip(THEMES, WIDTHS, strict=True):
        change(page, theme, width)
        assert_fits(page)
        box = place(page).bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
        assert serious_findings(page, colours=theme == "dark") == []


def test_from_a_disk_no_notebook_is_promised(visit: Visit) -> None:
    page = visit.look(CHAPTER, protocol="file")
    assert page.locator(".run-exercise").count() == 5
    expect(page.locator(".run-exercise").first).to_be_hidden()
