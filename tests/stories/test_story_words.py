"""Words and numbers, the grammar's data, and what the doors refuse."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn import stories
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.stories.grammar import PRONOUNS, REGISTERS, STATES, Line, Slot, parse
from mini_attn.stories.machine import Edge, machine, nodes_of
from mini_attn.stories.vocabulary import CLASSES, START, WORDS, decode, encode

NODES = nodes_of(STATES)


def test_the_vocabulary_is_small_and_each_word_is_there_once():
    assert 90 <= len(WORDS) <= 128
    assert len(set(WORDS)) == len(WORDS)
    assert WORDS[0] == START
    assert len(CLASSES["girl"]) == len(CLASSES["boy"]) == 8
    assert len(CLASSES["object"]) == 16


def test_the_grammar_says_every_word_and_no_other():
    slots = [slot for lines in STATES.values() for line in lines for slot in parse(line.text)]
    said = {slot.word for slot in slots if slot.word}
    said |= {word for slot in slots for word in CLASSES.get(slot.drawn, ())}
    said |= {word for slot in slots if slot.form for word in PRONOUNS[slot.form].values()}
    assert said == set(WORDS)
    assert {slot.register for slot in slots} <= set(REGISTERS)


def test_every_state_is_reached_and_leads_on():
    named = {line.then for lines in STATES.values() for line in lines}
    assert named == set(STATES)
    assert all(line.weight > 0 for lines in STATES.values() for line in lines)


@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_texts_come_back(words):
    ids = encode(" ".join(words))
    assert ids.dtype == np.int64
    assert decode(ids) == " ".join(words)
    assert [WORDS[i] for i in ids] == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("once upno a time", "word 1 of the text, 'upno'.*near ones: upon"),
        ("Tom had", "'Tom'.*near ones: tom"),
        ("the end.", "'end.'.*near ones: end"),
        ("xylophone", "nothing comes near"),
    ],
)
def test_an_unknown_word_is_named_with_near_ones(text, words):
    with pytest.raises(ConfigError, match=words):
        encode(text)


@pytest.mark.parametrize("text", [None, 3, b"once", ["once"]])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(DTypeError, match="text must be a str"):
        encode(text)


BAD_IDS = [
    ([], ShapeError, "at least 1 word"),
    (3, ShapeError, "ids must be"),
    ([[[0]]], ShapeError, "ids must be"),
    ([[0], [0, 1]], ShapeError, "ids must be"),
    ([0.0, 1.0], DTypeError, "integers, got float64"),
    ([0, True, 2.5], DTypeError, "integers"),
    ([True, False], DTypeError, "integers, got bool"),
    (["<s>"], DTypeError, "integers"),
    ([None], DTypeError, "integers"),
    ([0, len(WORDS)], ConfigError, f"the one at 1 is {len(WORDS)}"),
    ([0, 5, -1], ConfigError, "the one at 2 is -1"),
]


@pytest.mark.parametrize("take", ["next_probabilities", "row_probabilities", "who_has"])
@pytest.mark.parametrize(("ids", "error", "words"), BAD_IDS)
def test_bad_ids_are_refused(take, ids, error, words):
    with pytest.raises(error, match=words):
        getattr(stories, take)(ids)


def test_a_wrong_id_among_rows_is_named_by_row_and_place():
    with pytest.raises(ConfigError, match=r"the one at \(1, 0\) is 999"):
        stories.row_probabilities([[0, 1], [999, 1]])
    with pytest.raises(ShapeError, match=r"\(length\)"):
        stories.next_probabilities([[0, 1]])
    with pytest.raises(ShapeError, match=r"\(length\)"):
        decode([[0, 1]])
    assert decode([]) == ""


BAD_NUMBERS = [
    (stories.sample_rows, {"n": 0, "length": 8, "seed": 0}, "n must be at least 1"),
    (stories.sample_rows, {"n": 1, "length": 0, "seed": 0}, "length must be at least 1"),
    (stories.sample_rows, {"n": 1, "length": 8, "seed": -1}, "seed must be at least 0"),
    (stories.sample_rows, {"n": 1, "length": 8, "seed": 0.0}, "seed must be a whole number"),
    (stories.sample_rows, {"n": 2.0, "length": 8, "seed": 0}, "n must be a whole number"),
    (stories.sample_rows, {"n": 1, "length": 8, "seed": 0, "kind": "poems"}, "kind must be one of"),
    (stories.sample_rows, {"n": 1, "length": 8, "seed": 0, "share": 1.5}, "share must be from 0"),
    (stories.sample_story, {"seed": -2}, "seed must be at least 0"),
    (stories.floor, {"rows": 1}, "rows must be at least 2"),
    (stories.floor, {"length": 1}, "length must be at least 2"),
    (stories.floor, {"seed": -1}, "seed must be at least 0"),
    (stories.floor, {"kind": "story"}, "kind must be one of"),
    (stories.floor, {"share": float("nan")}, "share must be a finite number"),
    (stories.next_probabilities, {"prefix": [0], "share": -0.1}, "share must be from 0"),
    (stories.row_probabilities, {"ids": [0], "kind": None}, "kind must be one of"),
]


@pytest.mark.parametrize(("function", "given", "words"), BAD_NUMBERS)
def test_bad_numbers_and_kinds_are_refused(function, given, words):
    with pytest.raises(ConfigError, match=words):
        function(**given)


def alike(one: Slot, two: Slot) -> bool:
    """Whether one word could be said by both slots."""
    pronouns = {word for form in PRONOUNS.values() for word in form.values()}
    words = [{s.word} if s.word else set(CLASSES.get(s.drawn, ())) for s in (one, two)]
    return (
        bool(words[0] & words[1])
        or "A" in (one.register, two.register)  # H, O or T under another name
        or (bool(one.form or two.form) and {one.word, two.word} <= pronouns | {""})
        or (not any(words) and one.register == two.register)
    )


def ambiguous(nodes: list[list[Edge]]) -> list[tuple[Slot, ...]]:
    """Pairs of ways from a node that one word could take."""
    slots = ([edge.slot for edge in node] for node in nodes)
    return [pair for node in slots for pair in itertools.combinations(node, 2) if alike(*pair)]


def test_one_word_never_leads_two_ways():
    assert ambiguous(NODES) == []


@pytest.mark.parametrize(
    "pair",
    [
        (Slot(register="H"), Slot(register="H", asked=True)),
        (Slot(register="H"), Slot(register="A")),
        (Slot(register="H", drawn="name"), Slot(register="O", drawn="girl")),
        (Slot(register="H", form="she"), Slot(register="O", form="she")),
        (Slot(register="H", form="she"), Slot(word="he")),
        (Slot(word="ball"), Slot(register="X", drawn="object")),
        (Slot(word="ball"), Slot(word="ball", asked=True)),
    ],
)
def test_the_check_of_ways_can_fail(pair):
    assert len(ambiguous([[Edge(slot, "", 0.5, 0) for slot in pair]])) == 1


def test_what_is_asked_has_one_answer():
    asked = [node for node in NODES if any(edge.slot.asked for edge in node)]
    assert len(asked) > 20
    assert all(len(node) == 1 for node in asked)


def path(best) -> int:
    """Words of the shortest or the longest story, `START` with them."""

    @cache
    def rest(node: int) -> int:
        return best(1 + (rest(edge.then) if edge.then else 0) for edge in NODES[node])

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        return rest(0)
    finally:
        sys.setrecursionlimit(limit)


def test_every_story_fits_256_words():
    assert path(min) >= 30
    assert path(max) <= 256


def test_lines_that_begin_alike_share_nodes():
    """Two lines end alike in two states: the word after tells which it was."""
    lines = {
        "start": (Line(1, "a {X:place} .", "one"), Line(3, "a {X:place} .", "two")),
        "one": (Line(1, "he", "start"),),
        "two": (Line(1, "", "one"), Line(2, "she", "start", "X=")),
    }
    first, second, third, last = nodes_of(lines)
    assert [(e.slot.word, e.weight) for e in first] == [("a", 1.0)]
    assert [e.slot.drawn for e in second] == ["place"]
    assert [e.slot.word for e in third] == ["."]
    assert [(e.slot.word, e.weight, e.moves) for e in last] == [
        ("he", pytest.approx(0.5), ""),
        ("she", pytest.approx(0.5), "X="),
    ]


def test_the_machine_is_its_nodes():
    m = machine()
    assert m.weight.shape[0] == len(NODES) + 1
    np.testing.assert_allclose(m.weight[:-1].sum(axis=1), 1, rtol=0, atol=1e-15)
    assert not m.weight[-1].any()
    assert (m.then[m.weight > 0] < len(NODES)).all()


DIGEST = """
import hashlib
from mini_attn import stories
ids = stories.sample_rows(6, 200, seed=5)
found = stories.row_probabilities(ids), *stories.who_has(ids), stories.floor(rows=4)[2]
print(hashlib.sha256(ids.tobytes() + b"".join(a.tobytes() for a in found)).hexdigest())
print(hash("lily"))
"""


def test_all_is_the_same_in_every_process():
    outputs = []
    for salt in ("1", "2"):
        env = os.environ | {"PYTHONHASHSEED": salt}
        done = subprocess.run(
            [sys.executable, "-c", DIGEST], env=env, capture_output=True, text=True, check=True
        )
        outputs.append(done.stdout.split())
    assert outputs[0][0] == outputs[1][0]
    assert outputs[0][1] != outputs[1][1]  # the two processes do differ
