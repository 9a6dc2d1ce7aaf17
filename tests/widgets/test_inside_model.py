"""The view into a trained decoder: its numbers against NumPy's, its words, what it refuses."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn.errors import WidgetStateError
from mini_attn.stories import START, WORDS, encode, family, next_probabilities, sample_rows
from mini_attn.stories.family import load, on_pages
from mini_attn.stories.members import LONGEST, MEMBERS
from mini_attn.widgets import InsideModel
from mini_attn.widgets.base import load_schema
from mini_attn.widgets.inside_data import inside_model
from mini_attn.widgets.model_data import model_data, model_script
from tests.javascript import run
from tests.sampling import sampled

SCHEMA = load_schema("inside_model")
START_STATE = {key: entry["default"] for key, entry in SCHEMA.items()}
HEADS = SCHEMA["head"]["values"]
OPEN = "for (const [name, data] of Object.entries(input.models)) living.decoders.put(name, data);"
PLAIN = """
  const plain = ({ maps, row, ...rest }) => ({
    ...rest, row: Array.from(row), maps: maps.map((rows) => rows.map((one) => Array.from(one))),
  });
  const { compute, describe, explain, draw } = living.registry.inside_model;
"""


def computed(states: list[dict[str, Any]], members: tuple[str, ...] = ("mha",)) -> list[Any]:
    """What the script makes of states, one after the other, as a reader goes through them."""
    body = OPEN + PLAIN + "return input.states.map((state) => plain(compute(state)));"
    models = {name: model_data(name) for name in members}
    return run(body, {"models": models, "states": [{**START_STATE, **s} for s in states]})


def wide(name: str, off: tuple[str, ...] = ()) -> ma.Decoder:
    """NumPy's decoder in float64; heads that are off add nothing."""
    small = load(name)
    model = ma.Decoder(small.config, dtype="float64")
    model.load_state_dict(small.state_dict())
    for head in off:
        layer, number = int(head[1]), int(head[3])
        weight = model.layers[layer].self_attn.o_proj.weight
        size = weight.shape[1] // 4
        weight[:, number * size : (number + 1) * size] = 0
    return model


def nats(name: str, ids: np.ndarray, off: tuple[str, ...] = ()) -> np.ndarray:
    """Minus the log-probability of every word after each, (seq, vocab_size)."""
    logits = wide(name, off)(ids[None])[0]
    return ma.logsumexp(logits)[:, None] - logits


def text_of(ids: np.ndarray) -> str:
    return " ".join(WORDS[i] for i in ids[1:])


ROWS = [sample_rows(1, n, seed=n, kind=kind)[0] for n, kind in
        ((37, "stories"), (80, "repeats"), (LONGEST, "mixture"), (2, "stories"))]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(on_pages(), lambda name: name.startswith("mla"), 2))
def test_numbers_are_numpys(name: str) -> None:
    """Every member that a page runs: what comes next, what a text costs, with heads on and off."""
    off = ("L0H1", "L1H2")
    switched = {head.lower(): head not in off for head in HEADS}
    texts = [text_of(row) for row in ROWS]
    states = [{"member": name, "text": t, "at": at} for t in texts for at in (255, 0, 9)]
    states += [{**state, **switched} for state in states]
    encoded = {text: encode(f"{START} {text}") for text in texts}
    costs = {
        (t, heads): nats(name, ids, heads) for t, ids in encoded.items() for heads in ((), off)
    }
    for state, got in zip(states, computed(states, (name,)), strict=True):
        ids = encoded[state["text"]]
        at = min(state["at"], ids.size - 1)
        assert (got["at"], got["ids"]) == (at, ids.tolist())
        all_on = costs[state["text"], ()]
        expected = costs[state["text"], off if "l0h1" in state else ()]
        steps = np.arange(ids.size - 1)
        np.testing.assert_allclose(got["costs"], expected[steps, ids[1:]], atol=1e-9)
        np.testing.assert_allclose(got["whole"], all_on[steps, ids[1:]].mean(), atol=1e-9)
        for bar in got["bars"]:
            np.testing.assert_allclose(bar["raw"], np.exp(-expected[at, bar["id"]]), atol=1e-9)


