"""Pictures taken by hand, and the choice of model, device, batch and context that they share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mini_attn.widgets import CacheCalculator
from mini_attn.widgets.base import STATIC
from tests.site import watched
from tests.widgets.test_widgets_browser import FRAME, WIDGETS
from tools.site import Visit, visiting

pytestmark = pytest.mark.browser

TAKEN = [
    "softmax_choice", "rotor", "roofline", "position_encodings", "cost_explorer", "key_budget",
]  # fmt: skip
SHARING = ["cache_calculator", "roofline", "variant_table"]


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    folder: Path = tmp_path_factory.mktemp("handling")
    for name in ("living.page.js", "living.trained.js", "living.css"):
        (folder / name).write_bytes((STATIC / name).read_bytes())
    bodies = {name: widget()._html() for name, widget in WIDGETS.items()}
    bodies["both"] = bodies["roofline"] + bodies["variant_table"]
    bodies["asked"] = CacheCalculator(model="mistral-nemo")._html()
    for name, body in bodies.items():
        (folder / f"{name}.html").write_text(FRAME.format(theme="light", body=body), "utf-8")
    with visiting(folder) as visits:
        yield visits


@pytest.fixture
def open_page(visits: Visit) -> Iterator[Visit]:
    yield from watched(visits)


def pull(page: Page, part: Locator, across: float, down: float = 0) -> None:
    """Press on a part of the picture, go so far, and let go."""
    part.scroll_into_view_if_needed()
    place = part.bounding_box()
    assert place
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across / 2, y + down / 2, steps=3)
    page.mouse.move(x + across, y + down, steps=3)
    page.mouse.up()


def test_a_score_is_pulled(open_page: Visit) -> None:
    page = open_page.look("softmax_choice.html")
    score = page.get_by_role("slider", name="score of upon")
    expect(score).to_have_attribute("aria-valuenow", "0")
    pull(page, score, 60)
    pulled = float(score.get_attribute("aria-valuenow") or 0)
    assert pulled > 0
    assert pulled % 0.25 == 0, "the steps of the key"
    for _ in range(4):
        pull(page, score, -400)
    expect(score).to_have_attribute("aria-valuenow", "-5")  # never beyond its bounds
    page.mouse.move(5, 5)
    expect(score).to_have_attribute("aria-valuenow", "-5")  # let go is let go
    score.focus()
    page.keyboard.press("ArrowRight")
    expect(score).to_have_attribute("aria-valuenow", "-4.75")
    pull(page, page.get_by_role("slider", name="added to all scores"), 40)
    expect(page.locator(".living-say")).to_contain_text("to all scores didn't change the weights")


def test_a_query_is_pulled(open_page: Visit) -> None:
    """Its bars go up and down under the hand and with the keys; the row's weights follow."""
    page = open_page.look("attention_explorer.html")
    bar = page.locator("[data-id='pull-1']")
    pull(page, bar, 0, -20)
    pulled = float(bar.get_attribute("aria-valuenow") or 0)
    assert pulled > 1
    expect(page.locator(".living-say")).to_contain_text("With this query, “time”")
    bar.focus()
    page.keyboard.press("ArrowDown")
    expect(bar).to_have_attribute("aria-valuenow", str(pulled - 0.25))
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-id='pull-2']")).to_be_focused()


def test_a_wire_is_dragged(open_page: Visit) -> None:
    """As far as its neighbour's place or beyond; the choice follows, and so do the keys."""
    page = open_page.look("head_wiring.html")
    wire = page.locator("[data-id='wire-1']")
    box = wire.bounding_box()
    assert box
    pull(page, wire, 0, 2 * box["height"])
    expect(page.get_by_label("1", exact=True)).to_be_checked()
    pull(page, wire, 0, 6)
    expect(page.get_by_label("4", exact=True)).to_be_checked()
    wire.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("2", exact=True)).to_be_checked()
    expect(wire).to_be_focused()


