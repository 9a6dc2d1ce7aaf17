"""Caches of small floats of trained members: what is read, what it takes, what is written down."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch

import mini_attn.torch as mt
from mini_attn.stories import load, sample_rows
from tools import ROOT
from training import floats
from training.floats import Rounded, Way, ways
from training.keeping import GROUP
from training.measure import measured
from training.run import RESULTS

ROWS = torch.from_numpy(sample_rows(2, 64, 5))
EVERY = list(ways())


@pytest.fixture(scope="module", params=("mha", "gqa"))
def member(request: pytest.FixtureRequest) -> mt.Decoder:
    model: mt.Decoder = load(request.param, backend="torch").eval()
    return model


@pytest.mark.parametrize("number", range(1, len(EVERY)))
def test_the_bytes_are_those_of_the_real_caches(member: mt.Decoder, number: int) -> None:
    held = Rounded(member, EVERY[number]).caches(len(ROWS), ROWS.shape[1])
    with torch.inference_mode():
        for part in torch.split(ROWS, GROUP, dim=1):
            member(part, caches=held)
    used = sum(cache.used_bytes for cache in held) / ROWS.numel()
    assert floats.taken(member, EVERY[number]) == used


@torch.inference_mode()
def test_fewer_bits_change_more(member: mt.Decoder) -> None:
    whole = member(ROWS)
    kinds = (
        Way(bits=16),
        Way("fp8", "tensor"),
        Way("nvfp4", "tensor"),
        Way(bits=2, key_axis="token"),
    )
    off = [float((Rounded(member, way)(ROWS) - whole).abs().mean()) for way in kinds]
    assert 0 < off[0] < off[1] < off[2] < off[3]


@torch.inference_mode()
def test_keys_before_rope_are_those_of_the_layer(member: mt.Decoder) -> None:
    """What is sealed has no positions: a word and its twin later have equal codes in layer 0."""
    way = Way("fp8", "tensor", before_rope=True)
    words = torch.cat([ROWS[:1, :GROUP], ROWS[:1, :GROUP]], dim=1)
    before, after = (Rounded(member, w) for w in (way, replace(way, before_rope=False)))
    codes = []
    for read in (before, after):
        held = read.caches(1, 2 * GROUP)
        for part in torch.split(words, GROUP, dim=1):
            member(part, caches=held)
        codes.append(held[0]._state.arrays[2])
    same = [bool((each[:, :, :GROUP] == each[:, :, GROUP:]).all()) for each in codes]
    assert same == [True, False]
    whole = member(words)
    exact = before(words)
    assert 0 < (exact - whole).abs().mean() < 2 * (after(words) - whole).abs().mean()


def test_a_part_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Three points on few rows; nothing is measured twice, and the summary is quoted."""
    calls, quoted = [], []

    def counted(*args: Any, **options: Any) -> dict[str, Any]:
        calls.append(args)
        return measured(*args, **options)

    monkeypatch.setattr(floats, "ways", lambda: islice(iter(EVERY), 3))
    monkeypatch.setattr(floats, "MEMBERS", ("mha",))
    monkeypatch.setattr(floats, "measured", counted)
    monkeypatch.setattr(floats, "quote", lambda key, record: quoted.append((key, record)))
    monkeypatch.setattr(floats, "STORED", ROOT / ".cache" / f"{tmp_path.name}-floats.json")
    monkeypatch.setattr("sys.argv", ["floats", "--rows", "4"])
    try:
        floats.main()
        record = json.loads(floats.STORED.read_text(encoding="utf-8"))
        floats.main()
    finally:
        floats.STORED.unlink(missing_ok=True)
    assert len(calls) == len(record["points"]) == 3
    assert {"machine", "versions", "date", "command"} <= record.keys()
    assert [key for key, _ in quoted] == [floats.KEY] * 2


def test_what_is_stored_is_whole() -> None:
    """Every way of every member, once; the package quotes the summary of it."""
    record = json.loads((RESULTS / "floats.json").read_text(encoding="utf-8"))
    for name in floats.MEMBERS:
        own = [point for point in record["points"] if point["member"] == name]
        assert len(own) == len(EVERY)
        assert len({point["weights"] for point in own}) == 1
        assert all(any(asdict(way).items() <= point.items() for point in own) for way in EVERY)
    quoted = json.loads((ROOT / "mini_attn/stored.json").read_text(encoding="utf-8"))[floats.KEY]
    assert quoted["points"] == json.loads(json.dumps(floats.summary(record["points"])))
