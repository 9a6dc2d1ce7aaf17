"""The language as data: JavaScript that knows nothing else reads it as Python does."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mini_attn import stories
from mini_attn.stories.data import language
from mini_attn.widgets.data import FOLDER
from tests.javascript import run

SCRIPT = """
const language = living.openLanguage(input.language);
const asked = (ids) => {
  const reading = living.reader(language, { kind: "stories" });
  return ids.map((word) => (reading.step(word), reading.asked()));
};
return input.given.map(({ ids, options }) => ({
  row: living.rowProbabilities(language, ids, options),
  next: living.nextProbabilities(language, ids, options),
  asked: asked(ids),
}));
"""
CASES = [
    *((kind, 0.5, ids) for kind in ("mixture", "stories", "repeats")
      for ids in stories.sample_rows(3, 230, seed=21, kind=kind)),
    ("mixture", 0.2, stories.encode("<s> once upon a time")),
    ("mixture", 0.5, stories.encode("<s> once upon a ball")),
    ("stories", 0.5, stories.encode("<s> once upon a ball once <s> once")),
    ("repeats", 0.5, stories.encode("<s> a girl had one red bear by the a girl red")),
    ("repeats", 0.5, stories.encode("<s> a girl a")),
    ("repeats", 0.5, stories.encode("<s> a girl had one red bear by the a girl")),
    ("mixture", 0.5, stories.encode("the <s>")),
]  # fmt: skip


@pytest.fixture(scope="module")
def read():
    """What the script finds in each case."""
    given = [{"ids": ids.tolist(), "options": {"kind": kind, "share": share}}
             for kind, share, ids in CASES]  # fmt: skip
    data = {"language": json.loads((FOLDER / "stories.json").read_text()), "given": given}
    return run(SCRIPT, data, sources=["stories/reader.js"])


def test_every_chance_is_the_same(read):
    for (kind, share, ids), found in zip(CASES, read, strict=True):
        told = stories.row_probabilities(ids, kind=kind, share=share)
        np.testing.assert_allclose(found["row"], told, rtol=1e-11, atol=1e-15)
        following = stories.next_probabilities(ids, kind=kind, share=share)
        assert (found["next"] is None) == (following is None)
    assert sum(found["next"] is None for found in read) == 4


def test_the_same_places_are_asked(read):
    asked = 0
    for (_, _, ids), found in zip(CASES, read, strict=True):
        recall = stories.who_has(ids)
        answers = [None] * len(ids)
        for t, answer in zip(recall.positions.tolist(), recall.answers.tolist(), strict=True):
            answers[t] = answer
        assert found["asked"] == answers
        asked += len(recall.answers)
    assert asked > 20


def test_the_data_is_light():
    """A page carries it: every way once, chances in full."""
    text = json.dumps(language())
    assert json.loads(text) == language()
    assert len(text) < 200_000
