"""The variant table's figures against the package, over contexts, batches and devices."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from typing import Any

import pytest

from mini_attn import cost
from mini_attn.variants import REGISTRY
from mini_attn.widgets.base import load_schema
from mini_attn.widgets.comparison_data import ONE_SHAPE, comparison
from tests.javascript import run

SCHEMA = load_schema("variant_table")
ATTENDED = ("indexer", "compressed", "scores", "weighted sum")
STATES = [
    {"context": context, "batch": batch, "device": device, "measure": "cache"}
    for context, batch, device in itertools.product(
        (16, 1000, 1025, 4096, 4097, 8192, 131_072, 2**20),
        (1, 16, 1024),
        SCHEMA["device"]["values"],
    )
]


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state."""
    return run("return input.map(living.registry.variant_table.compute);", STATES)


def test_every_variant_of_the_registry_is_compared() -> None:
    """One shape: the variants differ in what they share, compress or bound, in nothing else."""
    assert list(ONE_SHAPE) == [name for name, entry in REGISTRY.items() if entry.in_comparison]
    for same in ("n_layers", "d_model", "n_heads", "d_ff", "vocab_size"):
        assert len({getattr(model, same) for model in ONE_SHAPE.values()}) == 1
    for entry, model in zip(comparison()["variants"], ONE_SHAPE.values(), strict=True):
        numbers = sum(Fraction(field["numbers"], field["tokens"]) for field in entry["fields"])
        per_token = cost.cache_bytes_per_token(model, dtype_bytes=1)
        assert numbers * model.n_layers == per_token


