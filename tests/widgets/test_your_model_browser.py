"""The page *Your model* in a real Chromium: reading files, two models, copies, links, a folder."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mini_attn.widgets.base import STATIC
from tests.cost.published import PUBLISHED
from tests.site import THEMES, assert_fits, change, serious_findings, watched
from tools.site import Visit, visiting

pytestmark = pytest.mark.browser

FRAME = """<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Your model</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="living.css"></head>
<body><main><article><div class="living" id="own-model"></div>
<script src="living.model.js"></script></article></main></body></html>"""
MISTRAL = json.dumps({"_name_or_path": "org/My-7B", **PUBLISHED["mistral-7b"]})
NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    folder: Path = tmp_path_factory.mktemp("model")
    for name in ("living.model.js", "living.css"):
        (folder / name).write_bytes((STATIC / name).read_bytes())
    for theme in THEMES:
        (folder / f"{theme}.html").write_text(FRAME.format(theme=theme), "utf-8")
    with visiting(folder) as visits:
        yield visits


@pytest.fixture
def open_page(visits: Visit) -> Iterator[Visit]:
    yield from watched(visits)


def side(page: Page, name: str = "First model") -> Locator:
    return page.get_by_role("region", name=name)


def say(page: Page) -> Locator:
    return page.locator(".living-say")


def paste(page: Page, text: str, name: str = "First model") -> None:
    """Open the field for a file's text and put it in."""
    button = side(page, name).get_by_role("button", name="Paste your own config.json")
    if button.get_attribute("aria-expanded") == "false":
        button.click()
    side(page, name).get_by_label("The text of a config.json").fill(text)


@pytest.mark.parametrize("protocol", ["http", "file"])
def test_two_models_are_there_and_a_file_takes_the_place_of_one(
    open_page: Visit, protocol: str
) -> None:
    page = open_page("light.html", protocol=protocol)
    expect(say(page)).to_contain_text("Llama-3-8B keeps 131,072 bytes per token")
    expect(say(page)).to_contain_text("DeepSeek-V3 (671B) keeps 70,272 bytes per token")
    paste(page, MISTRAL)
    expect(say(page)).to_contain_text("My-7B adds 131,072 bytes per token until")
    expect(say(page)).to_contain_text("entries kept 2×")
    expect(side(page)).to_contain_text("32 × window of 4,096 tokens")
    page.wait_for_function("location.hash.startsWith('#a=own:My-7B:')")
    before = say(page).inner_text()
    page.reload()
    expect(say(page)).to_have_text(before)


def test_a_file_is_dropped_or_chosen_and_a_large_one_is_not_read(open_page: Visit) -> None:
    page = open_page("light.html")
    button = side(page, "Second model").get_by_role("button")
    button.click()
    chooser = side(page, "Second model").locator("input[type=file]")
    chooser.set_input_files(
        {"name": "config.json", "mimeType": "application/json", "buffer": MISTRAL.encode()}
    )
    expect(say(page)).to_contain_text("My-7B adds")
    chooser.set_input_files(
        {"name": "big.json", "mimeType": "application/json", "buffer": b" " * 1_100_000}
    )
    expect(side(page, "Second model").get_by_role("alert")).to_contain_text("1.1 MB")
    expect(say(page)).to_contain_text("My-7B adds")
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "config.json"));
          document.querySelector("[data-side=a]").dispatchEvent(
            new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        json.dumps(PUBLISHED["gemma-3-27b"]),
    )
    expect(side(page)).to_contain_text("52 × window of 1,024 tokens")


def test_what_cannot_be_read_is_told_and_what_nobody_knows_is_named(open_page: Visit) -> None:
    page = open_page("light.html")
    paste(page, "<script>alert(1)</script>")
    alert = side(page).get_by_role("alert")
    expect(alert).to_contain_text("This can't be read: it isn't JSON")
    paste(page, '{"model_type": "<img src=x onerror=alert(1)>"}')
    expect(alert).to_contain_text("<img src=x")
    expect(say(page)).to_contain_text("Llama-3-8B keeps")  # as before
    paste(page, json.dumps({**PUBLISHED["mistral-7b"], "logit_scale": 2, "<b>": 1}))
    expect(alert).to_be_hidden()
    expect(side(page)).to_contain_text("Nobody here knows logit_scale, <b>.")
    assert page.locator("article b b, article img").count() == 0
    side(page).get_by_label("First model").select_option("gpt2")
    expect(side(page)).not_to_contain_text("logit_scale")