def test_a_tap_changes_nothing(open_page: Visit) -> None:
    page = open_page.look("softmax_choice.html")
    pull(page, page.locator("[data-id='s-1']"), 1)
    expect(page.locator("[data-id='s-1']")).to_have_attribute("aria-valuenow", "0")
    expect(page.locator(".living-detail")).to_contain_text("upon")


def test_a_request_and_a_step_are_pressed(open_page: Visit) -> None:
    """By mouse and by key."""
    page = open_page.look("page_pool.html")
    page.locator("[data-id='request-C']").click()
    expect(page.get_by_text("Block table of C")).to_be_visible()
    page.mouse.move(5, 5)
    page.locator("[data-id='request-C']").press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Block table of D")).to_be_visible()
    expect(page.locator(".living-detail")).to_contain_text("D: waits")
    pull(page, page.locator("[data-id='step-3']"), 0)
    step = page.get_by_role("slider", name="Step")
    expect(step).to_have_attribute("aria-valuenow", "3")
    box = step.bounding_box()
    assert box
    pull(page, step, 2 * box["width"])
    expect(step).to_have_attribute("aria-valuenow", "5")
    step.press("ArrowLeft")
    step.press("ArrowLeft")
    page.get_by_label("pages", exact=True).check(force=True)
    expect(page.locator(".living-say")).to_contain_text("24 pages of 4 slots: 5 running")
    pull(page, page.locator("[data-id='block-9']"), 0)
    expect(page.locator(".living-detail")).to_contain_text("tokens of D from position 0")


def test_a_hand_is_turned(open_page: Visit) -> None:
    """A quarter turn of plane B, which goes 5.7 degrees a position, is some 16 positions."""
    page = open_page.look("rotor.html")
    position = page.get_by_label("Move both: position of the key")
    distance = page.locator("[data-id='move-q']")

    def apart() -> int:
        return int(distance.get_attribute("aria-valuenow") or 0)

    sum_before = int(position.input_value()) + apart()
    tip = page.locator(".rotor-tip-q").nth(2).bounding_box()
    dial = page.locator(".rotor-dial").nth(1).bounding_box()
    assert tip
    assert dial
    centre = (dial["x"] + dial["width"] / 2, dial["y"] + dial["height"] / 2)
    x, y = tip["x"] + 5 - centre[0], tip["y"] + 5 - centre[1]
    page.mouse.move(centre[0] + x, centre[1] + y)
    page.mouse.down()
    page.mouse.move(centre[0] + y, centre[1] - x, steps=8)  # a quarter, against the clock
    page.mouse.up()
    assert int(position.input_value()) == 6
    assert abs(apart() - 3 - 15.7) <= 1
    key = page.locator(".rotor-tip-k").nth(2).bounding_box()
    assert key
    page.mouse.move(key["x"] + 4, key["y"] + 4)
    page.mouse.down()
    page.mouse.move(key["x"] + 24, key["y"] + 24, steps=8)
    page.mouse.up()
    assert int(position.input_value()) != 6
    query = int(position.input_value()) + apart()
    assert abs(query - sum_before - 15.7) <= 1, "the query stays where it is"


def test_two_tokens_are_moved_along_the_text(open_page: Visit) -> None:
    """The key takes the query with it; the query alone changes the distance."""
    page = open_page.look("rotor.html")
    position = page.get_by_label("Move both: position of the key")
    key, query = (page.locator(f"[data-id='move-{name}']") for name in "kq")
    pull(page, key, 60)
    assert int(position.input_value()) > 6
    expect(query).to_have_attribute("aria-valuenow", "3")
    place = position.input_value()
    pull(page, query, 60)
    apart = int(query.get_attribute("aria-valuenow") or 0)
    assert apart > 3
    query.focus()
    page.keyboard.press("ArrowLeft")
    expect(query).to_have_attribute("aria-valuenow", str(apart - 1))
    expect(position).to_have_value(place)


