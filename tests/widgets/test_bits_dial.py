"""The dial of bits: what JavaScript rounds is what the package's quantised cache rounds."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

import mini_attn.numpy as ma
from mini_attn.config import Coding
from mini_attn.notebook import stored
from mini_attn.widgets import BitsDial
from mini_attn.widgets.base import STATIC, load_schema
from mini_attn.widgets.bits_dial_data import MEMBER, TOKENS, bits_dial
from mini_attn.widgets.equal_bytes_data import KEY, SIZES, size_of
from tests.javascript import run
from tests.widgets.test_handling import pull
from tests.widgets.test_widgets_browser import FRAME
from tools.site import visiting

SCHEMA = load_schema("bits_dial")
DEFAULT = {key: entry["default"] for key, entry in SCHEMA.items()}
BITS = SCHEMA["k_bits"]["values"]
DATA = bits_dial()
GROUP = stored(KEY)["group"]  # as the stored points were measured
CODES = {"group_size": GROUP, "residual": 0, "scale_dtype": "float16"}
K, V = (np.array([row.split() for row in DATA[name]], dtype=float) / 100 for name in "kv")
QUERY = np.array(DATA["q"].split(), dtype=float) / 100
STATES = [
    {"k_bits": k, "v_bits": v, "key_axis": axis, "outlier": outlier, "show": show, "channel": 4}
    for k, v, axis, outlier, show in itertools.product(
        BITS, BITS, ("channel", "token"), (1, 3, 7, 30), ("keys", "values")
    )
]


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state."""
    return run("return input.map(living.registry.bits_dial.compute);", STATES)


def times(row: np.ndarray, factor: float) -> np.ndarray:
    """One channel times a factor."""
    out = row.copy()
    out[..., DATA["outlier"]] *= factor
    return out


