"""The stopwatch and the machine that the chapters' cells measure."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from mini_attn import cost, plain, stories
from mini_attn.errors import ConfigError
from mini_attn.notebook import best_seconds, losses_of, source_of, this_machine
from tools import ROOT


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


def test_chapters_that_speak_of_this_machine_measure_it() -> None:
    """A time is compared with rates that were measured one way, in the same run."""
    speak = set()
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = {"markdown": "", "code": ""}
        for cell in cells:
            texts[cell["cell_type"]] += "".join(cell["source"]) + "\n"
        if "matmul.ipynb#this-machine-measured" in texts["markdown"]:
            speak.add(path.stem)
            assert "this_machine()" in texts["code"], path.stem
    assert {"attention-cost", "mqa-gqa"} <= speak


def test_sources_are_shown_as_they_stand() -> None:
    text = source_of(plain.softmax, plain.visible).data
    assert text.startswith("```python\ndef softmax(scores):\n")
    assert text.endswith("\n```")
    body = text.removeprefix("```python\n").removesuffix("```")
    whole = Path(plain.__file__).read_text(encoding="utf-8")
    for part in body.split("\n\ndef "):
        assert part in whole


def certain_of(kind: str) -> float:
    """Loss on copying of one who knows the true chances of a kind of rows."""
    seen = []

    def logits_of(ids: np.ndarray) -> np.ndarray:
        seen.append(ids)
        chances = stories.row_probabilities(ids, kind=kind)
        return np.log(np.maximum(chances, 1e-12))

    losses = losses_of(logits_of, rows=4)
    assert [ids.shape for ids in seen] == [(4, 256)] * 2
    assert 0.35 < losses.stories < 0.6
    return losses.copying


def test_who_knows_the_language_loses_nothing_on_copies() -> None:
    assert 0 <= certain_of("mixture") < 0.05
    # To one who expects stories every word of a repeat is as unlikely as any other.
    assert certain_of("stories") == pytest.approx(np.log(len(stories.WORDS)))


def test_losses_need_rows() -> None:
    with pytest.raises(ConfigError, match="rows"):
        losses_of(lambda ids: np.zeros((*ids.shape, len(stories.WORDS))), rows=0)
