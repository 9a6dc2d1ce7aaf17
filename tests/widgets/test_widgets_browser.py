"""The widgets on a small page of their own and in a notebook's front end, in a real Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mini_attn import widgets
from mini_attn.stories.family import on_pages
from mini_attn.widgets import DecodeStepper
from mini_attn.widgets.base import STATIC
from mini_attn.widgets.model_data import model_script
from tests.contrast import faint_text
from tests.sampling import sampled
from tests.site import (
    THEMES,
    WIDTHS,
    assert_fits,
    change,
    open_settings,
    serious_findings,
    watched,
)
from tools.site import Visit, visiting

pytestmark = pytest.mark.browser

OWN_VIEWS = {"Prediction", "LivingPlot"}  # tested in files of their own
CLASSES = [getattr(widgets, name) for name in widgets.__all__ if name not in OWN_VIEWS]
WIDGETS = {found.class_traits()["_widget"].default_value: found for found in CLASSES}
SWITCHED = "home_model"  # its parts are switches with no arithmetic behind them, and no controls
STEPPER = ".living[data-widget=decode_stepper]"
CALCULATOR = ".living[data-widget=cache_calculator]"
FRAME = """<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Widgets</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="living.css">
<script src="living.page.js" defer></script><script src="living.trained.js" defer></script>
<style>html[data-theme=dark] body {{ background: #14181d }}</style></head>
<body><main><article>{body}</article></main></body></html>"""
BROKEN = (
    '<div class="living" data-widget="decode_stepper"><script type="application/json">{"step": 77}'
    '</script><figure class="living-picture">a picture</figure></div>'
    '<div class="living" data-widget="decode_stepper"><script type="application/json">{nonsense'
    '</script><figure class="living-picture">a picture</figure></div>'
    '<div class="living" data-widget="constructor"><script type="application/json">{}</script>'
    '<figure class="living-picture">a picture</figure></div>'
)
NOTEBOOK = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Notebook</title>
<link rel="icon" href="data:,">
<div id="cell"></div><script type="module">
import widget from "./living.jupyter.js";
const values = { _widget: "decode_stepper", step: 2, cached: true, head: 1 };
const listeners = [];
window.saves = 0;
window.model = {
  get: (key) => values[key],
  set(key, value) {
    values[key] = value;
    for (const [event, callback] of [...listeners]) {
      if (event === `change:${key}`) callback({}, value);
    }
  },
  on: (event, callback) => listeners.push([event, callback]),
  off(event, callback) {
    listeners.splice(listeners.findIndex(([e, c]) => e === event && c === callback), 1);
  },
  save_changes: () => { window.saves += 1; },
  send() {},
};
window.count = () => listeners.length;
window.cleanUp = widget.render({ model, el: document.getElementById("cell") });
</script></html>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages with the committed bundle, as the book's pages have it."""
    place = tmp_path_factory.mktemp("widgets")
    for name in ("living.page.js", "living.trained.js", "living.jupyter.js", "living.css"):
        shutil.copy(STATIC / name, place / name)
    (place / "models").mkdir()
    for name in on_pages():
        (place / f"models/{name}.js").write_text(model_script(name), "ascii")
    for theme in THEMES:
        for name, widget in WIDGETS.items():
            page = FRAME.format(theme=theme, body=widget()._html())
            (place / f"{name}-{theme}.html").write_text(page, "utf-8")
        both = "".join(WIDGETS[name]()._html() for name in ("decode_stepper", "cache_calculator"))
        (place / f"{theme}.html").write_text(FRAME.format(theme=theme, body=both), "utf-8")
    everything = "".join(widget()._html() for widget in WIDGETS.values())
    (place / "all.html").write_text(FRAME.format(theme="light", body=everything), "utf-8")
    broken = FRAME.format(theme="light", body=BROKEN + DecodeStepper(step=4)._html())
    (place / "broken.html").write_text(broken, "utf-8")
    (place / "notebook.html").write_text(NOTEBOOK, "utf-8")
    return place


@pytest.fixture(scope="module")
def visits(folder: Path) -> Iterator[Visit]:
    with visiting(folder) as visits:
        yield visits


@pytest.fixture
def open_page(visits: Visit) -> Iterator[Visit]:
    """Opens a page; at the end nothing was raised and no other host was asked."""
    yield from watched(visits)


def shown(box: Locator) -> str:
    """All that a reader sees of the result."""
    return box.locator(".living-result").inner_html()


def say(box: Locator) -> Locator:
    return box.locator(".living-say")


def box_of(page: Page, name: str) -> Locator:
    return page.locator(f".living[data-widget={name}]")


SMALL = """(box) => [...box.querySelectorAll(".living-output svg text")]
  .map((text) => [parseFloat(getComputedStyle(text).fontSize)
    * text.ownerSVGElement.getScreenCTM().a, text.textContent])
  .filter(([size]) => size < 10.9)"""
CLIPPED = """(box) => [...box.querySelectorAll(".living-output svg")].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((text) => {
    const place = text.getBoundingClientRect();
    return place.width && (place.left < frame.left - 1 || place.right > frame.right + 1
      || place.top < frame.top - 1 || place.bottom > frame.bottom + 1);
  }).map((text) => text.textContent);
})"""
NAMELESS = """(box) => {
  const words = (one) => one.ariaLabel || [...(one.labels ?? [])].map((l) => l.innerText).join();
  return [...box.querySelectorAll("[data-key]")]
    .filter((one) => one.closest("[data-control]").checkVisibility() && !words(one).trim())
    .map((one) => one.outerHTML);
}"""


def assert_alive_and_fits(page: Page, name: str) -> None:
    """No wider than the page, no text below 11 pixels, and no word cut off."""
    box = box_of(page, name)
    assert box.locator(".living-output").is_visible()
    assert not box.locator(".living-picture").is_visible()
    assert box.evaluate(SMALL) == [], "text is never drawn smaller than 11 pixels"
    assert_fits(page)
    assert box.evaluate(CLIPPED) == []


def darken(page: Page, theme: str) -> None:
    """Let the small page be light or dark, as the book's switch does."""
    page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
    change(page, theme, page.evaluate("innerWidth"))


# A picture is loaded once over each protocol, and asked there all that looks at it.
SAMPLE = sampled(WIDGETS, lambda _: "a picture", 4)


@pytest.mark.parametrize("name", SAMPLE)
def test_a_picture_over_http(open_page: Visit, name: str) -> None:
    page = open_page.look(f"{name}-light.html")
    box = box_of(page, name)
    assert_alive_and_fits(page, name)
    assert box.evaluate(NAMELESS) == []
    assert serious_findings(page) == []
    assert_arithmetic_follows_the_keyboard(page, box)
    radios = box.locator(".living-choice input:not(:checked):not(:disabled)")
    if radios.count():
        radios.first.evaluate("(radio) => radio.click()")  # another state is no worse
        assert serious_findings(page) == []
    assert faint_text(page) == []
    darken(page, "dark")
    assert serious_findings(page, colours=True) == []
    assert faint_text(page) == []
    if radios.count():
        box.get_by_role("button", name="Reset").click()
        assert serious_findings(page, colours=True) == []
    change(page, "dark", 600)
    assert box.evaluate(CLIPPED) == []
    page.emulate_media(media="print")
    assert box.locator(".living-picture svg").is_visible()
    assert not box.locator(".living-live").is_visible()


@pytest.mark.parametrize("name", SAMPLE)
def test_a_picture_from_a_folder_on_a_phone(open_page: Visit, name: str) -> None:
    page = open_page.look(f"{name}-dark.html", protocol="file", theme="dark", width=WIDTHS[1])
    assert_alive_and_fits(page, name)
    assert serious_findings(page) == [], "dark"
    darken(page, "light")
    assert serious_findings(page, colours=True) == [], "light"


def assert_arithmetic_follows_the_keyboard(page: Page, box: Locator) -> None:
    """The part that Tab reaches says something, and an arrow key goes to another."""
    box.locator(".living-output [tabindex='0']").first.focus()
    says = box.locator(".living-detail").inner_text().strip()
    assert says or box.get_attribute("data-widget") == SWITCHED
    for key in ("ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    assert box.locator(".living-output :focus").count() == 1


def test_every_picture_needs_no_script(open_page: Visit) -> None:
    page = open_page.look("all.html", java_script_enabled=False)
    for name in WIDGETS:
        assert box_of(page, name).locator(".living-picture svg").is_visible(), name


def change_by_mouse(_page: Page, control: Locator) -> None:
    """Do to an input what a reader does with a mouse (and types into a number)."""
    kind = control.evaluate("(e) => e.type")
    if kind == "checkbox":
        control.evaluate("(e) => e.click()")
    elif kind == "range":
        wide, now = control.evaluate("(e) => [e.clientWidth, (e.value - e.min) / (e.max - e.min)]")
        control.click(position={"x": wide * (0.15 if now > 0.4 else 0.9), "y": 22})
    elif kind == "textarea":
        control.fill("lily had")
    elif kind == "number":
        control.fill(str(int(control.input_value()) + 1))
    elif kind == "radio":
        control.click()
    else:
        values = control.evaluate("(e) => [...e.options].map((o) => o.value)")
        control.select_option(next(v for v in values if v != control.input_value()))


def change_by_keyboard(page: Page, control: Locator) -> None:
    control.focus()
    kind = control.evaluate("(e) => e.type")
    value = "(e) => ['radio', 'checkbox'].includes(e.type) ? e.checked : e.value"
    before = control.evaluate(value)
    if kind == "textarea":
        page.keyboard.type(" the ")
        return
    page.keyboard.press({"range": "ArrowLeft", "radio": " ", "checkbox": " "}.get(kind, "ArrowUp"))
    after = control.evaluate(value)
    if after == before:
        page.keyboard.press("ArrowRight" if kind == "range" else "ArrowDown")


@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.exhaustive)], ids=["one", "every"]
)
@pytest.mark.parametrize(
    "name", sampled(sorted(WIDGETS.keys() - {SWITCHED}), lambda _: "a picture", 4)
)
def test_each_control_changes_the_result(open_page: Visit, name: str, every: bool) -> None:
    """By mouse and by keyboard: one control of each kind, or all of them."""
    page = open_page.look(f"{name}-light.html")
    box = box_of(page, name)
    open_settings(box)
    controls = box.locator("[data-key]:visible:not(:disabled), .living-choice input")
    assert controls.count() >= 1
    tried: set[str] = set()
    for number in range(controls.count()):
        box.get_by_role("button", name="Reset").click()  # some states have fewer controls
        control = controls.nth(number)
        kind = control.evaluate("(e) => e.type")
        if kind in tried and not every:
            continue
        for change_it in (change_by_mouse, change_by_keyboard):
            box.get_by_role("button", name="Reset").click()
            if control.evaluate("(e) => (e.type === 'radio' && e.checked) || e.disabled"):
                continue
            if not control.evaluate("(e) => e.closest('[data-control]').checkVisibility()"):
                continue
            tried.add(kind)
            before = shown(box)
            change_it(page, control)
            label = control.evaluate("(e) => e.outerHTML")
            box.locator(".living-result:not([aria-busy])").wait_for()  # a decoder may have to come
            assert shown(box) != before, label
    assert tried