def test_the_truth_is_the_languages() -> None:
    states = [{"text": text_of(row), "at": at} for row in ROWS for at in (255, 0, 1, 30)]
    for state, got in zip(states, computed(states), strict=True):
        ids = encode(f"{START} {state['text']}")
        chances = next_probabilities(ids[: got["at"] + 1].tolist())
        assert got["isTrue"]
        for bar in got["bars"]:
            np.testing.assert_allclose(bar["true"], chances[bar["id"]], atol=1e-12)
        assert len(got["floors"]) == len(got["costs"])
        likely = np.maximum(np.exp(-nats("mha", ids)[got["at"]]), chances)
        shown = [max(bar["raw"], bar["true"]) for bar in got["bars"]]
        np.testing.assert_allclose(shown, np.sort(likely)[::-1][: len(shown)], atol=1e-9)
        positive = chances[chances > 0]
        np.testing.assert_allclose(got["least"], -(positive * np.log(positive)).sum(), atol=1e-9)


def test_what_comes_with_the_page_is_what_the_decoder_gives() -> None:
    """The first text needs no weights; with them it shows the same."""
    before = run(PLAIN + "return plain(compute(input));", START_STATE)
    (after,) = computed([{}])
    for key in ("ids", "drawn", "off", "isTrue", "floors"):
        assert before[key] == after[key], key
    assert [bar["word"] for bar in before["bars"]] == [bar["word"] for bar in after["bars"]]
    np.testing.assert_allclose(before["costs"], after["costs"], atol=1e-4)
    for key in ("raw", "share", "true"):
        one, other = ([bar[key] for bar in r["bars"]] for r in (before, after))
        np.testing.assert_allclose(one, other, atol=1e-4)
    for rows, others in zip(before["maps"], after["maps"], strict=True):
        for row, other in zip(rows, others, strict=True):
            np.testing.assert_allclose(row, other, atol=6e-4)
    assert before["bars"][0]["word"] == "tom" == before["drawn"]


def test_the_stored_pass_is_numpys() -> None:
    stored = inside_model()
    ids = encode(f"{START} {START_STATE['text']}")
    np.testing.assert_allclose(stored["nats"], nats("mha", ids)[-1], atol=1e-4)
    shown = {name: member.title for name, member in MEMBERS.items() if member.on_pages}
    assert stored["members"] == shown
    assert SCHEMA["member"]["values"] == list(shown)
    for rows in stored["maps"]:
        for row in rows:
            assert abs(sum(map(int, row.split())) - 1000) < len(row.split())


def test_a_text_goes_on_as_if_it_had_been_typed_at_once() -> None:
    """Word by word with a cache, back again, and another way on: as each alone."""
    text = text_of(ROWS[0])
    words = text.split()
    texts = [" ".join(words[:n]) for n in (0, 1, 2, 9, 10, 5, 6, 36)] + [
        " ".join([*words[:6], "the"])
    ]
    through = computed([{"text": t} for t in texts])
    for one, got in zip(texts, through, strict=True):
        (alone,) = computed([{"text": one}])
        np.testing.assert_allclose(got["costs"], alone["costs"], atol=1e-9)
        np.testing.assert_allclose(got["row"], alone["row"], atol=1e-9)
        assert got["floors"] == alone["floors"]


STEP = (
    OPEN
    + """
  const { compute, actions } = living.registry.inside_model;
  let state = input.state;
  const said = [];
  const view = {
    get state() { return state; }, model: null,
    write(next) { state = next; }, complain(words) { said.push(words); },
  };
  for (let i = 0; i < input.times; i++) actions[input.action](view);
  return { text: state.text, said, full: compute(state).full };"""
)


def stepped(action: str, times: int, **state: Any) -> Any:
    given = {"state": {**START_STATE, **state}, "action": action, "times": times}
    return run(STEP, {"models": {"mha": model_data("mha")}, **given})


