"""The first page's picture: its stored answers are the decoder's, and its secret is found fast."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import mini_attn.numpy as ma
from mini_attn.stories import START, WORDS, encode
from mini_attn.stories.inside import attention_maps, without_heads
from mini_attn.widgets import HomeModel
from mini_attn.widgets.base import STATIC, load_schema
from mini_attn.widgets.inside_data import home_model, wide
from mini_attn.widgets.model_data import model_data, model_script
from tests.javascript import run
from tests.site import watched
from tests.widgets.test_inside_model_browser import FRAME
from tools.site import Visit, visiting

HEADS = [f"L{layer}H{head}" for layer in range(2) for head in range(4)]
TEXT = load_schema("inside_model")["text"]["default"]
ON = dict.fromkeys(load_schema("home_model"), True)
BROKEN = "You broke it: it now says “lily”, 93%. Head L0H1 looks one word back."
COMPUTE = """
  for (const [name, data] of Object.entries(input.models)) living.decoders.put(name, data);
  const { compute, describe } = living.registry.home_model;
  return input.states.map((state) => {
    const result = compute(state);
    return { ...result, said: describe(result) };
  });"""


def state(*off: str) -> dict[str, bool]:
    return ON | {head.lower(): False for head in off}


def computed(*offs: tuple[str, ...], models: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """What the script makes of heads that are off; without a model from what is stored."""
    given = {name: model_data(name) for name in models}
    result: list[dict[str, Any]] = run(
        COMPUTE, {"models": given, "states": [state(*off) for off in offs]}
    )
    return result


def numpys(off: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of every next word, and all maps of the whole text, from NumPy's decoder."""
    model = without_heads(wide("mha"), [(int(head[1]), int(head[3])) for head in off])
    ids = encode(f"{START} {TEXT}")[None]
    return ma.softmax(model(ids)[0, -1]), attention_maps(model, ids)[:, 0].reshape(8, 37, 37)


def assert_is(result: dict[str, Any], off: tuple[str, ...], chance: float, share: float) -> None:
    """The picture's numbers are NumPy's, so closely."""
    chances, maps = numpys(off)
    first = home_model()["from"]
    assert [bar["share"] for bar in result["bars"]] == sorted(
        (bar["share"] for bar in result["bars"]), reverse=True
    )
    for bar in result["bars"]:
        assert bar["share"] == pytest.approx(chances[WORDS.index(bar["word"])], abs=chance)
    assert result["bars"][0]["word"] == WORDS[chances.argmax()]
    for rows, own in zip(result["maps"], maps, strict=True):
        for i, row in enumerate(rows):
            np.testing.assert_allclose(row, own[first + i, first : first + i + 1], atol=share)
    if result["reader"]:
        own = maps[HEADS.index(result["reader"]), -1]
        assert result["before"] == pytest.approx(own[:first].sum(), abs=9 * share)


@pytest.mark.parametrize("off", [(), *((head,) for head in HEADS)])
def test_stored_answers_are_the_decoders(off: tuple[str, ...]) -> None:
    """All heads on and each one off: from the page, from NumPy, and the words say no more."""
    (result,) = computed(off)
    assert_is(result, off, 6e-6, 6e-4)
    assert result["off"] == list(off)
    assert result["forgot"] == (off == ("L0H1",)), "no other head will do"


def test_two_heads_off_are_computed() -> None:
    pairs = list(combinations(HEADS, 2))[::6]
    for off, result in zip(pairs, computed(*pairs, models=("mha",)), strict=True):
        assert_is(result, off, 1e-9, 1e-9)
        assert result["said"].startswith("With 2 heads off it ")
    assert computed(tuple(HEADS), models=("mha",))[0]["reader"] is None


def test_its_words_say_what_happens() -> None:
    said = [one["said"] for one in computed((), *((head,) for head in HEADS))]
    assert said[0] == "It says “tom”, 99%, and it’s right: Tom has the ball."
    assert said[2] == f"{BROKEN} Without it, L1H3 reads “lily” instead of “tom”."
    assert said[3].startswith("Without L0H2 it’s less sure, but it still says “tom”, 81%.")
    assert said[6].startswith("Without L1H1 it’s less sure, but it still says “tom”, 80%.")
    assert said[8].startswith("Without L1H3 it can hardly decide: “tom”, 48%, or “lily”, 45%.")
    for one, head in ((said[1], "L0H0"), (said[4], "L0H3"), (said[5], "L1H0"), (said[7], "L1H2")):
        assert re.match(rf"Without {head} it still says “tom”, (>99|9\d)%\.", one)


def test_the_head_that_matters_looks_one_word_back() -> None:
    """What the words say of it: its strongest weights are on the word before, nearly always."""
    _, maps = numpys(())
    assert (maps[1][1:].argmax(axis=1) == np.arange(36)).mean() > 0.8
    _, broken = numpys(("L0H1",))
    assert TEXT.split()[broken[7][-1].argmax() - 1] == "lily"
    assert TEXT.split()[maps[7][-1].argmax() - 1] == "tom"