def test_numbers_follow_the_controls_and_a_bad_one_is_told(open_page: Visit) -> None:
    page = open_page("light.html#a=llama-3-8b&b=none")
    rows = page.locator("[data-rows]")
    expect(rows).to_contain_text("4.80 ms")  # as mini_attn.cost.step_seconds documents
    page.get_by_label("Sequences, exact").fill("64")
    expect(rows).to_contain_text("Cache of 8,192 tokens, 64 sequences")
    expect(rows).to_contain_text("68.72 GB")
    page.get_by_label("Sequences, exact").fill("0")
    expect(page.locator(".living-note")).to_contain_text("“Sequences” is 1 to 4096, not 0")
    page.get_by_label("Cache stored as").select_option("int4")
    expect(rows).to_contain_text("17.18 GB")
    page.wait_for_function("location.hash === '#a=llama-3-8b&b=none&batch=64&dtype=int4'")


def test_weights_are_counted_as_a_file_says(open_page: Visit) -> None:
    page = open_page("light.html#a=llama-3-8b&b=llama-3-8b")
    weights = page.locator("[data-rows] tr", has=page.get_by_text("Weights", exact=True))
    quantized = {**PUBLISHED["deepseek-v3"], "quantization_config": {"quant_method": "fp8"}}
    paste(page, json.dumps(quantized))
    expect(side(page)).to_contain_text("its weights are stored as fp8")
    expect(weights.locator("td")).to_have_text(["671.03 GB", "16.06 GB"])  # the other one's stay
    rows = page.locator("[data-rows]")
    expect(rows).to_contain_text("on 9 devices, mostly reading")
    page.wait_for_function("location.hash.endsWith('weight_dtype=file')")
    page.reload()
    expect(weights.locator("td")).to_have_text(["671.03 GB", "16.06 GB"])
    page.get_by_label("Weights stored as").select_option("bfloat16")
    expect(side(page)).to_contain_text("but they count as bfloat16")
    expect(weights).to_contain_text("1.34 TB")
    paste(page, json.dumps({**quantized, "quantization_config": {"quant_method": "<hqq>"}}))
    expect(side(page)).to_contain_text("quantized (<hqq>), in a way this page can't read")
    side(page).get_by_label("First model").select_option("gpt2")
    expect(side(page)).not_to_contain_text("quantized")


def test_a_refused_file_dims_the_model_that_stays(open_page: Visit) -> None:
    page = open_page("light.html")
    picture = side(page).locator("[data-picture]")
    paste(page, "{")
    expect(side(page).get_by_role("alert")).to_contain_text("Below is still Llama-3-8B.")
    expect(picture).to_have_css("opacity", "0.35")
    paste(page, MISTRAL)
    expect(picture).to_have_css("opacity", "1")
    paste(page, "{")
    page.evaluate("location.hash = '#a=gpt2&b=none'")
    expect(picture).to_have_css("opacity", "1")
    expect(side(page).get_by_role("alert")).to_be_hidden()


def test_a_number_out_of_bounds_is_told_where_it_is(open_page: Visit) -> None:
    page = open_page("light.html")
    field = page.get_by_label("Sequences, exact")
    field.fill("-5")
    note = page.locator("form .living-note")
    expect(note).to_have_text("“Sequences” is 1 to 4096, not -5. The numbers are still those of 1.")
    expect(field).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Cache stored as").select_option("int4")
    expect(note).to_be_hidden()
    expect(field).to_have_value("1")
    assert field.get_attribute("aria-invalid") is None


