"""The view into a trained decoder in a real Chromium: how its weights come, and what one can do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from mini_attn.numpy import softmax
from mini_attn.stories import WORDS, encode, sample_rows
from mini_attn.stories.family import load, on_pages
from mini_attn.widgets import InsideModel
from mini_attn.widgets.base import STATIC, load_schema
from mini_attn.widgets.model_data import model_data, model_script
from tests.javascript import SOURCES
from tests.site import THEMES, WIDTHS, watched
from tools.site import Visit, visiting

pytestmark = pytest.mark.browser

FRAME = """<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Inside</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="living.css">
<style>main {{ max-width: 736px }}</style></head>
<body><main><article>{body}<script src="living.page.js"></script></article></main>
<script async src="living.trained.js"></script></body></html>"""
NOTEBOOK = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Notebook</title>
<link rel="icon" href="data:,"><div id="cell"></div><script type="module">
import widget from "./living.jupyter.js";
const values = { _widget: "inside_model", _model: {}, ...%s };
const heard = new Map();
window.model = {
  get: (key) => values[key],
  set(key, value) {
    values[key] = value;
    for (const callback of [...heard.get(`change:${key}`) ?? []]) callback({}, value);
  },
  on(event, callback) { heard.set(event, [...heard.get(event) ?? [], callback]); },
  off(event, callback) {
    heard.set(event, (heard.get(event) ?? []).filter((other) => other !== callback));
  },
  save_changes() {}, send() {},
};
widget.render({ model, el: document.getElementById("cell") });
</script></html>"""
BUNDLES = ("living.page.js", "living.trained.js", "living.jupyter.js", "living.css")


def write_pages(place: Path, members: tuple[str, ...]) -> None:
    """Pages as the book's are, with the decoders beside them."""
    (place / "models").mkdir(parents=True)
    for name in BUNDLES:
        shutil.copy(STATIC / name, place / name)
    for name in members:
        (place / f"models/{name}.js").write_text(model_script(name), "ascii")
    for theme in THEMES:
        page = FRAME.format(theme=theme, body=InsideModel()._html())
        (place / f"{theme}.html").write_text(page, "utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages with all decoders; in `bad` the files of gqa and mqa are damaged, mla's is missing."""
    place = tmp_path_factory.mktemp("inside")
    write_pages(place, on_pages())
    bad = place / "bad"
    write_pages(bad, ("mha",))
    script = model_script("mha")
    (bad / "models/gqa.js").write_text(script.replace('["mha"]', '["gqa"]', 1)[:1000], "ascii")
    at = script.index('"base64":"') + 500
    other = script[:at] + ("A" if script[at] != "A" else "B") + script[at + 1 :]
    (bad / "models/mqa.js").write_text(other.replace('["mha"]', '["mqa"]', 1), "ascii")
    defaults = {key: entry["default"] for key, entry in load_schema("inside_model").items()}
    (place / "notebook.html").write_text(NOTEBOOK % json.dumps(defaults), "utf-8")
    return place


@pytest.fixture(scope="module")
def visits(folder: Path) -> Iterator[Visit]:
    with visiting(folder) as visits:
        yield visits


@pytest.fixture
def open_page(visits: Visit) -> Iterator[Visit]:
    yield from watched(visits)


def box_of(page: Page) -> Locator:
    box = page.locator(".living[data-widget=inside_model]")
    box.locator(".living-first svg").wait_for()
    settings = box.get_by_role("button", name="Settings")
    if settings.is_visible() and settings.get_attribute("aria-expanded") == "false":
        settings.click()
    return box


def say(box: Locator) -> Locator:
    return box.locator(".living-say")


def note(box: Locator) -> Locator:
    return box.locator(".living-note")


def words(box: Locator) -> list[str]:
    """The words that stand in the picture's text."""
    found = box.locator(".living-output [data-id^='t-']").all()
    return [(one.get_attribute("aria-label") or "").split(",")[0] for one in found]


def loaded(page: Page) -> list[str]:
    """The decoders' scripts that the page asked for."""
    return page.evaluate(
        "performance.getEntriesByType('resource').map((e) => e.name)"
        ".filter((n) => n.includes('/models/')).map((n) => n.split('/').at(-1))"
    )


def type_text(box: Locator, text: str) -> None:
    box.get_by_role("textbox").fill(text)


@pytest.mark.parametrize(("touch", "least"), [(True, 44), (False, 24)])
def test_what_is_pressed_has_room_for_a_finger(open_page: Visit, touch: bool, least: int) -> None:
    for width in WIDTHS:
        page = open_page("light.html", width=width, has_touch=touch, is_mobile=touch)
        # Words and bars are fields for fingers: what is not hit is the nearest.
        targets = box_of(page).locator(".living-output [data-id]:not(.living-field *)")
        assert targets.count() == 16 if touch else targets.count() > 40
        sizes = (
            "(all) => all.map((one) => one.getBoundingClientRect()).map((r) => [r.width, r.height])"
        )
        assert min(min(size) for size in targets.evaluate_all(sizes)) >= least - 0.01


def test_a_phone_shows_cause_and_effect_at_once(open_page: Visit) -> None:
    """Text with arcs, switches and the next words stand on a screen; nothing is under Settings."""
    page = open_page("light.html", width=390, has_touch=True, is_mobile=True)
    box = page.locator(".living[data-widget=inside_model]")
    box.locator(".living-first svg").wait_for()
    parts = box.locator(".living-first :is(.in-word, [role=switch], .in-bar, .in-arc)")
    places = parts.evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect()).map((r) => [r.top, r.bottom])"
    )
    tops, bottoms = zip(*places, strict=True)
    assert max(bottoms) - min(tops) < 844 - 200  # the bar at the top, and what it says below
    switch = box.get_by_role("switch", name="head L0H1")
    switch.tap()
    expect(box.locator(".living-first .in-bar").first).to_be_in_viewport()
    expect(box.locator(".living-first")).to_contain_text("lily")
    expect(box.locator(".living-detail")).to_contain_text("L0H1 is off. After “now”: “lily”, 93.")
    expect(box.locator(".living-detail")).to_be_in_viewport()


