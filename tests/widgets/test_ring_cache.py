"""The ring widget against the package's ring and windowed attention, in every state."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn import example
from mini_attn.widgets.base import load_schema
from tests.javascript import run

SCHEMA = load_schema("ring_cache")
STATES = [
    {"step": step, "window": window, "head": head}
    for step in range(1, SCHEMA["step"]["max"] + 1)
    for window in range(1, SCHEMA["window"]["max"] + 1)
    for head in (1, 2)
]


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state."""
    return run("return input.map(living.registry.ring_cache.compute);", STATES)


def project(step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries, keys and values (1, n_heads, step, head_dim) of the first tokens."""
    x = np.array(example.EMBEDDINGS)[None, :step]
    q, k, v = (
        ma.split_heads(x @ np.array(example.WEIGHTS[name]), example.N_HEADS) for name in "qkv"
    )
    return q, k, v


def last_weights(step: int, head: int, window: int | None) -> np.ndarray:
    """The newest token's weights over all tokens so far, by the package."""
    q, k, v = project(step)
    _, weights = ma.scaled_dot_product_attention(
        q, k, v, causal=True, window=window, return_weights=True
    )
    return weights[0, head - 1, -1]


def test_slots_are_those_of_a_real_ring(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        _, k, v = project(state["step"])
        ring = ma.SlidingWindowCache(
            1, example.N_HEADS, example.HEAD_DIM, None, window=state["window"], dtype="float64"
        )
        for t in range(state["step"]):
            ring.append(k[:, :, t : t + 1], v[:, :, t : t + 1])
        shown = [position for position in result["slots"] if position is not None]
        assert shown == ring.view()[2][0].tolist()
        assert result["cached"] == len(shown)
        assert result["kept_ring"] * 8 == ring.allocated_bytes  # float64


def test_weights_equal_the_package(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        rows = result["rows"][: state["step"]]
        bounded = last_weights(state["step"], state["head"], state["window"])
        np.testing.assert_allclose([row["weight"] for row in rows], bounded, atol=1e-12)
        full = last_weights(state["step"], state["head"], None)
        np.testing.assert_allclose([row["full"] for row in rows], full, atol=1e-12)
        gone = max(0, state["step"] - state["window"])
        assert result["lost"] == pytest.approx(full[:gone].sum(), abs=1e-12)
        assert [row["kind"] for row in rows].count("gone") == gone


def test_words_carry_the_numbers(results: list[dict[str, Any]]) -> None:
    body = """
      const { compute, describe, explain, table } = living.registry.ring_cache;
      return input.map((state) => {
        const result = compute(state);
        const tokens = result.rows.map((_, i) => explain(result, `token-${i}`).text);
        return [describe(result), tokens, explain(result, "slot-0").text, table(result).rows];
      });"""
    for state, result, (sentence, tokens, slot, rows) in zip(
        STATES, results, run(body, STATES), strict=True
    ):
        newest, window = state["step"] - 1, state["window"]
        assert f"slot {newest} mod {window} = {newest % window}" in sentence
        assert ("over “" in sentence) == (newest >= window)
        if result["lost"]:
            assert f"{round(100 * result['lost'])}%" in sentence
        for position, words in enumerate(tokens[: state["step"]]):
            assert ("no query attends to it" in words) == (newest - position >= window)
        assert f"holds “{result['rows'][result['slots'][0]]['token']}”" in slot
        assert [row[1] for row in rows] == [str(i) for i in range(8)]


def test_the_default_shows_a_loss() -> None:
    """The picture opens where the window hides what the head would look at."""
    state = {key: entry["default"] for key, entry in SCHEMA.items()}
    [result] = run("return input.map(living.registry.ring_cache.compute);", [state])
    assert result["lost"] > 0.4
    assert result["rows"][2]["kind"] == "gone"
    assert result["rows"][2]["full"] == pytest.approx(result["rows"][6]["full"])


def parts(state: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The parts that travel, with what is said of each."""
    body = """
      const { compute, draw } = living.registry.ring_cache;
      return draw(compute(input), { live: true });"""
    tags = re.findall(r'<g class="living-keyed" data-part="([^"]+)"([^>]*)>', run(body, state))
    return {key: dict(re.findall(r'data-(\w+)="([^"]*)"', said)) for key, said in tags}


def test_a_token_goes_from_the_text_into_its_slot_and_back() -> None:
    """The new one comes out of the text, the evicted one goes there; the hand turns on and on."""
    state = {"window": 4, "head": 1}
    before, after = (parts({**state, "step": step}) for step in (7, 8))
    assert {*after} - {*before} == {"held-7", "bar-7", "full-7"}
    assert {*before} - {*after} == {"held-3"}
    assert after["held-7"]["from"] in before
    assert after["t-3"]["takes"] == "held-3"
    turns = [float(one["hand"]["turn"].split()[0]) for one in (before, after)]
    assert turns[1] - turns[0] == 90
    assert {key for key in parts({**state, "step": 7, "window": 5}) if "held" in key} == {
        f"held-{i}" for i in range(2, 7)
    }, "with another window, the tokens change their places"


def test_the_newest_token_is_dragged_along_the_text() -> None:
    body = """
      const { compute, drag, choose, draw } = living.registry.ring_cache;
      const [state, width] = [{ step: 7, window: 4, head: 1 }, 654];
      const at = (width) => drag(compute(state), "now", { width, state });
      return [[-5, 2, 90, 653].map((x) => at(654)({ to: [x, 30] }).step),
        at(300)({ to: [80, 100] }),
        choose(null, state, "token-3").step, choose(null, state, "slot-3"),
        drag(compute(state), "token-3", { width, state }), draw(compute(state), { live: true })];"""
    moved, low, tapped, other, held, markup = run(body, None)
    assert moved == [1, 1, 2, 8]
    assert low == {"step": 6}, "the second line of a narrow text"
    assert (tapped, other, held) == (4, None, None)
    assert 'data-grip="step" tabindex="0" role="slider" aria-label="Newest token"' in markup