def test_marks_and_triangles_are_moved_sideways(open_page: Visit) -> None:
    page = open_page.look("roofline.html")
    pull(page, page.locator("[data-id='mark-weights']"), 120)
    batch = page.get_by_label("Sequences, exact")
    assert 32 <= int(batch.input_value()) <= 256
    page = open_page.look("position_encodings.html")
    start = page.locator("[data-id=text]")
    expect(start).to_have_attribute("aria-valuenow", "3")
    cell = page.locator("[data-id='shaw-4-1']").bounding_box()
    assert cell
    pull(page, page.locator("[data-id='shaw-4-1']"), 2 * cell["width"])
    expect(start).to_have_attribute("aria-valuenow", "5")
    pull(page, start, -120)
    expect(start).to_have_attribute("aria-valuenow", "3")
    start.press("ArrowRight")
    expect(start).to_have_attribute("aria-valuenow", "4")
    expect(start).to_be_focused()


def test_a_tile_is_taken_to_another_place(open_page: Visit) -> None:
    page = open_page.look("tile_stepper.html")
    knob, step = page.locator("[data-id=knob]"), page.get_by_label("Step", exact=True).last
    expect(step).to_have_value("15")
    pull(page, knob, -70, 70)
    expect(step).to_have_value("24")
    knob.press("ArrowLeft")
    expect(step).to_have_value("23")


def test_the_used_range_is_taken_up_and_down(open_page: Visit) -> None:
    page = open_page.look("rope_scaling.html")
    line = page.locator("[data-id=used]")
    expect(line).to_have_attribute("aria-valuetext", "32,768 tokens")
    pull(page, line, 0, -12)
    expect(line).not_to_have_attribute("aria-valuetext", "32,768 tokens")
    factor = int(line.get_attribute("aria-valuenow") or 0)
    assert 16 <= factor <= 40
    line.press("ArrowDown")
    expect(line).not_to_have_attribute("aria-valuenow", str(factor))


def test_a_finger_takes_a_part_along(open_page: Visit) -> None:
    """Sideways, and in any direction where the part goes there; nothing scrolls meanwhile."""
    wanted = {"position_encodings": ("text", 80, 0), "rope_scaling": ("used", 0, -24)}
    for name, (part, across, down) in wanted.items():
        page = open_page(f"{name}.html", width=390, has_touch=True, is_mobile=True)
        held = page.locator(f"[data-id={part}]")
        held.scroll_into_view_if_needed()
        before, at = int(held.get_attribute("aria-valuenow") or 0), page.evaluate("scrollY")
        place = held.bounding_box()
        assert place
        x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
        session = page.context.new_cdp_session(page)
        for n in range(9):
            point = {"x": x + across * n / 8, "y": y + down * n / 8}
            kind = "touchMove" if n else "touchStart"
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
            page.evaluate("new Promise(requestAnimationFrame)")
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        after = int(held.get_attribute("aria-valuenow") or 0)
        assert after - before >= 3, name
        assert page.evaluate("scrollY") == at, name


MOVED = """(body) => {
  const places = () => [...document.querySelectorAll("[data-part]")].map((one) => one.dataset.part);
  const before = places();
  new Function(body)();
  const moving = document.getAnimations().map((one) => one.effect.target.dataset.part);
  return { before, after: places(), moving };
}"""


def test_the_same_parts_travel(open_page: Visit) -> None:
    """Every plane keeps its mark; the frames of the tiles and the text go along."""
    press = "document.querySelector('[data-do=step]').click()"
    choose = """const one = document.querySelector("select"); one.value = "interpolation";
      one.dispatchEvent(new Event("input", { bubbles: true }));"""
    wanted = {
        "tile_stepper": (press, {"dot-1", "dot-2"}), "position_encodings": (press, {"text"}),
        "rope_scaling": (choose, {"m-0", "m-1"}),
    }  # fmt: skip
    for name, (body, moving) in wanted.items():
        page = open_page.look(f"{name}.html")
        found = page.evaluate(MOVED, body)
        assert found["before"] == found["after"], name
        assert moving <= set(found["moving"]) <= set(found["after"]), name


