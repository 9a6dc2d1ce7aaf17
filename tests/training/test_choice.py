"""Other choices of a trained member: how many entries, and whose indexer."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

import mini_attn.torch as mt
from mini_attn.stories import WORDS, sample_rows
from mini_attn.stories.members import MEMBERS
from training import choice
from training.plan import Plan
from training.run import RESULTS

ROWS = torch.from_numpy(sample_rows(2, 80, seed=4))


def member() -> mt.Decoder:
    return mt.Decoder(MEMBERS["csa"].config(len(WORDS)), seed=1).eval()


def test_a_choice_is_the_members_own_or_an_untrained_ones() -> None:
    model, own = member(), MEMBERS["csa"].topk or 0
    with torch.inference_mode():
        out = model(ROWS)
        assert torch.equal(choice.choosing(model, own)(ROWS), out)
        assert not torch.equal(choice.choosing(model, own, trained=False)(ROWS), out)
        for topk in (1, 64):
            assert not torch.equal(choice.choosing(model, topk)(ROWS), out)
        whole = [choice.choosing(model, 64, trained=trained)(ROWS) for trained in (True, False)]
        assert torch.equal(*whole)  # who reads all chooses nothing


def test_the_command_measures_each_choice_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(choice, "STORED", RESULTS / "none-such.json")  # nothing is written
    monkeypatch.setattr(choice, "plans", lambda: [Plan("mha"), Plan("csa")])
    monkeypatch.setattr("training.points.decoder_of", lambda plan: member())
    written: dict[str, Any] = {}
    monkeypatch.setattr("training.points.written", lambda path, record: written.update(record))
    monkeypatch.setattr("sys.argv", ["choice", "--rows", "4"])
    choice.main()
    points = written["points"]
    told = [(point["indexer"], point["topk"]) for point in points]
    assert len(told) == len(set(told)) == 2 * len(choice.TOPKS) - 1
    assert {point["member"] for point in points} == {"csa"}
    assert json.dumps(points)
    assert "11 points" in capsys.readouterr().out
