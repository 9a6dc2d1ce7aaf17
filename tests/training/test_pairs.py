"""Pairs that a model has to hold: the rows ask what they say, and who knows is always right."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

import mini_attn.torch as mt
from mini_attn.notebook import stored
from mini_attn.stories import WORDS, row_probabilities, sample_rows, who_has
from mini_attn.stories.members import LONGEST, MEMBERS
from mini_attn.stories.vocabulary import CLASSES, encode
from training import pairs
from training.measure import SEED
from training.plan import Plan
from training.run import RESULTS


class Knowing(torch.nn.Module):
    """One who knows the language: its logits are the logarithms of the true chances."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Logits (rows, length, vocab)."""
        return torch.from_numpy(row_probabilities(rows.numpy())).log()


class Forgetful(torch.nn.Module):
    """One who says the word that followed the last time, if that was within a few words."""

    def __init__(self, reach: int) -> None:
        super().__init__()
        self.reach = reach

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Logits (rows, length, vocab)."""
        logits = torch.zeros(*rows.shape, len(WORDS))
        for i, row in enumerate(rows.tolist()):
            for t in range(len(row)):
                for before in range(max(0, t - self.reach), t):
                    if row[before] == row[t]:
                        logits[i, t, row[before + 1]] = 9
        return logits


def test_a_block_comes_again_whole_and_has_no_word_twice() -> None:
    for count in pairs.PAIRS:
        rows = pairs.blocks(3, count)
        assert rows.shape == (3, LONGEST)
        assert (rows[:, 0] == 0).all()
        assert (rows[:, 1 : LONGEST - count] == rows[:, 1 + count :]).all()
        assert all(len(set(row[1 : count + 1])) == count for row in rows)
        assert len({tuple(row) for row in rows}) == 3
        assert 3 * count < LONGEST


@pytest.mark.parametrize("count", [8, 60])
def test_who_knows_the_language_copies_every_word_that_is_counted(count: int) -> None:
    found = pairs.copied(Knowing(), 4, count)
    for name, words in (("first", count - 1), ("second", count)):
        assert found[name]["words"] == 4 * words
        assert found[name]["right"] == 1
        assert found[name]["nats"] == pytest.approx(0, abs=1e-9)


def test_who_keeps_fewer_pairs_than_a_block_has_copies_none() -> None:
    shares = {n: pairs.copied(Forgetful(24), 2, n)["first"]["right"] for n in (8, 24, 32)}
    assert shares == {8: 1, 24: 1, 32: 0}


def test_a_thing_changes_hands_as_the_story_says() -> None:
    story = (
        "<s> once upon a time there was a girl named sara . sara had a red ball . one day tom came "
        "to sara . sara gave the ball to tom . tom gave the ball to sara . now sara had the ball ."
    )
    rows = np.array([encode(story)])
    times = pairs.handed(rows)[0]
    words = story.split()
    first = words.index("gave")
    second = words.index("gave", first + 1)
    assert set(times[: first + 4]) == {0}
    assert times[second] == 1
    assert times[words.index("now")] == 2


def test_who_knows_the_language_answers_every_question() -> None:
    found = pairs.answered(Knowing(), 24)
    assert [point["handed"] for point in found] == list(range(pairs.HANDED + 1))
    assert {point["right"] for point in found} == {1}
    held = sample_rows(24, LONGEST, SEED, kind="stories")
    asked = who_has(held)
    people = np.isin(asked.answers, encode(" ".join(CLASSES["name"])))
    assert 0 < sum(point["asked"] for point in found) < people.sum()  # not who put it away


@pytest.mark.parametrize(("name", "layers"), [("mqa", 2), ("linear", 2), ("mamba2", 2)])
def test_bytes_are_those_of_the_caches(name: str, layers: int) -> None:
    model = mt.Decoder(MEMBERS[name].config(len(WORDS), layers))
    tail = 3 * 3 * 4 * 32 * 2 if name == "mamba2" else 0
    assert pairs.kept_bytes(model) == layers * (16_384 + tail)


def test_the_command_measures_each_member_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pairs, "STORED", RESULTS / "none-such.json")  # nothing is written
    monkeypatch.setattr(pairs, "PAIRS", (8, 84))
    chosen = [Plan("mqa"), Plan("gqa"), Plan("linear"), Plan("mqa", d_model=96), Plan("hybrid")]
    monkeypatch.setattr(pairs, "plans", lambda: chosen)
    model = mt.Decoder(MEMBERS["mqa"].config(len(WORDS), 1)).eval()
    monkeypatch.setattr("training.points.decoder_of", lambda plan: model)
    written: dict[str, Any] = {}
    monkeypatch.setattr("training.points.written", lambda path, record: written.update(record))
    quoted: dict[str, Any] = {}
    monkeypatch.setattr(pairs, "quote", quoted.__setitem__)
    monkeypatch.setattr(pairs, "trained", list)
    monkeypatch.setattr("sys.argv", ["pairs", "--rows", "4"])
    pairs.main()
    assert [point["member"] for point in written["points"]] == ["mqa", "linear"]
    for point in written["points"]:
        assert [block["pairs"] for block in point["blocks"]] == [8, 84]
        assert all(block["first"]["right"] < 0.3 for block in point["blocks"])  # nothing is learned
        assert all(entry["asked"] for entry in point["who"])
    assert {"machine", "versions", "command"} <= written.keys()
    told = quoted[pairs.KEY]["points"]
    assert [point["seeds"] for point in told] == [1, 1]
    assert told[0]["first"][0][0] == pytest.approx(
        written["points"][0]["blocks"][0]["first"]["right"], rel=1e-3
    )
    assert "2 points" in capsys.readouterr().out


def test_what_the_chapter_quotes_is_what_was_measured() -> None:
    record = json.loads(pairs.STORED.read_text(encoding="utf-8"))
    quoted = stored(pairs.KEY)
    assert json.loads(json.dumps(pairs.summary(record["points"]))) == quoted["points"]
    assert {point["rows"] for point in record["points"]} == {quoted["rows"]}
    for point in record["points"]:
        assert [block["pairs"] for block in point["blocks"]] == quoted["pairs"]
    assert json.loads(json.dumps(pairs.trained(pairs.family()))) == quoted["trained"]