def test_the_line_of_a_curve_is_dragged(open_page: Visit) -> None:
    """Over one of the charts and in both; a tap only says what is there."""
    page = open_page.look("cost_explorer.html")
    exact = page.get_by_label("Tokens n, exact")
    for name, across in (("now-square", 60), ("now-scores", -120)):
        before = int(exact.input_value())
        pull(page, page.locator(f"[data-id='{name}']"), across)
        after = int(exact.input_value())
        assert (after > before) == (across > 0)
        assert after == float(f"{after:.2g}") or after & (after - 1) == 0, "two digits"
    pull(page, page.locator("[data-id='now-square']"), 900)
    expect(exact).to_have_value("1048576")
    exact.fill("4096")
    pull(page, page.locator("[data-id='now-square']"), 1)
    expect(exact).to_have_value("4096")
    expect(page.locator(".living-detail")).to_contain_text("The line is at 4,096 tokens")


def test_room_for_keys_is_dragged(open_page: Visit) -> None:
    """From one stop to the next, as far as it goes; what is read follows."""
    page = open_page.look("key_budget.html")
    handle = page.get_by_role("slider", name="Budget of keys")
    width = page.locator(".living-first svg").bounding_box()
    assert width
    expect(handle).to_have_attribute("aria-valuenow", "16")
    expect(page.locator(".living-first .keys-held")).to_have_count(16)
    pull(page, handle, 8 * width["width"] / 56)
    expect(handle).to_have_attribute("aria-valuenow", "24")
    expect(page.locator(".living-first .keys-held")).to_have_count(24)
    pull(page, handle, 900)
    expect(handle).to_have_attribute("aria-valuenow", "48")
    handle.focus()
    for key, value in (("Home", "8"), ("ArrowRight", "16"), ("ArrowLeft", "8")):
        page.keyboard.press(key)
        expect(handle).to_have_attribute("aria-valuenow", value)
        expect(handle).to_be_focused()
    page.locator("[data-id=word-10]").click()
    expect(page.get_by_label("Method")).to_have_value("yours")
    expect(page.locator(".living-say")).to_contain_text("the 8 of 8 that you chose")
    page.locator("[data-id=word-11]").press("Enter")
    expect(page.locator("[data-id=word-11]")).to_be_focused()
    expect(page.locator(".living-first .keys-held")).to_have_count(8)


@pytest.mark.parametrize(
    ("name", "part", "label", "steps"),
    [
        ("cost_explorer", "now-square", "Tokens n", ["1536", "2048", "1536", "1024"]),
        ("roofline", "mark-whole", "Sequences", ["24", "32", "24", "16"]),
    ],
)
def test_a_part_has_the_keys_of_its_control(
    open_page: Visit, name: str, part: str, label: str, steps: list[str]
) -> None:
    page = open_page.look(f"{name}.html")
    exact = page.get_by_label(f"{label}, exact")
    handle = page.locator(f"[data-id='{part}']")
    expect(handle).to_have_attribute("role", "slider")
    handle.focus()
    for key, value in zip(["Right", "Right", "Left", "Left"], steps, strict=True):
        page.keyboard.press(f"Arrow{key}")
        expect(exact).to_have_value(value)
        expect(handle).to_have_attribute("aria-valuenow", value)
        expect(handle).to_be_focused()
    page.keyboard.press("End")
    expect(exact).to_have_value(exact.get_attribute("max") or "")
    page.keyboard.press("ArrowUp")  # goes on to another part
    expect(handle).not_to_be_focused()


@pytest.mark.parametrize("name", TAKEN)
def test_a_finger_scrolls_the_page_up_and_down(open_page: Visit, name: str) -> None:
    page = open_page.look(f"{name}.html")
    targets = {
        "softmax_choice": "s-0", "rotor": "plane-0", "roofline": "mark-whole",
        "position_encodings": "t5-2-1", "cost_explorer": "now-square", "key_budget": "room",
    }  # fmt: skip
    style = "(part) => getComputedStyle(part.closest('.living-field > *') ?? part).touchAction"
    assert page.locator(f"[data-id='{targets[name]}']").evaluate(style) == "pan-y"


