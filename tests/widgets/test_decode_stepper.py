"""The stepper's arithmetic against the package, in every state."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn import cost, example
from mini_attn.config import AttentionConfig
from mini_attn.models import ModelConfig
from tests.javascript import run

STEPS = range(len(example.TOKENS) - example.PROMPT_LEN + 1)
STATES = [
    {"step": step, "cached": cached, "head": head}
    for step in STEPS
    for cached in (True, False)
    for head in (1, 2)
]


def example_layer() -> Any:
    """The package's attention layer with the running example's weights."""
    config = AttentionConfig(example.D_MODEL, example.N_HEADS, example.HEAD_DIM)
    return layer_with(config, {name: np.array(w) for name, w in example.WEIGHTS.items()})


def layer_with(config: AttentionConfig, weights: dict[str, np.ndarray]) -> Any:
    layer = ma.MultiHeadAttention(config, dtype="float64")
    for name, matrix in weights.items():
        getattr(layer, f"{name}_proj").weight[...] = matrix.T  # stored (out, in)
    return layer


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state of the stepper."""
    return run("return input.map(living.registry.decode_stepper.compute);", STATES)


@pytest.mark.parametrize("number", range(len(STATES)))
def test_equals_the_numpy_layer(results: list[dict[str, Any]], number: int) -> None:
    """Queries, keys, values, scores, weights and outputs, in all states and both ways."""
    state, result = STATES[number], results[number]
    there, head = example.PROMPT_LEN + state["step"], state["head"] - 1
    layer, x = example_layer(), np.array(example.EMBEDDINGS)[None, :there]
    q, k, v = layer.project(x, x)
    out, weights = ma.scaled_dot_product_attention(q, k, v, causal=True, return_weights=True)
    scores = example.HEAD_DIM**-0.5 * q @ k.swapaxes(-1, -2)
    first = there - 1 if state["cached"] and state["step"] else 0
    for i, row in enumerate(result["rows"]):
        assert (row["k"] is None) == (row["v"] is None) == (i >= there)
        if i < there:
            np.testing.assert_allclose(row["k"], k[0, head, i], rtol=0, atol=1e-12)
            np.testing.assert_allclose(row["v"], v[0, head, i], rtol=0, atol=1e-12)
        if not first <= i < there:
            assert row["q"] is row["scores"] is row["weights"] is row["out"] is None
            continue
        np.testing.assert_allclose(row["q"], q[0, head, i], rtol=0, atol=1e-12)
        np.testing.assert_allclose(row["scores"], scores[0, head, i, : i + 1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(row["weights"], weights[0, head, i, : i + 1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(row["out"], out[0, head, i], rtol=0, atol=1e-12)
    np.testing.assert_allclose(result["output"], layer(x)[0, -1], rtol=0, atol=1e-12)
    assert result["difference"] <= 1e-12


def test_calls_rows_what_they_are(results: list[dict[str, Any]]) -> None:
    kinds = {
        (state["step"], state["cached"]): "".join(row["kind"][0] for row in result["rows"])
        for state, result in zip(STATES, results, strict=True)
    }
    assert kinds[0, True] == kinds[0, False] == "nnnnllll"  # new, later
    assert kinds[2, True] == "kkkkknll"  # kept
    assert kinds[3, False] == "aaaaaanl"  # again


def example_model() -> ModelConfig:
    """The example's one attention layer, as the cost functions want it."""
    return ModelConfig(
        name="example",
        title="Example",
        source="the book",
        attention="mha",
        n_layers=1,
        d_model=example.D_MODEL,
        n_heads=example.N_HEADS,
        n_kv_heads=example.N_HEADS,
        head_dim=example.HEAD_DIM,
        d_ff=1,
        vocab_size=1,
        max_context=8,
    )


def step_costs(step: int, *, cached: bool) -> dict[str, int]:
    """Passes, FLOPs and bytes of one step of the attention layer, from `mini_attn.cost`."""
    model, there = example_model(), example.PROMPT_LEN + step
    rows = 1 if cached and step else there
    parts = cost.matmul_flops(model, q_len=rows, kv_len=there, causal="exact")
    weights = np.concatenate([np.array(w, "float32") for w in example.WEIGHTS.values()]).nbytes
    read = cost.step_bytes(model, kv_len=there, dtype_bytes=4)["cache read"]
    written = cost.cache_bytes(model, batch=1, context=rows, dtype_bytes=4)
    return {
        "passes": rows,
        "flops": sum(parts[p] for p in ("projections", "scores", "weighted sum", "output")),
        "bytes": weights + read + written,
    }


def test_counts_what_cost_counts(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        for way in ("cached", "plain"):
            each = [step_costs(s, cached=way == "cached") for s in range(state["step"] + 1)]
            assert result["now"][way] == each[-1]
            for key, total in result["total"][way].items():
                assert total == sum(one[key] for one in each), (state, way, key)
            passes = cost.token_passes(
                example.PROMPT_LEN, state["step"] + 1, cached=way == "cached"
            )
            assert result["total"][way]["passes"] == passes


def test_cache_bytes_are_those_of_a_real_cache(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        there = example.PROMPT_LEN + state["step"]
        cache = ma.KVCache(1, example.N_HEADS, example.HEAD_DIM, capacity=8)
        rows = np.zeros((1, example.N_HEADS, there, example.HEAD_DIM), dtype="float32")
        cache.append(rows, rows)
        assert result["cache_bytes"] == cache.used_bytes


@pytest.mark.parametrize(("n_heads", "head_dim", "count"), [(1, 1, 1), (2, 3, 7), (3, 5, 6)])
def test_attention_of_random_layers(
    rng: np.random.Generator, n_heads: int, head_dim: int, count: int
) -> None:
    """Any sizes, any weights, any cut into chunks: equal to NumPy, with and without a cache."""
    d_model = 4
    width = n_heads * head_dim
    shapes = dict.fromkeys("qkv", (d_model, width)) | {"o": (width, d_model)}
    weights = {name: 3 * rng.normal(size=shape) for name, shape in shapes.items()}
    x = rng.normal(size=(count, d_model))
    cuts = [0, *sorted({int(c) for c in rng.integers(1, count + 1, size=3)} | {count})]
    chunks = [x[a:b].tolist() for a, b in itertools.pairwise(cuts)]
    layer = {
        "n_heads": n_heads,
        "head_dim": head_dim,
        "weights": {name: w.tolist() for name, w in weights.items()},
    }
    body = """
      let cache = living.emptyCache(input.layer);
      return input.chunks.flatMap((chunk) => {
        const pass = living.attend(input.layer, chunk, cache);
        cache = pass.cache;
        return pass.outputs;
      });"""
    expected = layer_with(AttentionConfig(d_model, n_heads, head_dim), weights)(x[None])[0]
    for pieces in (chunks, [x.tolist()]):
        got = run(body, {"layer": layer, "chunks": pieces})
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def test_explanations_carry_the_numbers(results: list[dict[str, Any]]) -> None:
    """The words behind a weight hold its terms; masked, kept and later parts say so."""
    body = """
      const { compute, explain } = living.registry.decode_stepper;
      return input.map(([state, id]) => explain(compute(state), id).text);"""
    state = {"step": 2, "cached": True, "head": 1}
    ids = ["w-5-4", "w-5-6", "w-1-0", "w-6-0", "q-0", "k-0", "k-7", "out-5"]
    said = dict(zip(ids, run(body, [[state, name] for name in ids]), strict=True))
    row = results[STATES.index(state)]["rows"][5]
    assert f"= {row['scores'][4] / 0.5:.2f}; times 0.5 = {row['scores'][4]:.2f}" in said["w-5-4"]
    assert f"weight {row['weights'][4]:.3f}" in said["w-5-4"]
    assert "masked" in said["w-5-6"]
    assert "doesn't need it again" in said["w-1-0"]
    assert "not there yet" in said["w-6-0"]
    assert "No later step asks for it" in said["q-0"]
    assert "read from the cache" in said["k-0"]
    assert "not there yet" in said["k-7"]
    assert "output of the head" in said["out-5"]


def test_sentence_and_table_of_every_state(results: list[dict[str, Any]]) -> None:
    body = """
      const { compute, describe, table } = living.registry.decode_stepper;
      return input.map((state) => [describe(compute(state)), table(compute(state))]);"""
    for state, result, (sentence, table) in zip(STATES, results, run(body, STATES), strict=True):
        plain = result["total"]["plain"]
        assert f"{plain['passes']} without" in sentence
        assert ("from the cache" in sentence) == (state["cached"] and state["step"] > 0)
        assert table["rows"][1][2] == f"{plain['flops']:,}"
        assert {len(row) for row in table["rows"]} == {len(table["head"])}
        weights = (state["step"] + 1) * 4 * 4 * example.D_MODEL**2
        assert table["rows"][3][1:] == [f"{weights:,}"] * 2  # each pass reads them, either way


def parts(state: dict[str, Any]) -> dict[str, str | None]:
    """The picture's parts that can travel, each with where it comes from if it's new."""
    body = """
      const { compute, draw } = living.registry.decode_stepper;
      return draw(compute(input), { live: true, part: "first" });"""
    found = re.findall(r'data-part="([^"]+)"(?: data-from="([^"]+)")?', run(body, state))
    assert len(found) == len(dict(found)) <= 80
    return {key: origin or None for key, origin in found}


def test_new_rows_slide_into_the_cache_and_without_one_come_anew() -> None:
    """A row keeps its key from step to step; what's new comes out of a part that was there."""
    state = {"step": 2, "cached": True, "head": 1}
    before, after = (parts({**state, "step": step}) for step in (2, 3))
    assert {"k-5", "v-5", "q-5"} <= {*before}
    assert {"k-5", "v-5", "k-6", "now"} <= {*after}
    assert "q-5" not in after, "a query isn't kept"
    assert after["k-6"] == "t-6"
    off = [parts({**state, "cached": False, "step": step}) for step in (2, 3)]
    again = {key for key in off[1] if key.endswith("-3") and off[1][key]}
    assert {"q-5-3", "k-0-3"} <= again
    assert not again & {*off[0]}, "each step computes them again"
    assert {off[1][key] for key in again} <= {*off[0]}
    assert {after[f"k-{i}"] for i in range(6)} <= {*off[1]}, "switched on, they slide there"


def test_the_text_is_the_control_of_the_step() -> None:
    """Dragging and tapping find the token; the prompt goes through as one."""
    body = """
      const { compute, drag, choose, draw } = living.registry.decode_stepper;
      const [state, width] = [{ step: 1, cached: true, head: 1 }, 654];
      const move = drag(compute(state), "now", { width, state });
      return [[2, 90, 200, 300, 999].map((x) => move({ to: [x, 9] }).step),
        ["t-0", "t-3", "t-4", "t-7"].map((id) => choose(null, state, id).step),
        choose(null, state, "k-0"), drag(compute(state), "t-3", { width, state }),
        draw(compute(state), { live: true })];"""
    moved, tapped, other, held, markup = run(body, None)
    assert moved == [-3, -2, 1, 3, 4]  # less than the schema's lowest is the lowest
    assert tapped == [0, 0, 1, 4]
    assert other is held is None
    assert 'data-grip="step" tabindex="0" role="slider"' in markup
