"""A trained member goes on as another: what it begins as, and that a step can be taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mini_attn.config import PositionInterpolation
from mini_attn.stories import load, sample_rows
from mini_attn.stories.members import LONGEST
from training import after


@pytest.mark.parametrize("heads", [1, 2])
def test_pooled_heads_are_means(heads: int) -> None:
    state, own = after.pooled(heads).state_dict(), load("mha", backend="torch").state_dict()
    assert state["embed_tokens.weight"].equal(own["embed_tokens.weight"])
    for name in ("layers.0.self_attn.k_proj.weight", "layers.1.self_attn.v_proj.weight"):
        means = own[name].reshape(heads, 4 // heads, 16, 64).mean(1).reshape(heads * 16, 64)
        torch.testing.assert_close(state[name], means)


def test_a_stretch_changes_positions_and_nothing_else() -> None:
    rows = torch.from_numpy(sample_rows(2, 40, seed=1))
    with torch.inference_mode():
        before = load("mha", backend="torch")(rows)
        torch.testing.assert_close(after.stretched(None)(rows), before)
        scaled = after.stretched(PositionInterpolation(4.0))(rows)
        assert (
            after.stretched(None)(torch.zeros(1, 4 * LONGEST, dtype=torch.int64)).isfinite().all()
        )
    assert float((scaled - before).abs().max()) > 0.1


@pytest.mark.parametrize("name", ["pooled-2", "stretched-yarn"])
def test_it_is_trained_on(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(after, "STEPS", (0, 3))
    monkeypatch.setattr(after, "CACHE", tmp_path)
    monkeypatch.setattr("training.data.BLOCK", 16)
    monkeypatch.setattr(after, "measured", lambda model, **sizes: sizes)
    change = after.CHANGES[name]
    looks = after.trained_on(change, seed=0)
    assert [look["step"] for look in looks] == [0, 3]
    assert all(look["measured"]["length"] == change.length for look in looks)
    if change.length > LONGEST:
        first, last = (np.array(look["by_position"]) for look in looks)
        assert len(first) == change.length // after.BIN
        assert np.isfinite(last).all()
        assert (first != last).all()


def test_what_a_stop_leaves_is_not_done_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[str, int]] = []

    def look(change: after.Change, seed: int) -> list[dict[str, Any]]:
        if len(asked) == 4:
            raise KeyboardInterrupt
        asked.append((change.title, seed))
        nats = {"nats": float(seed)}
        seen = {"step": 0, "measured": {"stories": {"loss": nats}, "copying": nats}}
        return [seen | ({"by_position": [1.0, 2.0 * seed]} if change.length > LONGEST else {})]

    monkeypatch.setattr(after, "RESULTS", tmp_path)
    monkeypatch.setattr(after, "trained_on", look)
    with pytest.raises(KeyboardInterrupt):
        after.main()
    assert len(json.loads((tmp_path / "after.json").read_text())["changes"]) == 2
    before, asked = asked, []
    monkeypatch.setattr(after, "SEEDS", (0, 1))
    with pytest.raises(KeyboardInterrupt):
        after.main()
    assert before[3] == ("key/value heads pooled to one", 0)
    assert asked[0] == ("key/value heads pooled to one", 1)


def test_what_the_chapters_quote_is_a_mean_with_its_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def look(change: after.Change, seed: int) -> list[dict[str, Any]]:
        found = []
        for step in (0, 5):
            nats = {"nats": float(seed + step)}
            seen = {"step": step, "measured": {"stories": {"loss": nats}, "copying": nats}}
            found.append(seen | {"by_position": [1.0, 2.0 * seed]})
        return found

    quoted: dict[str, Any] = {}
    monkeypatch.setattr(after, "RESULTS", tmp_path)
    monkeypatch.setattr(after, "trained_on", look)
    monkeypatch.setattr(after, "look", lambda *_: look(after.CHANGES["pooled-2"], 1)[0])
    monkeypatch.setattr(after, "quote", quoted.__setitem__)
    after.main()
    assert set(quoted) == set(after.QUOTED)
    record = quoted["rope-scaling/trained-on"]
    assert {"machine", "versions", "date", "command"} <= set(record)
    told = record["changes"]["stretched-yarn"]
    assert told["steps"] == [0, 5]
    assert told["seeds"] == 3
    assert told["stories"] == told["copying"] == [[1, 0, 2], [6, 5, 7]]
    assert told["by_position"] == [[1, 2], [1, 2]]
    assert record["from_the_start"]["gqa"] == {"stories": 1, "copying": 1}
    assert "by_position" not in quoted["mqa-gqa/trained-on"]["changes"]["pooled-2"]
