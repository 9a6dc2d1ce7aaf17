"""What is often said: each claim has a cell, and its verdict waits until the reader has decided."""

from __future__ import annotations

import json
import re

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.scripts import script
from tests.site import THEMES, WIDTHS, assert_fits, change, serious_findings
from tools import ROOT
from tools.site import Visit

CLAIMS = script("book/_ext/claims.py")
PAGE = "book/claims.html"
TEXT = (ROOT / "book/claims.md").read_text(encoding="utf-8")
BOOKS = sorted(ROOT.glob("book/*.ipynb"))


def test_every_claim_has_its_cell_and_all_come_in_order() -> None:
    assert CLAIMS.faults(TEXT, BOOKS) == []
    assert list(CLAIMS.rows(TEXT)) == list(range(1, CLAIMS.COUNT + 1))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("**7.** “", "**8.** “", "claim 7 has no row"),
        ("(#claim-9)", "(#claim-8)", "claim 9 links to claim-8"),
        ("{.depends}", "{.perhaps}", "has the stance 'perhaps', expected one of disagree, depends"),
        ("{.disagree}\n**1.**", "**1.**", "claim 1 has no row"),
    ],
)
def test_a_fault_of_the_page_is_found(old: str, new: str, words: str) -> None:
    assert any(words in fault for fault in CLAIMS.faults(TEXT.replace(old, new, 1), BOOKS))


def test_claims_out_of_order_are_found() -> None:
    head, *rows = re.split(r"(?=^\{\.\w+\}\n)", TEXT, flags=re.MULTILINE)
    turned = "".join([head, rows[1], rows[0], *rows[2:]])
    assert CLAIMS.faults(turned, BOOKS) == ["claims are not numbered in the order of the page"]
    assert "claim 1 is shown by 0 cells instead of one" in CLAIMS.faults(TEXT, BOOKS[4:])


def numbers(sentence: str) -> set[int]:
    """The claims that a sentence names: ``1, 2 and 3``, or ``21 to 25``."""
    spans = [range(int(a), int(b) + 1) for a, b in re.findall(r"(\d+) to (\d+)", sentence)]
    return {int(n) for n in re.findall(r"\d+", sentence)}.union(*spans)


def test_a_chapter_that_names_claims_names_its_own() -> None:
    for path in BOOKS:
        cells = nbformat.read(path, 4).cells
        own = {number for number, _ in CLAIMS.shown(path)}
        prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        for line in prose.splitlines():
            if "(claims.md" in line and re.search(r"\d", line):
                assert own <= numbers(line), (path.stem, line)
                assert numbers(line) <= set(CLAIMS.rows(TEXT))


def card(page: Page, number: int) -> Locator:
    """The card of a claim."""
    return page.locator(f".claim[data-claim='claims/claim-{number}']")


def is_covered(box: Locator) -> bool:
    """Whether the verdict is hidden."""
    return not box.locator(".covered-body").is_visible()


def kept(page: Page) -> dict[str, dict[str, object]]:
    """What the browser keeps of the claims."""
    own = "Object.entries(localStorage).filter(([k]) => k.includes('prediction:claims/'))"
    found = page.evaluate(own)
    return {name.rpartition("/")[2]: json.loads(text) for name, text in found}


