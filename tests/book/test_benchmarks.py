"""Benchmarks run, at sizes that mean nothing; what is kept of them says what it must."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import (
    allocations,
    attention,
    caches,
    decode,
    facts,
    gpu,
    latent,
    machine,
    picture,
    positions,
    run,
    states,
    tokens,
)
from mini_attn.config import AttentionConfig, DecoderConfig

RESULTS = sorted((Path(__file__).parents[2] / "benchmarks/results").glob("*.json"))
TINY = DecoderConfig(13, 1, AttentionConfig(8, 2, 4), 16, max_positions=64)
RATE = 1e9
ROWS = {
    "grouped decode": lambda: attention.grouped_decode(RATE, kv_len=8, n_heads=4, head_dim=4),
    "prefill": lambda: attention.prefill(RATE, seq=8, n_heads=2, head_dim=4),
    "numpy decode": lambda: attention.numpy_decode(RATE, kv_len=8, n_heads=4, head_dim=4),
    "online": lambda: attention.online(seq=64, n_heads=4, head_dim=8),
    "rope": lambda: positions.rope(RATE, seq=5, n_heads=4, head_dim=8),
    "append": lambda: caches.cache_append(length=8, n_kv_heads=1, head_dim=4),
    "every cache": lambda: caches.every_cache(length=64, n_kv_heads=1, head_dim=32),
    "reading in parts": lambda: caches.reading_in_parts(length=64, n_kv_heads=1, head_dim=32),
    "latent": lambda: latent.latent_decode(RATE, RATE, kv_len=8, copies=2),
    "crossover": lambda: latent.latent_crossover(kv_len=400),
    "cached decode": lambda: decode.cached("4_layers_256", RATE, prompt=3, n_new=2),
    "flat decode": lambda: decode.flat(
        RATE, steps=2, n_layer=1, n_embd=8, n_head=2, vocab_size=13
    ),
    "gpu grouped": lambda: gpu.grouped_decode(RATE, "cpu", batch=2, kv_len=8, n_heads=4),
    "gpu latent": lambda: gpu.latent_decode(RATE, RATE, "cpu", batch=2, kv_len=8),
    "gpu prefill": lambda: gpu.prefill(RATE, "cpu", seq=8, n_heads=4),
    "gpu decoding": lambda: gpu.decoding(
        RATE, "cpu", TINY, "tiny", prompt=3, n_new=4, backend="eager"
    ),
    "encoding": lambda: tokens.encoding("a few words and few tokens " * 9, count=9, repeats=1),
    "long word": lambda: tokens.long_word(60, repeats=1),
    "prompt with a state": lambda: states.prompt(RATE, lengths=(8, 70), n_heads=1, head_dim=4),
    "step with a state": lambda: states.step(
        RATE, contexts=(2, 9), n_heads=1, head_dim=4, held_bytes=999
    ),
    "modules": facts.modules,
    "variant": facts.variant_files,
}  # fmt: skip


def numbers(value):
    """All numbers of a row."""
    if isinstance(value, dict):
        return [number for part in value.values() for number in numbers(part)]
    return [value] if isinstance(value, int | float) else []


@pytest.mark.parametrize("name", ROWS)
def test_a_row_says_its_sizes_its_figures_and_its_goals(name):
    row = ROWS[name]()
    assert row["sizes"]
    figures = {key: value for key, value in row.items() if key != "goals"}
    assert numbers(figures)
    assert all(math.isfinite(number) for number in numbers(figures))
    for key, (sign, goal) in row.get("goals", {}).items():
        assert isinstance(row[key], int | float), key
        assert sign in (">=", "<=")
        assert goal >= 0
    json.dumps(row)


def test_both_sides_of_a_comparison_compute_the_same():
    assert ROWS["rope"]()["same_numbers"]
    assert ROWS["cached decode"]()["same_tokens"]


def test_online_attention_is_measured_against_a_matrix_that_is_there():
    row = attention.online(seq=256, n_heads=4, head_dim=8)
    matrix = 4 * 256 * 256 * 4 / 1e6
    for name in ("numpy_plain", "torch_plain"):
        assert row["peak_megabytes"][name] > matrix
    for name in ("numpy_online", "torch_online"):
        assert row["peak_megabytes"][name] < matrix


def test_runs_are_taken_in_turn_and_the_shortest_counts(monkeypatch):
    clock, order = [0.0], []

    def takes(name, *seconds):
        left = list(seconds)

        def call():
            order.append(name)
            clock[0] += left.pop(0)

        return call

    monkeypatch.setattr(machine.time, "perf_counter", lambda: clock[0])
    best = machine.side_by_side({"a": takes("a", 9, 3, 2), "b": takes("b", 9, 5, 7)}, repeats=2)
    assert best == {"a": 2, "b": 5}
    assert order == ["a", "b"] * 3  # the first of each only warms up


def test_a_rate_says_what_it_was_measured_with(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(machine.time, "perf_counter", lambda: clock[0])

    def takes(seconds):
        def call():
            clock[0] += seconds

        return call

    # The bigger product takes longer and still does more in a second: that is the ceiling.
    runs = {"small": (takes(2.0), 10, 80), "big": (takes(3.0), 30, 120)}
    assert machine.best_rate(runs, 2) == machine.Rate(10.0, 2, 120, "big")
    monkeypatch.undo()
    found = machine.read_rates(2**22)
    assert set(found) == {"numpy", "torch"}
    assert (found["numpy"].threads, found["torch"].threads) == (1, torch.get_num_threads())
    assert all(rate.array_bytes == 2**22 and rate.per_second > 0 for rate in found.values())
    product = machine.matmul_rate([(8, 4, 16), (64, 64, 64)])
    assert product.by in ("8 x 4 x 16", "64 x 64 x 64")
    assert product.array_bytes in (4 * (8 * 4 + 4 * 16 + 8 * 16), 3 * 4 * 64**2)


def test_nothing_is_measured_inside_a_cache(tmp_path, monkeypatch):
    """Two last caches of 32 MiB that two cores share each, and small ones of their own."""
    for cpu, shared in enumerate(("0-1", "0-1", "2-3", "2-3")):
        for level, size, cores in ((1, "48K", str(cpu)), (3, "32768K", shared)):
            folder = tmp_path / f"cpu{cpu}/cache/index{level}"
            folder.mkdir(parents=True)
            for name, text in (("level", level), ("shared_cpu_list", cores), ("size", size)):
                (folder / name).write_text(f"{text}\n")
    assert machine.last_level_cache(tmp_path) == 2 * 32 * 2**20
    assert machine.last_level_cache(tmp_path / "none") == 2**26
    monkeypatch.setattr(machine, "last_level_cache", lambda: 2**31)
    sizes = []

    def instead(rows, columns):
        sizes.append(rows * columns)
        return 8, 8

    empty = np.zeros
    monkeypatch.setattr(machine.np, "ones", lambda shape, kind: empty(instead(*shape), kind))
    with pytest.raises(RuntimeError):  # torch was told another number of rows
        machine.read_rates()
    assert sizes == [2**31]  # numbers of four bytes
    # Layers in turn: what the others read is as much.
    config = latent._layer()
    monkeypatch.setattr(latent, "past_cache", lambda: 2**30)
    assert (latent._copies(config, 4096) - 1) * 65e6 > 2**30


def test_latent_attention_is_judged_by_the_bound_of_each_form():
    row = ROWS["latent"]()
    for form in latent.FORMS:
        share = row["bound_milliseconds"][form] / row["milliseconds"][form]
        assert row[f"{form}_share_of_bound"] == pytest.approx(share)
    shares = [row[f"{form}_share_of_bound"] for form in latent.FORMS]
    assert row["largest_share_of_bound"] == max(shares)
    assert row["goals"]["largest_share_of_bound"] == ["<=", 1]


def test_allocations_are_counted_where_they_are_made():
    assert allocations.numpy_peak(lambda: np.ones(10**6)) == pytest.approx(8e6, rel=0.01)
    assert allocations.torch_peak(lambda: torch.ones(10**6)) == 4e6
    taken = allocations.torch_allocations(lambda: torch.ones(10) + torch.ones(10))
    assert max(taken) == 40
    assert sum(a for a in taken if a > 0) >= 120


def test_an_import_is_timed_in_its_own_interpreter():
    assert 0 < facts.seconds_to_import("json", rounds=1) < 5


def seen(monkeypatch, *, cuda=False, mps=False):
    """Let PyTorch see these GPUs."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    ("gpus", "device", "name"),
    [
        ({}, "cpu", None),
        ({"cuda": True, "mps": True}, "cuda", "a GPU"),
        ({"mps": True}, "mps", "a chip's own (mps)"),
    ],
)
def test_the_head_names_the_device(monkeypatch, gpus, device, name):
    monkeypatch.setattr(machine, "processor", lambda: "a chip")
    seen(monkeypatch, **gpus)
    head = machine.describe()
    assert (head["device"], head["gpu"]) == (device, name)


