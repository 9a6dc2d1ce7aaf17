"""The latent explorer's arithmetic against the package, in every state."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from mini_attn import cost
from mini_attn.example import latent as example_latent
from tests.book.test_example_latent import example_layer, projected
from tests.javascript import run

SEQ = len(example_latent.TOKENS)
STATES = [
    {"form": form, "head": head, "token": token}
    for form in ("expanded", "absorbed")
    for head in range(1, example_latent.N_HEADS + 1)
    for token in range(1, SEQ + 1)
]


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state."""
    return run("return input.map(living.registry.latent_explorer.compute);", STATES)


def close(got: Any, wanted: Any) -> None:
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("number", range(len(STATES)))
def test_equals_the_numpy_layer(results: list[dict[str, Any]], number: int) -> None:
    """What is cached, made, taken to the latent, mixed, and what the layer puts out."""
    state, result = STATES[number], results[number]
    there, head = state["token"], state["head"] - 1
    layer, x = example_layer(), np.array(example_latent.EMBEDDINGS)[None, :there]
    q_nope, q_rope, latent, rope_key = projected(layer, x)
    w_uk, w_uv = np.array(example_latent.W_UK[head]), np.array(example_latent.W_UV[head])
    query = q_nope[0, head, -1]
    close(result["latent"], latent[0])
    close(result["rope_key"], rope_key[0])
    close(result["q"], query)
    close(result["q_rope"], q_rope[0, head, -1])
    close(result["q_latent"], w_uk @ query)
    close(result["k"], latent[0] @ w_uk)
    close(result["v"], latent[0] @ w_uv)
    scores = latent[0] @ w_uk @ query + rope_key[0] @ q_rope[0, head, -1]
    close(result["scores"], layer._scale * scores)
    weights = np.exp(layer._scale * scores)
    weights = weights / weights.sum()
    close(result["weights"], weights)
    close(result["mixed"], weights @ latent[0])
    close(result["out"], weights @ latent[0] @ w_uv)
    assert result["difference"] < 1e-12


def test_heads_together_are_the_layer(results: list[dict[str, Any]]) -> None:
    """The four heads' outputs, put together and projected, are the package's output."""
    layer, output = example_layer(), np.array(example_latent.WEIGHTS["o"])
    x = np.array(example_latent.EMBEDDINGS)[None]
    for form in ("expanded", "absorbed"):
        wanted = layer(x, form=form)[0]
        for token in range(1, SEQ + 1):
            heads = [
                r["out"]
                for s, r in zip(STATES, results, strict=True)
                if (s["form"], s["token"]) == (form, token)
            ]
            close(np.concatenate(heads) @ output, wanted[token - 1])


def test_counts_what_cost_counts(results: list[dict[str, Any]]) -> None:
    config = example_layer().config
    for state, result in zip(STATES, results, strict=True):
        there = state["token"]
        cache = example_layer().new_cache(1, 8)
        x = np.array(example_latent.EMBEDDINGS)[None, :there]
        example_layer()(x, cache=cache)
        assert result["cache_numbers"] * 8 == cache.used_bytes
        for form in ("expanded", "absorbed"):
            parts = cost.latent_flops(config, q_len=1, kv_len=there, form=form)
            assert result["work"][form]["flops"] == sum(parts.values())
        moved = cost.latent_bytes(config, q_len=1, kv_len=there, form="expanded", dtype_bytes=1)
        assert 2 * result["work"]["expanded"]["made"] == moved["expanded"]  # written and read


def test_explanations_carry_the_numbers(results: list[dict[str, Any]]) -> None:
    body = """
      const { compute, explain } = living.registry.latent_explorer;
      return input.map(([state, id]) => explain(compute(state), id).text);"""
    ids = ["w-2", "w-5", "c-2", "c-3", "r-0", "r-2", "k-2", "v-2", "k-4", "qn", "qr", "qa", "mix",
           "out"]  # fmt: skip
    for form in ("expanded", "absorbed"):
        state = {"form": form, "head": 4, "token": 4}
        said = dict(zip(ids, run(body, [[state, name] for name in ids]), strict=True))
        result = results[STATES.index(state)]
        assert f"{result['weights'][2]:.3f}" in said["w-2"]
        assert f"= {result['scores'][2]:.2f}; after the softmax" in said["w-2"]
        assert ("q · k" in said["w-2"]) == (form == "expanded")
        assert "1/√6" in said["w-2"]
        assert "isn't there yet" in said["w-5"]
        assert "Read from the cache" in said["c-2"]
        assert "Computed now" in said["c-3"]
        assert "at position 0 nothing is rotated" in said["r-0"]
        assert "2 radians" in said["r-2"]
        assert ("No key is made" in said["k-2"]) == (form == "absorbed")
        assert ("No value is made" in said["v-2"]) == (form == "absorbed")
        assert "isn't there yet" in said["k-4"]
        assert ("W_UK transposed" in said["qa"]) == (form == "absorbed")
        assert f"{result['out'][2]:.2f}" in said["out"]


