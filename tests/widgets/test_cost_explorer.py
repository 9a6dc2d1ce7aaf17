"""The cost explorer's JavaScript against `mini_attn.cost`, and its words."""

from __future__ import annotations

from typing import Any

import pytest

from mini_attn import cost
from mini_attn.models import ModelConfig
from mini_attn.widgets.base import load_schema
from tests.javascript import run

SCHEMA = load_schema("cost_explorer")
MLP = {"none": (0, 1), "plain": (2, 4), "gated": (3, 4), "narrow": (3, 8 / 3)}
STATES = [
    {"seq": seq, "d_model": d_model, "mlp": mlp, "pairs": pairs, "kernel": kernel}
    for seq in (16, 17, 63, 64, 1024, 4608, 100_000, 1_048_576)
    for d_model in SCHEMA["d_model"]["values"]
    for mlp in MLP
    for pairs in ("full", "exact")
    for kernel in ("written", "fused")
]
PARTS = {"projections": "projections", "scores": "scores", "sum": "weighted sum",
         "output": "output", "mlp": "mlp"}  # fmt: skip


def model(state: dict[str, Any]) -> ModelConfig:
    """The layer that a state shows."""
    matrices, width = MLP[state["mlp"]]
    d_model = state["d_model"]
    return ModelConfig(
        name="layer", title="One layer", source="a test", attention="mha", n_layers=1,
        d_model=d_model, n_heads=d_model // 64, n_kv_heads=d_model // 64, head_dim=64,
        d_ff=round(width * d_model), mlp_matrices=matrices or 2, vocab_size=1, max_context=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def results() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """States and what JavaScript computes in them."""
    got = run("return input.map(living.registry.cost_explorer.compute);", STATES)
    return list(zip(STATES, got, strict=True))


def parts_of(state: dict[str, Any], seq: int) -> dict[str, int]:
    """FLOPs of the layer by part, by the package."""
    flops = cost.matmul_flops(
        model(state), q_len=seq, kv_len=seq, causal=state["pairs"], logit_rows=0
    )
    return {**flops, "mlp": flops["mlp"] if state["mlp"] != "none" else 0}


def test_flops_equal_the_package(results: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    for state, result in results:
        flops = parts_of(state, state["seq"])
        for key, name in PARTS.items():
            assert result["flops"][key] == pytest.approx(flops[name], rel=1e-12)
        ops = cost.elementwise_ops(
            model(state), q_len=state["seq"], kv_len=state["seq"], causal=state["pairs"]
        )
        assert result["softmax"] == ops["softmax"]
        square = flops["scores"] + flops["weighted sum"]
        assert result["share"] == pytest.approx(square / sum(flops.values()), rel=1e-12)


def test_half_and_half_is_where_the_package_says(results: list[Any]) -> None:
    for state, result in results:
        assert result["crossing"] == pytest.approx(
            result["weights"] / state["seq"] * result["cross"]
        )
        below, above = int(result["cross"]), int(result["cross"]) + 1
        for seq, smaller in ((below, True), (above, False)):
            flops = parts_of(state, seq)
            square = flops["scores"] + flops["weighted sum"]
            rest = sum(flops.values()) - square
            assert square <= rest if smaller else square > rest


def test_bytes_equal_the_package(results: list[Any]) -> None:
    for state, result in results:
        seq, one = state["seq"], model(state)
        square = cost.activation_bytes(one, q_len=seq, kv_len=seq, fused=False)["scores"] // 4
        tile = min(seq, 64)
        small = cost.activation_bytes(one, q_len=tile, kv_len=tile, fused=False)["scores"] // 4
        written = state["kernel"] == "written"
        assert result["bytes"]["scores"] == (square if written else small)
        assert result["bytes"]["rows"] == 2 * 5 * seq * state["d_model"]
        assert result["curves"][6]["n"] == 1024


def test_written_scores_pass_the_rows_where_the_words_say() -> None:
    state = {"seq": 320, "d_model": 768, "mlp": "none", "pairs": "full", "kernel": "written"}
    got = run("return living.registry.cost_explorer.compute(input);", state)
    assert got["bytes"]["scores"] == got["bytes"]["rows"]


def test_words_carry_the_numbers(results: list[Any]) -> None:
    body = """
      const { compute, describe, explain, table } = living.registry.cost_explorer;
      return input.map((state) => { const result = compute(state);
        return [describe(result), ["scores", "projections", "square", "cross"].map(
          (id) => explain(result, id).text), table(result)]; });"""
    some = results[::7]
    said = run(body, [state for state, _ in some])
    for (state, result), (sentence, words, table) in zip(some, said, strict=True):
        scores, projections, square, cross = words
        assert f"{state['seq']:,} tokens" in sentence
        assert f"{100 * result['share']:.1f}%" in sentence
        assert ("past" in sentence) == (state["seq"] > result["cross"])
        assert f"= {result['flops']['scores']:,} FLOPs" in scores
        assert f"= {result['flops']['projections']:,} FLOPs" in projections
        assert f"{result['bytes']['scores']:,} bytes" in square
        assert f"= {round(result['cross']):,} tokens" in cross
        assert len(table["rows"]) == (8 if state["mlp"] == "none" else 9)
        assert table["rows"][0][1] == f"{result['flops']['projections']:,}"


def test_the_caption_is_the_default_state() -> None:
    got = run(
        "const w = living.registry.cost_explorer;return w.compute(living.defaults(w.schema));"
    )
    assert f"{100 * got['share']:.1f}" == "18.2"
    assert got["cross"] == 4608


DRAWN = """
  const { compute, drag, draw } = living.registry.cost_explorer;
  const [width, touch, states] = input;
  return states.map((state) => {
    const markup = draw(compute(state), { width, touch, live: true });
    const beyond = /x="([\\d.]+)" y="[\\d.]+" width="([\\d.]+)"[^>]*cost-beyond/.exec(markup);
    const grips = /width="([\\d.]+)" height="([\\d.]+)"[^>]*cost-target living-target living-grip/g;
    return {
      keys: [...markup.matchAll(/data-part="([^"]+)"/g)].map(([, key]) => key),
      beyond: beyond.slice(1).map(Number),
      now: Number(/cx="([\\d.]+)"[^>]*cost-grip/.exec(markup)[1]),
      sizes: [...markup.matchAll(grips)].map(([, ...size]) => size.map(Number)),
      to: [-9, 0, 0.5].map((dx) => drag({}, "now-square", { width, state })({ dx }).seq),
    };
  });"""
START = {key: entry["default"] for key, entry in SCHEMA.items()}


def test_shaded_is_where_the_pairs_take_more() -> None:
    """From the crossing to the end of the axis, for each width; parts keep their keys."""
    crossings = [(192, 1152), (768, 4608), (6144, 36_864)]
    states = [START | {"d_model": d, "seq": cross} for d, cross in crossings]
    narrow, default, broad = drawn = run(DRAWN, [654, False, states])
    for one in drawn:
        left, across = one["beyond"]
        assert left == pytest.approx(one["now"], abs=0.11)  # the line stands at the crossing
        assert left + across == pytest.approx(
            drawn[0]["beyond"][0] + drawn[0]["beyond"][1], abs=0.2
        )
    assert narrow["beyond"][0] < default["beyond"][0] < broad["beyond"][0]
    assert narrow["keys"] == default["keys"] == broad["keys"]
    assert {"beyond", "cross", "dot-square", "bar-scores"} <= set(default["keys"])


def test_the_line_goes_to_powers_of_two_near_the_hand() -> None:
    [one] = run(DRAWN, [654, False, [START]])
    less, same, near = one["to"]
    assert same == near == 1024
    assert less < 1024


@pytest.mark.parametrize(("width", "touch", "least"), [(654, False, 24), (336, True, 44)])
def test_the_line_is_as_wide_as_a_finger(width: int, *, touch: bool, least: int) -> None:
    [one] = run(DRAWN, [width, touch, [START]])
    assert one["sizes"]
    assert all(side >= least for size in one["sizes"] for side in size)