def restored(state: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Keys and values as a real cache gives them back; bfloat16 is rounded by torch."""
    both = times(K, state["outlier"]), V
    coded = {name: state[name] if state[name] < 16 else 8 for name in ("k_bits", "v_bits")}
    cache = ma.QuantizedKVCache(
        1, 1, GROUP, TOKENS, dtype="float64", key_axis=state["key_axis"], **coded, **CODES
    )
    cache.append(*(part[None, None] for part in both))
    assert cache.sealed == TOKENS
    back = [part[0, 0] for part in cache.view()[:2]]
    for n, name in enumerate(("k_bits", "v_bits")):
        if state[name] == 16:
            back[n] = torch.tensor(both[n]).bfloat16().double().numpy()
    return back[0], back[1]


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights and output of one query."""
    out, weights = ma.scaled_dot_product_attention(
        q[None, None, None], k[None, None], v[None, None], return_weights=True
    )
    return weights[0, 0, 0], out[0, 0, 0]


def test_numbers_come_back_as_from_the_cache(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        back = dict(zip(("keys", "values"), restored(state), strict=True))[state["show"]]
        got = [[cell["back"] for cell in row] for row in result["cells"]]
        assert np.array_equal(got, back), state


def test_weights_and_outputs_are_those_of_the_package(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        k, v = restored(state)
        weights, out = attended(times(QUERY, 1 / state["outlier"]), k, v)
        exact, wanted = attended(QUERY, K, V)
        np.testing.assert_allclose(result["after"]["weights"], weights, atol=1e-12)
        np.testing.assert_allclose(result["after"]["out"], out, atol=1e-12)
        np.testing.assert_allclose(result["exact"]["weights"], exact, atol=1e-12)
        assert result["moved"] == pytest.approx(np.abs(weights - exact).sum() / 2, abs=1e-12)
        off = np.linalg.norm(out - wanted) / np.linalg.norm(wanted)
        assert result["off"] == pytest.approx(off, abs=1e-12)


def test_the_outlier_changes_no_exact_output() -> None:
    for outlier in (1, 2, 7, 30):
        changed = attended(times(QUERY, 1 / outlier), times(K, outlier), V)
        for got, wanted in zip(changed, attended(QUERY, K, V), strict=True):
            np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_rungs_hold_every_number(results: list[dict[str, Any]]) -> None:
    """Whole codes that fit their bits, a float16 scale and zero, half a scale at most."""
    for state, result in zip(STATES, results, strict=True):
        bits = state["k_bits" if state["show"] == "keys" else "v_bits"]
        cells = [cell for row in result["cells"] for cell in row]
        assert len(cells) == K.size
        if bits == 16:
            assert not any("code" in cell for cell in cells)
            continue
        for cell in cells:
            assert cell["code"] in range(2**bits)
            assert all(np.float16(cell[name]) == cell[name] for name in ("scale", "zero"))
            assert cell["back"] == cell["code"] * cell["scale"] + cell["zero"]
            assert abs(cell["back"] - cell["x"]) <= cell["scale"] / 2 * (1 + 1e-12)
        by_token = state["show"] == "values" or state["key_axis"] == "token"
        groups = {(cell["scale"], cell["zero"]) for cell in result["cells"][0]}
        assert (len(groups) == 1) == by_token


def test_true_bits_are_the_bytes_of_a_group(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        for name, axis, got in zip(
            ("k_bits", "v_bits"), (state["key_axis"], "token"), result["true_bits"], strict=True
        ):
            bits = state[name]
            if bits < 16:
                bits = Coding(bits, axis, GROUP, GROUP).group_bytes(2) * 8 / GROUP**2
            assert got == bits


def test_the_loss_is_a_stored_point_or_none(results: list[dict[str, Any]]) -> None:
    """Not between two points, and not for keys that were made larger."""
    points = {
        (p["k_bits"], p["v_bits"], p["key_axis"]): p["excess"]
        for p in stored(KEY)["points"]
        if p["member"] == MEMBER and size_of(p) == SIZES[0] and p["window"] is None
    }
    seen = set()
    for state, result in zip(STATES, results, strict=True):
        axis = "channel" if state["k_bits"] == 16 else state["key_axis"]
        key = (state["k_bits"], state["v_bits"], axis)
        assert result["loss"] == (points.get(key) if state["outlier"] == 1 else None), state
        seen |= {key} if result["loss"] else set()
    assert seen == {key for key in points if 32 not in key}
    assert len(seen) > 8


def test_the_default_does_not_answer_the_guess() -> None:
    """Both halves have the same bits, and no channel is larger than it was."""
    assert DEFAULT["k_bits"] == DEFAULT["v_bits"]
    assert DEFAULT["outlier"] == 1
    assert DEFAULT["channel"] != DATA["outlier"]
    [result] = run("return input.map(living.registry.bits_dial.compute);", [DEFAULT])
    exact = result["exact"]["weights"]
    assert DATA["words"][int(np.argmax(exact))] == "key"
    assert max(exact) > 0.8
    assert result["loss"]


SAID = """
  const { compute, describe, draw, explain, table } = living.registry.bits_dial;
  return input.map((state) => {
    const result = compute(state);
    const markup = draw(result, { width: 654, live: true });
    const ids = ["c-4", "c-12", "channel", "n-16", "w-16"].map((id) => explain(result, id).text);
    return [describe(result), markup, ids, table(result).rows, table(result).caption];
  });"""


def test_words_carry_the_numbers(results: list[dict[str, Any]]) -> None:
    for state, result, (sentence, _, ids, rows, caption) in zip(
        STATES, results, run(SAID, STATES), strict=True
    ):
        k, v = result["true_bits"]
        loss = f"{result['loss'][0]:.3f}" if result["loss"] else "not measured"
        coded = min(state["k_bits"], state["v_bits"]) < 16
        assert (f"({k} and {v} with scale and zero point)" in sentence) == coded
        assert (loss in sentence) == bool(result["loss"])
        assert loss in caption
        for share in (result["moved"], result["off"]):
            near = {f"{100 * share * (1 + d):.1f}%" for d in (-1e-9, 1e-9)}
            assert any(word in sentence for word in near)
        assert ("without rounding, nothing changes" in sentence) == (state["outlier"] > 1)
        keys = "bfloat16" if state["k_bits"] == 16 else f"{state['k_bits']} bits per "
        assert sentence.startswith(f"Keys in {keys}")
        assert (f"bits per {state['key_axis']}, values" in sentence) == (state["k_bits"] < 16)
        assert len(rows) == TOKENS
        cell = result["cells"][16][4]
        assert rows[16][:3] == ["16 key", minus(cell["x"]), str(cell.get("code", "–"))]
        assert f"“key”, channel 4: {minus(cell['x'])}" in ids[3]
        assert f"{result['exact']['weights'][16]:.3f} without rounding" in ids[4]
        large = state["outlier"] > 1 and state["show"] == "keys"
        assert (f", times {state['outlier']}:" in ids[1]) == large
        assert "times" not in ids[0]


def minus(value: float) -> str:
    """Two digits behind the point, as JavaScript writes them: halves away from zero."""
    return run("return living.decimal(input);", value) if value < 0 else f"{value:.2f}"


def test_a_change_of_bits_leaves_the_ladder_where_it_is() -> None:
    """What is shown and which channel is asked for, never a consequence of something else."""
    body = """
      const { choose, update } = living.registry.bits_dial;
      return [update ?? null, ...["c-7", "show", "n-3"].map((id) => choose({}, input, id))];"""
    update, channel, show, other = run(body, {**DEFAULT, "show": "values"})
    assert update is None
    assert channel == {**DEFAULT, "show": "values", "channel": 7}
    assert show == DEFAULT
    assert other is None


DRAWN = """
  const { compute, drag, draw } = living.registry.bits_dial;
  const [state, width, touch] = input;
  const result = compute(state);
  const far = { dx: 400, dy: 0 };
  const way = (id) => drag(result, id, { width, state });
  return [draw(result, { width, live: true, touch }),
    [0, -9999, 9999].map((dy) => way("outlier")({ dx: 0, dy }).outlier),
    way("channel")(far).channel, way("n-3")];"""


@pytest.mark.parametrize(("width", "touch", "least"), [(654, False, 24), (336, True, 44)])
@pytest.mark.parametrize("show", ["keys", "values"])
def test_targets_are_as_large_as_a_finger(
    show: str, width: int, *, touch: bool, least: int
) -> None:
    markup = run(DRAWN, [{**DEFAULT, "show": show}, width, touch])[0]
    sizes = re.findall(r'width="([\d.]+)" height="([\d.]+)"[^>]*class="dial-target', markup)
    assert len(sizes) > 8
    assert all(float(side) >= least for size in sizes for side in size)


def test_the_same_tokens_stay_the_same_parts() -> None:
    """Dots go to other rungs and bars to other heights: a key for each, in every state."""
    states = [DEFAULT, {**DEFAULT, "k_bits": 2, "channel": 9}, {**DEFAULT, "show": "values"}]
    keys = [re.findall(r'data-part="([^"]+)"', run(DRAWN, [s, 654, False])[0]) for s in states]
    assert len(keys[0]) == len(set(keys[0])) == 16 + 2 * TOKENS
    assert keys[0] == keys[1] == keys[2]


def test_the_outlier_is_as_tall_as_the_hand_takes_it() -> None:
    for outlier in (1, 7, 30):
        _, (same, most, least), channel, other = run(
            DRAWN, [{**DEFAULT, "outlier": outlier}, 640, False]
        )
        assert same == pytest.approx(outlier)
        assert most >= 30
        assert least == 0
        assert channel == DEFAULT["channel"] + 10
        assert not other


def test_rungs_are_drawn_where_they_can_be_told_apart() -> None:
    states = [{**DEFAULT, "k_bits": bits} for bits in BITS]
    for state, (_, markup, *_) in zip(states, run(SAID, states), strict=True):
        bits = state["k_bits"]
        rungs = re.search(r'<path d="([^"]*)" class="dial-rung"', markup)
        assert bool(rungs and rungs[1]) == (bits < 8)
        if bits < 8:
            assert f"{2**bits} codes" in markup
            assert rungs[1].count("M") == 2 * 2**bits  # of two groups


def test_the_page_carries_the_data() -> None:
    """Of a page without the picture nothing is asked; the picture brings its own numbers."""
    markup = BitsDial()._html()
    assert " data-head>" in markup
    assert DATA["k"][0] in markup


@pytest.mark.browser
def test_handles_answer_to_hands_and_keys(tmp_path: Path) -> None:
    """A tap takes a channel, the knobs have the keys of a slider, bits change no matrix."""
    for name in ("living.page.js", "living.trained.js", "living.css"):
        (tmp_path / name).write_bytes((STATIC / name).read_bytes())
    page = FRAME.format(theme="light", body=BitsDial()._html())
    (tmp_path / "dial.html").write_text(page, "utf-8")
    with visiting(tmp_path) as visits:
        page = visits.look("dial.html", width=1300)
        says, first = page.locator(".living-say"), page.locator(".living-first")
        page.locator("[data-id=c-9]").click(position={"x": 5, "y": 5})
        expect(first).to_contain_text("Channel 9: 8 codes")
        page.locator("[data-id=channel]").press("ArrowRight")
        expect(first).to_contain_text("Channel 10: 8 codes")
        bits = page.get_by_role("group", name="Bits of the values")
        bits.get_by_role("radio", name="2", exact=True).check()
        expect(first).to_contain_text("Largest keys of each channel")
        expect(says).to_contain_text("values in 2 bits per token")
        pull(page, page.locator("[data-id=outlier]"), 0, -90)
        expect(says).to_contain_text("30 times as large")
        page.locator("[data-id=outlier]").press("ArrowLeft")
        expect(says).to_contain_text("29 times as large")
        page.locator("[data-id=show]").press("Enter")
        expect(first).to_contain_text("Largest values of each channel")
        page.get_by_role("radio", name="16").first.check()
        expect(page.get_by_role("radio", name="per token")).to_be_disabled()


def test_a_page_without_the_data_keeps_its_picture() -> None:
    body = """
      const { given } = living.registry.bits_dial;
      return given({ querySelector: () => null });"""
    assert run(body) is None
