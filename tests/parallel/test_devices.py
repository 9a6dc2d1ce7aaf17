"""``make devices``: the real thing, started by torchrun, at sizes that mean nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from benchmarks import device_steps, devices


@pytest.mark.exhaustive
@pytest.mark.parametrize("ranks", [2, 4])
def test_the_table_says_what_was_sent(capfd, ranks):
    assert devices.main(["--ranks", str(ranks), "--tiny"]) == 0
    said = capfd.readouterr().out
    assert said.startswith(f"{ranks} ranks on ")
    others, kv_width = ranks - 1, 2 * (4 + 4)
    tensor = 2 * 2 * 16 * others / ranks  # two all-reduces of a layer
    ring, split = kv_width * others / ranks, others * 4 * (4 + 1)
    values = [tensor, tensor, ring, ring, (4 * 8 + kv_width) * others / ranks**2, split]
    if ranks == 4:
        del values[4]
        assert "\nnot run: Ulysses of 64: ulysses gives every rank its own heads: 4 ranks" in said
    found = re.findall(
        r"^(?:tensor|ring|Ulysses|token,).*? +(\S+) +(\S+)(?: +\d+\.\d\d)", said, re.M
    )
    assert found == [(f"{value:,.6g}",) * 2 for value in values]
    assert "the same tokens as one process" in said
    assert re.search(r"\n(talk, measured / predicted: from \S+ \(|no prediction)", said)


def row(name: str, **changed: Any) -> device_steps.Row:
    """What was found of a step, in order if nothing else is said."""
    right = {"counted": 8, "formula": 8, "equal": True, "one": 1e-3, "split": 2e-3}
    more = {"talk": 3e-3, "predicted": 2e-3, "error": 1e-7}
    return device_steps.Row(name, **{**right, **more, **changed})


def test_what_was_not_sent_as_counted_is_an_error():
    same = "greedy: the same tokens as one process"
    assert devices.status([row("a"), "b: 4 ranks can't share it"], same) == 0
    for wrong in ({"equal": False}, {"error": 0.1}, {"error": float("nan")}):
        assert devices.status([row("a"), row("b", **wrong)], same) == 1
    assert devices.status([row("a")], "greedy: OTHER TOKENS THAN one process") == 1
    assert devices.line(row("b", equal=False)).endswith("2.00  NOT AS COUNTED")
    assert devices.line(row("b", error=0.1)).endswith("2.00  RESULTS DIFFER BY 1.0e-01")


def test_the_last_line_is_the_factor():
    rows = [row("a"), row("b", talk=1e-3), row("c", predicted=2e-2)]
    assert devices.factor(rows) == "talk, measured / predicted: from 0.15 (c) to 1.50 (a)"
    assert devices.factor([row("a", predicted=None)]).startswith("no prediction")


def test_ranks_that_have_no_gpu_each_compute_on_cpus(monkeypatch):
    for gpus, here, home in ((0, 2, "cpu"), (1, 2, "cpu"), (2, 2, None), (4, 2, None)):
        monkeypatch.setattr(torch.cuda, "device_count", lambda gpus=gpus: gpus)
        monkeypatch.setenv("LOCAL_WORLD_SIZE", str(here))
        assert devices.home() == home


def test_other_numbers_of_processes_are_refused(capsys):
    with pytest.raises(SystemExit):
        devices.main(["--ranks", "3"])
    assert "start it with torchrun" in capsys.readouterr().err