def test_the_rows_of_the_gpu_are_measured_on_the_one_that_is_there(monkeypatch):
    asked = []
    monkeypatch.setattr(gpu, "copy_bandwidth", lambda device: asked.append(device) or RATE)
    monkeypatch.setattr(gpu, "matmul_rate", lambda device: RATE)
    seen(monkeypatch, mps=True)
    found, absent = run.rows({"torch": RATE, "numpy": RATE}, RATE)
    assert asked == ["mps"]
    assert "gpu, prefill attention" in found
    assert "gpu" not in absent


def test_a_run_on_apples_gpu_is_waited_for(monkeypatch):
    """It computes while Python goes on."""
    done = []
    monkeypatch.setattr(torch.mps, "synchronize", lambda: done.append("waited"))
    gpu.seconds_of(lambda: done.append("run"), "mps", torch.empty(1))
    assert done == ["waited", "run", "waited"]


def test_without_a_device_the_rows_of_the_gpu_are_named_and_left_out(monkeypatch):
    seen(monkeypatch)
    found, absent = run.rows({"torch": RATE, "numpy": RATE}, RATE)
    assert absent["gpu"] == "PyTorch sees no GPU (cuda or mps)"
    assert not [name for name in found if name.startswith("gpu")]
    for name in ("cached decode", "prefill attention", "every cache", "imports"):
        assert name in found