def test_arcs_go_to_what_the_chosen_word_reads(open_page: Visit) -> None:
    """The strongest is the same arc from head to head; none where the head is off."""
    page = open_page.look("light.html")
    box = box_of(page)
    strongest = box.locator("[data-part='arc-0'] path")
    before = strongest.get_attribute("d")
    box.locator("[data-id='h-L1H0']").click()
    assert strongest.get_attribute("d") != before
    box.get_by_role("switch", name="head L1H0").click()
    expect(strongest).to_have_count(0)


@pytest.mark.parametrize("protocol", ["http", pytest.param("file", marks=pytest.mark.exhaustive)])
def test_a_decoder_comes_at_its_first_use(open_page: Visit, protocol: str) -> None:
    """Nothing at load, one script at the first change, none at the second."""
    page = open_page.look("light.html", protocol=protocol)
    box = box_of(page)
    expect(say(box)).to_contain_text("After “now” the decoder expects “tom”")
    assert page.evaluate("Object.keys(globalThis.livingModels ?? {})") == []
    assert loaded(page) == []
    box.get_by_role("button", name="A repeated block").click()
    expect(say(box)).to_contain_text("After “ring” the decoder expects “beach”")
    box.get_by_role("switch", name="head L0H1").click()
    expect(say(box)).to_contain_text("With all heads on it costs")
    if protocol == "http":
        assert loaded(page) == ["mha.js"]
    expect(note(box)).to_be_hidden()


def test_a_link_to_a_state_brings_its_decoder(open_page: Visit) -> None:
    page = open_page.look("light.html#inside_model:text=lily+had+a&l0h1=false")
    box = box_of(page)
    expect(say(box)).to_contain_text("After “a” the decoder expects")
    assert words(box) == ["<s>", "lily", "had", "a"]
    switch = box.get_by_role("switch", name="head L0H1")
    expect(switch).to_have_attribute("aria-checked", "false")
    page.evaluate("location.hash = '#inside_model:text=lily%20had%20a%20dragon%20and'")
    expect(note(box)).to_contain_text("“dragon”, word 4, is none of the 118 words")
    assert words(box) == ["<s>", "lily", "had", "a"]


@pytest.mark.parametrize(
    ("member", "reason"),
    [("gqa", "its file came, but without weights in it: it is damaged"),
     ("mqa", "its file is damaged: the weights are not those that were written")],
)  # fmt: skip
def test_damaged_weights_are_named_and_nothing_is_lost(
    visits: Visit, member: str, reason: str
) -> None:
    page = visits("bad/light.html")
    box = box_of(page)
    type_text(box, "lily had a")
    expect(say(box)).to_contain_text("After “a”")
    before = words(box)
    box.get_by_label("Decoder", exact=True).select_option(member)
    expect(note(box)).to_contain_text(f"The decoder {member} could not be loaded: {reason}.")
    assert words(box) == before
    assert box.get_by_role("textbox").input_value() == "lily had a"
    box.get_by_label("Decoder", exact=True).select_option("mha")
    expect(note(box)).to_be_hidden()
    visits.close()
    visits.errors.clear()  # the browser's own words about a script that ends too early


