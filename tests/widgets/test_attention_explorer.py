"""The explorer's arithmetic against the package, in every state."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn import example
from tests.javascript import run

DIVISORS = {"one": 1, "head_dim": example.HEAD_DIM**0.5, "d_model": example.D_MODEL**0.5}
MASKS = ("none", "after", "renormalised", "before")
STATES = [
    {"head": head, "tokens": tokens, "show": show, "mask": mask, "divisor": divisor,
     **{f"q{n}": value for n, value in enumerate(pulled)}}
    for head, tokens, mask, divisor, (pulled, show) in itertools.product(
        ("content", "before"), (4, 8), MASKS, DIVISORS,
        (((-2, 2, 0, 0.25), "dots"), ((0, 0, 0, 0), "weights"), ((0, 0, -0.5, 2), "scores")),
    )
]  # fmt: skip
KEYS = ("q", "k", "v", "dots", "scores", "open", "weights", "out", "sums", "ahead")


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state."""
    return run("return input.map(living.registry.attention_explorer.compute);", STATES)


def in_numpy(state: dict[str, Any]) -> dict[str, np.ndarray]:
    """The same from the package's attention and from plain NumPy."""
    x = np.array(example.EMBEDDINGS)[: state["tokens"]]
    own = slice(4, 8) if state["head"] == "content" else slice(0, 4)
    q, k, v = ((x @ np.array(example.WEIGHTS[name]))[:, own] for name in "qkv")
    q[-1] += [state.get(f"q{n}", 0) for n in range(4)]
    scale = 1 / DIVISORS[state["divisor"]]
    seen = np.tril(np.ones((len(x), len(x)), bool))
    options = {"scale": scale, "return_weights": True, "return_lse": True}
    four = [array[None, None] for array in (q, k, v)]
    out, weights, _ = (part[0, 0] for part in ma.scaled_dot_product_attention(*four, **options))
    open_weights = weights
    if state["mask"] == "before":
        given = ma.scaled_dot_product_attention(*four, causal=True, **options)
        out, weights, _ = (part[0, 0] for part in given)
    elif state["mask"] != "none":
        weights = np.where(seen, weights, 0)
        if state["mask"] == "renormalised":
            weights = weights / weights.sum(axis=-1, keepdims=True)
        out = weights @ v
    return {
        "q": q, "k": k, "v": v, "dots": q @ k.T, "scores": scale * q @ k.T, "open": open_weights,
        "weights": weights, "out": out, "sums": weights.sum(axis=-1),
        "ahead": np.where(seen, 0, open_weights).sum(axis=-1),
    }  # fmt: skip


def test_equals_the_package_in_every_state(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        expected = in_numpy(state)
        for key in KEYS:
            np.testing.assert_allclose(result[key], expected[key], rtol=0, atol=1e-12, err_msg=key)


def test_renormalised_is_minus_infinity_before(results: list[dict[str, Any]]) -> None:
    """The chapter's claim, found in every state of the picture as well."""
    by_state = {tuple(s.values()): r for s, r in zip(STATES, results, strict=True)}
    for state in STATES:
        if state["mask"] == "before":
            other = by_state[tuple((state | {"mask": "renormalised"}).values())]
            ours = by_state[tuple(state.values())]
            np.testing.assert_allclose(ours["weights"], other["weights"], rtol=0, atol=1e-12)


SAY = """
const { compute, describe, explain, table, schema } = living.registry.attention_explorer;
return input.map(([state, ids]) => {
  const result = compute({ ...living.defaults(schema), ...state });
  return [describe(result), ids.map((id) => explain(result, id)), table(result)];
});"""


def test_words_carry_the_numbers() -> None:
    ids = ["w-3-0", "w-0-3", "q-3", "k-0", "v-0", "out-3"]
    states = [{}, *({"mask": mask} for mask in MASKS[1:]), {"show": "dots"}]
    states += [{"show": "scores", "mask": "before"}, {"q1": 2}]
    said = run(SAY, [[state, ids] for state in states])
    start = {"head": "content", "tokens": 4, "mask": "none", "divisor": "head_dim"}
    weights = in_numpy(start)["weights"]
    (plain, parts, table), after, renormalised, before, dots, scores, asked = said
    assert f"({weights[3, 3]:.2f}), then “Once” ({weights[3, 0]:.2f})" in plain
    assert f"“Once” takes {weights[0, 1:].sum():.2f}" in plain
    assert f"{weights[3, 0]:.3f}" in parts[0]["text"]
    assert "= 6.00; divided by 2.00 = 3.00" in parts[0]["text"]
    assert parts[0]["also"] == ["q-3", "k-0"]
    assert "value of “Once”" in parts[5]["text"]
    assert {"w-3-0", "v-0"} <= set(parts[5]["also"])
    assert table["head"][-2:] == ["sum", "output"]
    assert f"sums to {weights[0, 0]:.2f}, not to 1" in after[0]
    assert "set to 0" in after[1][1]["text"]
    assert (
        f"divided by the {weights[0, 0]:.3f}" in renormalised[1][0]["text"]
        or "weight" in (renormalised[1][0]["text"])
    )
    assert "−∞" in before[1][1]["text"]
    assert dots[0].startswith("Dot products")
    assert scores[2]["rows"][0][-1] == "−∞"
    assert asked[0].startswith("With this query, “time” gives")


def test_controls_without_effect_are_hidden() -> None:
    body = """
      const { controls, schema } = living.registry.attention_explorer;
      const state = living.defaults(schema);
      return ["dots", "weights"].map((show) => controls
        .filter((control) => !control.when || control.when({ ...state, show }))
        .map((control) => control.key));"""
    dots, weights = run(body)
    assert set(weights) - set(dots) == {"divisor", "mask"}


PARTS = """
const { compute, draw, schema } = living.registry.attention_explorer;
return input.map((show) =>
  draw(compute({ ...living.defaults(schema), show }), { live: true }));
"""


def test_values_flow_into_outputs() -> None:
    """Every part of an output comes out of a value that is drawn in the step before."""
    scores, weights = run(PARTS, ["scores", "weights"])
    keys = {match[1] for match in re.finditer(r' data-(?:key|part)="([^"]+)"', scores)}
    new = re.findall(r' data-(?:key|part)="(p-\d-(\d))" data-from="([^"]+)"', weights)
    assert len(new) == 16
    assert all(origin == f"v-{j}" and origin in keys for _, j, origin in new)
    assert not keys & {key for key, *_ in new}, "before the weights nothing is summed"
    assert weights.count("att-flow") == 4


def test_a_query_is_pulled_by_hand() -> None:
    """Up is more: a bar that is dragged by the height of 1 changes its entry by 1."""
    body = """
      const { compute, drag, draw, schema } = living.registry.attention_explorer;
      const state = living.defaults(schema);
      return input.map((width) => {
        const move = drag(compute(state), "pull-1", { width, state });
        return [move({ dx: 0, dy: -20 }).q1, move({ dx: 0, dy: 20 }).q1,
          drag(compute(state), "q-0", { width, state }),
          draw(compute(state), { width, live: true })];
      });"""
    for more, less, other, picture in run(body, [720, 360]):
        assert 1 < more < 3
        assert less == -more
        assert other is None
        grips = re.findall(r'aria-orientation="vertical" data-id="pull-(\d)"', picture)
        assert grips == list("0123")
