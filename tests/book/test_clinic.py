"""The bug clinic: each repair as its user reported it, found or not, done where it stands."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from itertools import product

import pytest
from playwright.sync_api import Locator, Page, expect

from mini_attn.exercises import exercise, exercise_ids
from tests.pages import built_page
from tests.sampling import sampled
from tests.site import COLD, THEMES, WIDTHS, assert_fits, change, layout_shift, serious_findings
from tools.site import Visit

PAGE = "book/clinic.html"
REPAIRS = [task for task in map(exercise, exercise_ids()) if task.kind == "bug"]
SOLVED = json.dumps({"state": "solved", "points": 3})


def solve(page: Page, *ids: str) -> None:
    """As if these had been found in their chapters."""
    for one in ids:
        key = f"living:exercise:{exercise(one).page}/{one}"
        page.evaluate("([key, kept]) => localStorage.setItem(key, kept)", [key, SOLVED])


def shown(page: Page) -> list[str]:
    """The cases that are there to be seen."""
    ids: list[str] = page.locator(".case:visible").evaluate_all("all => all.map(({id}) => id)")
    return [one.removeprefix("case-") for one in ids]


def case(page: Page, exercise_id: str) -> Locator:
    return page.locator(f"#case-{exercise_id}")


def test_every_repair_is_a_case_with_its_task_code_and_chapter() -> None:
    page = built_page(PAGE)
    found = {one["id"].removeprefix("case-"): one for one in page.select(".case")}
    assert set(found) == {task.id for task in REPAIRS}
    levels = [int(one["data-difficulty"]) for one in found.values()]
    assert levels == sorted(levels)
    for task in REPAIRS:
        one = found[task.id]
        assert task.complaint
        assert task.complaint.words.replace("'", "’") in one.select_one(".case-words").text
        code = one.select_one(f".exercise-cell-{task.id} pre").text
        assert code.strip() == task.starter.strip()
        assert one.select_one(".case-task").text.strip()
        page_name, _, place = one.select_one(".case-chapter a")["href"].partition("#")
        assert page_name == f"{task.page}.html"
        assert built_page(f"book/{page_name}").find(id=place)
        assert one.select_one(".case-title").has_attr("hidden"), "a title may be the diagnosis"
        shipped, made_up = one.select_one("details.case-shipped"), one.select_one(".case-made-up")
        if not task.complaint.shipped:
            assert shipped is None
            assert made_up.has_attr("hidden"), "that it is made up comes once it's found"
            continue
        assert made_up is None
        assert not shipped.has_attr("open")
        # What the link tells must not stand anywhere outside its fold.
        for link in shipped.select("a"):
            assert str(one).count(link["href"]) == 1 + task.hints[1].count(link["href"])


def test_chapters_lead_to_their_cases() -> None:
    for task in REPAIRS:
        links = built_page(f"book/{task.page}.html").select("a.exercise-ward")
        assert f"clinic.html#case-{task.id}" in [link["href"] for link in links]


@pytest.mark.browser
def test_filters_choose_and_the_address_keeps_the_choice(visit: Visit) -> None:
    page = visit(PAGE)
    assert len(shown(page)) == len(REPAIRS)
    page.get_by_label("Topic").select_option("masks")
    masks = {task.id for task in REPAIRS if task.complaint and task.complaint.topic == "masks"}
    assert set(shown(page)) == masks
    page.get_by_label("Difficulty").select_option("2")
    hard = {task.id for task in REPAIRS if task.id in masks and task.difficulty == 2}
    assert set(shown(page)) == hard
    noun = "case" if len(hard) == 1 else "cases"
    expect(page.locator(".clinic-shown")).to_have_text(f"{len(hard)} {noun}")
    assert page.url.endswith("#clinic:topic=masks&difficulty=2")
    page.reload()
    assert set(shown(page)) == hard
    expect(page.get_by_label("Topic")).to_have_value("masks")
    page.goto(visit.url(f"{PAGE}#clinic:topic=nonsense", "http"))
    assert len(shown(page)) == len(REPAIRS), "what no filter knows is left out"


@pytest.mark.browser
def test_it_counts_what_is_found_and_can_hide_it(visit: Visit) -> None:
    page = visit(PAGE)
    expect(page.locator(".clinic-found")).to_have_text(f"Found 0 of {len(REPAIRS)}")
    solve(page, "late_mask", "same_result")
    page.reload()
    expect(page.locator(".clinic-found")).to_have_text(f"Found 2 of {len(REPAIRS)}")
    expect(case(page, "late_mask").locator(".case-state")).to_have_text("✓ found")
    case(page, "late_mask").locator("summary").first.click()
    shipped = case(page, "late_mask").locator(".case-shipped")
    expect(shipped.get_by_role("link")).to_be_visible()
    name = case(page, "late_mask").locator(".case-name")
    expect(name).to_have_text(re.compile(r"^Case \d+ · masks: The mask that came too late$"))
    page.get_by_label("Only what").check()
    assert len(shown(page)) == len(REPAIRS) - 2
    assert "late_mask" not in shown(page)
    solve(page, *(task.id for task in REPAIRS))
    page.reload()
    expect(page.locator(".clinic-shown")).to_have_text("No case is left: change a filter.")


@pytest.mark.browser
def test_a_case_that_is_made_up_says_so_once_found(visit: Visit) -> None:
    page = visit(f"{PAGE}#case-tile_product")
    one = case(page, "tile_product")
    expect(one.locator(".case-task")).to_be_visible()
    for words in (".case-title", ".case-made-up"):
        expect(one.locator(words)).to_be_hidden()
    solve(page, "tile_product")
    page.reload()
    for words in (".case-title", ".case-made-up"):
        expect(one.locator(words)).to_be_visible()


@pytest.mark.browser
def test_a_chapter_opens_its_case_whatever_is_hidden(visit: Visit) -> None:
    page = visit("book/attention.html")
    link = page.get_by_role("link", name="In the bug clinic")
    link.focus()
    page.keyboard.press("Enter")
    expect(case(page, "late_mask").locator(".case-task")).to_be_in_viewport()
    page.get_by_label("Topic").select_option("heads")
    assert "late_mask" not in shown(page)
    page.evaluate("location.hash = '#case-late_mask'")
    expect(case(page, "late_mask").locator(".case-task")).to_be_in_viewport()


@pytest.mark.browser
def test_without_scripts_it_is_a_list(visit: Visit) -> None:
    page = visit.look(PAGE, java_script_enabled=False)
    expect(page.locator(".case:visible")).to_have_count(len(REPAIRS))
    expect(page.locator(".clinic-bar")).to_be_hidden()
    case(page, "late_mask").locator("summary").first.click()
    expect(case(page, "late_mask").locator("pre").first).to_be_visible()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("theme", "width"),
    sampled(product(THEMES, [*WIDTHS, 390]), lambda so: so[0]),
)
def test_it_fits_and_axe_finds_nothing(visit: Visit, theme: str, width: int) -> None:
    page = visit(PAGE)
    assert layout_shift(page) < 0.02
    solve(page, "late_mask")
    page.reload()
    change(page, theme, width)
    page.evaluate(
        "document.querySelectorAll('.case details').forEach((one) => { one.open = true })"
    )
    assert_fits(page)
    assert serious_findings(page) == []


@pytest.mark.browser
def test_from_a_folder_it_says_once_that_python_needs_a_server(visit: Visit) -> None:
    page = visit.look(PAGE, protocol="file")
    expect(page.locator(".here-open")).to_have_count(1)
    expect(page.locator(".here-open a")).to_have_count(0)


@pytest.mark.browser
@pytest.mark.lite
def test_a_case_is_repaired_on_the_ward(visit: Visit) -> None:
    """By keyboard, with the page's own Python; the count says so at once."""
    page = visit(f"{PAGE}#case-expand_heads")
    one = case(page, "expand_heads")
    one.get_by_role("button", name="Do it here").focus()
    page.keyboard.press("Enter")
    expect(one.get_by_role("textbox")).to_be_focused(timeout=COLD)
    module = importlib.import_module("solutions.expand_heads")
    source = inspect.getsource(module.REFERENCE)
    code = f"import numpy as np\n{source}\nexpand_heads = {module.REFERENCE.__name__}\n"
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(code)
    page.keyboard.press("ControlOrMeta+Enter")
    expect(one.locator(".here-status")).to_have_text(re.compile("^Solved"), timeout=COLD)
    expect(page.locator(".clinic-found")).to_have_text(f"Found 1 of {len(REPAIRS)}")
    expect(one.locator(".case-shipped a")).to_be_visible()