def test_buttons_of_the_stepper(open_page: Visit) -> None:
    page = open_page.look("light.html")
    box = page.locator(STEPPER)
    button = {name: box.get_by_role("button", name=name) for name in ("Back", "Play", "Step")}
    button["Step"].click()
    expect(say(box)).to_contain_text("Step 1")
    for key in ("Enter", " ", "Enter", " "):  # beyond the last step nothing happens
        button["Step"].press(key)
    expect(say(box)).to_contain_text("Step 4")
    for _ in range(6):
        button["Back"].click()
    expect(say(box)).to_contain_text("Prefill")
    button["Step"].click()
    box.get_by_role("button", name="Reset").click()
    expect(say(box)).to_contain_text("Prefill")


def test_play_runs_to_the_end_and_stops(open_page: Visit) -> None:
    page = open_page("light.html")
    page.clock.install()
    box = page.locator(STEPPER)
    box.get_by_role("slider").press("End")
    box.get_by_role("button", name="Play").click()  # at the end it starts from the beginning
    expect(say(box)).to_contain_text("Prefill")
    expect(box.get_by_role("button", name="Pause")).to_have_attribute("aria-pressed", "true")
    page.clock.run_for(1500)
    expect(say(box)).to_contain_text("Step 1")
    box.get_by_role("button", name="Pause").click()
    page.clock.run_for(5000)
    expect(say(box)).to_contain_text("Step 1")
    box.get_by_role("button", name="Play").click()
    page.clock.run_for(10_000)
    expect(say(box)).to_contain_text("Step 4")
    expect(box.get_by_role("button", name="Play")).to_have_attribute("aria-pressed", "false")


