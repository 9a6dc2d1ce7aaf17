"""The picture of saturation: coins, weights and curves against NumPy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from tests.javascript import run

KEYS, MANY = 8, 200
DIVIDE = {"one": lambda d: 1.0, "head_dim": lambda d: d**0.5, "d_model": lambda d: (12 * d) ** 0.5}
SIZES = (1, 2, 3, 7, 64, 100, 512, 1024)


def walks(seed: int, dimensions: int) -> np.ndarray:
    """Running sums of tossed coins, (dimensions, keys), from mulberry32 in whole numbers."""
    at, words = seed, []
    for _ in range(dimensions):
        at = (at + 0x6D2B79F5) % 2**32
        x = ((at ^ (at >> 15)) * (at | 1)) % 2**32
        x ^= (x + ((x ^ (x >> 7)) * (x | 61)) % 2**32) % 2**32
        words.append(x ^ (x >> 14))
    coins = (np.array(words)[:, None] >> np.arange(KEYS)) & 1
    return np.cumsum(2 * coins - 1, axis=0)


@pytest.fixture(scope="module")
def results() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """States and what JavaScript computes in them."""
    states = [
        {"head_dim": size, "divisor": divisor, "draw": draw}
        for size in SIZES for divisor in DIVIDE for draw in (1, 2, 20)
    ]  # fmt: skip
    got = run("return input.map(living.registry.softmax_saturation.compute);", states)
    return list(zip(states, got, strict=True))


def test_rows_equal_numpy(results: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    for state, result in results:
        dots = walks(state["draw"], 1024)[state["head_dim"] - 1]
        assert result["dots"] == dots.tolist()
        scores = dots / DIVIDE[state["divisor"]](state["head_dim"])
        weights = ma.softmax(scores)
        np.testing.assert_allclose(result["scores"], scores, rtol=1e-12)
        np.testing.assert_allclose(result["weights"], weights, rtol=0, atol=1e-12)
        assert result["top"] == pytest.approx(weights.max(), abs=1e-12)
        jacobian = np.diag(weights) - np.outer(weights, weights)
        assert result["moves"] == pytest.approx(np.trace(jacobian), abs=1e-12)


def test_curves_are_means_over_many_draws(results: list[Any]) -> None:
    result = results[0][1]
    dots = np.stack([walks(n + 1, 1024)[np.array(result["sizes"]) - 1] for n in range(MANY)])
    for name, divide in DIVIDE.items():
        by = np.array([divide(size) for size in result["sizes"]])[:, None]
        weights = ma.softmax(dots / by)
        curves = result["curves"][name]
        np.testing.assert_allclose(curves["top"], weights.max(-1).mean(0), rtol=0, atol=1e-12)
        moves = (weights * (1 - weights)).sum(-1).mean(0)
        np.testing.assert_allclose(curves["moves"], moves, rtol=0, atol=1e-12)


def test_the_coins_are_fair() -> None:
    """Mean 0 and variance head_dim, as the chapter says, over all draws of the picture."""
    ends = np.stack([walks(n + 1, 256)[-1] for n in range(MANY)])
    assert abs(ends.mean()) < 1.5
    assert ends.std() == pytest.approx(16, rel=0.06)


def test_words_carry_the_numbers(results: list[Any]) -> None:
    body = """
      const { compute, describe, explain, table } = living.registry.softmax_saturation;
      return input.map((state) => { const result = compute(state);
        return [describe(result), explain(result, "w-0").text, explain(result, "now-top").text,
                table(result)]; });"""
    said = run(body, [state for state, _ in results])
    for (state, result), (sentence, words, means, table) in zip(results, said, strict=True):
        assert f"head_dim {state['head_dim']:,}" in sentence
        assert f"The largest weight is {result['top']:.2f}" in sentence
        assert f"{state['head_dim']:,} products" in words
        assert f"the weight {result['weights'][0]:.3f}" in words
        if state["head_dim"] in result["sizes"]:
            mean = result["curves"]["one"]["top"][result["sizes"].index(state["head_dim"])]
            assert f"{mean:.3f} without a scale" in means
        assert len(table["rows"]) == KEYS
    lost, kept = (
        next(s for (state, _), (s, *_) in zip(results, said, strict=True)
             if state == {"head_dim": 64, "divisor": name, "draw": 1})
        for name in ("one", "head_dim")
    )  # fmt: skip
    assert "can hardly learn" in lost
    assert "can still learn" in kept


def test_the_size_is_dragged_in_powers_of_two() -> None:
    """To where the hand is, in both charts; bars, dots and lines are the same ones after it."""
    body = """
      const { compute, drag, draw, schema, actions } = living.registry.softmax_saturation;
      const state = living.defaults(schema);
      const view = { state: { ...state, draw: 20 }, put: (...what) => { view.put = what; } };
      actions.toss(view);
      return [input.map((width) => {
        const result = compute(state);
        const picture = draw(result, { width, live: true });
        const at = ["top", "moves"].map((chart) => picture.match(
          new RegExp(`<rect x="([^"]+)"[^>]*data-id="now-${chart}" data-grip="head_dim"`))[1]);
        return ["now-top", "now-moves"].map((id, n) =>
          drag(result, id, { width })({ to: [Number(at[n]) + 22] }).head_dim);
      }), drag(compute(state), "w-0", { width: 720 }), view.put,
        [64, 256].map((size) => draw(compute({ ...state, head_dim: size }), { live: true }))];"""
    sizes, other, tossed, pictures = run(body, [340, 720, 940])
    assert sizes == [[64, 64]] * 3
    assert other is None
    assert tossed == ["draw", 1], "after the last draw comes the first"
    keys = [re.findall(r' data-(?:key|part)="([^"]+)"', picture) for picture in pictures]
    assert keys[0] == keys[1]
    assert len(keys[0]) == 2 * KEYS + 4
