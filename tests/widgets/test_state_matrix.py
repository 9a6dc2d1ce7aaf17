"""The matrix against the package's recurrence and attention, and how it's handled."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn.widgets.base import load_schema
from tests.javascript import run

SCHEMA = load_schema("state_matrix")
DEFAULT = {key: entry["default"] for key, entry in SCHEMA.items()}
STATES: list[dict[str, Any]] = [
    {"rule": rule, "pairs": pairs, "size": size, "decay": decay, "again": again, "pair": pair}
    for rule, pairs, size, decay, again, pair in itertools.product(
        SCHEMA["rule"]["values"], (1, 9, 32), SCHEMA["size"]["values"], (0.6, 1),
        (False, True), (1, 9),
    )
]  # fmt: skip
Results = list[dict[str, Any]]


@pytest.fixture(scope="module")
def results() -> Results:
    """What JavaScript computes in every state."""
    return run("return input.map(living.registry.state_matrix.compute);", STATES)


def head(rows: list[list[float]]) -> np.ndarray:
    return np.array(rows)[None, None]  # (batch, heads, seq, head_dim)


def test_states_and_reads_are_the_packages(results: Results) -> None:
    """The matrix by its rule, and what each key reads from it, or from the cache."""
    for state, result in zip(STATES, results, strict=True):
        keys, values = head(result["written"]), head(result["held"])
        asked = keys[:, :, : state["pairs"]]
        if state["rule"] == "cache":
            read = ma.scaled_dot_product_attention(asked, keys, values, scale=result["scale"])
        else:
            fades, replaces = state["rule"] in ("decay", "gated"), state["rule"] in (
                "delta", "gated",
            )  # fmt: skip
            ones = np.ones(keys.shape[:3])
            _, matrix = ma.recurrent_attention(
                keys, keys, values, return_state=True,
                log_decay=np.log(state["decay"]) * ones if fades else None,
                beta=ones if replaces else None,
            )  # fmt: skip
            assert np.allclose(result["state"], matrix[0, 0], atol=1e-12)
            read = asked @ matrix
        assert np.allclose(result["reads"], read[0, 0], atol=1e-12)
        errors = np.linalg.norm(read[0, 0] - result["wanted"], axis=1)
        assert np.allclose(result["errors"], errors, atol=1e-12)
        nearest = (read[0, 0] @ np.array(result["wanted"]).T).argmax(axis=1)
        assert result["right"] == (nearest == np.arange(state["pairs"])).sum()


def test_keys_stand_at_right_angles_in_groups(results: Results) -> None:
    for state, result in zip(STATES, results, strict=True):
        keys, size = np.array(result["written"])[: state["pairs"]], state["size"]
        for start in range(0, state["pairs"], size):
            group = keys[start : start + size]
            assert np.allclose(group @ group.T, np.eye(len(group)), atol=1e-9)
        assert np.allclose(np.linalg.norm(result["held"], axis=1), 1)
        assert len(result["written"]) == state["pairs"] + state["again"]
        assert result["pair"] == min(state["pair"], state["pairs"])


def test_each_rule_forgets_what_the_page_says() -> None:
    """Eight fit; a ninth blurs all; the delta rule keeps the newest; a cache keeps what's old."""

    def errors(**given: Any) -> np.ndarray:
        body = "return living.registry.state_matrix.compute(input).errors;"
        return np.array(run(body, {**DEFAULT, **given}))

    assert errors(pairs=8).max() < 1e-9
    assert errors(pairs=9).min() > 0.05
    delta = errors(pairs=16, rule="delta")
    assert delta[8:].max() < 1e-9 < 0.5 < delta[:8].min()
    assert (np.diff(errors(pairs=8, rule="decay")) < 0).all()
    assert errors(pairs=32, rule="cache").max() < 0.1
    assert errors(rule="delta", again=True)[0] < 1e-9
    assert errors(rule="cache", again=True)[0] > 0.5


def test_the_picture_says_what_it_shows() -> None:
    body = """
      const { compute, describe, explain } = living.registry.state_matrix;
      const [plain, twice] = input.map(compute);
      return [describe(plain), explain(plain, "state").text, explain(plain, "pair-2").text,
        explain(twice, "strip-read").text];"""
    twice = {**DEFAULT, "rule": "cache", "again": True}
    sentence, state, pair, read = run(body, [DEFAULT, twice])
    assert "6 of 6 come out nearest to their own value" in sentence
    assert "8 × 8: 64 numbers" in sentence
    assert "A cache of these pairs would keep 96" in state
    assert "off by 0.00 of its length" in pair
    assert "0.50 on its first value and 0.50 on its newest" in read


def test_the_asked_key_is_dragged_and_pressed() -> None:
    body = """
      const { compute, drag, choose, draw } = living.registry.state_matrix;
      const result = compute(input);
      const at = (width) => drag(result, "now", { width, state: input });
      const pairs = (width) => [0, 0.75, 1].map((x) => at(width)({ to: [x * width - 3, 9] }).pair);
      return [[720, 346].map(pairs), drag(result, "pair-2", { width: 720, state: input }),
        choose(result, input, "pair-4").pair, choose(result, input, "state"),
        draw(result, { live: true })];"""
    (wide, narrow), held, pressed, none, markup = run(body, DEFAULT)
    assert (wide[0], wide[2]) == (narrow[0], narrow[2]) == (1, 6)
    assert 1 < wide[1] < 6
    assert (held, pressed, none) == (None, 4, None)
    assert 'data-grip="pair" tabindex="0" role="slider" aria-label="Key"' in markup