def test_missing_weights_are_named(visits: Visit) -> None:
    page = visits("bad/light.html")
    box = box_of(page)
    box.get_by_label("Decoder", exact=True).select_option("mla")
    expect(note(box)).to_contain_text("The decoder mla could not be loaded: models/mla.js is not")
    expect(say(box)).to_contain_text("After “now”")
    visits.close()
    assert all("mla.js" in error for error in visits.errors)
    visits.errors.clear()


def test_words_that_are_none_are_named_and_kept(open_page: Visit) -> None:
    page = open_page.look("light.html")
    box = box_of(page)
    type_text(box, "lily had a red ball .")
    expect(say(box)).to_contain_text("After “.”")
    type_text(box, "lily had a red bal .")
    expect(note(box)).to_contain_text("“bal”, word 5, is none of the 118 words of this language")
    expect(note(box)).to_contain_text("perhaps ball")
    textbox = box.get_by_role("textbox")
    assert textbox.get_attribute("aria-invalid") is not None
    assert textbox.input_value() == "lily had a red bal ."
    assert words(box)[-2:] == ["ball", "."]
    type_text(box, "a " * 300)
    expect(note(box)).to_contain_text("the text has 300 words")
    type_text(box, "")
    expect(note(box)).to_be_hidden()
    assert words(box) == ["<s>"]
    expect(say(box)).to_contain_text("After “<s>” the decoder expects “once”")


def test_words_are_typed_chosen_drawn_and_taken_back(open_page: Visit) -> None:
    page = open_page.look("light.html")
    box = box_of(page)
    textbox = box.get_by_role("textbox")
    type_text(box, "lily had a re")
    expect(say(box)).to_contain_text("The likeliest word that begins with “re” is “red”")
    box.locator(".living-output [data-id^='b-']").first.click()
    expect(textbox).to_have_value("lily had a red")
    box.get_by_role("button", name="Next word").click()
    expect(textbox).not_to_have_value("lily had a red")
    box.get_by_role("button", name="Take back").click()
    expect(textbox).to_have_value("lily had a red")
    box.locator("[data-id='t-2']").click()
    expect(say(box)).to_contain_text("After “had”")
    box.locator("[data-id='h-L0H1']").click()
    expect(box.locator(".living-output")).to_contain_text("L0H1: attention pattern")
    type_text(box, "upon upon")
    expect(say(box)).to_contain_text("No text of this language continues like this")


def test_a_press_before_the_decoder_is_there_is_kept(open_page: Visit) -> None:
    page = open_page("light.html")
    box = box_of(page)
    text = box.get_by_role("textbox").input_value()
    box.evaluate(
        """(box) => {
          const buttons = [...box.querySelectorAll('button')];
          const next = buttons.find((button) => button.textContent === 'Next word');
          next.click(); // its word comes out of the pass that the page brings along
          next.click();
        }"""
    )
    expect(say(box)).to_contain_text("After", timeout=20_000)
    page.wait_for_function(
        "(count) => document.querySelector('textarea').value.split(' ').length >= count",
        arg=len(text.split()) + 2,
    )
    assert len(words(box)) == len(text.split()) + 2 + 1  # and the start


def test_telling_on_runs_until_it_is_stopped(open_page: Visit) -> None:
    page = open_page("light.html")
    box = box_of(page)
    type_text(box, "once")
    expect(say(box)).to_contain_text("After “once”")
    page.clock.install()
    box.get_by_role("button", name="Keep writing").click()
    page.clock.run_for(2600)
    assert len(words(box)) >= 12  # real time goes on beside: a slow machine tells a word more
    box.get_by_role("button", name="Stop").click()
    told = len(words(box))
    page.clock.run_for(2600)
    assert len(words(box)) == told


