"""One command for a machine with a GPU: tried on a CPU, cut short, hung, and without any GPU."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch

from benchmarks import gpu, on_gpu

PASSED = {"command": "pytest", "outcome": "passed", "seconds": 1}
NAMES = list(gpu.dry_rows())


def record_in(folder: Path) -> dict:
    (path,) = folder.glob("*-gpu.json")
    return json.loads(path.read_text(encoding="utf-8"))


def test_without_a_gpu_it_says_so_and_writes_nothing(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert on_gpu.main(["--out", str(tmp_path)]) == 2
    assert "no NVIDIA GPU" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_has_every_row_of_the_gpu(monkeypatch):
    monkeypatch.setattr(gpu, "copy_bandwidth", lambda device: 1e9)
    monkeypatch.setattr(gpu, "matmul_rate", lambda device: 1e9)
    assert list(gpu.rows("cpu")) == NAMES


@pytest.mark.exhaustive
def test_a_dry_run_measures_every_row_and_keeps_it(tmp_path):
    assert on_gpu.main(["--dry", "--out", str(tmp_path), "--seconds", "500"]) == 0
    record = record_in(tmp_path)
    assert list(record["results"]) == NAMES
    assert record["missing"] == {}
    assert record["tests"]["outcome"] == "passed"
    assert "-m gpu" in record["tests"]["command"]
    assert record["devices"].startswith("not measured")
    for key in ("machine", "versions", "date", "command", "peak_memory_bytes"):
        assert record[key], key
    assert {"driver", "cuda", "gpu"} <= set(record)
    svg = next(tmp_path.glob("*-gpu.svg")).read_text(encoding="utf-8")
    assert "gpu, prefill attention" in "".join(ET.fromstring(svg).itertext())
    assert list(tmp_path.glob("*.part")) == []


ROWS = """
import json, sys, time
print("a compiler says something")
for name in sys.argv[1:]:
    if name == "hangs":
        time.sleep(600)
    if name == "fails":
        raise SystemExit("no such kernel")
    print("row: " + json.dumps({"name": name, "row": {"x": 1}}), flush=True)
"""


def test_a_row_that_hangs_or_fails_costs_its_share_and_no_other_row(capsys):
    names = ["a", "hangs", "b", "fails", "c"]
    found = dict(on_gpu.measured(names, [sys.executable, "-c", ROWS], 20))
    assert list(found) == names
    assert [found[name] for name in "abc"] == [{"x": 1}] * 3
    assert "share" in found["hangs"]
    assert "failed" in found["fails"]
    assert "a compiler says something" in capsys.readouterr().out


def test_when_the_time_is_over_what_is_left_is_named():
    found = dict(on_gpu.measured(["hangs", "a"], [sys.executable, "-c", ROWS], 0))
    assert list(found) == ["hangs", "a"]
    assert all("share of 0 s" in reason for reason in found.values())


def test_tests_that_fail_or_take_too_long_are_told_apart():
    assert on_gpu.run_tests([sys.executable, "-c", ""], 60)["outcome"] == "passed"
    failed = on_gpu.run_tests([sys.executable, "-c", "raise SystemExit(5)"], 60)
    assert failed["outcome"] == "failed, with exit status 5"
    slow = on_gpu.run_tests([sys.executable, "-c", "import time; time.sleep(60)"], 0.5)
    assert "stopped" in slow["outcome"]


def test_a_run_that_is_interrupted_keeps_what_it_has_and_the_next_adds_to_it(monkeypatch, tmp_path):
    def some(names, *_):
        yield names[0], {"sizes": "", "x": turn, "goals": {"x": [">=", 1]}}
        yield names[turn], {"sizes": "", "x": turn, "goals": {}}
        raise KeyboardInterrupt

    monkeypatch.setattr(on_gpu, "run_tests", lambda *_: PASSED)
    monkeypatch.setattr(on_gpu, "measured", some)
    for turn in (1, 2):
        assert on_gpu.main(["--dry", "--out", str(tmp_path)]) == 1
        record = record_in(tmp_path)
        assert set(record["results"]) == set(NAMES[: turn + 1])
        assert record["results"][NAMES[0]]["x"] == turn
        assert record["missing"] == dict.fromkeys(NAMES[turn + 1 :], "not reached")


@pytest.mark.parametrize(
    ("gpus", "ranks", "words"), [(0, 0, "none"), (1, 0, "is 1"), (2, 2, ""), (3, 2, ""), (8, 4, "")]
)
def test_several_gpus_are_measured_where_there_are_several(monkeypatch, gpus, ranks, words):
    asked = []

    def run_tests(command, seconds):
        asked.append(command[1:])
        return {**PASSED, "outcome": "failed, with exit status 1"}

    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(on_gpu, "run_tests", run_tests)
    said = on_gpu.several(60)
    if not ranks:
        assert asked == []
        assert said.startswith("not measured: it takes 2 GPUs")
        assert words in said
        return
    assert asked == [["-m", "benchmarks.devices", f"--ranks={ranks}"]]
    assert said == "failed, with exit status 1"


@pytest.mark.parametrize("outcome", ["passed", "failed, with exit status 1"])
def test_the_exit_status_tells_of_tests_and_rows(monkeypatch, tmp_path, outcome):
    rows = [(name, {"sizes": "", "x": 1}) for name in NAMES]
    monkeypatch.setattr(on_gpu, "run_tests", lambda *_: {**PASSED, "outcome": outcome})
    monkeypatch.setattr(on_gpu, "measured", lambda *_: iter(rows))
    assert on_gpu.main(["--dry", "--out", str(tmp_path)]) == (outcome != "passed")
    monkeypatch.setattr(on_gpu, "several", lambda _: "failed, with exit status 1")
    assert on_gpu.main(["--dry", "--out", str(tmp_path)]) == 1
    monkeypatch.setattr(on_gpu, "measured", lambda *_: iter([*rows[:-1], (NAMES[-1], "it failed")]))
    assert on_gpu.main(["--dry", "--out", str(tmp_path)]) == 1
    assert record_in(tmp_path)["missing"] == {NAMES[-1]: "it failed"}