def test_telling_on_is_the_same_each_time_and_follows_the_seed() -> None:
    first, again = (stepped("next", 30, text="once")["text"] for _ in range(2))
    assert first == again
    assert len(first.split()) == 31
    others = {stepped("next", 30, text="once", seed=seed)["text"] for seed in range(1, 6)}
    assert len(others) == 5
    sure = {stepped("next", 8, text="once", seed=s, top_p=0.05)["text"] for s in (1, 2, 3)}
    assert sure == {"once upon a time there was a " + "".join(sure).split()[7] + " named"}


def test_each_position_has_a_lot_of_its_own() -> None:
    """A drawn word says between which numbers its lot lies; no one number explains all words."""
    states = [{"text": text_of(ROWS[1]), "at": at, "temperature": 1.0} for at in range(1, 9)]
    per_word = nats("mha", encode(f"{START} {states[0]['text']}"))
    between = []
    for state, got in zip(states, computed(states), strict=True):
        sums = np.cumsum(np.exp(-per_word[state["at"]]))
        drawn = WORDS.index(got["drawn"])
        between.append((sums[drawn - 1] if drawn else 0.0, sums[drawn]))
    least, most = zip(*between, strict=True)
    assert max(least) > min(most)


def test_the_end_of_the_context_is_told() -> None:
    got = stepped("next", 5, text=text_of(ROWS[2][:-2]))
    assert len(got["text"].split()) == LONGEST - 1
    assert got["full"]
    assert got["said"] == [f"The text is full: there's room for {LONGEST} tokens."] * 3


def test_words_can_be_taken_back_down_to_none() -> None:
    assert stepped("fewer", 1, text="lily had a")["text"] == "lily had"
    assert stepped("fewer", 5, text="lily had a")["text"] == ""


def test_an_empty_text_is_a_text() -> None:
    (got,) = computed([{"text": ""}])
    assert got["words"] == [START]
    assert (got["mean"], got["at"], got["costs"]) == (None, 0, [])
    assert got["bars"][0]["word"] == "once"
    assert len(got["row"]) == 1


LINES = [
    ("", [], ""), ("  ", [], ""), ("<s>", [], ""), ("lily had a", ["lily", "had", "a"], ""),
    ("Lily had a ball.", ["lily", "had", "a", "ball", "."], ""), ("lily h", ["lily"], "h"),
    ("lily\n had  ba", ["lily", "had"], "ba"), ("<s> once", ["once"], ""),
]  # fmt: skip
WRONG = [
    ("lily had a bal ", "“bal”, word 4, is none of the 118 words of this language; perhaps"),
    ("lily had a dragon", "“dragon”, word 4, is none of the 118 words"),
    ("h lily", "“h”, word 1"),
    ("lily , tom", "“,”, word 2"),
    ("constructor", "“constructor”, word 1"),
    ("a " * 256, "the text has 256 words; with <s> the decoder has room for 255"),
]


def test_lines_are_read_and_refused_alike_in_both_languages() -> None:
    body = (
        "return input.map((text) => [living.lines.readLine(text), living.lines.refuse({ text })]);"
    )
    for (text, words, begun), (line, refused) in zip(
        LINES, run(body, [text for text, *_ in LINES]), strict=True
    ):
        assert [WORDS[i] for i in line["ids"]] == [START, *words], text
        assert (line["begun"], refused) == (begun, None), text
        assert InsideModel(text=text).text == text
    for (text, reason), (_, refused) in zip(WRONG, run(body, [t for t, _ in WRONG]), strict=True):
        assert reason in refused, refused
        with pytest.raises(WidgetStateError, match=r"none of the 118 words|text has 256 words"):
            InsideModel(text=text)


def test_near_words_are_named() -> None:
    near = run("return input.map(living.lines.near);", ["bal", "lilly", "gardn", "xyzzy"])
    assert near[0][0] == "ball"
    assert near[1:] == [["lily"], ["garden"], []]


