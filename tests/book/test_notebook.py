"""The stopwatch and the machine that the chapters' cells measure."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mini_attn import cost, plain
from mini_attn.errors import ConfigError
from mini_attn.notebook import best_seconds, source_of, this_machine


def test_the_stopwatch_takes_the_best_time() -> None:
    pauses = iter([0.03, 0.004, 0.02, 0.03])
    assert 0.004 <= best_seconds(lambda: time.sleep(next(pauses)), repeats=4) < 0.02


def test_the_stopwatch_goes_on() -> None:
    calls: list[None] = []

    def call() -> None:
        calls.append(None)
        time.sleep(0.003)

    begin = time.perf_counter()
    best_seconds(call, repeats=1, go_on_seconds=0.05)
    assert time.perf_counter() - begin >= 0.05
    assert len(calls) > 1


def test_the_stopwatch_refuses_no_timing() -> None:
    with pytest.raises(ConfigError, match="repeats"):
        best_seconds(lambda: None, repeats=0)


def test_this_machine_is_a_device() -> None:
    machine = this_machine(size=32, read_bytes=4000)
    assert machine.source == "measured"
    flops, n_bytes = cost.product_flops(32, 32, 32), 4000
    seconds = cost.roofline_seconds(flops, n_bytes, machine, dtype="float32")
    assert 0 < seconds < 60
    for sizes in ({"size": 0}, {"read_bytes": 3}):
        with pytest.raises(ConfigError, match=next(iter(sizes))):
            this_machine(**sizes)


def test_sources_are_shown_as_they_stand() -> None:
    text = source_of(plain.softmax, plain.visible).data
    assert text.startswith("```python\ndef softmax(scores):\n")
    assert text.endswith("\n```")
    body = text.removeprefix("```python\n").removesuffix("```")
    whole = Path(plain.__file__).read_text(encoding="utf-8")
    for part in body.split("\n\ndef "):
        assert part in whole