def test_the_context_of_the_calculator_is_dragged(open_page: Visit) -> None:
    page = open_page.look("cache_calculator.html")
    exact = page.get_by_label("Tokens per sequence (context), exact")
    line = page.get_by_role("slider", name="Tokens per sequence", exact=True).last
    pull(page, line, 60)
    further = int(exact.input_value())
    assert 8192 < further < 131_072
    line.press("Home")
    expect(exact).to_have_value("1")


def test_the_calculator_keeps_its_height(open_page: Visit) -> None:
    """Another device or longer numbers move nothing below them; the sentence may take a line."""
    page = open_page.look("cache_calculator.html", width=740)
    tall = "document.querySelector('.living-app').clientHeight"
    device = page.get_by_label("Device", exact=True)
    before = page.evaluate(tall)
    for name in ("own", "b200", "h100"):
        device.select_option(name)
        assert page.evaluate(tall) == before, name
    picture = page.locator(".living-first svg")
    height = picture.get_attribute("height")
    page.get_by_label("Tokens per sequence (context), exact").fill("10485760")
    assert picture.get_attribute("height") == height


COUNTED = [
    ("cache_calculator", "Sequences (batch)", "cache", "GB"),
    ("cost_explorer", "Tokens n", "total", "FLOP"),
]


@pytest.mark.parametrize(("name", "label", "key", "unit"), COUNTED)
def test_a_number_runs_to_its_new_value(
    open_page: Visit, name: str, label: str, key: str, unit: str
) -> None:
    """On its way for a moment; what is read aloud has the new value at once, and it alone."""
    page = open_page(f"{name}.html")
    page.clock.install(time=0)
    page.clock.pause_at(60_000)
    number = page.locator(f".living-live [data-count='{key}']")
    exact = page.get_by_label(f"{label}, exact")
    exact.fill("32")
    page.clock.run_for(1000)
    first = number.text_content() or ""
    assert unit in first
    exact.fill("512")
    said = page.locator(".living-say").inner_text()
    seen = [number.text_content()]
    expect(number).to_have_attribute("aria-hidden", "true")
    for _ in range(3):
        page.clock.run_for(60)
        seen.append(number.text_content())
    page.clock.run_for(300)
    seen.append(number.text_content())
    assert seen[0] == first
    assert len(set(seen)) == len(seen), seen
    assert number.get_attribute("aria-hidden") is None
    assert page.locator(".living-say").inner_text() == said
    page.emulate_media(reduced_motion="reduce")
    exact.fill("32")
    assert number.text_content() == first
    assert number.get_attribute("aria-hidden") is None


# Change the form, and tell what moves: which parts, where they are at once, and what is left.
CHANGED = """async () => {
  const view = document.querySelector(".living-output");
  const corner = (id) => {
    const place = document.querySelector(id)?.getBoundingClientRect();
    return place ? [place.x, place.y] : null;
  };
  const key = corner("[data-part='k-2']"), latent = corner("[data-part='c-2']");
  document.querySelector("[data-control=form] input:not(:checked)").click();
  const moves = document.getAnimations().filter((one) => view.contains(one.effect.target));
  for (const one of moves) { one.pause(); one.currentTime = 0; }
  const first = corner("[data-part='k-2']");
  const ghosts = view.querySelectorAll("svg .living-keyed:not([data-part])").length;
  for (const one of moves) one.finish();
  await Promise.all(moves.map((one) => one.finished));
  await new Promise(requestAnimationFrame);
  const left = view.querySelectorAll("svg .living-keyed:not([data-part])").length;
  const last = corner("[data-part='k-2']");
  return { key, latent, first, last, moves: moves.length, ghosts, left };
}"""


def test_parts_come_out_of_others_and_go_into_them(open_page: Visit) -> None:
    page = open_page("latent_explorer.html")
    fold = page.evaluate(CHANGED)
    assert fold["moves"] == fold["ghosts"] + 2 > 6
    assert fold["left"] == 0
    grow = page.evaluate(CHANGED)
    assert grow["ghosts"] == 2
    assert grow["first"] == pytest.approx(grow["latent"], abs=1.5), "out of its latent"
    assert grow["last"] == pytest.approx(fold["key"], abs=0.1)
    assert grow["left"] == 0
    page.emulate_media(reduced_motion="reduce")
    still = page.evaluate(CHANGED)
    assert (still["moves"], still["ghosts"], still["left"]) == (0, 0, 0)


