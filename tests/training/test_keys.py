"""A budget of keys of trained members: what is read, what is measured, and what is stored of it."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch

import mini_attn.torch as mt
from mini_attn.stories import load, sample_rows
from tools import ROOT
from training import holding, keys
from training.holding import Holding, Stream, after_prompt, masked
from training.measure import measured
from training.plan import Plan
from training.run import RESULTS

MEMBERS = ("mha", "gqa", "sinks")


@pytest.fixture(scope="module", params=MEMBERS)
def member(request: pytest.FixtureRequest) -> mt.Decoder:
    model: mt.Decoder = load(request.param, backend="torch").eval()
    return model


@pytest.fixture(scope="module")
def rows() -> torch.Tensor:
    return torch.from_numpy(sample_rows(2, 64, 5))


@pytest.mark.parametrize("policy", ["recent", "first"])
def test_a_mask_reads_what_a_cache_that_forgets_has_left(
    member: mt.Decoder, rows: torch.Tensor, policy: str
) -> None:
    rule = Holding(policy, 12)
    with torch.inference_mode():
        held = holding.evicting(member, rule, len(rows))
        steps = [member(word, caches=held) for word in torch.split(rows, 1, dim=1)]
        torch.testing.assert_close(
            Stream(member, rule)(rows), torch.cat(steps, dim=1), atol=2e-3, rtol=0
        )
        prompt = after_prompt(member, rule, 40)(rows)
        torch.testing.assert_close(masked(member, rule, 40)(rows), prompt, atol=2e-3, rtol=0)


@pytest.mark.parametrize("policy", ["recent", "first", "heavy", "random", "best", "observed"])
def test_with_room_for_all_nothing_changes(
    member: mt.Decoder, rows: torch.Tensor, policy: str
) -> None:
    rule = Holding(policy, 64)
    with torch.inference_mode():
        whole = member(rows)
        read = after_prompt(member, rule, 40) if policy == "observed" else Stream(member, rule)
        torch.testing.assert_close(read(rows), whole, atol=2e-3, rtol=0)


def test_each_rule_reads_its_budget_and_the_word_itself() -> None:
    scores = torch.randn(1, 2, 30, 30, generator=torch.Generator().manual_seed(0))
    for policy in ("recent", "first", "random", "best"):
        mask = holding.mask_of(Holding(policy, 8), scores)
        read = mask.expand(1, 2, 30, 30).sum(dim=-1)
        assert (read == torch.arange(1, 31).clamp(max=9)).all(), policy
    best = holding.mask_of(Holding("best", 8), scores)[0, 0, 29]
    largest = scores[0, 0, 29, :29].topk(8).indices.sort().values
    assert best.nonzero()[:-1, 0].tolist() == largest.tolist()
    lots = holding.mask_of(Holding("random", 8), scores)
    gone = ~lots & (torch.arange(30)[:, None] >= torch.arange(30))
    assert (gone[:, :, 1:] >= gone[:, :, :-1]).all()  # who has left does not come back


def test_words_are_counted_from_a_position_on() -> None:
    model = load("mha", backend="torch").eval()
    part, whole = (measured(model, rows=4, since=since) for since in (128, 0))
    assert part["copying"]["words"] < whole["copying"]["words"]
    assert 0 < part["who_has"]["asked"] < whole["who_has"]["asked"]


def test_a_part_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Three points on few rows; nothing is measured twice, and the summary is quoted."""
    calls, quoted, every = [], [], keys.holdings

    def some(name: str) -> Any:
        return islice(every(name), 3) if name == "mha" else iter(())

    def counted(*args: Any, **options: Any) -> dict[str, Any]:
        calls.append(args)
        return measured(*args, **options)

    monkeypatch.setattr(keys, "holdings", some)
    monkeypatch.setattr(keys, "measured", counted)
    monkeypatch.setattr(keys, "quote", lambda key, record: quoted.append((key, record)))
    monkeypatch.setattr(keys, "plans", lambda: [Plan("mha"), Plan("mha", seed=99)])
    monkeypatch.setattr(keys, "STORED", ROOT / ".cache" / f"{tmp_path.name}-keys.json")
    monkeypatch.setattr("sys.argv", ["keys", "--rows", "4"])
    try:
        keys.main()
        record = json.loads(keys.STORED.read_text(encoding="utf-8"))
        keys.main()
    finally:
        keys.STORED.unlink(missing_ok=True)
    assert len(calls) == len(record["points"]) == 3
    assert {"machine", "versions", "date", "command", "prompt"} <= record.keys()
    whole, newest, first = (point["excess"]["nats"] for point in record["points"])
    assert whole < min(newest, first)
    assert [key for key, _ in quoted] == [keys.KEY] * 2
    assert [p["seeds"] for p in quoted[0][1]["points"]] == [1, 1, 1]


def test_what_is_stored_is_whole() -> None:
    """Every way of every member, once for each seed; the package quotes the summary of it."""
    record = json.loads((RESULTS / "keys.json").read_text(encoding="utf-8"))
    assert {point["member"] for point in record["points"]} == set(keys.FAMILY)
    seeds = {(point["member"], point["seed"]) for point in record["points"]}
    for name, seed in seeds:
        own = [p for p in record["points"] if (p["member"], p["seed"]) == (name, seed)]
        told = [{"reading": reading, **rule.told()} for reading, rule in keys.holdings(name)]
        assert len(own) == len(told)
        assert len({point["weights"] for point in own}) == 1
        assert all(any(one.items() <= point.items() for point in own) for one in told)
    quoted = json.loads((ROOT / "mini_attn/stored.json").read_text(encoding="utf-8"))[keys.KEY]
    assert quoted["points"] == json.loads(json.dumps(keys.summary(record["points"])))