def test_what_the_page_carries_is_small() -> None:
    assert len(json.dumps(home_model(), separators=(",", ":"))) < 6_000


def test_its_parts_keep_their_keys() -> None:
    """Bars keep their words, arcs their ranks: what moves is the same thing."""
    body = """
      const { compute, draw } = living.registry.home_model;
      return input.map((state) => {
        const markup = draw(compute(state), { width: 720, live: true });
        return [...markup.matchAll(/data-(?:key|part)="([\\w-]+)"/g)].map((found) => found[1]);
      });"""
    before, after = run(body, [state(), state("L0H1")])
    assert {"arc-0", "arc-1", "bar-tom", "bar-lily", "name-tom", "knob-L0H1"} <= {*before}
    assert {*before} - {"next-tom"} <= {*after}
    assert len(after) == len(set(after)) < 40
    still = run(
        "const { compute, draw } = living.registry.home_model;"
        "return draw(compute(input), { width: 720 });",
        state(),
    )
    assert "living-keyed" not in still
    assert "data-id" not in still


# ---------------------------------------------------------------- in a real browser


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    folder: Path = tmp_path_factory.mktemp("home")
    (folder / "models").mkdir()
    (folder / "models/mha.js").write_text(model_script("mha"), "ascii")
    for name in ("living.page.js", "living.trained.js", "living.css"):
        (folder / name).write_bytes((STATIC / name).read_bytes())
    page = FRAME.format(theme="light", body=HomeModel()._html())
    (folder / "home.html").write_text(page, "utf-8")
    with visiting(folder) as visits:
        yield visits


@pytest.fixture
def open_page(visits: Visit) -> Iterator[Visit]:
    yield from watched(visits)


def head(page: Page, name: str) -> Locator:
    return page.locator(f"[data-id='s-{name}']")


def say(page: Page) -> Locator:
    return page.locator(".living-say")


@pytest.mark.browser
@pytest.mark.parametrize("way", ["mouse", "touch", "keyboard"])
def test_the_head_is_found(open_page: Visit, way: str) -> None:
    """The answer is there at once, and nothing is fetched for it."""
    touch = way == "touch"
    page = open_page("home.html", width=390 if touch else 760, has_touch=touch)
    found = page.get_by_role("switch", name="head L0H1")
    expect(found).to_have_attribute("aria-checked", "true")
    if way == "keyboard":
        page.locator(".living-output [tabindex='0']").focus()
        page.keyboard.press("ArrowRight")
        expect(found).to_be_focused()
        page.keyboard.press("Space")
    else:
        found.tap() if touch else found.click()
    expect(say(page)).to_contain_text(BROKEN)
    expect(found).to_have_attribute("aria-checked", "false")
    expect(page.locator(".living-live .home-said")).to_have_text("lily")
    assert page.evaluate("performance.getEntriesByType('resource').length") <= 3
    if way == "keyboard":
        expect(found).to_be_focused()
        page.keyboard.press("Enter")
    else:
        found.click()
    expect(say(page)).to_contain_text("It says “tom”, 99%")
    box = found.bounding_box()
    assert box
    assert min(box["width"], box["height"]) >= 44


@pytest.mark.browser
def test_arc_and_bars_swing(open_page: Visit) -> None:
    """The strongest arc goes from tom to lily in 350 ms, unless nothing should move."""
    page = open_page("home.html")
    turn = """async () => {
      const part = (name) => document.querySelector(name);
      const wide = () => part("[data-part='arc-0'] rect").getBoundingClientRect().width;
      const before = wide();
      part("[data-id='s-L0H1']").dispatchEvent(new MouseEvent("click", { bubbles: true }));
      const moves = document.getAnimations();
      for (const one of moves) { one.pause(); one.currentTime = 0; }
      const first = wide();
      const times = moves.map((one) => one.effect.getTiming().duration);
      for (const one of moves) one.finish();
      await new Promise(requestAnimationFrame);
      return { before, first, last: wide(), moves: moves.length, times };
    }"""
    moved = page.evaluate(turn)
    assert moved["first"] == pytest.approx(moved["before"], abs=1), "it begins where it was"
    assert moved["last"] > 2 * moved["before"]
    assert set(moved["times"]) == {350}
    page.emulate_media(reduced_motion="reduce")
    page.get_by_role("button", name="Reset").click()
    assert page.evaluate(turn)["moves"] == 0


@pytest.mark.browser
@pytest.mark.parametrize("protocol", ["http", pytest.param("file", marks=pytest.mark.exhaustive)])
def test_a_link_brings_the_state_and_two_heads_the_decoder(open_page: Visit, protocol: str) -> None:
    page = open_page.look("home.html#home_model:l0h1=false", protocol=protocol)
    expect(say(page)).to_contain_text(BROKEN)
    head(page, "L0H0").click()
    expect(say(page)).to_contain_text("With 2 heads off it ")
    head(page, "L0H0").click()
    expect(say(page)).to_contain_text(BROKEN)
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".living-note")).to_contain_text("home.html#home_model:l0h1=false")