@pytest.mark.parametrize("name", ONE_SHAPE)
def test_equals_the_cost_functions(results: list[dict[str, Any]], name: str) -> None:
    model = ONE_SHAPE[name]
    for state, result in zip(STATES, results, strict=True):
        (row,) = [row for row in result["rows"] if row["name"] == name]
        batch, context = state["batch"], state["context"]
        device = cost.DEVICES[state["device"]]
        one = cost.cache_bytes(model, batch=1, context=context)
        assert row["one"] == one
        assert row["cache"] == cost.cache_bytes(model, batch=batch, context=context)
        form = "absorbed" if name == "mla" else None
        parts = cost.matmul_flops(model, q_len=1, kv_len=context, causal="exact", form=form)
        met = sum(parts.get(part, 0) for part in ATTENDED)
        assert row["flops"] == pytest.approx(met, rel=1e-12)
        step = cost.step_seconds(model, device, kv_len=context, batch=batch)
        assert row["step"] == pytest.approx(step, rel=1e-9)
        operations = cost.step_operations(model, kv_len=context, batch=batch)
        for part, (flops, size) in zip(row["parts"], operations.values(), strict=True):
            assert part["flops"] == pytest.approx(flops, rel=1e-12)
            assert part["bytes"] == size
        read = cost.step_bytes(model, kv_len=context, batch=batch)["cache read"]
        assert row["intensity"] == pytest.approx(batch * row["flops"] / read, rel=1e-12)
        room = device.memory_bytes - 2 * cost.parameter_count(model)
        assert row["fit"] == max(0, room // one)
        assert row["fits"] == (
            2 * cost.parameter_count(model) + row["cache"] <= device.memory_bytes
        )
    for result in results:
        rows = result["rows"]
        there = [row for row in rows if row["fits"]]
        for column in ("cache", "step"):
            least = min((row[column] for row in there), default=None)
            assert result["best"][column] == least
        assert result["best"]["fit"] == max(row["fit"] for row in rows)


def words(state: dict[str, Any]) -> dict[str, Any]:
    """Sentence, explanations and table of a state."""
    body = """
      const { compute, describe, draw, explain, table } = living.registry.variant_table;
      const result = compute(input);
      const all = ["cache", "flops", "step", "fit"].map((measure) => ({ ...result, measure }));
      const markup = all.map((one) => draw(one, { live: true })).join("");
      const ids = [...markup.matchAll(/data-id="([^"]+)"/g)].map((m) => m[1]);
      const said = Object.fromEntries(ids.map((id) => [id, explain(result, id).text]));
      return { sentence: describe(result), said, table: table(result), result };"""
    return run(body, state)


def test_texts_carry_the_numbers() -> None:
    """The default state, with bytes in GB of 1e9."""
    got = words({key: entry["default"] for key, entry in SCHEMA.items()})
    sizes = {
        name: cost.cache_bytes(model, batch=16, context=8192) for name, model in ONE_SHAPE.items()
    }
    assert f"{sizes['mha'] / 1e9:.1f} GB" in got["sentence"]
    assert f"{sizes['mqa'] / 1e9:.2f} GB" in got["sentence"]
    place = list(ONE_SHAPE).index("gqa")
    assert "16 sequences × 8,192 tokens × 32 layers" in got["said"][f"cache-{place}"]
    assert f"{sizes['gqa'] / 1e9:.1f} GB" in got["said"][f"cache-{place}"]
    bound = cost.step_seconds(ONE_SHAPE["gqa"], cost.DEVICES["h100"], kv_len=8192, batch=16)
    assert got["table"]["rows"][place][5] == f"{1e3 * bound:.2f} ms"
    said = got["said"][f"step-{place}"]
    assert "memory" in said
    assert "weight matmuls 4.17 ms" in said
    assert f"= {1e3 * bound:.2f} ms, one after the other" in said
    last = list(ONE_SHAPE).index("nsa")
    assert "128 complete blocks × (1,024 (mean keys)" in got["said"][f"cache-{last}"]
    assert "(128 means + 1,024 keys of chosen blocks + 512" in got["said"][f"flops-{last}"]
    mixed = words({"context": 256, "batch": 1024, "device": "h100", "measure": "cache"})
    assert mixed["table"]["rows"][0][6] == "memory, mostly"
    assert mixed["table"]["rows"][place][6] == "arithmetic, mostly"


def test_says_what_does_not_fit() -> None:
    """Every way to fit: all, some, none."""
    states = ((16, 1), (8192, 16), (131_072, 64))
    said = [
        words({"context": c, "batch": b, "device": "a100", "measure": "cache"})["sentence"]
        for c, b in states
    ]
    assert "All fit" in said[0]
    assert re.search(r"multi-head doesn't fit", said[1])
    assert "don't fit" in said[2]


DRAWN = """
  const { choose, compute, describe, drag, draw } = living.registry.variant_table;
  return input.states.map((state) => {
    const result = compute(state);
    const way = drag(result, "context", { width: 654, state });
    return {
      markup: draw(result, { width: input.width, live: true, touch: input.touch }),
      sentence: describe(result), best: result.best,
      to: [-9999, 0, 40, 9999].map((dx) => way({ dx }).context),
      chosen: choose({}, state, "show-step").measure,
    };
  });"""
DEFAULT = {key: entry["default"] for key, entry in SCHEMA.items()}


def drawn(states: list[dict[str, Any]], width: int = 654, *, touch: bool = False) -> list[Any]:
    return run(DRAWN, {"states": states, "width": width, "touch": touch})


def test_each_card_names_its_winner_and_opens_its_curves() -> None:
    """At 8,192 tokens one variant wins three of the four; what doesn't fit never wins."""
    start, none = drawn([DEFAULT, {**DEFAULT, "context": 2**20, "batch": 1024}])
    assert len(re.findall(r">✓ Multi-query<", start["markup"])) == 3
    assert start["chosen"] == "step"
    assert "multi-query keeps least" in start["sentence"]
    assert none["markup"].count("✗ none fits") == 2  # cache and step
    assert "None of them fits" in none["sentence"]


def test_the_curves_end_at_the_line_and_say_nothing_beyond() -> None:
    """The answer to the question on the page isn't drawn before somebody drags the line there."""
    ends = []
    for state in drawn([DEFAULT, {**DEFAULT, "context": 65_536}]):
        paths = re.findall(r'<path d="M([^"]+)" class="vary-curve', state["markup"])
        ends.append(max(float(x) for path in paths for x in re.findall(r"([\d.]+),", path)))
    line = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', state["markup"])]
    assert ends[0] < ends[1] == line[0]


def test_rows_keep_their_keys_and_change_places() -> None:
    """Sorted by their curves: the window is overtaken by nobody, and overtakes at 65,536 tokens."""
    order = [
        re.findall(r'data-part="row-([^"]+)"', state["markup"])
        for state in drawn([DEFAULT, {**DEFAULT, "context": 65_536}])
    ]
    assert sorted(order[0]) == sorted(order[1]) == sorted(ONE_SHAPE)
    assert order[0][-1] == "mqa"
    assert order[1][-1] == "sliding_window"


def test_the_line_is_dragged_along_its_axis() -> None:
    least, same, further, most = drawn([DEFAULT])[0]["to"]
    assert (least, same, most) == (256, 8192, 2**20)
    assert 8192 < further < 65_536
    assert float(f"{further:.2g}") == further or further & (further - 1) == 0


@pytest.mark.parametrize(("width", "touch", "least"), [(654, False, 24), (336, True, 44)])
def test_targets_are_as_large_as_a_finger(width: int, *, touch: bool, least: int) -> None:
    markup = drawn([DEFAULT], width, touch=touch)[0]["markup"]
    sizes = re.findall(r'width="([\d.]+)" height="([\d.]+)"[^>]*class="vary-target', markup)
    assert len(sizes) == 4 + 7 + 1
    assert all(float(side) >= least for size in sizes for side in size)
