"""A chapter's cells on its built page: run, edited, stopped, and as they were."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.site import COLD, THEMES, WIDTHS, assert_fits, change, serious_findings, unfold
from tools.site import Visit

pytestmark = [pytest.mark.browser, pytest.mark.lite]

CHAPTER = "book/kv-cache.html"
WHOLE = "book/start.html"


def cell(page: Page, number: int) -> Locator:
    """The cell that the reader counts so."""
    return page.locator(".page-cell").filter(
        has=page.get_by_role("button", name=f"Run cell {number}", exact=True)
    )


def press(page: Page, where: Locator, name: str) -> None:
    """Press a button of a cell by keyboard."""
    where.get_by_role("button", name=name).focus()
    page.keyboard.press("Enter")


def run_to(page: Page, where: Locator) -> None:
    """Run from the top to a cell, by keyboard."""
    press(page, where, "Run cell")
    expect(where.get_by_role("button", name="Run from the top to here")).to_be_focused()
    page.keyboard.press("Enter")


def write(page: Page, where: Locator, code: str) -> None:
    """Put other code into a cell."""
    press(page, where, "Edit cell")
    expect(where.get_by_role("textbox")).to_be_focused(timeout=COLD)
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(code)


# What each cell printed when the page was built, what it has printed now, and its error.
BOTH = """() => [...document.querySelectorAll(".page-cell")].map((cell) => {
  const text = (box, parts) => [...(box?.querySelectorAll(parts) ?? [])]
    .map((pre) => pre.textContent.trim()).join("\\n");
  return [
    text(cell.querySelector(":scope > .cell_output"), ".output pre"),
    text(cell.querySelector(".cell-output"), "[data-kind=stdout], [data-kind=value]"),
    text(cell, "[data-kind=error]"),
  ];
})"""


@pytest.mark.exhaustive
def test_a_chapter_runs_from_top_to_bottom(visit: Visit) -> None:
    page = visit.look(WHOLE)
    buttons = page.get_by_role("button", name="Run cell")
    last = page.locator(".page-cell").filter(has=buttons).last
    run_to(page, last)
    expect(last.get_by_role("status")).to_contain_text("Done, ", timeout=2 * COLD)
    expect(last.get_by_role("status")).to_contain_text("Passed over: ")
    both = page.evaluate(BOTH)
    assert [error for _, _, error in both if error] == []
    printed = [(stored, now) for stored, now, _ in both if stored and now]
    same = [stored for stored, now in printed if stored == now]
    assert len(printed) >= 10
    assert len(same) >= 8  # the others tell times
    drawn = page.locator(".cell-output img")
    assert drawn.count() == page.locator(".page-cell > .cell_output :is(img, .drawn)").count()
    assert drawn.first.evaluate("async (e) => (await e.decode(), e.naturalWidth)") > 100
    expect(page.locator(".cell-output").first).to_contain_text("Loaded matplotlib in ")


def test_nothing_is_loaded_before_the_first_click(visit: Visit) -> None:
    page = visit("404.html")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{visit.address}/{CHAPTER}")
    page.wait_for_load_state("networkidle")
    assert cell(page, 3).count() == 1
    assert not [url for url in asked if "lite" in url or "worker" in url or "editor" in url]


def test_run_and_edit_come_with_the_cell_that_is_in_hand(visit: Visit) -> None:
    """Hovered, focused or tapped; none where its code is folded; and nothing moves."""
    page = unfold(visit.look(CHAPTER))
    shown = "(box) => getComputedStyle(box).opacity === '1'"
    third, fifth = cell(page, 3), cell(page, 5)
    bars = page.locator(".cell-bar")
    third.scroll_into_view_if_needed()
    page.mouse.move(1, 1)
    assert not any(bar.evaluate(shown) for bar in bars.all())
    before = fifth.bounding_box()
    third.hover()
    assert [bar.evaluate(shown) for bar in bars.all()].count(True) == 1
    assert third.locator(".cell-bar").evaluate(shown)
    assert fifth.bounding_box() == before
    page.mouse.move(1, 1)
    fifth.get_by_role("button", name="Run cell").focus()
    assert fifth.locator(".cell-bar").evaluate(shown)
    fifth.evaluate("(box) => box.querySelector('button').blur()")
    third.dispatch_event("click", {"pointerType": "touch"})
    assert third.locator(".cell-bar").evaluate(shown)
    fold = page.locator(".page-cell:has(> .cell-fold)").first
    assert not fold.locator(".cell-bar").is_visible()
    fold.locator("summary").first.click()
    assert fold.locator(".cell-bar").is_visible()


def test_a_cell_is_run_edited_stopped_and_put_back(visit: Visit) -> None:
    page = unfold(visit.look(CHAPTER))
    first, third, fourth = (cell(page, number) for number in (1, 3, 5))
    stored = third.locator(".cell_output")
    expect(stored).to_be_visible()
    press(page, third, "Run cell")
    expect(third.get_by_role("status")).to_have_text("1 cell above has not run.")
    press(page, third, "Run from the top to here")
    expect(third.get_by_role("status")).to_contain_text("Done, 2 cells.", timeout=COLD)
    expect(third.locator(".cell-output")).to_contain_text("1.06")
    expect(stored).to_be_hidden()
    press(page, fourth, "Run cell")  # what it needs has run
    expect(fourth.get_by_role("status")).to_have_text("Done.", timeout=COLD)

    write(page, third, "print(x.shape)\nx.no_such_thing")
    page.keyboard.press("Shift+Enter")
    output = third.locator(".cell-output")
    expect(output.locator("[data-kind=stdout]")).to_have_text("(8, 8)\n", timeout=COLD)
    expect(output.locator("[data-kind=error]")).to_contain_text("line 2\n    x.no_such_thing\n")
    press(page, third, "Original of")
    expect(third.locator(".cell_input")).to_be_visible()
    expect(stored).to_be_visible()
    expect(output).to_be_hidden()
    assert third.get_by_role("textbox").count() == 0

    write(page, first, "while True:\n    pass")
    page.keyboard.press("Shift+Enter")
    expect(first.get_by_role("status")).to_have_text("Running …")
    press(page, first, "Stop cell")
    expect(first.get_by_role("status")).to_have_text("Stopped. What Python held is gone.")
    expect(first.get_by_role("button", name="Run from the top to here")).to_be_visible()
    press(page, fourth, "Run cell")
    said = "Python was ended, and what it held is gone. 2 cells above have not run."
    expect(fourth.get_by_role("status")).to_have_text(said)
    press(page, first, "Original of")
    press(page, fourth, "Run from the top to here")
    expect(fourth.get_by_role("status")).to_contain_text("Done, 3 cells.", timeout=COLD)


@pytest.mark.exhaustive
def test_an_error_above_is_told_where_one_waits(visit: Visit) -> None:
    page = unfold(visit.look(CHAPTER))
    write(page, cell(page, 3), "half")
    run_to(page, cell(page, 5))
    said = "cell 3 above ended with an error: NameError: name 'half' is not defined"
    expect(cell(page, 5).get_by_role("status")).to_have_text(said, timeout=COLD)
    expect(cell(page, 3).locator("[data-kind=error]")).to_be_visible()


def test_what_needs_pytorch_says_so(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    torch = page.locator(".page-cell-torch")
    assert torch.count() == 1
    expect(torch).to_contain_text("it needs PyTorch, which runs in no browser")
    assert torch.get_by_role("button", name="Run").count() == 0


def test_from_a_disk_no_cell_promises_to_run(visit: Visit) -> None:
    page = visit.look(CHAPTER, protocol="file")
    expect(page.locator(".here .here-place").first).to_contain_text("this page cannot run Python")
    assert page.get_by_role("button", name="Run cell").count() == 0


@pytest.mark.exhaustive
def test_it_is_read_by_everyone(visit: Visit) -> None:
    page = visit.look(CHAPTER, width=WIDTHS[1])
    third = cell(page, 3)
    run_to(page, third)
    expect(third.get_by_role("status")).to_contain_text("Done", timeout=COLD)
    press(page, third, "Edit cell")
    expect(third.get_by_role("textbox")).to_be_focused(timeout=COLD)
    for theme in THEMES:
        change(page, theme, WIDTHS[1])
        assert_fits(page)
        assert serious_findings(page, colours=theme == "dark") == []
    third.get_by_role("textbox").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(third.get_by_role("button", name="Run cell")).to_be_focused()
