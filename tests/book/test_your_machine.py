"""The page that measures its own tab: its processor's kernels, its data and words, what is kept.

The kernels of the GPU run in ``test_your_machine_browser.py``.
"""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import jsonschema
import numpy as np
import pytest

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.numpy import scaled_dot_product_attention
from mini_attn.widgets import machine_data
from mini_attn.widgets.data import FOLDER
from tests.javascript import run
from tools import ROOT

READERS = ROOT / "benchmarks/results/readers"
SCHEMA = json.loads((READERS / "schema.json").read_text(encoding="utf-8"))
FILES = sorted(path for path in READERS.glob("*.json") if path.name != "schema.json")
DATA = machine_data.machine()
CASES = DATA["cases"]
TOLERANCE = 2e-5
SMALL = 2**22  # bytes of keys, for tests
KEYS = (1, 31, 32, 33, machine_data.CHECK_KEYS)


def assert_follows_schema(record: Any) -> None:
    """What a reader hands in, or the page saves."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert [error.message for error in validator.iter_errors(record)] == []


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize("seed", [1, 3])
def test_both_languages_draw_the_same_numbers(seed: int) -> None:
    """Also from the middle of a stream, and wider."""
    body = "return living.fill(new Float32Array(input.n), input.seed, input.start, input.wide);"
    got = run(body, {"n": 500, "seed": seed, "start": 70_000, "wide": 8})
    assert got == (8 * machine_data.drawn(seed, 70_500)[70_000:]).tolist()


def test_drawn_numbers_are_spread_evenly() -> None:
    numbers = machine_data.drawn(2, 100_000)
    assert -1 <= numbers.min() < -0.999
    assert 0.999 < numbers.max() < 1
    assert abs(numbers.mean()) < 0.01
    assert numbers.std() == pytest.approx(1 / math.sqrt(3), rel=0.01)
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.01
    assert np.array_equal(numbers, numbers.astype(np.float32))


ATTEND = """
  const cpu = await living.openCpu(input.half);
  await cpu.draw(input.seeds, async () => {});
  cpu.ask(input.single, input.seeds.q, input.wide);
  const first = { k: ["k", 0], v: [input.single.latent ? "k" : "v", 0] };
  return input.keys.map((keys) => {
    cpu.attend(input.single, keys, first);
    return cpu.output(input.single);
  });
"""


@pytest.mark.parametrize("name", CASES)
def test_the_processor_gives_numpys_outputs(name: str) -> None:
    """All outputs, with one key, around a tile's end, and in the check that the page does."""
    case = CASES[name]
    keys = [n for n in KEYS if 4 * n * case["n_kv_heads"] * case["key_dim"] <= SMALL]
    assert len(keys) >= len(KEYS) - 1
    given = {"half": SMALL, "seeds": DATA["seeds"], "single": case, "wide": DATA["query_width"]}
    for n, out in zip(keys, run(ATTEND, given | {"keys": keys}), strict=True):
        q, k, v = machine_data.inputs(case, n)
        right = scaled_dot_product_attention(q, k, v, scale=case["scale"]).ravel()
        assert np.abs(np.array(out) - right).max() < TOLERANCE / 10, n


IN_TURN = """
  const { single, keys, half, seeds, wide } = input;
  const size = 4 * keys * single.n_kv_heads * single.key_dim;
  const cpu = await living.openCpu(half);
  await cpu.draw(seeds, async () => {});
  cpu.ask(single, seeds.q, wide);
  const layers = living.machine.layersOf(single, keys, half);
  const found = (layer) => {
    cpu.attend(single, keys, layer);
    return [cpu.output(single), cpu.read(size, size, layer)];
  };
  const [first, last] = [layers[0], layers.at(-1)];
  const away = found(last);
  for (const part of ["k", "v"]) {
    const from = cpu.at(last[part]);
    new Uint8Array(cpu.memory.buffer).copyWithin(cpu.at(first[part]), from, from + size);
  }
  return { layers, size, same: [away, found(first)] };
"""


@pytest.mark.parametrize("name", CASES)
def test_layers_fill_the_memory_and_each_is_read(name: str) -> None:
    """The last layer's numbers give the same where the first lies; no two layers share a byte."""
    single = CASES[name]
    given = {"half": SMALL, "seeds": DATA["seeds"], "single": single, "wide": DATA["query_width"]}
    got = run(IN_TURN, given | {"keys": 64})
    first, second = got["same"]
    assert first == second
    places = ("k",) if single["latent"] else ("k", "v")
    starts = {tuple(layer[place]) for layer in got["layers"] for place in places}
    assert len(starts) == len(places) * len(got["layers"])
    assert all(at % got["size"] == 0 and at + got["size"] <= SMALL for _, at in starts)
    assert all(at % 256 == 0 for _, at in starts), "WebGPU binds from a multiple of 256 bytes"
    assert 2 * SMALL - len(starts) * got["size"] < 2 * got["size"], "another would fit"
    if single["latent"]:
        assert all(layer["k"] == layer["v"] for layer in got["layers"])


