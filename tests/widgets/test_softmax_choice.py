"""The softmax widget against the package: many states, and the default from the example."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn import example
from mini_attn.widgets import SoftmaxChoice
from mini_attn.widgets.base import load_schema
from tests.javascript import run

TOKENS = ("once", "upon", "a", "time", "lamp")
BODY = "return input.map(living.registry.softmax_choice.compute);"


def states(rng: np.random.Generator, count: int) -> list[dict[str, float]]:
    """States drawn from all that the schema allows, the ends among them."""
    schema = load_schema("softmax_choice")
    drawn = [
        {k: float(rng.uniform(e["min"], e["max"])) for k, e in schema.items()} for _ in range(count)
    ]
    ends = [{k: float(e[end]) for k, e in schema.items()} for end in ("min", "max", "default")]
    return [*drawn, *ends, {**ends[2], "once": 5.0, "upon": -5.0, "temperature": 0.1}]


def test_weights_are_those_of_the_package(rng: np.random.Generator) -> None:
    given = states(rng, 60)
    for state, result in zip(given, run(BODY, given), strict=True):
        scores = np.array([state[name] + state["shift"] for name in TOKENS])
        expected = ma.softmax(scores / state["temperature"])
        np.testing.assert_allclose(result["scores"], scores, atol=1e-12)
        np.testing.assert_allclose(result["weights"], expected, atol=1e-12)
        np.testing.assert_allclose(
            np.array(result["parts"]) / result["total"], expected, atol=1e-12
        )
        assert result["most"] == int(np.argmax(scores))


def test_a_shift_changes_no_weight() -> None:
    results = run(BODY, [{**SoftmaxChoice().state, "shift": s} for s in (-5, 0, 4.5)])
    for one in results:
        np.testing.assert_allclose(one["weights"], results[1]["weights"], atol=1e-12)


def test_default_scores_are_the_example() -> None:
    """How well the content of "time" fits five tokens of the running example."""
    content = {
        t.strip().lower(): np.array(row[:4])
        for t, row in zip(example.TOKENS, example.EMBEDDINGS, strict=True)
    }
    state = SoftmaxChoice().state
    for name in TOKENS:
        assert state[name] == content["time"] @ content[name]


def test_words_carry_the_numbers() -> None:
    body = """
      const { compute, explain, describe } = living.registry.softmax_choice;
      const result = compute(input);
      const ids = ["s-3", "e-0", "w-3", "sum"];
      return [describe(result), ...ids.map((id) => explain(result, id).text)];"""
    state = {**SoftmaxChoice().state, "shift": 1.0, "temperature": 2.0}
    sentence, score, power, weight, total = run(body, state)
    weights = ma.softmax(np.array([1, 0, 0, 1.25, 0.5]) / 2)
    assert f"“time” gets {100 * weights[3]:.1f}%" in sentence
    assert "adding 1.0 to all scores didn't change the weights" in sentence
    assert "1.25 + 1.00 = 2.25" in score
    assert f"= {np.exp(-0.125):.3f}" in power
    assert f"= {weights[3]:.3f}" in weight
    assert f"= {np.exp(np.array([-0.125, -0.625, -0.625, 0, -0.375])).sum():.3f}" in total


def test_ties_are_told() -> None:
    body = """
      const { compute, describe } = living.registry.softmax_choice;
      return describe(compute(input));"""
    state = SoftmaxChoice(once=2, upon=2, a=0, time=0, lamp=0).state
    assert run(body, state).startswith("2 tokens tie for first place")


def test_bars_are_the_same_bars_in_every_state() -> None:
    """A score's bar and knob travel; the scale of the scores holds for all that can be pulled."""
    body = """
      const { compute, draw, drag } = living.registry.softmax_choice;
      return input.map((state) => [draw(compute(state), { live: true }),
        drag(compute(state), "s-3", { width: 720, state })({ dx: 100 }).time - state.time]);"""
    start = SoftmaxChoice().state
    found = run(body, [start, {**start, "time": 5.0}, {**start, "temperature": 0.25}])
    keys = [re.findall(r' data-(?:key|part)="([^"]+)"', picture) for picture, _ in found]
    assert keys[0] == keys[1] == keys[2]
    assert len(keys[0]) == 5 * 4 + 1
    assert 0 < found[0][1] == pytest.approx(found[1][1])