def test_everything_can_be_done_by_keyboard(open_page: Visit) -> None:
    page = open_page.look("light.html")
    box = box_of(page)
    box.locator("[data-id='t-36']").focus()
    page.keyboard.press("ArrowUp")
    focused = page.evaluate("document.activeElement.dataset.id")
    assert focused.startswith("t-")
    page.keyboard.press("Enter")
    expect(box.locator(".living-output .in-asking")).to_be_visible()
    assert page.evaluate("document.activeElement.dataset.id") == focused
    expect(say(box)).not_to_contain_text("After “now”")
    box.locator("[data-id='h-L1H3']").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press(" ")
    expect(box.locator(".living-output")).to_contain_text("L1H2: attention pattern")
    page.keyboard.press("ArrowDown")  # from a head's map to its switch
    expect(box.get_by_role("switch", name="head L1H2")).to_be_focused()
    page.keyboard.press(" ")
    expect(say(box)).to_contain_text("With all heads on it costs")
    expect(box.get_by_role("switch", name="head L1H2")).to_have_attribute("aria-checked", "false")
    assert box.locator(".living-output [tabindex='0']").count() <= 4


@pytest.mark.parametrize("theme", THEMES)
def test_controls_and_picture_fit_a_screen(open_page: Visit, theme: str) -> None:
    page = open_page.look(f"{theme}.html", theme=theme)
    box = box_of(page)
    top = box.locator(".living-app").bounding_box()
    picture = box.locator(".living-first svg").bounding_box()
    assert top
    assert picture
    assert picture["y"] + picture["height"] - top["y"] < 900
    for target in box.locator("button:visible, input:visible, select:visible").all():
        size = target.bounding_box()
        assert size
        assert min(size["width"], size["height"]) >= 24


def test_a_kernel_hands_over_the_weights(open_page: Visit) -> None:
    page = open_page.look("notebook.html")
    box = page.locator("#cell.living")
    expect(say(box)).to_contain_text("After “now”")
    box.get_by_role("button", name="A repeated block").click()
    assert box.locator("[aria-busy]").count() == 1
    give = "([name, data]) => model.set('_model', { name, data })"
    page.evaluate(give, ["mha", model_data("mha")])
    expect(say(box)).to_contain_text("After “ring” the decoder expects “beach”")
    box.get_by_label("Decoder", exact=True).select_option("gqa")
    page.evaluate("model.set('_model', { name: 'gqa', error: 'gqa has not been trained' })")
    expect(note(box)).to_contain_text("gqa has not been trained")


def test_all_shipped_decoders_answer_as_numpys(open_page: Visit) -> None:
    """From the page's own scripts: the table of the next words, number for number."""
    page = open_page.look("light.html")
    box = box_of(page)
    type_text(box, "lily had a red ball . lily gave the")
    box.get_by_text("The picture as a table").click()
    ids = encode("<s> lily had a red ball . lily gave the")
    for name in on_pages():
        box.get_by_label("Decoder", exact=True).select_option(name)
        expect(box.locator("[aria-busy]")).to_have_count(0)
        expect(note(box)).to_be_hidden()
        rows = box.locator("tbody tr")
        table = [row.split("\t") for row in rows.all_inner_texts()]
        chances = softmax(load(name)(ids[None])[0, -1])
        assert len(table) == 6
        for word, chance, *_ in table:
            assert abs(float(chance) - chances[WORDS.index(word)]) < 6e-4, (name, word)


FORWARD = """async ([name, ids]) => {
    const [weights, decoder] = await Promise.all(
        ["weights", "forward"].map((file) => import(`./js/decoder/${file}.js`)));
    const { check, data } = livingModels[name];
    const { checksum } = await import("./js/decoder/source.js");
    const sum = checksum(Object.values(data.tensors).map(({ base64 }) => base64));
    const { logits } = decoder.forward(weights.openModel(data), ids);
    return JSON.stringify({ whole: sum === check, logits: Array.from(logits) });
}"""


def test_chromium_gives_numpys_logits_for_each_shipped_decoder(
    folder: Path, open_page: Visit
) -> None:
    """A whole row through each, from the pages' own scripts; ``pytest -rP`` shows the table."""
    plain = shutil.ignore_patterns("*.json")
    shutil.copytree(SOURCES, folder / "js", ignore=plain, dirs_exist_ok=True)
    page = open_page.look("light.html")
    box_of(page)  # it has taken its own decoder by now
    ids, apart = sample_rows(1, 256, seed=5), {}
    for name in on_pages():
        page.add_script_tag(url=f"models/{name}.js")
        found = json.loads(page.evaluate(FORWARD, [name, ids[0].tolist()]))
        assert found["whole"], name
        logits = load(name)(ids)[0]
        apart[name] = float(abs(np.reshape(found["logits"], logits.shape) - logits).max())
        print(f"{name:13} numpy and chromium {apart[name]:.1e}")
    assert max(apart.values()) < 1e-4, apart
    assert min(apart.values()) > 0  # float64 beside float32: something was computed
