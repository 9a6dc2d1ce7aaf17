"""The page that measures its own tab in a Chromium, with WebGPU on the processor.

What is tested are the numbers and what the page says, never a speed. Where no software adapter
starts, these tests fail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.book.test_your_machine import CASES, TOLERANCE, assert_follows_schema
from tests.scripts import script
from tests.site import assert_fits, change, serious_findings, watched
from tools import HTML
from tools.browser import ARGUMENTS, SOFTWARE_GPU, find, launched
from tools.site import Visit, serve

PAGES = script("book/_ext/pages.py")
pytestmark = pytest.mark.browser
PAGE = "book/your-machine.html"
ELSEWHERE = "reader.example.org"  # a host of plain http that isn't this machine's name
LONG = 300_000  # milliseconds that a measurement may take on a busy machine
OUTLINED = """() => {
  globalThis.seen = [];
  const look = () => {
    const [outlines, fills] = [".ym-outline", ".ym-fill"].map((name) =>
      document.querySelectorAll(`.ym-places section:last-child ${name}`).length);
    globalThis.seen.push(`${outlines}/${fills}`);
  };
  new MutationObserver(look).observe(document.querySelector(".ym-places"), { childList: true });
}"""


@pytest.fixture(scope="module")
def software() -> Iterator[Browser]:
    """A Chromium with a software adapter, for which another host's name leads here."""
    bypass = next(one for one in ARGUMENTS if one.startswith("--proxy-bypass-list"))
    arguments = [
        *(one for one in ARGUMENTS if one != bypass), f"{bypass};{ELSEWHERE}", *SOFTWARE_GPU,
        f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1",
    ]  # fmt: skip
    with launched() as usual:
        browser = usual.browser_type.launch(executable_path=find(), args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def software_visits(software: Browser) -> Iterator[Visit]:
    with serve(HTML) as address:
        yield Visit(software, address)


@pytest.fixture
def on_software(software_visits: Visit) -> Iterator[Visit]:
    """Visits with WebGPU; at the end nothing was raised and no other host was asked."""
    yield from watched(software_visits)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def measure(page: Page) -> None:
    """Begin a measurement that reads a few megabytes of the processor's memory."""
    page.locator(".your-machine").evaluate("(root) => { root.dataset.half = 2 ** 23; }")
    press(page, "Measure")


def wait(page: Page) -> None:
    """Until a measurement has ended."""
    page.get_by_role("button", name="Measure again").wait_for(timeout=LONG)


def saved(page: Page, folder: Path) -> dict:
    """What *Save* writes."""
    with page.expect_download() as download:
        press(page, "Save")
    assert re.fullmatch(r"your-machine-\d{4}-\d\d-\d\d\.json", download.value.suggested_filename)
    path = folder / "saved.json"
    download.value.save_as(path)
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_software_adapter_starts(on_software: Visit) -> None:
    """Served, from a folder, and not where a page comes over plain http from another host."""
    asked = """async () => {
      const adapter = await navigator.gpu?.requestAdapter();
      return [isSecureContext, adapter ? adapter.info.isFallbackAdapter : null];
    }"""
    for protocol in ("http", "file"):
        assert on_software(PAGE, protocol=protocol).evaluate(asked) == [True, True], protocol


def test_it_measures_and_saves(on_software: Visit, tmp_path: Path) -> None:
    """Predictions come first, all kernels give NumPy's numbers, and the file follows the schema."""
    page = on_software(PAGE)
    expect(page.locator(".ym-outline")).to_have_count(0)
    axis = page.locator(".ym-picture .ym-grid + text")
    before = axis.all_text_contents()
    page.evaluate(OUTLINED)
    press(page, "Measure")
    wait(page)
    seen = list(dict.fromkeys(page.evaluate("seen")))
    for stage in ("0/0", "3/0", "3/1", "3/2", "3/3"):
        assert stage in seen, "first predictions of all, then one measured time after the other"
    assert seen.index("3/0") < seen.index("3/1")
    after = axis.all_text_contents()  # a slow adapter may add a decade below
    assert before[7:] == ["1 G", "10 G", "100 G", "1 T", "10 T", "100 T"]
    assert after[:7] + after[-6:] == before, "an axis moved"
    record = saved(page, tmp_path)
    assert_follows_schema(record)
    assert record["missing"] == {}, "WebGPU or WebAssembly didn't run"
    assert [place["kind"] for place in record["places"]] == ["cpu", "gpu"]
    assert record["places"][1]["adapter"]["software"]
    for place in record["places"]:
        for name, case in CASES.items():
            check = place["checks"][name]
            assert check["compared"] == len(case["expected"])
            assert check["largest_difference"] < TOLERANCE, (place["name"], name)
            one = place["cases"][name]
            assert one["bytes"] == place["keys"] * case["bytes_per_key"]
            assert one["seconds"] == min(one["repeats"]) > 0
            filled = one["layers"] * one["bytes"]
            assert place["rates"]["read"]["bytes"] - filled < 2 * one["bytes"], "too few layers"
    assert record["places"][1]["checks"]["matmul"]["largest_difference"] < TOLERANCE
    expect(page.locator(".living-say")).to_contain_text("On this software adapter, with ")
    expect(page.locator(".ym-check").last).to_contain_text("1,263 outputs, largest difference")
    assert_looks(page)


def assert_looks(page: Page) -> None:
    """What was measured is readable in both themes, on a phone, and told in numbers."""
    for theme, width in (("light", 1300), ("dark", 390)):
        change(page, theme, width)
        page.wait_for_timeout(200)  # the picture is drawn anew at its width
        for fold in page.locator(".your-machine summary").all():
            if fold.is_visible() and fold.locator("..").get_attribute("open") is None:
                fold.click()
        assert_fits(page)
        assert serious_findings(page) == []
        markup = page.locator(".your-machine").inner_html()
        assert not re.search(r"NaN|undefined|Infinity|\[object", markup)
    expect(page.locator(".ym-numbers tbody tr")).to_have_count(4 + 3 + 2 * 8)


BAD_EXP = """() => {
  const made = GPUDevice.prototype.createShaderModule;
  GPUDevice.prototype.createShaderModule = function (what) {
    return made.call(this, { ...what, code: what.code.replaceAll("exp(", "exp2(") });
  };
}"""


@pytest.mark.exhaustive
def test_of_a_kernel_with_wrong_numbers_no_time_is_taken(on_software: Visit) -> None:
    page = on_software(PAGE)
    page.evaluate(BAD_EXP)
    measure(page)
    wait(page)
    device = page.locator(".ym-places section").last
    expect(device.get_by_text("so no time was taken")).to_have_count(len(CASES))
    expect(device.locator(".ym-fill")).to_have_count(0)
    expect(device.locator(".ym-check")).to_contain_text("wrong numbers")


LOSE = """() => {
  const asked = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (what) {
    const device = await asked.call(this, what);
    setTimeout(() => device.destroy(), 300);
    return device;
  };
}"""


def test_a_lost_device_leaves_the_processors_numbers(on_software: Visit, tmp_path: Path) -> None:
    page = on_software(PAGE)
    page.evaluate(LOSE)
    measure(page)
    wait(page)
    note = page.locator(".your-machine .living-note")
    expect(note).to_contain_text("The GPU was lost during the measurement")
    record = saved(page, tmp_path)
    assert_follows_schema(record)
    assert [place["kind"] for place in record["places"]] == ["cpu"]
    assert record["missing"]["gpu"].startswith("lost: ")


def test_plain_http_from_another_host_has_no_gpu(on_software: Visit, tmp_path: Path) -> None:
    """There the browser offers no WebGPU, and the page says why."""
    page = on_software.context(viewport={"width": 1300, "height": 900}).new_page()
    own, on_software.address = on_software.address, f"http://{ELSEWHERE}"
    try:
        page.goto(f"{own.replace('127.0.0.1', ELSEWHERE)}/{PAGE}")
        assert page.evaluate("isSecureContext") is False
        measure(page)
        wait(page)
    finally:
        on_software.address = own
    note = page.locator(".your-machine .living-note")
    expect(note).to_contain_text("plain http from another host")
    record = saved(page, tmp_path)
    assert_follows_schema(record)
    assert record["missing"] == {"gpu": "insecure"}


def test_from_a_folder_by_keyboard_without_an_adapter(visit: Visit) -> None:
    """An ordinary Chromium without a GPU has WebGPU and no adapter."""
    page = visit(PAGE, protocol="file", width=390)
    page.locator(".your-machine").evaluate("(root) => { root.dataset.half = 2 ** 23; }")
    page.get_by_role("button", name="Measure").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_focused()
    wait(page)
    expect(page.locator(".your-machine .living-note")).to_contain_text("gave no adapter")
    expect(page.locator(".ym-places section")).to_have_count(1)
    expect(page.locator(".living-say")).to_contain_text("On this processor, with ")


HIDE = """(moment) => {
  const hide = () => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  };
  if (moment === "before") hide();
  const places = document.querySelector(".ym-places");
  new MutationObserver(() => places.firstChild && hide()).observe(places, { childList: true });
}"""


@pytest.mark.parametrize("moment", ["before", "during"])
def test_in_the_background_nothing_is_kept(visit: Visit, moment: str) -> None:
    page = visit(PAGE)
    page.evaluate(HIDE, moment)
    measure(page)
    note = page.locator(".your-machine .living-note")
    expect(note).to_contain_text("The tab went to the background", timeout=LONG)
    expect(page.get_by_role("button", name="Measure", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_be_hidden()
    expect(page.locator(".ym-places section")).to_have_count(0)


def test_stop_keeps_nothing_and_one_can_begin_again(visit: Visit) -> None:
    page = visit(PAGE)
    measure(page)
    press(page, "Stop")
    note = page.locator(".your-machine .living-note")
    expect(note).to_have_text("Stopped. Nothing was kept.", timeout=LONG)
    measure(page)
    expect(note).to_be_hidden()
    press(page, "Stop")


def test_the_address_says_which_machines_stand_beside(visit: Visit) -> None:
    page = visit(f"{PAGE}#your_machine:a100=true&stored=false")
    roofs = page.locator(".ym-picture .ym-roof")
    expect(roofs).to_have_count(3)
    box = page.get_by_role("checkbox", name="A100")
    expect(box).to_be_checked()
    box.focus()
    page.keyboard.press("Space")
    expect(roofs).to_have_count(2)
    assert page.evaluate("location.hash") == "#your_machine:stored=false"
    page.evaluate("location.hash = '#your_machine:a100=true'")
    expect(roofs).to_have_count(4)
    page.evaluate("location.hash = '#your_machine:cray=true'")
    note = page.locator(".your-machine .living-note")
    expect(note).to_contain_text('there is no "cray" here')
    expect(roofs).to_have_count(4)


def test_nothing_at_all_to_compare_with_is_drawn_too(visit: Visit) -> None:
    page = visit(f"{PAGE}#your_machine:h100=false&h200=false&stored=false")
    expect(page.locator(".ym-picture .ym-roof")).to_have_count(0)
    expect(page.locator(".ym-picture .ym-column")).to_have_count(len(CASES))


def test_only_its_page_loads_its_bundle() -> None:
    for path in HTML.glob("book/*.html"):
        text = path.read_text(encoding="utf-8")
        assert ("living.machine.js" in text) == (path.stem == "your-machine"), path.name
        assert ("machine.css" in text) == (path.stem == "your-machine"), path.name


def test_the_folder_for_results_is_linked_where_the_book_is_public() -> None:
    built = (HTML / PAGE).read_text(encoding="utf-8")
    bare = re.sub(f"<a href=[^>]*>(<code[^>]*><span[^>]*>{PAGES.READERS}.*?)</a>", r"\1", built)
    linked = PAGES.readers_linked(bare, PAGES.Public(repository="https://github.com/example/book"))
    folder = "https://github.com/example/book/tree/main/benchmarks/results/readers"
    assert linked.count(f'<a href="{folder}"><code') == 1
    assert PAGES.readers_linked(bare, PAGES.Public()) == bare


def test_chapters_on_cost_lead_to_it() -> None:
    for path in ("index", "book/matmul", "book/decoding-roofline", "book/flash"):
        article = (HTML / f"{path}.html").read_text(encoding="utf-8").partition("<article")[2]
        address = "your-machine.html" if "/" in path else "book/your-machine.html"
        assert article.count(f'href="{address}"') == 1, path
