"""The picture of the rules for longer contexts: frequencies and counts against the package."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn import config
from mini_attn.widgets.base import load_schema
from tests.javascript import run

SIZE = 128
SCHEMA = load_schema("rope_scaling")
STATES = [
    {"rule": rule, "factor": factor, "tokens": tokens, "trained": trained, "theta": theta}
    for rule, factor, trained, theta in itertools.product(
        SCHEMA["rule"]["values"], (1, 2, 8, 40, 64), SCHEMA["trained"]["values"],
        SCHEMA["theta"]["values"],
    )
    for tokens in ((1024, 16384, 524288) if rule == "dynamic" else (16384,))
]  # fmt: skip


def rule_of(state: dict[str, Any]) -> Any:
    """The package's rule for a state, or None."""
    factor, trained = float(state["factor"]), state["trained"]
    return {
        "none": None,
        "interpolation": config.PositionInterpolation(factor),
        "ntk": config.NTKAware(factor),
        "dynamic": config.DynamicNTK(factor, trained),
        "yarn_code": config.YaRN(factor, trained),
        "yarn_paper": config.YaRN(factor, trained, rule="paper"),
        "llama3": config.Llama3Scaling(factor, trained),
    }[state["rule"]]


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in all these states."""
    return run("return input.map(living.registry.rope_scaling.compute);", STATES)


def test_frequencies_equal_the_package(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        after, rope_factor, _ = ma.rope_frequencies(
            SIZE, theta=float(state["theta"]), scaling=rule_of(state), seq_len=result["length"]
        )
        before = ma.rope_frequencies(SIZE, theta=float(state["theta"]))[0]
        np.testing.assert_allclose([p["after"] for p in result["planes"]], after, rtol=1e-12)
        np.testing.assert_allclose([p["before"] for p in result["planes"]], before, rtol=1e-12)
        assert result["rope_factor"] == pytest.approx(rope_factor, rel=1e-12)
        assert result["logit_factor"] == pytest.approx(rope_factor**2, rel=1e-12)


def test_what_a_plane_meets(results: list[dict[str, Any]]) -> None:
    """seen: full turn in training; fresh: none, and a larger angle now; inside: the rest."""
    for state, result in zip(STATES, results, strict=True):
        known = np.array([p["before"] for p in result["planes"]]) * state["trained"] / math.tau
        now = np.array([p["after"] for p in result["planes"]]) * result["length"] / math.tau
        fresh = (known < 1) & (now > known * (1 + 1e-9))
        assert result["counts"]["seen"] == (known >= 1).sum()
        assert result["counts"]["fresh"] == fresh.sum()
        assert sum(result["counts"].values()) == SIZE // 2
        farthest = (now / known)[fresh].max() if fresh.any() else 1
        assert result["farthest"] == pytest.approx(farthest, rel=1e-12)
    lengths = {s["tokens"]: r["length"] for s, r in zip(STATES, results, strict=True)
               if s["rule"] == "dynamic"}  # fmt: skip
    assert all(tokens == length for tokens, length in lengths.items())


def test_words_carry_the_numbers(results: list[dict[str, Any]]) -> None:
    body = """
      const { compute, describe, explain, table } = living.registry.rope_scaling;
      return input.map((state) => { const result = compute(state);
        return [describe(result), explain(result, "p-51").text, table(result).rows.length]; });"""
    for state, result, (sentence, words, rows) in zip(
        STATES, results, run(body, STATES), strict=True
    ):
        assert f"At {result['length']:,} tokens" in sentence
        fresh = result["counts"]["fresh"]
        assert (f"{fresh} of 64 planes" in sentence) == (fresh > 0)
        if state["rule"] in ("ntk", "dynamic") and result["base"] > state["theta"]:
            assert f"{round(result['base']):,}" in sentence
        if state["rule"].startswith("yarn") and state["factor"] > 1:
            assert f"² = {result['logit_factor']:.2f}" in sentence
        assert "to the −102/128 radians" in words
        assert f"in {result['length']:,} tokens" in words
        assert rows == 17


def test_the_line_moves_what_its_method_follows() -> None:
    body = """
      const { compute, drag, schema } = living.registry.rope_scaling;
      const state = living.defaults(schema);
      return input.map((rule) => drag(compute({ ...state, rule }), "used", { width: 720 }))
        .map((move) => move({ dy: -20 }));"""
    ntk, dynamic = run(body, ["ntk", "dynamic"])
    assert list(ntk) == ["factor"]
    assert ntk["factor"] > 8
    assert list(dynamic) == ["tokens"]
    assert dynamic["tokens"] > 16384
