"""What WCAG 2.2 AA asks beyond axe's usual rules: reflow, targets, focus that is not hidden.

The page `accessibility` says what is tested and how; the last test here holds it to that.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.sampling import sampled
from tests.site import WIDTHS, assert_fits, change
from tools import HTML
from tools.bundle import packages
from tools.pages import names
from tools.site import Visit

PAGES = names()
# The front page, a chapter, a text, cards with buttons and a page of the API stand for the others.
TYPICAL = ("kv-cache", "glossary", "claims", "api-cost")
SAMPLE = ["index.html", *(f"book/{stem}.html" for stem in TYPICAL)]
MAGNIFIED = 320  # CSS pixels: what is left of 1,280 at 400 %
# Links inside of sentences may be small (2.5.8, "inline").
SMALL = """async () => {
  const {violations} = await axe.run(document.querySelector("article"),
    {preload: false, runOnly: {type: "rule", values: ["target-size"]}});
  return violations.flatMap((rule) => rule.nodes.map((node) => node.html.slice(0, 160)));
}"""
# What a pointer can hit in the pictures, on every fold of them: 24 pixels, or so much room around
# that circles of 24 do not meet (2.5.8, "spacing"). A field of small parts, in which the pointer
# means the nearest, is one target: a value is chosen by where in it one points.
CROWDED = """async () => {
  const least = 24, parts = ":is([data-id], [data-tip], .living-field)";
  for (const fold of document.querySelectorAll(".deeper, .living-live details")) fold.open = true;
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  const found = [...document.querySelectorAll(`.living-live svg ${parts}`)].filter((one) =>
    getComputedStyle(one).pointerEvents !== "none" && one.getClientRects().length);
  const all = found.map((one) => {
    const box = one.getBoundingClientRect(), { left, top, width, height } = box;
    const small = Math.min(width, height) < least - 0.05;
    return { one, box, small, x: left + width / 2, y: top + height / 2 };
  });
  const away = ({ left, right, top, bottom }, { x, y }) =>
    Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
  const meets = (part, other) => part !== other && (away(other.box, part) < least / 2
    || other.small && Math.hypot(other.x - part.x, other.y - part.y) < least);
  const crowded = all.filter((part) => part.small && all.some((other) => meets(part, other)));
  return [all.length, crowded.map(({ one, box }) =>
    `${one.dataset.id ?? one.dataset.tip}: ${box.width.toFixed(1)} x ${box.height.toFixed(1)}`)];
}"""
SMALL_PARTS = {
    "position_encodings": "position",
    "rope_scaling": "rope-scaling",
    "decode_stepper": "kv-cache",
    "tile_stepper": "matmul",
    "cost_explorer": "attention-cost",
    "phase_film": "model",
}
# What holds the focus shows at least a part of itself below the bar that stays at the top.
HIDDEN = """() => {
  const bar = document.querySelector(".bd-header-article, header.bd-header");
  const lost = [];
  const takers = ["a", "button", "input", "select", "textarea", "summary", "[tabindex='0']"];
  for (const one of document.querySelectorAll(takers.map((kind) => `article ${kind}`).join())) {
    if (!one.getClientRects().length) continue;
    one.focus();
    if (document.activeElement !== one) continue;
    const box = one.getBoundingClientRect();
    const stays = bar && getComputedStyle(bar).position === "sticky";
    const edge = stays ? bar.getBoundingClientRect().bottom : 0;
    if (box.bottom <= edge || box.top >= innerHeight) lost.push(one.outerHTML.slice(0, 120));
  }
  return lost;
}"""


def assert_usable_at_four_hundred_percent(page: Page) -> None:
    """Nothing scrolls sideways and no focus is hidden; ``test_browser.py`` asks each page."""
    change(page, "light", MAGNIFIED)
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    assert_fits(page)
    assert page.evaluate(HIDDEN) == []


@pytest.mark.browser
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.exhaustive) for name in PAGES],
)
def test_targets_have_room_at_four_hundred_percent(visit: Visit, name: str) -> None:
    """Each has 24 pixels, or so much room around it."""
    page = visit.look(name, width=MAGNIFIED)
    page.evaluate((packages() / "axe-core/axe.min.js").read_text())
    assert page.evaluate(SMALL) == []


@pytest.mark.browser
@pytest.mark.parametrize("widget", sampled(SMALL_PARTS, lambda _: "a picture", 2))
def test_parts_of_a_picture_can_be_hit(visit: Visit, widget: str) -> None:
    page = visit.look(f"book/{SMALL_PARTS[widget]}.html")
    page.locator(f".living-on[data-widget={widget}]").first.wait_for()
    for width in WIDTHS:
        change(page, "light", width)
        targets, crowded = page.evaluate(CROWDED)
        assert targets
        assert crowded == [], f"{width} pixels"


@pytest.mark.browser
def test_the_pointer_means_the_nearest_part(visit: Visit) -> None:
    """A cell of 12 pixels, by mouse and by tap; from there the arrow keys go on."""
    page = visit.look("book/position.html", width=360)
    view = page.locator(".living[data-widget=position_encodings]").first
    cell = view.locator("[data-id='t5-7-3']")
    cell.scroll_into_view_if_needed()
    place = cell.bounding_box()
    assert place
    assert place["width"] < 24
    page.mouse.move(place["x"] + 6, place["y"] + 6)
    expect(view.locator(".living-lit")).to_have_attribute("data-id", "t5-7-3")
    page.mouse.click(place["x"] + 3, place["y"] + 3)
    assert page.evaluate("document.activeElement.dataset.id") == "t5-7-3"
    page.keyboard.press("ArrowLeft")
    expect(view.locator(".living-lit")).to_have_attribute("data-id", "t5-7-2")


@pytest.mark.browser
def test_the_checks_see_what_they_look_for(visit: Visit) -> None:
    page = visit.look("book/glossary.html", width=MAGNIFIED)
    page.evaluate((packages() / "axe-core/axe.min.js").read_text())
    page.evaluate("""() => document.querySelector("article").insertAdjacentHTML("afterbegin",
      "<div><button style='width:9px;height:9px;padding:0'>a</button>" +
      "<button style='width:9px;height:9px;padding:0'>b</button></div>" +
      "<button style='position:fixed;top:-90px'>c</button>")""")
    assert len(page.evaluate(SMALL)) == 2
    assert any(">c<" in markup for markup in page.evaluate(HIDDEN))
    page = visit.look("book/position.html")
    page.add_style_tag(content=".living-field [data-id] { pointer-events: all !important }")
    assert len(page.evaluate(CROWDED)[1]) >= 216, "the cells, each for itself"


@pytest.mark.browser
def test_pictures_keep_their_marks_in_forced_colours(visit: Visit) -> None:
    """Two parts of a picture that differ by color alone still do, and the controls are drawn."""
    page = visit("book/start.html", forced_colors="active")
    view = page.locator(".living[data-widget=softmax_choice] .living-live")
    view.locator("svg.soft-picture").wait_for()
    fills = {
        name: view.locator(name).first.evaluate("(mark) => getComputedStyle(mark).fill")
        for name in (".soft-score", ".soft-power", ".soft-frame")
    }
    assert len(set(fills.values())) == len(fills)
    slider = view.get_by_role("slider").first
    slider.focus()
    assert outline(page, slider.element_handle()) != "none"


def outline(page: Page, element: object) -> str:
    """How the focus of an element is drawn."""
    return str(page.evaluate("(one) => getComputedStyle(one).outlineStyle", element))


def test_the_page_names_the_tests_there_are() -> None:
    text = (HTML / "book/accessibility.html").read_text(encoding="utf-8")
    for name in ("test_accessible.py", "test_browser.py", "test_widgets_browser.py"):
        assert name in text
        assert list(Path("tests").rglob(name)), name