def test_with_a_device_its_rows_are_there(monkeypatch):
    monkeypatch.setattr(gpu, "copy_bandwidth", lambda device: RATE)
    monkeypatch.setattr(gpu, "matmul_rate", lambda device: RATE)
    words = " ".join(gpu.rows("cpu"))
    for part in ("grouped decode", "latent decode", "prefill", "decode, 124 million"):
        assert part in words


def test_peers_that_are_not_installed_leave_their_rows_out(monkeypatch):
    monkeypatch.setattr(machine, "installed", lambda name: None)
    found, absent = run.rows({"torch": RATE, "numpy": RATE}, RATE)
    assert "transformers" in absent["decoders"]
    assert "cached decode" not in found


def test_a_row_that_fails_is_named_and_the_others_go_on(capsys):
    def broken():
        raise ValueError("no such kernel")

    results, failed = run.measured({"a": broken, "b": lambda: {"x": 1.0, "part": {"y": 2}}})
    assert results == {"b": {"x": 1.0, "part": {"y": 2}}}
    assert failed == {"a": "ValueError: no such kernel"}
    assert "part y" in capsys.readouterr().out


MADE_UP = {
    "date": "2024-01-01",
    "machine": "a & b",
    "gpu": None,
    "results": {
        "fast": {"ratio": 4.0, "goals": {"ratio": [">=", 2]}},
        "slow": {"ratio": 1.0, "goals": {"ratio": [">=", 2]}},
        "short": {"seconds": 5.0, "goals": {"seconds": ["<=", 10]}},
        "none": {"requests": 0, "goals": {"requests": ["<=", 0]}},
        "some": {"requests": 3, "goals": {"requests": ["<=", 0]}},
        "not judged": {"ratio": 1.0},
    },
}


