"""Fewer bits and fewer weights of trained members: what is changed, and what is told of it."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch

import mini_attn.torch as mt
from mini_attn.config import WEIGHT_FORMATS
from mini_attn.notebook import stored
from mini_attn.stories import load, sample_rows
from training import fewer


@pytest.fixture(scope="module")
def member() -> mt.Decoder:
    model: mt.Decoder = load("mha", backend="torch").eval()
    return model


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs and heads are scored on less than `make fewer` takes."""
    monkeypatch.setattr(fewer, "sample_rows", lambda *_: sample_rows(2, 64, fewer.SEEN))


def test_every_format_and_every_score_has_its_point(member: mt.Decoder) -> None:
    told = [point for point, _ in fewer.ways(member)]
    texts = [json.dumps(point) for point in told]
    assert len(set(texts)) == len(texts)
    formats = {(point["format"], point["embeddings"]) for point in told if "format" in point}
    assert formats == {(name, tables) for name in fewer.FORMATS for tables in (False, True)}
    assert WEIGHT_FORMATS.keys() <= fewer.FORMATS.keys()
    pruned = {(p["scores"], p["within"], p["share"]) for p in told if p["way"] == "pruned"}
    assert len(pruned) == 4 * len(fewer.SHARES) + 2  # half, by 2:4 and 4:8 too, and 1:4
    heads = [point for point in told if point["way"] == "heads"]
    assert [len(point["off"]) for point in heads] == list(range(1, 8))
    assert heads[-1]["worth"] == sorted(heads[-1]["worth"])


def test_a_changed_member_is_what_is_told(member: mt.Decoder) -> None:
    rows = torch.from_numpy(sample_rows(2, 40, seed=1))
    before = {name: weight.clone() for name, weight in member.state_dict().items()}
    for told, begin in fewer.ways(member):
        name = "layers.1.mlp.down_proj.weight"
        if told["way"] == "pruned":
            gone = float((begin().state_dict()[name] == 0).float().mean())
            assert gone == pytest.approx(told["share"], abs=0.01)
        elif told["way"] == "heads":
            weight = begin().state_dict()["layers.0.self_attn.o_proj.weight"]
            off = [head for layer, head in told["off"] if layer == 0]
            zero = [h for h, head in enumerate(weight.chunk(4, dim=1)) if not head.any()]
            assert zero == sorted(off)
    for name, weight in member.state_dict().items():
        assert weight.equal(before[name])
    with torch.inference_mode():
        for _, begin in islice(fewer.ways(member), 2):  # as shipped, and in int8 again
            torch.testing.assert_close(begin()(rows), member(rows), atol=1e-5, rtol=1e-5)


def test_bits_are_counted(member: mt.Decoder) -> None:
    assert fewer.bits_of(member, embeddings=True) == 32
    for embeddings in (False, True):
        made = mt.quantize_weights(member, "mxfp4", embeddings=embeddings)
        assert fewer.bits_of(made, embeddings=embeddings) == 4.25
    made = mt.quantize_weights(member, "int8")
    wide = 64 * 256 * 2  # of 6 matrices in 2 layers two have other rows: 256 x 64 and 64 x 256
    numbers = 2 * (4 * 64 * 64 + wide)
    scales = 2 * (4 * 64 + 256 + 64)
    assert fewer.bits_of(made, embeddings=False) == pytest.approx(8 + 32 * scales / numbers)


def test_a_part_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two formats and two shares, measured on few rows: the order that everybody expects."""
    whole, calls = fewer.ways, []

    def wanted(told: dict[str, Any]) -> bool:
        if told["way"] == "format":
            return told["format"] in ("int8", "mxfp4") and not told["embeddings"]
        if told["way"] == "pruned":
            chosen: bool = told["scores"] == "wanda" and told["within"] == "matrix"
            return chosen and told["share"] in (0.1, 0.9)
        return bool(told["way"] == "shipped")

    def some(model: mt.Decoder) -> Any:
        return (way for way in whole(model) if wanted(way[0]))

    def counted(*args: Any, **options: Any) -> dict[str, Any]:
        calls.append(args)
        return fewer_measured(*args, **options)

    fewer_measured = fewer.measured
    monkeypatch.setattr(fewer, "ways", some)
    monkeypatch.setattr(fewer, "measured", counted)
    quoted: dict[str, Any] = {}
    monkeypatch.setattr(fewer, "quote", quoted.__setitem__)
    monkeypatch.setattr(fewer, "STORED", fewer.ROOT / ".cache" / f"{tmp_path.name}-fewer.json")
    monkeypatch.setattr("sys.argv", ["fewer", "--rows", "4", "--members", "mha"])
    try:
        fewer.main()
        record = json.loads(fewer.STORED.read_text(encoding="utf-8"))
        fewer.main()  # nothing is measured twice
    finally:
        fewer.STORED.unlink(missing_ok=True)
    assert len(calls) == len(record["points"]) == 5
    assert {"machine", "versions", "date", "command"} <= record.keys()
    assert quoted["bits/fewer"]["points"] == fewer.summary(record["points"])
    shipped, eight, four, little, most = record["points"]
    excess = [p["excess"]["nats"] for p in (shipped, eight, four, little, most)]
    assert excess[1] == pytest.approx(excess[0], abs=1e-5)
    assert excess[0] < excess[2] < excess[4]
    assert excess[3] < excess[4]
    assert shipped["stored_bytes"] > eight["stored_bytes"] > four["stored_bytes"]


def test_what_the_chapter_quotes_is_what_was_measured() -> None:
    record = json.loads((fewer.RESULTS / "fewer.json").read_text(encoding="utf-8"))
    told = stored(fewer.KEY)
    assert told["points"] == fewer.summary(record["points"])
    assert (told["command"], told["rows"]) == ("make fewer", 128)


def test_what_is_stored_is_whole() -> None:
    """The committed record has every way of every member, once, with the same shipped weights."""
    record = json.loads((fewer.RESULTS / "fewer.json").read_text(encoding="utf-8"))
    assert {point["member"] for point in record["points"]} == set(fewer.MEMBERS)
    for member in fewer.MEMBERS:
        own = [point for point in record["points"] if point["member"] == member]
        expected = [told for told, _ in fewer.ways(load(member, backend="torch").eval())]
        assert len(own) == len(expected)
        assert len({point["weights"] for point in own}) == 1
        for told in expected:
            exact = {key: value for key, value in told.items() if key not in ("worth", "off")}
            assert any(exact.items() <= point.items() for point in own), told
