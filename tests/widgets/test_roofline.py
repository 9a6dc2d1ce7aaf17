"""The roofline: JavaScript against `mini_attn.cost`, over models, devices, phases and sizes."""

from __future__ import annotations

import math
import re
from itertools import product
from typing import Any

import pytest

from mini_attn import cost
from mini_attn.config import weight_format
from mini_attn.models import MODELS
from mini_attn.widgets.base import load_schema
from mini_attn.widgets.roofline_data import SHOWN
from tests.javascript import run

SCHEMA = load_schema("roofline")
DEFAULTS = {key: entry["default"] for key, entry in SCHEMA.items()}
STATES = [
    {**DEFAULTS, "phase": phase, "batch": batch, "context": context, "model": model, **other}
    for phase, (batch, context), model, other in product(
        ("decode", "prefill"),
        ((1, 128), (1, 8192), (16, 8192), (3, 777), (1024, 32_768), (1, 2**20)),
        SHOWN,
        (
            *({"device": device} for device in cost.DEVICES),
            *({"stored": stored} for stored in ("weights", "cache", "both", "scores")),
        ),
    )
]
NVFP4 = weight_format("nvfp4").bits / 8
GROUPED = (32 * 4 + 2 * 16) / 32 / 8  # codes of 4 bits, a scale and a zero in float16