def test_a_figure_is_judged_by_its_distance_from_the_goal():
    judged = {name: (words, ratio) for name, words, ratio in picture.figures(MADE_UP["results"])}
    assert judged == {
        "fast: ratio": ("4 ≥ 2", 2.0),
        "slow: ratio": ("1 < 2", 0.5),
        "short: seconds": ("5 ≤ 10", 2.0),
        "none: requests": ("0 ≤ 0", 1.0),
        "some: requests": ("3 > 0", 0.0),
    }


def test_the_picture_says_in_words_what_colour_says():
    svg = picture.draw(MADE_UP)
    ET.fromstring(svg)  # well-formed, also with an ampersand in the title
    words = "".join(ET.fromstring(svg).itertext())
    assert "3 of 5 goals met" in words
    assert len(re.findall("missed", words)) == 2
    assert len(re.findall(r"fill: url\(#", svg)) == 2  # hatched
    assert "prefers-color-scheme:dark" in svg
    assert not re.findall(r"#1c2430|#fffffe", svg.split("</style>", 1)[1])


def contrast(one: str, other: str) -> float:
    """Ratio of luminances as the accessibility guidelines define it."""
    bright = []
    for colour in (one, other):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        bright.append(sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True)))
    return (max(bright) + 0.05) / (min(bright) + 0.05)


@pytest.mark.parametrize("mode", ["LIGHT", "DARK"])
def test_the_picture_is_legible_in_both_modes(mode):
    colours = getattr(picture, mode)
    ground = colours[picture.GROUND]
    assert contrast(colours[picture.INK], ground) > 7
    assert contrast(colours[picture.MET], ground) > 4.5
    assert contrast(colours[picture.MISSED], ground) > 4.5


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_kept_results_say_where_they_come_from_and_have_their_picture(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    speed = "copy_bytes_per_second" if record["gpu"] else "read_bytes_per_second"
    for key in ("machine", "versions", "date", "command", speed):
        assert {**record["results"].get("gpu", {}), **record}[key], key
    assert record["peak_memory_bytes"] < run.LIMIT_BYTES
    if record.get("missing"):
        return  # a run on a GPU that was ended early
    svg = path.with_suffix(".svg").read_text(encoding="utf-8")
    words = unescape(svg)
    judged = picture.figures(record["results"])
    assert len(judged) >= 5
    for name, comparison, _ in judged:
        assert name in words, f"{name} is not drawn: draw the picture again"
        assert comparison in words, f"{name} is drawn with another figure"


# The budgets of the package: row, and the figure that is judged.
BUDGETS = {
    "cached decode": "times_faster_than_peer_loop",
    "cached decode, small": "times_faster_than_peer_loop",
    "cache append": "torch_times_faster_than_cat",
    "grouped decode attention": "times_faster_than_enable_gqa",
    "prefill attention": "share_of_sdpa_speed",
    "numpy decode attention": "mha_share_of_sum_bandwidth",
    "page": "first_widget_usable_ms",
    "browser notebook": "seconds_to_mini_attn",
    "online attention": "torch_memory_share_of_plain",
    "decode by cached length": "longest_over_shortest_without_attention",
    "latent decode": "absorbed_share_of_bound",
    "imports": "seconds_beyond_numpy",
}


@pytest.mark.parametrize("row", BUDGETS)
def test_the_newest_results_of_a_processor_judge_every_budget(row):
    newest = [path for path in RESULTS if path.stem.endswith("cpu")][-1]
    results = json.loads(newest.read_text(encoding="utf-8"))["results"]
    assert BUDGETS[row] in results[row]["goals"]