def test_arithmetic_by_pointer_tap_and_keyboard(open_page: Visit) -> None:
    page = open_page.look("light.html#decode_stepper:step=2")
    box = page.locator(STEPPER)
    detail = box.locator(".living-detail")
    box.locator("[data-id='w-5-4']").hover(force=True)  # what takes the pointer is the field
    expect(detail).to_contain_text("“was” attends to “there”: q · k =")
    assert box.locator(".living-also").count() == 2  # the query and the key it is made of
    box.locator("[data-id='k-0']").click()
    expect(detail).to_contain_text("The key of “Once”, read from the cache")
    page.mouse.move(0, 0)
    box.locator("[tabindex='0'][data-id]").focus()
    expect(detail).to_contain_text("“was” goes through the layer")
    page.keyboard.press("ArrowDown")
    expect(detail).to_contain_text("The value of “was”")
    page.keyboard.press("ArrowLeft")
    expect(detail).to_contain_text("The key of “was”, computed now")
    assert box.locator("[tabindex='0'][data-id]").count() == 1


def test_focus_survives_a_change_from_outside(open_page: Visit) -> None:
    page = open_page.look("light.html")
    box = page.locator(STEPPER)
    box.locator("[tabindex='0'][data-id]").focus()
    page.evaluate("location.hash = '#decode_stepper:step=2&cached=false'")
    expect(say(box)).to_contain_text("old ones again")
    assert page.evaluate("document.activeElement.dataset.id") == "now"


