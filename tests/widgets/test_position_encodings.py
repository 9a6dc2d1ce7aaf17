"""The position encodings: JavaScript against `mini_attn.numpy` in every state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn import example
from tests.javascript import run

NAMES = ("integer", "learned", "sinusoidal", "shaw", "t5", "alibi")
STATES = [{"start": start, "show": show} for start in range(9) for show in ("added", "weights")]
TRAINED, SCALE = 12, example.HEAD_DIM**-0.5
CONTENT = slice(4, 8)  # the columns of the head that reads words
X = np.array(example.EMBEDDINGS)
Q, K = (X @ np.array(example.WEIGHTS[name])[:, CONTENT] for name in "qk")


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state."""
    return run("return input.map(living.registry.position_encodings.compute);", STATES)


def square(cells: list[list[float | None]]) -> np.ndarray:
    """A triangle of lists as a square: NaN where there is no vector, 0 above the diagonal."""
    out = np.zeros((len(cells), len(cells)))
    for i, row in enumerate(cells):
        out[i, : i + 1] = [np.nan if value is None else value for value in row]
    return out


def added(result: dict[str, Any], name: str) -> np.ndarray:
    """What one encoding adds, as a square."""
    panel = result["panels"][NAMES.index(name)]
    return square(panel["added"])


def test_panels_are_what_the_tests_expect(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        assert tuple(panel["name"] for panel in result["panels"]) == NAMES
        assert result["positions"] == list(range(state["start"], state["start"] + 8))
        assert result["trained"] == TRAINED


def test_sinusoids_and_alibi_equal_the_package(results: list[dict[str, Any]]) -> None:
    for result in results:
        places = np.array(result["positions"])
        p = ma.sinusoidal_positions(places, example.HEAD_DIM, dtype="float64")
        np.testing.assert_allclose(added(result, "sinusoidal"), np.tril(SCALE * p @ p.T))
        bias = ma.alibi_bias(ma.alibi_slopes(8), places, places)[0]
        np.testing.assert_allclose(added(result, "alibi"), bias)
        np.testing.assert_allclose(
            added(result, "integer"), np.tril(SCALE * np.outer(places, places))
        )


def test_buckets_equal_the_package(results: list[dict[str, Any]]) -> None:
    """Equal numbers where, and only where, T5's rule gives one bucket."""
    places = np.arange(8)
    buckets = ma.relative_position_bucket(
        places[None] - places[:, None], bidirectional=False, num_buckets=8, max_distance=16
    )
    bias = added(results[0], "t5")[-1]
    for i in range(8):
        for j in range(8):
            assert (bias[i] == bias[j]) == (buckets[-1, i] == buckets[-1, j])


def test_shaw_equals_the_package(results: list[dict[str, Any]]) -> None:
    """The vectors, read back from the picture, give its numbers through the package."""
    result = results[0]
    shaw = ma.RelativePositions(example.HEAD_DIM, 2, dtype="float64")
    body = "return living.positionTables.SHAW;"
    vectors = np.array(run(body))
    shaw.keys = np.concatenate([vectors[::-1], vectors[1:]])  # row 2 + (j - i): distances 2, 1, 0
    places = np.array(result["positions"])
    bias = shaw.score_bias(Q[None, None], places, places)[0, 0]
    np.testing.assert_allclose(added(result, "shaw"), np.tril(bias), atol=1e-12)


def test_learned_vectors_end(results: list[dict[str, Any]]) -> None:
    table = np.array(run("return living.positionTables.LEARNED;"))
    for state, result in zip(STATES, results, strict=True):
        places = np.array(result["positions"])
        known = places < TRAINED
        p = np.where(known[:, None], table[np.minimum(places, TRAINED - 1)], np.nan)
        expected = np.where(np.tri(8, dtype=bool), SCALE * p @ p.T, 0)
        np.testing.assert_allclose(added(result, "learned"), expected, atol=1e-12)
        assert result["panels"][1]["missing"] == max(0, state["start"] + 8 - TRAINED)


def test_weights_are_the_softmax(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        if state["show"] == "added":
            continue
        for panel in result["panels"]:
            known = 8 - panel["missing"]
            bias = square(panel["added"])[:known, :known]
            q, k = (rows[None, None, :known] for rows in (Q, K))
            options = {"causal": True, "bias": bias[None, None], "return_weights": True}
            _, weights = ma.scaled_dot_product_attention(q, k, k, **options)
            got = square(panel["cells"])[:known, :known]
            np.testing.assert_allclose(got, weights[0, 0], atol=1e-12)


def test_what_the_picture_teaches(results: list[dict[str, Any]]) -> None:
    """Four encodings know the distance, two the place."""
    for state, result in zip(STATES, results, strict=True):
        for panel in result["panels"]:
            moved = state["start"] > 0 and panel["name"] in ("integer", "learned")
            assert (panel["changed"] > 1e-3) == moved, panel["name"]


def test_words_carry_the_numbers() -> None:
    body = """
      const { compute, describe, explain, table } = living.registry.position_encodings;
      const result = compute(input);
      const ids = ["integer-7-0", "sinusoidal-7-4", "learned-7-0",
        "shaw-3-2", "t5-7-0", "alibi-7-0"];
      return { said: describe(result), rows: table(result).rows,
               words: Object.fromEntries(ids.map((id) => [id, explain(result, id)])) };"""
    three = run(body, {"start": 3, "show": "added"})
    assert (
        "positions 3 to 10. These numbers changed: Integers and Learned. Unchanged: "
        in three["said"]
    )
    words = {name: said["text"] for name, said in three["words"].items()}
    assert "10 · 3 / √4 = 15.00" in words["integer-7-0"]
    assert "cos 3.0 + cos 0.03" in words["sinusoidal-7-4"]
    assert "−0.5 · 7 = −3.50" in words["alibi-7-0"]
    assert "bucket 5 of 8" in words["t5-7-0"]
    assert three["words"]["t5-7-0"]["also"][0] == "integer-7-0"
    assert [row[2] for row in three["rows"][:8]] == ["7", "6", "5", "4", "3", "2", "1", "0"]

    far = run(body, {"start": 8, "show": "weights"})
    assert "4 tokens are beyond the 12 learned positions" in far["said"]
    assert "none for 15" in far["words"]["learned-7-0"]["text"]
    assert "softmax of the row" in far["words"]["shaw-3-2"]["text"]
    assert far["rows"][-1][4] == "✗ 4 without vector"
    assert "where it begins" in run(body, {"start": 0, "show": "added"})["said"]
