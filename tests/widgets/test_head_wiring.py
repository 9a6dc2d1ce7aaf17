"""The head wiring: JavaScript against `mini_attn.numpy` and `mini_attn.cost` in every state."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn import cost, example
from mini_attn.config import AttentionConfig
from mini_attn.example import heads as example_heads
from mini_attn.models import MODELS
from tests.javascript import run

CONFIG = AttentionConfig(
    d_model=example.D_MODEL, n_heads=example_heads.N_HEADS, head_dim=example.HEAD_DIM
)
STATE = {
    f"{name}_proj.weight": np.array(matrix).T for name, matrix in example_heads.WEIGHTS.items()
}
X = np.array(example.EMBEDDINGS)[None]
STATES = [
    {"n_kv_heads": n_kv_heads, "order": order, "token": token}
    for n_kv_heads, order, token in product((4, 2, 1), ("neighbours", "dealt"), range(8))
]


def compute(states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the page computes."""
    return run("return input.map((state) => living.registry.head_wiring.compute(state));", states)


def weights_of(n_kv_heads: int, order: str) -> np.ndarray:
    """Attention weights (head, query, key) by the package, from a pooled layer."""
    state, config = ma.pool_kv_heads(STATE, CONFIG, n_kv_heads)
    layer = ma.GroupedQueryAttention(config, dtype="float64")
    layer.load_state_dict(state)
    q, k, v = layer.project(X, X)
    if order == "dealt":
        k, v = (np.tile(array, (1, 4 // n_kv_heads, 1, 1)) for array in (k, v))
    _, weights = ma.scaled_dot_product_attention(q, k, v, causal=True, return_weights=True)
    return weights[0]


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    return compute(STATES)


def test_weights_equal_the_package(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        token = state["token"]
        right = weights_of(state["n_kv_heads"], state["order"])[:, token, : token + 1]
        got = [line["weights"] for line in result["lines"]]
        np.testing.assert_allclose(got, right, atol=1e-12)
        before = [line["before"] for line in result["lines"]]
        np.testing.assert_allclose(before, weights_of(4, "neighbours")[:, token, : token + 1])


def test_the_comparison_can_fail() -> None:
    [result] = compute([STATES[8]])
    assert not np.allclose(result["lines"][1]["weights"], weights_of(4, "neighbours")[1, 7])


def test_who_reads_whom(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        n_kv_heads = state["n_kv_heads"]
        kv = [line["kv"] for line in result["lines"]]
        if state["order"] == "dealt":
            assert kv == [head % n_kv_heads for head in range(4)]
        else:
            assert kv == [head // (4 // n_kv_heads) for head in range(4)]


def test_costs_equal_the_package(results: list[dict[str, Any]]) -> None:
    size, heads = example.HEAD_DIM, example_heads.N_HEADS
    for state, result in zip(STATES, results, strict=True):
        kv_len = state["token"] + 1
        model = replace(
            MODELS["llama-3-8b"], n_layers=1, n_heads=heads, n_kv_heads=state["n_kv_heads"],
            head_dim=size, v_head_dim=size, d_model=example.D_MODEL,
        )  # fmt: skip
        costs = result["costs"]
        assert costs["kept"] == cost.cache_bytes_per_token(model, dtype_bytes=1)
        read = cost.step_bytes(model, kv_len=kv_len, dtype_bytes=1)["cache read"]
        assert costs["read"] == read
        pairs = cost.attention_flops(1, kv_len, n_heads=heads, head_dim=size)
        assert costs["scores"] == sum(pairs.values())
        state_dict, _ = ma.pool_kv_heads(STATE, CONFIG, state["n_kv_heads"])
        learned = state_dict["k_proj.weight"].size + state_dict["v_proj.weight"].size
        assert costs["learned"] == learned


def test_what_the_picture_teaches(results: list[dict[str, Any]]) -> None:
    """Pooling equal neighbours changes nothing; one head for all, or wrong wiring, does."""
    for state, result in zip(STATES, results, strict=True):
        change = [line["change"] for line in result["lines"]]
        if state["n_kv_heads"] == 4 or (state["n_kv_heads"], state["order"]) == (2, "neighbours"):
            assert max(change) < 1e-12
        elif state["token"] > 1:
            wrong = [1, 2] if state["n_kv_heads"] == 2 else range(4)
            assert all(change[head] > 0.05 for head in wrong)


def test_words_carry_the_numbers() -> None:
    body = """
      const { compute, describe, explain, table } = living.registry.head_wiring;
      const result = compute(input);
      const ids = ["head-1", "kv-0", "w-1-5", "w-0-7", "cost-scores", "cost-kept"];
      return { said: describe(result), rows: table(result).rows,
               words: Object.fromEntries(ids.map((id) => [id, explain(result, id)])) };"""
    two = run(body, {"n_kv_heads": 2, "order": "neighbours", "token": 7})
    assert "heads 0 and 1 read key/value head 0" in two["said"]
    assert "16 values per token instead of 32" in two["said"]
    assert "all 4 heads keep their weights" in two["said"]
    assert two["words"]["head-1"]["text"].startswith("Query head 1 asks for the token two before.")
    assert "1 // (4 / 2) = 1 // 2 = 0" in two["words"]["head-1"]["text"]
    assert two["words"]["head-1"]["also"] == ["kv-0"]
    assert "2 key/value heads × 4 = 16 values" in two["words"]["cost-kept"]["text"]
    assert "4 query heads × 4 × 8 tokens = 512 FLOPs" in two["words"]["cost-scores"]["text"]
    assert two["rows"][0][:3] == ["query head 0", "the token before", "0"]

    dealt = run(body, {"n_kv_heads": 2, "order": "dealt", "token": 7})
    assert "heads 0 and 2 read key/value head 0" in dealt["said"]
    assert "2 of 4 heads keep their weights" in dealt["said"]
    assert "1 mod 2 = 1, which is the wrong rule" in dealt["words"]["head-1"]["text"]
    assert "with its own key/value head it was 0.720" in dealt["words"]["w-1-5"]["text"]

    one = run(body, {"n_kv_heads": 1, "order": "neighbours", "token": 7})
    assert "none of the 4 heads keeps its weights" in one["said"]
    own = run(body, {"n_kv_heads": 4, "order": "neighbours", "token": 3})
    assert "32 values per token" in own["said"]
    assert "masked" in own["words"]["w-0-7"]["text"]


def test_heads_fold_into_the_one_that_they_share() -> None:
    """A key/value head is the same one as before; those that it is the mean of go into it."""
    body = """
      const { compute, draw } = living.registry.head_wiring;
      return input.map((n) => draw(compute({ n_kv_heads: n, order: "neighbours", token: 7 }),
        { live: true }));"""
    found = [
        {key: (origin, taken.split()) for key, origin, taken in re.findall(
            r' data-(?:key|part)="(kv-\d)" data-from="([^"]+)" data-takes="([^"]*)"', picture)}
        for picture in run(body, [4, 2, 1])
    ]  # fmt: skip
    four, two, one = found
    assert list(four) == [f"kv-{head}" for head in range(4)]
    assert {key: taken for key, (_, taken) in two.items()} == {"kv-0": ["kv-1"], "kv-2": ["kv-3"]}
    assert one["kv-0"][1] == ["kv-1", "kv-2", "kv-3"]
    assert {four[key][0] for key in four.keys() - two.keys()} <= set(two)


@pytest.mark.parametrize("width", [360, 720])
def test_a_wire_is_dragged_to_its_place_or_to_another(width: int) -> None:
    """Its own place is one head each, its neighbour's is two, further is one for all."""
    body = """
      const { compute, drag, draw, choose } = living.registry.head_wiring;
      const state = { n_kv_heads: 2, order: "dealt", token: 7 };
      const result = compute(state);
      const picture = draw(result, { width: input, live: true });
      const found = picture.matchAll(/ y="([\\d.]+)"[^>]*data-id="wire-/g);
      const at = Array.from(found, (y) => Number(y[1]));
      const move = drag(result, "wire-1", { width: input, state });
      return [at.map((y) => move({ to: [90, y + 20] })), drag(result, "kv-0", { width: input }),
        choose(result, state, "t-3").token, picture];"""
    moved, other, token, picture = run(body, width)
    assert moved == [{"n_kv_heads": n, "order": "neighbours"} for n in (2, 4, 1, 1)]
    assert (other, token) == (None, 3)
    assert picture.count('data-grip="n_kv_heads"') == 4
    assert picture.count("data-count=") == 4