@pytest.mark.parametrize("protocol", ["http", pytest.param("file", marks=pytest.mark.exhaustive)])
def test_link_to_a_state(open_page: Visit, protocol: str) -> None:
    page = open_page.look("light.html#decode_stepper:step=4&cached=false", protocol=protocol)
    box = page.locator(STEPPER)
    expect(say(box)).to_contain_text("Step 4")
    expect(say(box)).to_contain_text("7 old ones again")
    expect(page.locator(CALCULATOR).locator(".living-note")).to_be_hidden()
    page.evaluate("location.hash = '#decode_stepper:step=1&head=2'")  # a link on the same page
    expect(say(box)).to_contain_text("Step 1")
    assert box.get_by_role("radio", name="2").is_checked()


def test_copied_link_opens_the_state(open_page: Visit) -> None:
    page = open_page("light.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    box = page.locator(STEPPER)
    for key in ("End", "ArrowLeft"):
        box.get_by_role("slider").press(key)
    box.get_by_role("radio", name="off").click()
    box.get_by_role("button", name="Copy link").click()
    expect(box.get_by_role("button", name="Copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == f"{open_page.address}/light.html#decode_stepper:step=3&cached=false"
    again = open_page(link.removeprefix(f"{open_page.address}/"))
    expect(say(again.locator(STEPPER))).to_contain_text("Step 3")


@pytest.mark.parametrize(
    "address",
    [
        "#decode_stepper:step=99",
        "#decode_stepper:step=<img src=x onerror=window.bad=1>",
        "#decode_stepper:<img src=x onerror=window.bad=1>=1",
        "#decode_stepper:__proto__=1",
        "#decode_stepper:step=1&step=zz",
        "#decode_stepper:cached=%E0%A4%A",
        "#decode_stepper:" + "step=1&" * 3 + "x" * 50_000,
    ],
)
def test_malformed_links_are_refused_in_words(open_page: Visit, address: str) -> None:
    page = open_page.look("light.html")
    box = page.locator(STEPPER)
    for key in ("End", "ArrowLeft"):
        box.get_by_role("slider").press(key)
    page.evaluate("(hash) => { location.hash = hash; }", address)
    expect(box.locator(".living-note")).to_contain_text("a state that does not exist")
    expect(say(box)).to_contain_text("Step 3")  # nothing changed
    assert page.evaluate("window.bad") is None
    assert box.locator("img").count() == 0
    page.reload()
    expect(box.locator(".living-note")).to_contain_text("a state that does not exist")
    expect(say(box)).to_contain_text("Prefill")  # the usual one
    assert page.evaluate("window.bad") is None


def test_numbers_out_of_range_are_refused_while_typing(open_page: Visit) -> None:
    page = open_page.look("light.html")
    box = page.locator(CALCULATOR)
    layers = box.get_by_label("Layers", exact=True)
    before = say(box).inner_text()
    for bad in ("0", "-3", "1e9", "2.5", ""):
        layers.fill(bad)
        expect(box.locator(".living-note")).to_contain_text("n_layers is")
        assert layers.get_attribute("aria-invalid") is not None
        assert say(box).inner_text() == before
    layers.fill("16")
    expect(box.locator(".living-note")).to_be_hidden()
    assert say(box).inner_text() != before


def test_broken_states_of_a_page_break_nothing_else(open_page: Visit) -> None:
    page = open_page.look("broken.html")
    boxes = page.locator(STEPPER)
    assert boxes.count() == 3
    expect(boxes.nth(0).locator(".living-note")).to_contain_text("step is 0 to 4, not 77")
    expect(boxes.nth(1).locator(".living-note")).to_contain_text("no readable state")
    expect(say(boxes.nth(2))).to_contain_text("Step 4")
    assert page.locator("[data-widget=constructor] .living-picture").is_visible()


def test_print_and_no_javascript_show_the_picture(open_page: Visit) -> None:
    page = open_page.look("light.html")
    page.emulate_media(media="print")
    assert page.locator(f"{STEPPER} .living-picture svg").is_visible()
    assert not page.locator(f"{STEPPER} .living-live").is_visible()
    page = open_page.look("light.html", java_script_enabled=False)
    assert page.locator(f"{STEPPER} .living-picture svg").is_visible()
    assert "running totals with and without" in page.locator(f"{STEPPER} figcaption").inner_text()


def test_table_says_what_the_picture_says(open_page: Visit) -> None:
    page = open_page.look("light.html")
    box = page.locator(STEPPER)
    box.get_by_text("The picture as a table").click()
    row = box.get_by_role("row", name="token passes")
    expect(row.get_by_role("cell")).to_have_text(["4", "4"])
    box.get_by_role("slider").press("End")
    expect(row.get_by_role("cell")).to_have_text(["8", "30"])


def test_notebook_front_end(open_page: Visit) -> None:
    """The ES module with a model like anywidget's: both directions, bad values, clean-up."""
    page = open_page("notebook.html")
    box = page.locator("#cell.living")
    expect(say(box)).to_contain_text("Step 2")
    page.evaluate("model.set('step', 4)")  # a cell sets a trait
    expect(say(box)).to_contain_text("Step 4")
    for key in ("Home", "ArrowRight"):  # a reader moves the frame
        box.get_by_role("slider").press(key)
    assert page.evaluate("[model.get('step'), saves]") == [1, 2]
    page.evaluate("model.set('step', 99)")
    expect(box.locator(".living-note")).to_contain_text("step is 0 to 4, not 99")
    expect(say(box)).to_contain_text("Step 1")
    page.evaluate("model.set('step', 3)")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    box.get_by_role("button", name="Copy code").click()
    expect(box.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "DecodeStepper(step=3)"
    assert page.evaluate("count()") == 3
    page.evaluate("cleanUp()")
    assert page.evaluate("count()") == 0
