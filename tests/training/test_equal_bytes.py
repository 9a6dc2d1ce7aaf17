"""Caches of few bits and windows: what is read back, what it takes, what is written down."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mini_attn.torch as mt
from mini_attn.errors import ConfigError
from mini_attn.notebook import stored
from mini_attn.stories import WORDS, sample_rows
from mini_attn.stories.fetching import note
from mini_attn.stories.members import LONGEST, MEMBERS
from mini_attn.stories.rounding import rounded
from mini_attn.weights import save_safetensors, to_numpy
from mini_attn.widgets.equal_bytes_data import KEY
from tools import ROOT
from training import equal_bytes, points, run, trained
from training.equal_bytes import keepings, summary
from training.keeping import GROUP, Keeping, Reading, bytes_per_token, caches
from training.measure import measured
from training.plan import Plan
from training.points import near, spread

EVERY = [(name, keeping) for name in MEMBERS for keeping in keepings(Plan(name))]
CACHED = list(dict.fromkeys(name for name, _ in EVERY))
KEPT = [pytest.param(*each, id=f"{each[0]}-{i}") for i, each in enumerate(EVERY)]
ROWS = torch.from_numpy(sample_rows(2, LONGEST, seed=3))


def member(name: str, seed: int = 1) -> mt.Decoder:
    """A member with random weights."""
    return mt.Decoder(MEMBERS[name].config(len(WORDS)), seed=seed).eval()


@pytest.mark.parametrize(("name", "keeping"), KEPT)
def test_the_bytes_are_those_of_the_real_caches(name: str, keeping: Keeping) -> None:
    reading = Reading(member(name), keeping)
    held = caches(reading.model.config, keeping, len(ROWS), LONGEST)
    with torch.inference_mode():
        for part in torch.split(ROWS, GROUP, dim=1):
            reading.model(part, caches=held)
    used = sum(cache.used_bytes for cache in held) / len(ROWS) / LONGEST
    if keeping.k_bits == 16:  # kept as float32 here, after rounding
        used /= 2
    assert bytes_per_token(member(name).config, keeping) == used


@pytest.mark.parametrize("name", CACHED)
def test_float32_changes_nothing_and_fewer_bits_change_more(name: str) -> None:
    model = member(name)
    with torch.inference_mode():
        whole = model(ROWS)
        kept = {k.k_bits: Reading(model, k)(ROWS) for k in keepings(Plan(name)) if k.window is None}
    off = {bits: float((logits - whole).abs().max()) for bits, logits in kept.items()}
    assert off[32] < 1e-4
    if MEMBERS[name].compress is None:  # entries are kept in float32 alone
        assert 1e-4 < off[16] < 0.2  # rounded, and not by much
    if 8 in off:
        assert off[16] / 4 < off[8] < off[4] < off[2]


def test_a_state_has_no_bits_to_choose() -> None:
    assert [name for name in MEMBERS if name not in CACHED] == [
        name for name, one in MEMBERS.items() if one.state is not None
    ]


def test_chunks_as_long_as_a_group_are_single_tokens() -> None:
    for name in ("mha", "mla"):
        reading, tokens = Reading(member(name), Keeping(2, 2)), ROWS[:, :40]
        held = caches(reading.model.config, reading.keeping, len(tokens), 40)
        with torch.inference_mode():
            one_by_one = [reading.model(tokens[:, t : t + 1], caches=held) for t in range(40)]
            assert torch.cat(one_by_one, dim=1).sub(reading(tokens)).abs().max() < 1e-4


def test_a_window_at_inference_is_that_of_a_decoder_with_one() -> None:
    model, keeping = member("mha"), Keeping(32, 32, window=8, sink_tokens=2)
    config = model.config
    narrow: Any = replace(config.attentions[0], window=8, sink_tokens=2)
    other = mt.Decoder(replace(config, attention=narrow))
    other.load_state_dict(model.state_dict())
    with torch.inference_mode():
        expected = other(ROWS)
        assert (Reading(model, keeping)(ROWS) - expected).abs().max() < 1e-4
        assert (model(ROWS) - expected).abs().max() > 1e-2


def test_what_no_cache_keeps_is_refused() -> None:
    with pytest.raises(ConfigError, match="16 and 4 bits"):
        Keeping(16, 4)
    with pytest.raises(ConfigError, match="codes of 4 bits keep all tokens, not 32"):
        Keeping(4, 4, window=32)


def test_near_is_what_is_not_far() -> None:
    counted = {"asked": 100, "right": 0.8, "asked_64_back_or_more": 20}
    assert near({**counted, "right_64_back_or_more": 0.5}) == pytest.approx(70 / 80)
    assert near({**counted, "asked_64_back_or_more": 0, "right_64_back_or_more": None}) == 0.8


def test_one_seed_has_no_spread() -> None:
    assert spread([0.123456]) == (0.1235, None)
    assert spread([1.0, 3.0]) == (2.0, 1.414)


def test_what_the_chapter_quotes_is_what_was_measured() -> None:
    record = json.loads(equal_bytes.STORED.read_text(encoding="utf-8"))
    quoted = stored(KEY)
    assert json.loads(json.dumps(summary(record["points"]))) == quoted["points"]
    assert {point["rows"] for point in record["points"]} == {quoted["rows"]}
    assert all(quoted[key] == record[key] for key in ("machine", "versions", "date", "command"))


def test_it_is_measured_written_and_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ROOT / ".cache/tmp-bytes" / tmp_path.name
    monkeypatch.setattr(trained, "RESULTS", tmp_path)
    monkeypatch.setattr(equal_bytes, "STORED", folder / "bytes.json")
    monkeypatch.setattr(points, "CACHE", folder)
    monkeypatch.setattr(trained, "WEIGHTS", tmp_path / "exact")
    monkeypatch.setattr(trained.family, "FOLDER", tmp_path / "weights")  # type: ignore[attr-defined]
    quoted: dict[str, Any] = {}
    monkeypatch.setattr(equal_bytes, "quote", quoted.__setitem__)
    monkeypatch.setattr("sys.argv", ["bytes", "--rows", "3"])
    with pytest.raises(ConfigError, match="got 3"):
        equal_bytes.main()
    monkeypatch.setattr("sys.argv", ["bytes", "--rows", "4"])
    with pytest.raises(ConfigError, match="no member has been trained"):
        equal_bytes.main()
    first, second = Plan("window"), Plan("window", seed=1)
    for plan in (first, second, Plan("mqa", seed=2)):  # of the last the weights are gone
        record = {"plan": asdict(plan)}
        run.written(tmp_path / f"{plan.name}.json", record)
    exact = [to_numpy(member("window", seed).state_dict()) for seed in (1, 2)]
    for folder_, name, weights in (
        (tmp_path / "weights", "window", rounded(exact[0])),
        (tmp_path / "exact", second.name, exact[1]),
    ):
        folder_.mkdir()
        save_safetensors(folder_ / f"{name}.safetensors", weights)
    note(tmp_path / "weights", "window.safetensors")
    try:
        equal_bytes.main()
        record = json.loads((folder / "bytes.json").read_text(encoding="utf-8"))
        found = record["points"]
        assert [(p["seed"], p["k_bits"]) for p in found] == [(0, 32), (0, 16), (1, 32), (1, 16)]
        assert found[1]["bytes_per_token"] == 64
        assert all(3 < p["excess"]["nats"] < 6 for p in found)  # nothing is learned
        assert {"machine", "versions", "date", "command"} <= record.keys()
        wide, narrow = quoted[KEY]["points"]
        assert (wide["seeds"], narrow["seeds"], narrow["k_bits"]) == (2, 2, 16)
        nats = [found[i]["excess"]["nats"] for i in (1, 3)]
        assert narrow["excess"][0] == pytest.approx(np.mean(nats), rel=1e-3)
        assert narrow["excess"][1] == pytest.approx(np.std(nats, ddof=1), rel=1e-3)
        measured_now = []
        monkeypatch.setattr(equal_bytes, "measured", lambda *a, **k: measured_now.append(a))
        (tmp_path / f"exact/{second.name}.safetensors").unlink()  # what it gave stands
        equal_bytes.main()
        assert not measured_now
        assert json.loads((folder / "bytes.json").read_text(encoding="utf-8"))["points"] == found
        said = capsys.readouterr().out.splitlines()
        gone = "[bytes] mqa-2x64-s2: its weights are not here, and it has no points: left out"
        assert said.count(gone) == 2
        # Of another number of rows: what the lost weights gave is neither mixed nor overwritten.
        stood, quotes = (folder / "bytes.json").read_bytes(), dict(quoted)
        monkeypatch.setattr(equal_bytes, "measured", measured)
        monkeypatch.setattr("sys.argv", ["bytes", "--rows", "5"])
        equal_bytes.main()
        said = capsys.readouterr().out.splitlines()
        assert said[0].startswith("[bytes] bytes.json holds points of 4 rows and stays as it is: ")
        left = "[bytes] window-2x64-s1: its weights are not here, and its points are of 4 rows"
        assert f"{left}: left out" in said
        assert (folder / "bytes.json").read_bytes() == stood
        assert quoted == quotes
        beside = json.loads((folder / "bytes-5-rows.json").read_text(encoding="utf-8"))["points"]
        assert [(p["seed"], p["rows"]) for p in beside] == [(0, 5), (0, 5)]
    finally:
        for name in ("bytes.json", "bytes-5-rows.json"):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()