@pytest.mark.parametrize("width", [1300, 390])
def test_controls_are_above_the_pictures_and_in_the_order_of_the_eye(
    open_page: Visit, width: int
) -> None:
    page = open_page("light.html")
    change(page, "light", width)
    bottom_up = """() => {
      const top = (at) => document.querySelector(at).getBoundingClientRect().top;
      return top("form") < top("[data-side=a] svg") && top("[data-side=a] select") < top("form");
    }"""
    page.wait_for_function(bottom_up)
    order = page.evaluate(
        """[...document.querySelectorAll("#own-model [data-side], #own-model form")]
        .map((one) => one.dataset.side ?? "form")"""
    )
    assert order == (["a", "b", "form"] if width > 700 else ["a", "form", "b"])


def test_what_differs_is_marked(open_page: Visit) -> None:
    page = open_page("light.html#a=llama-3-8b&b=llama-2-7b")
    summary = page.locator(".ym-sizes > summary")
    expect(summary).to_contain_text("differ")
    summary.click()
    marked = page.locator(".ym-differs th")
    found = {text.removesuffix(" ≠") for text in marked.all_inner_texts()}
    assert found == {"attention", "KV heads", "MLP width", "vocabulary", "longest context"}


def test_everything_is_copied(open_page: Visit) -> None:
    """Into the clipboard, or, without one, into a field that has it selected."""
    page = open_page("light.html#a=gpt2&b=mistral-7b", permissions=["clipboard-read"])
    page.evaluate(NO_CLIPBOARD)
    field = page.get_by_label("To copy:")
    page.get_by_role("button", name="Copy link").click()
    expect(field).to_have_value(page.url)
    expect(field).to_be_focused()
    page.get_by_role("button", name="Copy as Markdown").click()
    text = field.input_value()
    assert "| Cache per token | 36.86 kB | 131.07 kB, then nothing |" in text
    assert "= 301,989,888 bytes" in text
    page.get_by_role("button", name="Copy as SVG").click()
    drawing = ET.fromstring(field.input_value())
    assert drawing.tag.endswith("svg")
    words = " ".join(drawing.itertext())
    assert "GPT-2 (124M)" in words
    assert "32 × window of 4,096 tokens" in words


def test_links_change_an_open_page_and_wrong_ones_do_not(open_page: Visit) -> None:
    page = open_page("light.html")
    page.evaluate("location.hash = '#a=gpt2&b=none'")
    expect(say(page)).to_contain_text("GPT-2 (124M) keeps 36,864 bytes per token")
    page.evaluate("location.hash = '#a=gpt-99'")
    expect(page.locator(".living-note")).to_contain_text('there is no model "gpt-99"')
    expect(say(page)).to_contain_text("GPT-2 (124M) keeps")


def test_it_works_by_keyboard(open_page: Visit) -> None:
    page = open_page("light.html")
    side(page).get_by_label("First model").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    field = side(page).get_by_label("The text of a config.json")
    expect(field).to_be_focused()
    page.keyboard.insert_text(MISTRAL)
    expect(say(page)).to_contain_text("My-7B adds")
    page.get_by_label("Tokens per sequence", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-rows]")).to_contain_text("12,288 tokens")


@pytest.mark.parametrize("theme", THEMES)
def test_it_fits_and_axe_finds_nothing(open_page: Visit, theme: str) -> None:
    page = open_page(f"{theme}.html#a=gemma-3-27b&b=deepseek-v3&batch=64", theme=theme)
    page.locator(".ym-sizes > summary").click()
    paste(page, "{")
    assert serious_findings(page) == []
    for width in (390, 320):
        change(page, theme, width)
        assert_fits(page)
    inside = "[...document.querySelectorAll('.ym-picture')].every((one) => one.clientWidth <= 390)"
    page.wait_for_function(inside)
    small = page.evaluate(
        """[...document.querySelectorAll("#own-model :is(button, select, summary)")]
        .filter((one) => one.offsetParent && one.getBoundingClientRect().height < 40)
        .map((one) => one.outerHTML.slice(0, 80))"""
    )
    assert small == []