@pytest.mark.browser
@pytest.mark.parametrize("protocol", ["http", pytest.param("file", marks=pytest.mark.exhaustive)])
def test_a_verdict_waits_for_the_reader_s_and_both_are_kept(visit: Visit, protocol: str) -> None:
    page = visit(PAGE, protocol=protocol)
    assert page.locator(".claim").count() == CLAIMS.COUNT
    assert all(is_covered(box) for box in page.locator(".claim").all())
    one, other = card(page, 1), card(page, 5)
    expect(one.locator(".claim-text")).to_contain_text("1. “Scores are divided")
    button = one.get_by_role("button", name="Disagree", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_be_focused()
    expect(one.get_by_role("status")).to_have_text("✓ You disagree, and so does this book.")
    expect(one.locator(".covered-body")).to_contain_text("divided by the square root of head_dim")
    other.get_by_role("button", name="Agree", exact=True).click()
    expect(other.get_by_role("status")).to_have_text("→ You agree; this book says that it depends.")
    assert not is_covered(other)
    assert is_covered(card(page, 2))
    right = {"attempt": "disagree", "shown": False, "verdict": "right", "solved": "disagree"}
    assert kept(page) == {
        "claim-1": right, "claim-5": {"attempt": "agree", "shown": False, "verdict": "wrong"},
    }  # fmt: skip
    expect(page.locator(".kept-sum")).to_have_text(f"1 of {CLAIMS.COUNT} predictions right")
    page.reload()
    assert not is_covered(one)
    expect(button).to_have_attribute("aria-pressed", "true")
    button.press("Enter")  # once more takes it back
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(one.get_by_role("status")).to_be_empty()
    assert is_covered(one)
    assert list(kept(page)) == ["claim-5"]


@pytest.mark.browser
def test_what_was_right_once_counts_and_the_table_knows(visit: Visit) -> None:
    page = visit(PAGE)
    one = card(page, 1)
    for say in ("Disagree", "It depends"):
        one.get_by_role("button", name=say, exact=True).click()
    expect(one.get_by_role("status")).to_have_text(
        "→ You say that it depends; this book disagrees."
    )
    expect(page.locator(".kept-sum")).to_have_text(f"1 of {CLAIMS.COUNT} predictions right")
    page.goto(page.url.replace("claims", "about"))
    row = page.locator(".kept").get_by_role("row", name="What is often said")
    expect(row).to_contain_text(f"1 of {CLAIMS.COUNT}")
    expect(row).to_contain_text("none")


@pytest.mark.browser
def test_show_me_and_the_switch_uncover(visit: Visit) -> None:
    page = visit(PAGE)
    one = card(page, 3)
    one.get_by_role("button", name="Show me: the verdict on claim 3").press("Enter")
    assert not is_covered(one)
    again = one.get_by_role("button", name="Cover it again: the verdict on claim 3")
    expect(again).to_be_focused()
    again.press("Enter")
    assert is_covered(one)
    assert kept(page) == {}
    page.get_by_role("switch", name="Guess first").uncheck()
    assert not any(is_covered(box) for box in page.locator(".claim").all())
    page.reload()
    assert not any(is_covered(box) for box in page.locator(".claim").all())
    page.get_by_role("switch", name="Guess first").check()
    assert all(is_covered(box) for box in page.locator(".claim").all())


@pytest.mark.browser
def test_claims_on_paper_and_without_javascript_are_whole(visit: Visit) -> None:
    page = visit.look(PAGE)
    page.emulate_media(media="print")
    plain = visit.look(PAGE, java_script_enabled=False)
    for shown in (page, plain):
        assert not any(is_covered(box) for box in shown.locator(".claim").all())
        assert not shown.get_by_role("button", name="Agree", exact=True).first.is_visible()
        assert not shown.get_by_text("Guess first").is_visible()


@pytest.mark.browser
def test_claims_without_storage_can_be_answered(visit: Visit) -> None:
    page = visit("book/notation.html")
    page.context.add_init_script("""for (const room of ["localStorage", "sessionStorage"])
      Object.defineProperty(window, room, {get() { throw new DOMException("blocked"); }});""")
    page.goto(page.url.replace("notation", "claims"))
    one = card(page, 1)
    one.get_by_role("button", name="Agree", exact=True).click()
    expect(one.get_by_role("status")).to_have_text("→ You agree; this book disagrees.")
    assert not is_covered(one)
    own = ("blocked", "theme mode")  # the theme's scripts complain of it
    visit.errors[:] = [error for error in visit.errors if not any(word in error for word in own)]


@pytest.mark.browser
def test_cards_fit_can_be_hit_and_have_no_barrier(visit: Visit) -> None:
    page = visit.look(PAGE)
    card(page, 1).get_by_role("button", name="Disagree", exact=True).click()
    for theme, width in zip(THEMES, WIDTHS, strict=True):
        change(page, theme, width)
        assert_fits(page)
        for button in page.locator(".claim button:visible").all()[:12]:
            size = button.bounding_box()
            assert size
            assert min(size["width"], size["height"]) >= 24
        assert serious_findings(page, covered=True) == []