def stored(page: Page) -> dict[str, object]:
    return json.loads(page.evaluate("localStorage.getItem('living:shape') ?? '{}'"))


def test_a_line_without_a_field_has_the_keys_of_a_slider(open_page: Visit) -> None:
    page = open_page.look("variant_table.html")
    line = page.get_by_role("slider", name="Tokens in each")
    line.press("ArrowRight")
    expect(page.locator(".living-say")).to_contain_text("16 × 12,288 tokens")
    expect(line).to_be_focused()
    line.press("End")
    expect(line).to_have_attribute("aria-valuetext", "1,048,576 tokens")
    page.locator("[data-id=show-step]").click()
    expect(page.locator(".living-first")).to_contain_text("Shortest step, bound")


@pytest.mark.parametrize("protocol", ["http", pytest.param("file", marks=pytest.mark.exhaustive)])
def test_a_choice_goes_to_the_other_pictures(open_page: Visit, protocol: str) -> None:
    page = open_page("both.html", protocol=protocol)
    roof = page.locator(".living[data-widget=roofline]")
    table = page.locator(".living[data-widget=variant_table]")
    roof.get_by_label("Device", exact=True).select_option("b200")
    roof.get_by_label("Sequences, exact").fill("48")
    expect(table.get_by_label("Device", exact=True)).to_have_value("b200")
    expect(table.get_by_label("Sequences (batch), exact")).to_have_value("48")
    roof.get_by_label("Device", exact=True).select_option(
        "tpu-v5e"
    )  # which the table does not have
    expect(table.get_by_label("Device", exact=True)).to_have_value("b200")
    roof.get_by_label("Model", exact=True).select_option("llama-2-7b")
    page.goto(page.url.replace("both.html", "cache_calculator.html"))
    calculator = page.locator(".living[data-widget=cache_calculator]")
    expect(calculator.get_by_label("Model", exact=True)).to_have_value("llama-2-7b")
    expect(calculator.get_by_label("KV heads", exact=True)).to_be_hidden()  # its sizes came with it
    expect(calculator.get_by_label("Sequences (batch), exact")).to_have_value("48")
    calculator.get_by_role("button", name="Reset").click()
    expect(calculator.get_by_label("Model", exact=True)).to_have_value("llama-3-8b")
    assert stored(page) == {}
    page.goto(page.url.replace("cache_calculator.html", "both.html"))
    expect(roof.get_by_label("Device", exact=True)).to_have_value("h100")


def test_a_link_and_the_page_itself_win(open_page: Visit) -> None:
    page = open_page("roofline.html")
    page.get_by_label("Sequences, exact").fill("64")
    assert stored(page) == {"batch": 64}
    page.goto(page.url.replace("roofline.html", "variant_table.html#variant_table:batch=8"))
    expect(page.get_by_label("Sequences (batch), exact")).to_have_value("8")
    assert stored(page) == {"batch": 64}
    page.goto(page.url.split("variant_table.html")[0] + "asked.html")
    expect(page.get_by_label("Model", exact=True)).to_have_value("mistral-nemo")
    expect(page.get_by_label("Sequences (batch), exact")).to_have_value("16")


@pytest.mark.parametrize("found", ["nonsense", "[1]", '{"batch": 1e9, "device": "abacus"}', "null"])
def test_a_broken_choice_is_no_choice(open_page: Visit, found: str) -> None:
    page = open_page("roofline.html")
    page.evaluate("(text) => localStorage.setItem('living:shape', text)", found)
    page.reload()
    expect(page.get_by_label("Sequences, exact")).to_have_value("16")
    expect(page.get_by_label("Device", exact=True)).to_have_value("h100")
    expect(page.locator(".living-note")).to_be_hidden()