def test_a_refused_text_changes_nothing() -> None:
    inside = InsideModel(text="lily had a")
    with pytest.raises(WidgetStateError, match="near ones: ball"):
        inside.text = "lily had a bal and"
    assert inside.text == "lily had a"


def test_a_begun_word_shows_its_endings() -> None:
    (got,) = computed([{"text": "lily had a re"}])
    assert (got["begun"], got["words"][-1]) == ("re", "a")
    assert [bar["word"] for bar in got["bars"]] == ["red"]


def said(state: dict[str, Any]) -> dict[str, Any]:
    body = (
        OPEN
        + PLAIN
        + """
      const result = compute(input.state);
      const markup = draw(result, { live: true });
      const ids = [...markup.matchAll(/data-id="([^"]+)"/g)].map((found) => found[1]);
      return { ids, sentence: describe(result),
               words: Object.fromEntries(ids.map((id) => [id, explain(result, id).text])) };"""
    )
    return run(body, {"models": {"mha": model_data("mha")}, "state": {**START_STATE, **state}})


def test_texts_carry_the_numbers() -> None:
    got = said({})
    ids = encode(f"{START} {START_STATE['text']}")
    chance = np.exp(-nats("mha", ids)[-1, WORDS.index("tom")])
    assert chance > 0.9
    assert "After “now” the decoder expects “tom”" in got["sentence"]
    assert "100%" in got["sentence"]
    assert f"t-{ids.size - 1}" in got["ids"]
    assert {f"h-{head}" for head in HEADS} <= set(got["ids"])
    assert "It begins every text" in got["words"]["t-0"]
    assert "Press it to append it to the text" in got["words"][f"b-{WORDS.index('tom')}"]


def test_outside_of_the_language_the_page_says_so() -> None:
    got = said({"text": "lily lily had upon"})
    assert (
        "No text of this language continues like this, but the decoder still answers."
        in got["sentence"]
    )
    (result,) = computed([{"text": "lily lily had upon"}])
    assert result["outside"] is not None
    assert not result["isTrue"]
    assert result["lowest"] is None
    assert all(bar["true"] is None for bar in result["bars"])
    assert "Here the text leaves the language" in got["words"][f"t-{result['outside']}"]


def test_a_head_that_is_off_is_compared() -> None:
    got = said({"l0h1": False})
    assert "With all heads on it costs" in got["sentence"]
    assert "It's off" in got["words"]["h-L0H1"]


# ---------------------------------------------------------------- how the weights come


def test_the_checksum_is_zlibs() -> None:
    """Base64 of other bytes, or the same in another order, has another sum."""
    texts = ["AAECAw==", "", "x" * 1000]
    body = "return [living.checksum(input), living.checksum([...input].reverse())];"
    got, other = run(body, texts, sources=["decoder/source.js"])
    assert got == zlib.crc32("".join(texts).encode()) != other


def test_a_members_script_is_its_data_and_their_checksum() -> None:
    script = model_script("mha")
    assert script.startswith('(globalThis.livingModels??={})["mha"]={')
    assert script.isascii()
    found = json.loads(script.partition("=")[2].partition("=")[2].removesuffix(";\n"))
    assert found["data"] == json.loads(json.dumps(model_data("mha")))
    numbers = "".join(tensor["base64"] for tensor in found["data"]["tensors"].values())
    assert found["check"] == zlib.crc32(numbers.encode())
    assert len(script) < 180_000


def test_weights_go_to_a_notebook_only_when_it_shows_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = InsideModel()
    inside.text = "once"
    assert inside._model == {}
    inside._repr_mimebundle_()
    assert inside._model == {"name": "mha", "data": model_data("mha")}
    monkeypatch.setattr(family, "FOLDER", tmp_path)
    inside.member = "gqa"  # what has not been trained is said, and nothing breaks
    assert inside._model["name"] == "gqa"
    assert "gqa has not been trained" in inside._model["error"]
    (tmp_path / "mqa.safetensors").write_bytes(b"no weights")
    inside.member = "mqa"
    assert inside._model["error"]
