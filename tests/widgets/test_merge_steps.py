"""The merges of the picture against the package's tokenizer, and how it's handled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mini_attn.example.prose import PROSE, SENTENCE
from mini_attn.tokens import BytePairs, cut, learn_merges
from mini_attn.widgets.base import load_schema
from tests.javascript import run

SCHEMA = load_schema("merge_steps")
DEFAULT = {key: entry["default"] for key, entry in SCHEMA.items()}
MOST = SCHEMA["merges"]["max"]
LEARNED = learn_merges(PROSE, MOST)
LETTERS = [
    *"aetn  ,.'’\n\t0512éßñΩжשक人の🙂\u200d\u00ad\u00a0\u2003\u0085\u0301²Ⅷ_-<&",
    "tion",
    " the",
    "'s",
]


def _texts() -> list[str]:
    """Prose, ten languages, and letters of every kind next to each other."""
    rng = np.random.default_rng(34)
    drawn = ["".join(rng.choice(LETTERS, 60)) for _ in range(60)]
    return ["", " ", "a", DEFAULT["text"], PROSE[1000:1160], *SENTENCE.values(), *drawn]


STATES: list[dict[str, Any]] = [
    {"text": text, "merges": merges, "piece": 2}
    for text in _texts()
    for merges in (0, 28, 107, MOST)
]


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """What JavaScript computes in every state."""
    return run("return input.map(living.registry.merge_steps.compute);", STATES)


def test_tokens_are_the_packages(results: list[dict[str, Any]]) -> None:
    """Pieces and ids of any text, with few merges and with all."""
    coders = {n: BytePairs.from_merges(LEARNED[:n]) for n in (0, 28, 107, MOST)}
    for state, result in zip(STATES, results, strict=True):
        assert result["words"] == cut(state["text"])
        ids = coders[state["merges"]].encode(state["text"])
        assert [token["id"] for token in result["tokens"]] == ids
        assert result["bytes"] == len(state["text"].encode())


def test_a_word_gets_there_as_the_package_says(results: list[dict[str, Any]]) -> None:
    coder = BytePairs.from_merges(LEARNED)
    for result in results:
        steps = coder.merge_steps(result["word"])
        ranks = [-1 if rank is None else rank for _, rank in steps]
        assert [step["rank"] for step in result["steps"]] == ranks
        shown = [[coder.token_bytes(i) for i in step["ids"]] for step in result["steps"]]
        assert shown == [pieces for pieces, _ in steps]


def test_attention_becomes_one_token_with_its_space_alone() -> None:
    """What the chapter shows: merge 107, and two tokens without the space."""
    body = """
      const { compute, describe } = living.registry.merge_steps;
      return input.map((merges) => {
        const result = compute({ text: "attention, attention", merges, piece: 2 });
        return [result.tokens.map(({ id }) => id), describe(result)];
      });"""
    before, after = run(body, [106, 107])
    assert (len(before[0]), len(after[0])) == (5, 4)
    assert after[0] == BytePairs.from_merges(LEARNED[:107]).encode("attention, attention")
    assert "“␣attention” is 1 token, and “attention” is 2." in after[1]


def test_buttons_go_from_one_merge_of_the_text_to_the_next() -> None:
    body = """
      const { actions, compute } = living.registry.merge_steps;
      const view = { state: input, said: null };
      view.write = (state) => { view.state = state; };
      view.complain = (words) => { view.said = words; };
      const seen = [];
      while (!view.said) { actions.next(view); seen.push(view.state.merges); }
      actions.undo(view);
      const back = view.state.merges;
      actions.all(view);
      return [seen, back, view.state.merges, compute(view.state).next];"""
    seen, back, last, none = run(body, {"text": " attention", "merges": 0, "piece": 0})
    coder = BytePairs.from_merges(LEARNED)
    wanted = [rank + 1 for _, rank in coder.merge_steps(" attention") if rank is not None]
    assert seen == [*wanted, wanted[-1]]  # and then there is no other
    assert (back, last, none) == (wanted[-1] - 1, MOST, None)


def test_parts_of_the_picture_choose_a_word_and_a_merge() -> None:
    body = """
      const { choose, compute, draw, explain } = living.registry.merge_steps;
      const result = compute(input);
      return [choose(result, input, "token-0").piece, choose(result, input, "step-1").merges,
        choose(result, input, "step-0").merges, choose(result, input, "twin"),
        explain(result, "token-0").text, explain(result, "step-1").text,
        draw(compute({ ...input, text: "<b>&" }), { live: true })];"""
    piece, merges, start, none, token, step, markup = run(body, DEFAULT)
    assert (piece, merges, start, none) == (0, 2, 0, None)
    assert "It's a single byte" in token
    assert "Merge 2: ␣ + a → ␣a" in step
    assert "<b>" not in markup
