"""The head stepper's arithmetic against the package, and what it says of it."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn import example
from mini_attn.config import AttentionConfig
from mini_attn.widgets.base import load_schema
from tests.javascript import run

SCHEMA = load_schema("head_stepper")
STATES = [
    {"step": step, "token": token, "n_heads": n_heads, "join": join}
    for step, token, n_heads, join in itertools.product(
        range(SCHEMA["step"]["max"] + 1),
        range(len(example.TOKENS)),
        (1, 2),
        ("concatenate", "add"),
    )
]
WIDTH = example.N_HEADS * example.HEAD_DIM


def attention(n_heads: int) -> dict[str, np.ndarray]:
    """The package's layer over the running example, its matrices cut into so many heads."""
    config = AttentionConfig(example.D_MODEL, n_heads, WIDTH // n_heads)
    layer = ma.MultiHeadAttention(config, dtype="float64")
    for name, matrix in example.WEIGHTS.items():
        getattr(layer, f"{name}_proj").weight[...] = np.array(matrix).T  # stored (out, in)
    x = np.array(example.EMBEDDINGS)[None]
    q, k, v = layer.project(x, x)
    out, weights = ma.scaled_dot_product_attention(q, k, v, causal=True, return_weights=True)
    scores = (WIDTH // n_heads) ** -0.5 * q @ k.swapaxes(-1, -2)
    parts = {"q": q, "k": k, "v": v, "scores": scores, "weights": weights, "out": out}
    return {name: part[0] for name, part in parts.items()} | {"output": layer(x)[0]}


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state."""
    return run("return input.map(living.registry.head_stepper.compute);", STATES)


@pytest.mark.parametrize("n_heads", [1, 2])
def test_equals_the_numpy_layer(results: list[dict[str, Any]], n_heads: int) -> None:
    expected = attention(n_heads)
    of_these = [(s, r) for s, r in zip(STATES, results, strict=True) if s["n_heads"] == n_heads]
    for state, result in of_these:
        token = state["token"]
        assert len(result["heads"]) == n_heads
        for h, head in enumerate(result["heads"]):
            for name in ("q", "out"):
                np.testing.assert_allclose(head[name], expected[name][h, token], atol=1e-12)
            for name in ("k", "v"):
                np.testing.assert_allclose(head[name], expected[name][h], atol=1e-12)
            for name in ("scores", "weights"):
                row = expected[name][h, token, : token + 1]
                np.testing.assert_allclose(head[name], row, atol=1e-12)
        np.testing.assert_allclose(result["output"], expected["output"][token], atol=1e-12)
        added = np.sum([head["adds"] for head in result["heads"]], axis=0)
        np.testing.assert_allclose(added, result["output"], atol=1e-12)


def words(state: dict[str, Any]) -> dict[str, Any]:
    """Sentence and explanations of a state by the id of what they explain."""
    body = """
      const { compute, describe, draw, explain } = living.registry.head_stepper;
      const result = compute(input);
      const markup = draw(result, { live: true });
      const ids = [...markup.matchAll(/data-id="([^"]+)"/g)].map((found) => found[1]);
      const said = Object.fromEntries(ids.map((id) => [id, explain(result, id).text]));
      const also = Object.fromEntries(ids.map((id) => [id, explain(result, id).also]));
      return { sentence: describe(result), said, also, ids };"""
    return run(body, state)


def test_texts_carry_the_numbers() -> None:
    """The printed state: the second "a" with two heads."""
    state = {key: entry.get("still", entry["default"]) for key, entry in SCHEMA.items()}
    expected, got = attention(2), words(state)
    weight, score = expected["weights"][0, 6, 5], expected["scores"][0, 6, 5]
    assert f"head 1 on “was” ({weight:.2f})" in got["sentence"]
    assert f"head 2 on both “a” ({expected['weights'][1, 6, 6]:.2f} each)" in got["sentence"]
    assert f"= {weight:.3f}" in got["said"]["w-0-5"]
    assert f"score {score:.2f}" in got["said"]["s-0-5"]
    assert f"= {expected['output'][6, 2]:.2f};" in got["said"]["y-2"]
    assert f"{expected['out'][1, 6, 2]:.2f}" in got["said"]["o-1"]
    assert "small word" in got["said"]["y-2"]


@pytest.mark.parametrize("join", ["concatenate", "add"])
@pytest.mark.parametrize("step", range(5))
def test_shows_no_more_than_the_step_has(step: int, join: str) -> None:
    """What a part refers to is drawn as well, and each step adds parts."""
    got = words({"step": step, "token": 6, "n_heads": 2, "join": join})
    kinds = {one[0] for one in got["ids"]}
    last = {"c", "y"} if join == "concatenate" else {"a", "y"}
    parts = [{"t", "q", "k", "v"}, {"s"}, {"w"}, {"o"}, last]
    assert kinds == set().union(*parts[: step + 1])
    for others in got["also"].values():
        assert set(others) <= set(got["ids"])


def test_one_head_has_one_row_of_weights() -> None:
    got = words({"step": 4, "token": 6, "n_heads": 1, "join": "concatenate"})
    assert {one.split("-")[1] for one in got["ids"] if one[0] == "w"} == {"0"}
    assert "one average for both questions" in got["sentence"]


def keys(state: dict[str, Any]) -> dict[str, str]:
    """What has a key in a state, with the key that it comes from."""
    body = """
      const { compute, draw } = living.registry.head_stepper;
      return draw(compute(input), { live: true });"""
    found = re.findall(r' data-(?:key|part)="([^"]+)"(?: data-from="([^"]+)")?', run(body, state))
    return dict(found)


def test_two_heads_become_one() -> None:
    """The same keys, values and weights stand in one lane; the averages come from the values."""
    two, one = (keys({"step": 4, "token": 6, "n_heads": n, "join": "concatenate"}) for n in (2, 1))
    joined = {f"{name}-{h}-{j}" for name in "kv" for h in (0, 1) for j in range(7)}
    beside = {f"w-{h}-{j}" for h in (1, 2) for j in range(7)}
    assert joined | beside <= set(two) & set(one)
    assert set(one) - set(two) == {f"w-0-{j}" for j in range(7)} | {f"b-{n}" for n in range(8)}
    before = keys({"step": 2, "token": 6, "n_heads": 2, "join": "concatenate"})
    after = keys({"step": 3, "token": 6, "n_heads": 2, "join": "concatenate"})
    brought = {key: origin for key, origin in after.items() if key.startswith("p-")}
    assert len(brought) == 14
    assert set(brought.values()) <= set(before)
    assert len(one) <= 120


def test_both_averages_stand_side_by_side() -> None:
    """With one head, and not before: two heads have not given away what one will say."""
    expected = attention(2)
    got = words({"step": 4, "token": 6, "n_heads": 1, "join": "concatenate"})
    assert f"{expected['out'][1, 6, 2]:.2f}, from head 2" in got["said"]["b-6"]
    body = """
      const { choose, compute } = living.registry.head_stepper;
      return [compute(input).apart, choose(null, input, "t-0-3"), choose(null, input, "w-0-3")];"""
    apart, chosen, none = run(body, {"step": 4, "token": 6, "n_heads": 2, "join": "add"})
    assert apart == []
    assert chosen["token"] == 3
    assert none is None