def compute(states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the page computes."""
    return run("return input.map((state) => living.registry.roofline.compute(state));", states)


def sizes_of(state: dict[str, Any]) -> dict[str, int]:
    q_len = 1 if state["phase"] == "decode" else state["context"]
    return {"q_len": q_len, "kv_len": state["context"], "batch": state["batch"]}


def kept_as(state: dict[str, Any]) -> dict[str, float]:
    return {
        "dtype_bytes": NVFP4 if state["stored"] in {"weights", "both"} else 2,
        "cache_dtype_bytes": GROUPED if state["stored"] in {"cache", "both"} else 2,
    }


def written(state: dict[str, Any]) -> int:
    """Bytes of scores and of weights, which a softmax that is not fused writes and reads."""
    model, sizes = MODELS[state["model"]], sizes_of(state)
    layers = sum(model.linear_of(layer) is None for layer in range(model.n_layers))
    scores = layers * model.n_heads * sizes["batch"] * sizes["q_len"] * sizes["kv_len"]
    return 2 * 4 * scores if state["stored"] == "scores" else 0


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    return compute(STATES)


def test_work_and_time_equal_the_package(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        model, device = MODELS[state["model"]], cost.DEVICES[state["device"]]
        sizes = sizes_of(state)
        flops = cost.matmul_flops(model, **sizes, causal="exact")
        moved = cost.step_bytes(model, **sizes, **kept_as(state))
        parts = result["parts"]
        pairs = sum(flops.get(part, 0) for part in ("scores", "weighted sum", "write", "solve"))
        assert math.isclose(parts["attention"]["flops"], pairs)
        weights, logits = parts["weights"], parts["logits"]
        assert math.isclose(weights["flops"] + logits["flops"], sum(flops.values()) - pairs)
        assert abs(weights["bytes"] + logits["bytes"] - moved["weights"]) <= 1  # rounded up apart
        scores = written(state)
        moved_by_attention = moved["cache read"] + moved["cache written"] + scores
        assert parts["attention"]["bytes"] == moved_by_attention
        operations = cost.step_operations(model, **sizes, **kept_as(state))
        done, size = operations["attention"]
        operations["attention"] = (done, size + scores)
        for key, name in (
            ("weights", "products"),
            ("attention", "attention"),
            ("logits", "logits"),
        ):
            part, (done, size) = parts[key], operations[name]
            assert math.isclose(part["flops"], done)
            assert part["bytes"] == size
            assert math.isclose(part["seconds"], cost.roofline_seconds(done, size, device))
            assert part["seconds"] == part[part["side"]] == max(part["reading"], part["computing"])
        seconds = sum(cost.roofline_seconds(*work, device) for work in operations.values())
        assert math.isclose(result["seconds"], seconds)
        if state["stored"] == "bfloat16":
            assert math.isclose(seconds, cost.step_seconds(model, device, **sizes))
        assert math.isclose(result["tokens_per_second"], result["tokens"] / seconds)


def test_the_comparison_can_fail() -> None:
    [result] = compute([{**DEFAULTS, "batch": 17}])
    right = cost.step_seconds(
        MODELS[DEFAULTS["model"]], cost.DEVICES["h100"], kv_len=8192, batch=16
    )
    assert not math.isclose(result["seconds"], right)


def test_memory_that_is_needed(results: list[dict[str, Any]]) -> None:
    for state, result in zip(STATES, results, strict=True):
        model = MODELS[state["model"]]
        weight, number = kept_as(state).values()
        use = {"batch": state["batch"], "context": state["context"], "dtype_bytes": number}
        weights = math.ceil(weight * cost.parameter_count(model))
        assert result["needed"] == weights + cost.cache_bytes(model, **use)
        memory = cost.DEVICES[state["device"]].memory_bytes
        assert result["fits"] == (result["needed"] <= memory)


def test_what_the_picture_teaches() -> None:
    """Batch moves the weight matmuls and leaves attention where it is."""
    one, many = (compute([{**DEFAULTS, "batch": batch}])[0]["parts"] for batch in (1, 64))
    assert math.isclose(many["weights"]["intensity"], 64 * one["weights"]["intensity"])
    assert math.isclose(many["attention"]["intensity"], one["attention"]["intensity"])
    assert round(one["attention"]["intensity"], 2) == cost.cache_intensity(MODELS["llama-3-8b"])
    [prefill] = compute([{**DEFAULTS, "phase": "prefill"}])
    assert prefill["bound"] == "computing"
    assert prefill["parts"]["attention"]["intensity"] > prefill["ridge"]


def test_the_pass_is_the_sum_of_its_operations() -> None:
    """Weights compute while attention waits, one after the other: both sides are in the sum."""
    body = """
      const { compute, describe, draw, explain } = living.registry.roofline;
      const result = compute(input);
      const picture = [720, 346].map((width) => draw(result, { width, live: true }));
      return { result, said: describe(result), picture, sum: explain(result, "bar-whole").text };"""
    got = run(body, {**DEFAULTS, "batch": 1024, "context": 256})
    whole = got["result"]["parts"]["whole"]
    assert whole["seconds"] > 1.6 * max(whole["reading"], whole["computing"])
    assert math.isclose(whole["share"], whole["computing"] / whole["seconds"])
    assert "compute-bound for 15.5 ms and memory-bound for 10.3 ms. It takes" in got["said"]
    assert "14.4 ms + 10.3 ms + 1.09 ms = 25.8 ms" in got["sum"]
    for picture in got["picture"]:
        counts = re.findall(r'class="roof-bar (roof-\w+) roof-counts"', picture)
        assert len(counts) == 6  # one of each pair, and the pieces of the sum
        assert picture.count("roof-hollow") == 3
        for words in ("arithmetic 14.4 ms", "reading 4.17 ms", "reading 10.3 ms", "25.8 ms in all"):
            assert words in picture


def test_schema_lists_what_the_package_knows() -> None:
    assert SCHEMA["model"]["values"] == list(SHOWN)
    assert SCHEMA["device"]["values"] == list(cost.DEVICES)


def test_words_carry_the_numbers() -> None:
    body = """
      const { compute, describe, explain, table } = living.registry.roofline;
      return input.map((state) => {
        const result = compute(state);
        const ids = ["mark-weights", "bar-reading-weights", "bar-computing-attention", "roof-line"];
        return { said: describe(result), rows: table(result).rows,
                 words: ids.map((id) => explain(result, id).text) };
      });"""
    decode, large = run(body, [DEFAULTS, {**DEFAULTS, "model": "llama-3-70b", "phase": "prefill"}])
    assert "the ridge point of this device is at 295" in decode["said"]
    assert "memory-bound. It takes at least 9.61 ms" in decode["said"]
    assert "1,665 tokens per second" in decode["said"]
    mark, reading, computing, roof = decode["words"]
    assert "16.0 FLOPs per byte" in mark
    assert "14.0 GB / 3.35 TB/s = 4.17 ms" in reading
    assert "once for all sequences" in reading
    assert "989 TFLOP/s" in computing
    assert "3.35 TB/s" in roof
    assert [row[0] for row in decode["rows"]][-1] == "the whole pass"
    assert "compute-bound" in large["said"]
    assert "doesn't fit" in large["said"]


DRAWN = """
  const { choose, compute, drag, draw, explain } = living.registry.roofline;
  const [width, touch, states] = input;
  return states.map((state) => {
    const result = compute(state);
    const markup = draw(result, { width, touch, part: "first", live: true });
    const grab = (id) => drag(result, id, { width, state })?.({ dx: 60 }).batch ?? null;
    return {
      keys: [...markup.matchAll(/data-part="([^"]+)"/g)].map(([, key]) => key),
      hollow: markup.split("roof-other").length - 1,
      sizes: [...markup.matchAll(/width="([\\d.]+)" height="([\\d.]+)"[^>]*roof-target/g)]
        .map(([, ...size]) => size.map(Number)),
      next: choose(result, state, "phase"), said: explain(result, "phase").text,
      moved: ["on-weights", "mark-weights", "on-attention", "mark-attention"].map(grab),
      other: result.other, parts: result.parts,
    };
  });"""


def test_both_phases_stand_under_one_roof() -> None:
    """Each mark is the same part whichever phase has its names below; a tap changes that."""
    states = [{**DEFAULTS, "phase": phase} for phase in ("decode", "prefill")]
    decode, prefill = run(DRAWN, [654, False, states])
    assert decode["other"] == {"phase": "prefill", "parts": prefill["parts"]}
    assert prefill["other"] == {"phase": "decode", "parts": decode["parts"]}
    assert sorted(decode["keys"]) == sorted(prefill["keys"])
    assert len(set(decode["keys"])) == len(decode["keys"]) == 2 * 4 + 2 * 4
    assert decode["hollow"] == 4
    assert decode["next"] == states[1]
    assert decode["said"].startswith("The same for prefill")


def test_marks_are_taken_on_the_roof_and_below() -> None:
    [one] = run(DRAWN, [654, False, [DEFAULTS]])
    roof, lane, *attention = one["moved"]
    assert roof == lane > DEFAULTS["batch"]
    assert attention == [None, None]


@pytest.mark.parametrize(("width", "touch", "least"), [(654, False, 24), (336, True, 44)])
def test_targets_are_as_large_as_a_finger(width: int, *, touch: bool, least: int) -> None:
    [one] = run(DRAWN, [width, touch, [DEFAULTS]])
    sizes = one["sizes"]
    assert len(sizes) == 10
    assert all(side >= least for size in sizes for side in size)
