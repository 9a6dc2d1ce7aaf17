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
    {"context": context, "batch": batch, "device": device}
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
    assert list(ONE_SHAPE) == list(REGISTRY)
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
      const ids = [...draw(result, { live: true }).matchAll(/data-id="([^"]+)"/g)].map((m) => m[1]);
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
    mixed = words({"context": 256, "batch": 1024, "device": "h100"})
    assert mixed["table"]["rows"][0][6] == "memory, mostly"
    assert mixed["table"]["rows"][place][6] == "arithmetic, mostly"


def test_says_what_does_not_fit() -> None:
    """Every way to fit: all, some, none."""
    states = ((16, 1), (8192, 16), (131_072, 64))
    said = [words({"context": c, "batch": b, "device": "a100"})["sentence"] for c, b in states]
    assert "All fit" in said[0]
    assert re.search(r"multi-head doesn't fit", said[1])
    assert "don't fit" in said[2]
