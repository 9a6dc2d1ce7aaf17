"""Phrases of the text that set a picture, and the picture that comes to the reader."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qsl

import nbformat
import pytest
from playwright.sync_api import Page, expect

from mini_attn import widgets
from tests.scripts import script
from tests.site import assert_fits
from tools import ROOT
from tools.site import Visit

STEMS = [chapter["page"] for chapter in script("book/_ext/outline.py").outline(ROOT)]
PHRASE = re.compile(r'<a class="sets" href="#([\w-]+):([^"]*)">(.+?)</a>')
SCREENS = {"beside": (1300, 800), "wide": (1600, 900), "sheet": (390, 844)}
SOME = {"kv-cache"}
EACH = [pytest.param(stem, marks=[] if stem in SOME else pytest.mark.exhaustive) for stem in STEMS]
PAGE = "book/rope.html"


def phrases(stem: str) -> tuple[str, list[tuple[str, str, str]]]:
    """A chapter's code, and the phrases of its text: picture, state and words."""
    cells = nbformat.read(ROOT / f"book/{stem}.ipynb", as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return code, [(name, unescape(state), words) for name, state, words in PHRASE.findall(prose)]


@pytest.mark.parametrize("stem", STEMS)
def test_every_phrase_asks_for_a_state_that_its_picture_has(stem: str) -> None:
    code, found = phrases(stem)
    assert len(found) >= 2
    for name, state, words in found:
        made = "".join(part.capitalize() for part in name.split("_"))
        assert f"{made}(" in code, f"{words!r}: the chapter has no {made}"
        given = dict(parse_qsl(state.partition("&at=")[0], strict_parsing=True))
        traits = getattr(widgets, made)().traits()
        kinds = {key: type(traits[key].default()) for key in given}
        read = {
            key: value == "true" if kinds[key] is bool else kinds[key](value)
            for key, value in given.items()
        }
        picture = getattr(widgets, made)(**read)  # refuses what it cannot show
        assert {key: getattr(picture, key) for key in read} == read


# Press every phrase, from where its text is read and its picture as the page shows it at first;
# tell whether the sentence is in sight, how much of what has changed, and whose controls are left.
LENS = """async () => {
  const painted = () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
  document.querySelectorAll("article details").forEach((one) => { one.open = true; });
  document.documentElement.classList.remove("guess-first");
  const leaves = (live) => [...live.querySelectorAll(".living-output svg :not(g, defs, defs *)")]
    .filter((one) => !one.dataset.id);
  const said = [];
  for (const link of document.querySelectorAll("a.sets")) {
    const [name, state] = link.hash.slice(1).split(":");
    const live = document.querySelector(`.living[data-widget=${name}] .living-live`);
    live.querySelector("[data-do=reset]").click();
    await painted();
    link.scrollIntoView({ block: "center" });
    await painted();
    link.click(); // once for the picture to come, drawn for its place, and once to see what changes
    live.querySelector("[data-do=reset]").click();
    await painted();
    const before = new Set(leaves(live).map((one) => one.outerHTML));
    link.click();
    await painted();
    for (let i = 0; live.querySelector("[aria-busy]") && i < 600; i++) await painted();
    const sheet = live.closest(".living-dock");
    const below = sheet?.matches(":not(.living-beside)"); // the text, which may glide there
    const edge = () => (below ? sheet.getBoundingClientRect().top : innerHeight);
    const shows = () => link.getBoundingClientRect().bottom <= edge() + 1;
    for (let i = 0; !shows() && i < 60; i++) await painted();
    const say = live.querySelector(".living-say").getBoundingClientRect();
    const room = sheet?.getBoundingClientRect() ?? { top: 0, bottom: innerHeight };
    const from = sheet ? say.bottom : 0, to = Math.min(room.bottom, innerHeight);
    const fresh = leaves(live).filter((one) => !before.has(one.outerHTML));
    const counts = new Map();
    for (const one of fresh) {
      const panel = one.closest("[data-panel]") ?? live.querySelector(".living-first svg");
      counts.set(panel, (counts.get(panel) ?? 0) + 1);
    }
    const told = link.hash.includes("&at=") && live.querySelector(".living-lit");
    const panel = told ? told.closest("[data-panel]") ?? told.ownerSVGElement
      : [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
    const boxes = fresh.filter((one) => panel.contains(one))
      .map((one) => one.getBoundingClientRect()).filter(({ width, height }) => width || height);
    const top = Math.min(...boxes.map((one) => one.top));
    const bottom = Math.max(...boxes.map((one) => one.bottom));
    const seen = (Math.min(bottom, to) - Math.max(top, from)) / Math.min(bottom - top, to - from);
    const set = (key) => `&${state}`.includes(`&${key}=`);
    said.push({
      phrase: link.textContent, state: link.hash,
      sentence: say.top >= room.top && say.bottom <= to && say.height > 0,
      changed: boxes.length ? Math.max(0, Math.min(1, seen)) : null,
      link: shows(),
      strange: sheet ? [...sheet.querySelectorAll("[data-control]")]
        .filter((one) => one.checkVisibility() && !set(one.dataset.control)).length : 0,
    });
    dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  }
  return said;
}"""


@pytest.mark.browser
@pytest.mark.parametrize("screen", ["beside", "sheet"])
@pytest.mark.parametrize("stem", EACH)
def test_each_phrase_shows_its_sentence_and_what_it_changes(
    visit: Visit, stem: str, screen: str
) -> None:
    width, height = SCREENS[screen]
    page = visit.look(f"book/{stem}.html", width=width)
    page.set_viewport_size({"width": width, "height": height})
    said = page.evaluate(LENS)
    assert len(said) == len(phrases(stem)[1])
    for one in said:
        assert one["sentence"], one
        assert one["link"], one
        assert not one["strange"], one
        assert one["changed"] is None or one["changed"] >= 0.75, one
    assert sum(one["changed"] is not None for one in said) >= len(said) / 2


def phrase(page: Page) -> None:
    """Click the page's last phrase, from where its picture is out of sight."""
    page.locator("a.sets").last.scroll_into_view_if_needed()
    page.locator("a.sets").last.click()


@pytest.mark.browser
@pytest.mark.parametrize("screen", SCREENS)
def test_a_phrase_brings_its_picture(visit: Visit, screen: str) -> None:
    width, height = SCREENS[screen]
    page = visit.look(PAGE, width=width)
    page.set_viewport_size({"width": width, "height": height})
    said = page.locator(".living[data-widget=rotor] .living-say, .living-dock .living-say").first
    before = said.text_content()
    page.locator("a.sets").last.scroll_into_view_if_needed()
    at = page.evaluate("document.body.scrollHeight")
    phrase(page)
    dock = page.locator(".living-dock")
    expect(dock.locator(".living-picture, svg").first).to_be_visible()
    expect(dock.locator(".living-say")).not_to_have_text(before or "")
    assert_fits(page)
    assert page.evaluate("document.body.scrollHeight") == pytest.approx(at, abs=1)
    text = page.locator("a.sets").last.locator("xpath=ancestor::p").bounding_box()
    place, link = dock.bounding_box(), page.locator("a.sets").last.bounding_box()
    assert place
    assert link
    assert text
    if screen == "sheet":
        assert link["y"] + link["height"] <= place["y"] + 1
        assert place["y"] + place["height"] == pytest.approx(height, abs=1)
    else:
        assert place["x"] >= text["x"] + text["width"]
    now = dock.locator(".living-say").text_content()
    page.keyboard.press("Escape")
    expect(dock).to_have_count(0)
    expect(page.locator(".living[data-widget=rotor] .living-say")).to_have_text(now or "")


@pytest.mark.browser
def test_a_docked_picture_goes_back_where_it_is_seen_and_before_printing(visit: Visit) -> None:
    page = visit.look(PAGE)
    dock = page.locator(".living-dock")
    phrase(page)
    expect(dock).to_have_count(1)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(dock).to_have_count(0)
    phrase(page)
    dock.get_by_role("button", name="Put it back").focus()
    page.keyboard.press("Enter")
    expect(dock).to_have_count(0)
    expect(page.locator("a.sets").last).to_be_focused()
    phrase(page)
    page.locator(".living-away").scroll_into_view_if_needed()
    expect(dock).to_have_count(0)
    page.evaluate("document.querySelector('article').prepend(document.querySelector('a.sets'))")
    page.locator("a.sets").first.click()  # in sight: nothing moves
    expect(dock).to_have_count(0)
