"""The rotor's arithmetic against the package, in every state."""

from __future__ import annotations

import math
import re
from typing import Any

import nbformat
import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn.widgets.base import load_schema
from tests.javascript import run
from tools import ROOT

SCHEMA = load_schema("rotor")
DEFAULT = {"vectors": SCHEMA["vectors"]["default"], "base": SCHEMA["base"]["default"]}
STATES = [
    {"position": position, "distance": distance, "layout": layout, **DEFAULT}
    for position in range(SCHEMA["position"]["min"], SCHEMA["position"]["max"] + 1, 4)
    for distance in range(SCHEMA["distance"]["min"], SCHEMA["distance"]["max"] + 1)
    for layout in SCHEMA["layout"]["values"]
]
STATES += [
    {"position": 6, "distance": 3, "layout": "half", "vectors": vectors, "base": base}
    for vectors in SCHEMA["vectors"]["values"]
    for base in SCHEMA["base"]["values"]
]


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state."""
    return run("return input.map(living.registry.rotor.compute);", STATES)


def turned(vector: list[float], position: int, layout: str, theta: float = 10000.0) -> np.ndarray:
    """A vector at a position, by the package."""
    inv_freq, _, _ = ma.rope_frequencies(len(vector), theta=theta)
    cos, sin = ma.rope_table(np.array([position]), inv_freq, dtype="float64")
    return ma.apply_rope(np.array(vector)[None, None, None], cos, sin, layout=layout)[0, 0, 0]


def test_every_state_equals_the_package(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        layout, place, base = state["layout"], state["position"], float(state["base"])
        q = turned(result["q"], place + state["distance"], layout, base)
        k = turned(result["k"], place, layout, base)
        for plane in result["planes"]:
            np.testing.assert_allclose(plane["q"]["rotated"], q[plane["members"]], atol=1e-12)
            np.testing.assert_allclose(plane["k"]["rotated"], k[plane["members"]], atol=1e-12)
        assert result["score"] == pytest.approx(q @ k, abs=1e-12)
        assert result["difference"] < 1e-12  # the same at the start of the text
        for name, curve in result["curves"].items():
            start = turned(result["k"], 0, name, base)
            expected = [turned(result["q"], d, name, base) @ start for d in range(len(curve))]
            np.testing.assert_allclose(curve, expected, atol=1e-12)


def test_equal_vectors_score_highest_at_distance_0_and_unrelated_ones_near_0(
    results: list[dict[str, Any]],
) -> None:
    for state, result in zip(STATES, results, strict=True):
        curve = np.array(result["curves"][state["layout"]])
        if state["vectors"] == "equal":
            assert result["q"] == result["k"]
            assert curve.argmax() == 0
        if state["vectors"] == "independent":
            assert abs(curve[0]) < 0.05 * np.linalg.norm(result["q"]) * np.linalg.norm(result["k"])


def test_layouts_agree_at_distance_0_only(results: list[dict[str, Any]]) -> None:
    curves = results[0]["curves"]
    gaps = np.abs(np.subtract(curves["half"], curves["interleaved"]))
    assert gaps[0] < 1e-12
    assert (gaps[1:] > 1e-3).all()


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize(("head_dim", "theta"), [(2, 10000.0), (6, 500.0), (10, 1e6)])
def test_any_vectors(rng: np.random.Generator, layout: str, head_dim: int, theta: float) -> None:
    q, k = rng.standard_normal((2, head_dim)).tolist()
    body = "return living.planesOf(input.q, input.k, input.at, input.layout, input.theta);"
    for m, n in ((0, 0), (5, 3), (1000, 7)):
        sent = {"q": q, "k": k, "at": [m, n], "layout": layout, "theta": theta}
        parts = [plane["part"] for plane in run(body, sent)]
        expected = turned(q, m, layout, theta) @ turned(k, n, layout, theta)
        assert math.fsum(parts) == pytest.approx(expected, abs=1e-10)


def test_the_sum_in_words_adds_up(results: list[dict[str, Any]]) -> None:
    body = """
      const { compute, describe, explain, table } = living.registry.rotor;
      return input.map((state) => {
        const result = compute(state);
        return [describe(result), explain(result, "plane-0").text, explain(result, "q-1").text,
          explain(result, "dot-0").text, table(result).rows];
      });"""
    said = run(body, STATES)
    for state, result, (sentence, plane, number, dot, rows) in zip(
        STATES, results, said, strict=True
    ):
        shown = f"{result['score']:.2f}".replace("-", "−")
        if not shown.strip("−0."):
            shown = shown.lstrip("−")
        assert f"q · k = {shown}" in sentence
        assert f"query at {state['position'] + state['distance']}" in sentence
        assert "57.3° per position" in plane
        partner = 5 if state["layout"] == "half" else 0
        assert f"rotates with dimension {partner}, in plane" in number
        assert shown in dot
        assert rows[4][-1] == shown
    assert {"both layouts agree" in dot for _, _, _, dot, _ in said} == {True, False}


def test_the_chapter_names_the_speeds_of_the_dials() -> None:
    """The page says that its first frequencies are those of the picture."""
    [speeds] = run(
        "return [living.registry.rotor.compute(input).planes.map((p) => p.speed)];", STATES[0]
    )
    np.testing.assert_allclose(speeds, ma.rope_frequencies(8, theta=10000.0)[0])
    notebook = nbformat.read(ROOT / "book/rope.ipynb", as_version=4)
    assert any("ma.rope_frequencies(8, theta=10000.0)" in cell.source for cell in notebook.cells)


def test_hands_turn_by_their_angle() -> None:
    """One position on, a hand has the angle of its plane more, around the middle of its dial."""
    body = """
      const { compute, describe, draw, schema } = living.registry.rotor;
      const state = { ...living.defaults(schema), position: 0 };
      return [0, 1].map((position) => draw(compute({ ...state, position }), { live: true }))
        .concat(describe(compute(state)));"""
    *pictures, said = run(body)
    before, after = (
        {key: [float(part) for part in turn.split()] for key, turn in re.findall(
            r' data-(?:key|part)="([kq]-\d)" data-turn="([^"]+)"', picture)}
        for picture in pictures
    )  # fmt: skip
    assert len(before) == 8
    speeds = ma.rope_frequencies(8, theta=10000.0)[0]
    for key, (angle, *middle) in before.items():
        turned_by = np.radians(angle - after[key][0])  # against the clock
        assert turned_by == pytest.approx(speeds[int(key[-1])], abs=0.003)
        assert middle == after[key][1:]
    assert "only the distance" not in said, "the page asks first"