def test_sentence_and_table_of_every_state(results: list[dict[str, Any]]) -> None:
    body = """
      const { compute, describe, table } = living.registry.latent_explorer;
      return input.map((state) => [describe(compute(state)), table(compute(state))]);"""
    for state, result, (sentence, table) in zip(STATES, results, run(body, STATES), strict=True):
        assert f"holds {result['cache_numbers']} values" in sentence
        assert f"make {result['work'][state['form']]['made']} values" in sentence
        assert table["rows"][1][1] == str(result["work"]["expanded"]["made"])
        assert table["rows"][2][2] == f"{result['work']['absorbed']['flops']:,}"
        assert {len(row) for row in table["rows"]} == {len(table["head"])}


def test_parts_move_along_the_brackets() -> None:
    """What one form makes comes out of what the other has, and goes back into it."""
    body = """
      const { compute, draw } = living.registry.latent_explorer;
      return input.map((form) => {
        const markup = draw(compute({ head: 1, token: 3, form }), { width: 720, live: true });
        const keyed = /data-part="([^"]+)"( data-from="[^"]+")?( data-takes="[^"]+")?/g;
        return [...markup.matchAll(keyed)]
          .map(([, ...said]) => said.map((one) => one?.replace(/.*="|"/g, "") ?? null));
      });"""
    expanded, absorbed = (
        {part: (origin, taken) for part, origin, taken in parts}
        for parts in run(body, ["expanded", "absorbed"])
    )
    made = {f"{part}-{j}" for j in range(3) for part in "kv"}
    assert made <= set(expanded)
    assert not made & set(absorbed)
    assert {expanded[part][0] for part in made} == {f"c-{j}" for j in range(3)} <= set(absorbed)
    assert all(absorbed[f"c-{j}"][1] == f"k-{j} v-{j}" for j in range(3))
    assert {"qa", "mix"} == set(absorbed) - set(expanded)
    assert absorbed["qa"][0] == "qn"
    assert absorbed["mix"][0] == "out"
    assert expanded["qn"][1] == "qa"
    assert expanded["out"][1] == "mix"


def test_words_say_rotated() -> None:
    body = """
      const { compute, draw, explain } = living.registry.latent_explorer;
      return input.map((state) => {
        const result = compute(state);
        const markup = draw(result, { width: 720, uid: "u", live: true });
        const ids = [...markup.matchAll(/data-id="([^"]+)"/g)].map((found) => found[1]);
        return [markup, ...ids.map((id) => explain(result, id).text)].join(" ");
      });"""
    for text in run(body, STATES):
        assert "rotated" in text
        assert not re.search(r"\bturn(ed|s)?\b|\bplaces?\b", text)


def test_the_newest_row_goes_first_and_new_ones_come_out_of_the_text() -> None:
    """An example, then the others, then what meets them."""
    body = """
      const { compute, draw } = living.registry.latent_explorer;
      return draw(compute({ head: 1, token: 3, form: "expanded" }), { live: true });"""
    tags = re.findall(r'data-part="([^"]+)"([^>]*)>', run(body))
    late = {key: int("".join(re.findall(r'data-late="(\d)"', said)) or 0) for key, said in tags}
    assert {late[key] for key in ("c-2", "r-2", "k-2", "v-2")} == {0}
    assert {late[key] for key in ("k-0", "v-1", "c-0")} == {2}
    assert {late[key] for key in ("qn", "out")} == {4}
    assert {'data-from="t-2"' in said for key, said in tags if key in ("c-2", "r-2")} == {True}
    assert {"t-2", "now"} <= {*late}


def test_the_newest_token_is_dragged_along_the_text() -> None:
    body = """
      const { compute, drag, choose, draw } = living.registry.latent_explorer;
      const [state, width] = [{ head: 1, token: 3, form: "expanded" }, 654];
      const move = drag(compute(state), "now", { width, state });
      return [[-9, 60, 999].map((x) => move({ to: [x, 9] }).token),
        choose(null, state, "t-4").token, choose(null, state, "c-1"),
        drag(compute(state), "c-1", { width, state }),
        draw(compute(state), { live: true })];"""
    moved, tapped, other, held, markup = run(body)
    assert (moved, tapped, other, held) == ([1, 2, 6], 5, None, None)
    assert 'data-grip="token" tabindex="0" role="slider" aria-label="Newest token"' in markup