def test_the_check_sees_a_number_that_is_wrong_or_none() -> None:
    body = "return input.map((one) => living.machine.difference([1, 2], one, 2));"
    assert run(body, [[1, 9, 2], [1, 9, 2.5], [1, 9], [None, 9, 2]]) == [0, 0.5, None, 1]


def test_webassembly_and_javascript_give_equal_results() -> None:
    """On numbers for which float32 has room, so that rounding can't hide a difference."""
    body = """
      const cpu = await living.openCpu(input.half);
      const [k, v] = ["k", "v"].map((place) => cpu.numbers(place, input.half / 4));
      for (const all of [k, v]) all.forEach((_, i) => { all[i] = (i * 7) % 17 - 7; });
      const sums = [64, 256, input.half].map((bytes) => [
        cpu.read(bytes, 64), living.plainRates.read(k.subarray(0, bytes / 4))
          + living.plainRates.read(v.subarray(0, 16))]);
      const chains = [1, 2, 8].map((rounds) => [
        cpu.exports.multiply_add(rounds, 3), living.plainRates.multiplyAdd(rounds, 3)]);
      return [...sums, ...chains];"""
    pairs = run(body, {"half": SMALL})
    assert all(ours == plain for ours, plain in pairs), pairs
    assert len({ours for ours, _ in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(module (func $a (local.get $b)))", r"no name \$b"),
        ("(module (func $a (f32.root (f32.const 2))))", "no instruction f32.root"),
        ("(module (func $a (call $b)))", r"no name \$b"),
        ("(module (func $a (f32.const 2))", "a bracket is missing"),
    ],
)
def test_the_assembler_refuses_what_it_does_not_know(text: str, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        run("return living.assembler.assemble(input);", text)


# ---------------------------------------------------------------- data and words


def test_the_cases_cost_what_the_package_says() -> None:
    """FLOPs and bytes of a key, once more from other functions of the package."""
    lite = MODELS["deepseek-v2-lite"]
    flops = [cost.latent_flops(lite, q_len=1, kv_len=n, form="absorbed") for n in (1, 2)]
    more = [sum(one[part] for part in ("scores", "weighted sum")) for one in flops]
    assert CASES["mla"]["flops_per_key"] == more[1] - more[0]
    assert CASES["mla"]["bytes_per_key"] == 4 * (lite.kv_lora_rank + lite.qk_rope_head_dim)
    for case in CASES.values():
        stored = case["key_dim"] + (0 if case["latent"] else case["value_dim"])
        assert case["bytes_per_key"] == 4 * case["n_kv_heads"] * stored
        products = case["n_heads"] * (case["key_dim"] + case["value_dim"])
        assert case["flops_per_key"] == 2 * products
    for machine in DATA["machines"][:-1]:
        device = cost.DEVICES[machine["key"]]
        assert machine["bytes_per_second"] == device.bytes_per_second
        assert machine["flops_per_second"] == device.flops_per_second["float32"]


def test_a_workgroup_needs_no_more_memory_than_every_device_has() -> None:
    for name, case in CASES.items():
        group = case["n_heads"] // case["n_kv_heads"]
        heads, tile, lanes, threads = min(4, group), 32, 4, 128
        shared = 4 * (heads * (case["key_dim"] + tile * lanes + 2 * tile) + 5 * threads)
        assert shared <= 16_384, name
        assert heads * tile <= threads, "each thread adds up one score"
        assert threads % (case["value_dim"] // 4) == 0
    text = (FOLDER.parent / "your_machine/attend.wgsl").read_text(encoding="utf-8")
    assert "LANES = 4u" in text
    assert "TILE = 32u" in text


def test_the_prediction_is_the_longer_of_two_times() -> None:
    body = "return input.map(([one, rates]) => living.machine.predict(one, rates));"
    rates = {"bytes_per_second": 10, "flops_per_second": 100}
    got = run(body, [[{"bytes": 20, "flops": 50}, rates], [{"bytes": 20, "flops": 500}, rates]])
    assert got == [{"seconds": 2, "limit": "reading"}, {"seconds": 5, "limit": "arithmetic"}]


def place_of(**changed: Any) -> dict[str, Any]:
    """A place with one measured case, predicted 1 s (or as changed)."""
    once = {"spread": 0.01, "times": 1, "repeats": [1]}
    case = {
        "bytes": 10, "flops": 10, "layers": 1, "predicted_seconds": 1, "limit": "reading",
        "seconds": 1, "reading_seconds": 1, "reading_spread": 0.01, "starting_seconds": 0.001,
        **once, **changed,
    }  # fmt: skip
    return {
        "kind": "cpu", "name": "one thread", "adapter": None, "keys": 1, "tolerance": TOLERANCE,
        "rates": {"read": {"bytes": 10, "seconds": 1, **once},
                  "multiply-add": {"flops": 100, "seconds": 1, **once}},
        "checks": {"mha": {"compared": 3, "largest_difference": 1e-6}}, "cases": {"mha": case},
    }  # fmt: skip


WORDS = {
    "near": ({"seconds": 1.05}, "That's within 10% of the prediction."),
    "faster": (
        {"seconds": 0.5, "reading_seconds": 0.9},
        "the rate of reading came out too low (the same 10.0 B alone are read in 900 ms). Measure",
    ),
    "starting": (
        {"seconds": 3, "starting_seconds": 1.5},
        "3.0 times the prediction. Most of the gap is starting: with one key, the same code takes 1.50 s.",  # noqa: E501
    ),
    "reading": (
        {"seconds": 4, "reading_seconds": 3.5},
        "4.0 times the prediction. Most of the gap is reading: its 10.0 B alone take 3.50 s, at",
    ),
    "working": (
        {"seconds": 4, "reading_seconds": 1.2},
        "Its 10.0 B alone are read in 1.20 s. Most of the gap is the kernel's own work",
    ),
    "arithmetic": (
        {"seconds": 4, "limit": "arithmetic", "flops": 100},
        "Its multiply-adds run at 25.0 FLOP/s, 25% of the rate that was measured.",
    ),
    "noise": (
        {"seconds": 4, "spread": 0.5},
        "The middle repeat of the MHA kernel took 50% longer than the fastest, which is too much",
    ),
    "noisy twin": ({"seconds": 4, "reading_spread": 0.5}, "repeat of reading alone took 50%"),
}


@pytest.mark.parametrize("kind", WORDS)
def test_a_gap_is_explained_by_what_was_measured(kind: str) -> None:
    changed, words = WORDS[kind]
    said = run("return living.machineWords.caseWords(input, 'mha');", place_of(**changed))
    assert words in said


def test_noise_is_of_what_a_time_or_its_prediction_comes_from() -> None:
    """How far another rate's repeats are apart doesn't matter."""
    place = place_of()
    place["cases"] = {name: copy.deepcopy(place["cases"]["mha"]) for name in CASES}
    slow = {"seconds": 9, "times": 1, "repeats": [9], "spread": 3}
    place["rates"]["read, JavaScript"] = {"bytes": 10, **slow}
    place["rates"]["multiply-add"]["spread"] = 3
    body = "return living.machineWords.describe({ places: [input] });"
    assert "repeat" not in run(body, place)
    place["rates"]["read"]["spread"] = 0.4
    assert "But the middle repeat of the rate of reading took 40% longer" in run(body, place)
    place["cases"]["gqa"]["spread"] = 0.6
    assert "But the middle repeat of the GQA kernel took 60% longer" in run(body, place)


def test_the_parts_of_a_gap_add_up() -> None:
    body = "return living.machine.gap(input.cases.mha, living.machine.roof(input));"
    found = run(body, place_of(seconds=4, reading_seconds=1.7, starting_seconds=0.3))
    assert found["over"] == pytest.approx(3)
    assert sum(found["parts"].values()) == pytest.approx(found["over"])
    assert found["parts"] == pytest.approx({"starting": 0.3, "reading": 0.4, "working": 2.3})


@pytest.mark.parametrize(("off", "words"), [(0.1, "off by 1.0 · 10⁻¹"), (None, "aren't numbers")])
def test_of_wrong_numbers_no_time_is_told(off: float | None, words: str) -> None:
    place = place_of()
    place["checks"]["mha"]["largest_difference"] = off
    both = "[living.machineWords.caseWords(input, 'mha'), living.machineWords.checksOf(input)]"
    said, check = run(f"return {both};", place)
    assert words in said
    assert "so no time was taken" in said
    assert "wrong numbers" in check


# ---------------------------------------------------------------- what readers hand in


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_readers_handed_in_follows_the_schema(path: Any) -> None:
    assert_follows_schema(json.loads(path.read_text(encoding="utf-8")))


def test_there_is_a_file_to_look_at_and_a_note() -> None:
    assert FILES
    assert len((READERS / "README.md").read_text(encoding="utf-8").strip().splitlines()) <= 5


FAULTS = {
    "no date": lambda one: one.pop("date"),
    "an unknown key": lambda one: one.update(name="Ada"),
    "a place without rates": lambda one: one["places"][0]["rates"].clear(),
    "a rate of nothing": lambda one: one["places"][0]["rates"]["read"].pop("bytes"),
    "a time below zero": lambda one: one["places"][0]["cases"]["mha"].update(seconds=-1),
    "a time without repeats": lambda one: one["places"][0]["cases"]["mha"].pop("repeats"),
    "an unchecked kernel": lambda one: one["places"][0]["checks"].pop("gqa"),
    "no place": lambda one: one.update(places=[]),
    "another reason": lambda one: one.update(missing={"gpu": "tired"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_schema_refuses(fault: str) -> None:
    record = copy.deepcopy(json.loads(FILES[0].read_text(encoding="utf-8")))
    FAULTS[fault](record)
    with pytest.raises(AssertionError):
        assert_follows_schema(record)
