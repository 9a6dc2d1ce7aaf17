"""Sampled rows, what they ask, and the floors."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest

from mini_attn import stories
from mini_attn.errors import ConfigError
from mini_attn.stories.sampling import PERIODS
from mini_attn.stories.vocabulary import CLASSES, START, WORDS, decode

NAMES, THINGS = "|".join(CLASSES["name"]), "|".join(CLASSES["object"])


def test_rows_are_the_same_for_a_seed_and_differ_between_seeds():
    rows = stories.sample_rows(4, 100, seed=9)
    np.testing.assert_array_equal(rows, stories.sample_rows(4, 100, seed=9))
    assert (rows != stories.sample_rows(4, 100, seed=10)).any(axis=1).all()
    assert len({tuple(row) for row in rows.tolist()}) == 4


def test_fewer_or_shorter_rows_are_the_beginning_of_more():
    rows = stories.sample_rows(5, 200, seed=2**40)
    np.testing.assert_array_equal(stories.sample_rows(2, 70, seed=2**40), rows[:2, :70])


def test_the_language_is_the_one_that_models_were_trained_on():
    """One row of each kind, word for word: a change of the grammar is a new language."""
    told = (
        "<s> once upon a time there was a girl named anna . anna had a yellow bell . one day anna"
    )
    assert decode(stories.sample_rows(1, 21, 0, kind="stories")[0]) == told
    told = "<s> too named it together map put was ben market"
    assert decode(stories.sample_rows(1, 10, 0, kind="repeats")[0]) == told
    every = stories.sample_rows(64, 256, 0)
    assert hashlib.sha256(every.astype("<i8").tobytes()).hexdigest()[:16] == "bbefdfe9ed4cee8c"


def test_the_share_of_stories_is_the_parameter():
    def told(share):
        rows = stories.sample_rows(2000, 3, seed=1, share=share)
        return sum(decode(row) == "<s> once upon" for row in rows)

    assert told(0) == 0
    assert told(1) == 2000
    for share in (0.5, 0.25):
        assert abs(told(share) - 2000 * share) < 4 * np.sqrt(2000 * share * (1 - share))


def test_repeats_are_one_block_again_and_again():
    rows = stories.sample_rows(3000, 200, seed=4, kind="repeats")
    assert (rows[:, 0] == 0).all()
    periods = np.array([row[2:].tolist().index(row[1]) + 1 for row in rows])
    for row, period in zip(rows[:, 1:], periods, strict=True):
        assert len({*row[:period].tolist()} - {0}) == period
        np.testing.assert_array_equal(row, np.resize(row[:period], 199))
    least, most = PERIODS
    assert (min(periods), max(periods)) == (least, most) == (8, 60)
    counts = np.bincount(periods)[least:]
    expected = len(periods) / (most + 1 - least)
    assert ((counts - expected) ** 2 / expected).sum() < 53 + 4 * np.sqrt(2 * 52)
    words = np.bincount(rows[:, 1:9].ravel(), minlength=len(WORDS))[1:]
    assert abs(((words - words.mean()) ** 2 / words.mean()).sum() - 117) < 4 * np.sqrt(2 * 117)


def test_a_story_is_whole():
    story = stories.sample_story(5)
    assert story.startswith("once upon a time there was a ")
    assert story.endswith(" . the end .")
    assert story.count("the end") == 1
    assert START not in story


def told_by_hand(text: str) -> list[tuple[int, str]]:
    """Places and answers of one story, from its sentences alone: who holds what, what was put."""
    holds: dict[str, str] = {}  # thing: who
    put: list[tuple[str, str, str]] = []
    found, at = [], 1
    for sentence in text.split(" . "):
        words = sentence.split()

        def ask(index: int, answer: str, at: int = at) -> None:
            found.append((at + index - 1, answer))

        if s := re.search(rf"({NAMES}) (?:had|found|came with) a \w+ ({THINGS})\b", sentence):
            holds[s[2]] = s[1]
        elif s := re.match(rf"({NAMES}) put a \w+ ({THINGS}) under a tree by the (\w+)", sentence):
            put.append(s.groups())
        elif s := re.match(rf"({NAMES}) gave the ({THINGS}) to ({NAMES})", sentence):
            assert holds[s[2]] == s[1]
            holds[s[2]] = s[3]
        elif s := re.match(rf"({NAMES}) took the ({THINGS}) from ({NAMES})", sentence):
            assert holds[s[2]] == s[3]
            holds[s[2]] = s[1]
        elif s := re.match(rf"then ({NAMES}) let ({NAMES}) have the ({THINGS})", sentence):
            assert holds[s[3]] == s[1]
            holds[s[3]] = s[2]
        elif s := re.match(rf"({NAMES}) gave (?:her|him) the ({THINGS}) for the", sentence):
            assert holds[s[2]] == s[1]
            holds = dict(zip(holds, reversed(holds.values()), strict=True))
        elif sentence == "then they swapped":
            holds = dict(zip(holds, reversed(holds.values()), strict=True))
        elif words[0] == "now":
            (thing,) = (x for x, who in holds.items() if who == words[1])
            assert words[4] == thing
            if "came with a" not in text:  # else either of two could be meant
                ask(1, words[1])
            ask(4, thing)
        elif words[:2] == ["at", "last"]:
            ((who, thing, place),) = put
            for index, answer in ((2, who), (7, place), (11, thing)):
                assert words[index] == answer
                ask(index, answer)
        at += len(words) + 1
    return found


def test_who_has_what_is_what_the_sentences_say():
    forms = set()
    for seed in range(120):
        text = stories.sample_story(seed)
        ids = stories.encode(f"{START} {text}")
        found = stories.who_has(ids)
        pairs = zip(found.positions.tolist(), decode(found.answers).split(), strict=True)
        assert list(pairs) == told_by_hand(text)
        np.testing.assert_array_equal(ids[found.positions + 1], found.answers)
        forms.add(("put a" in text, "came with" in text))
    assert forms == {(True, False), (False, True), (False, False)}


def test_answers_are_certain_and_their_distances_true():
    ids = stories.sample_rows(300, 256, seed=6)
    chances = stories.row_probabilities(ids, kind="stories")
    found = stories.who_has(ids)
    assert (chances[found.rows, found.positions, found.answers] == 1).all()
    assert (np.diff(found.rows * 256 + found.positions) > 0).all()
    for row, t, answer, ago in zip(*found, strict=True):
        before = ids[row, : t + 1].tolist()[::-1]
        assert before.index(answer) + 1 == ago


def test_what_was_put_away_is_found_16_to_200_words_later():
    ids = stories.sample_rows(1500, 256, seed=8, kind="stories")
    found = stories.who_has(ids)
    place = np.isin(found.answers, [WORDS.index(word) for word in CLASSES["place"]])
    ago = found.distances[place]
    assert len(ago) > 500
    assert ago.min() >= 16
    assert ago.max() <= 200
    assert (ago > 100).mean() > 0.2


def test_rows_of_repeats_ask_nothing():
    found = stories.who_has(stories.sample_rows(20, 128, seed=0, kind="repeats"))
    assert [len(part) for part in found] == [0, 0, 0, 0]


def test_a_floor_is_the_same_for_a_seed():
    one, two, other = (stories.floor(rows=20, length=64, seed=seed) for seed in (1, 1, 2))
    assert one[:2] == two[:2]
    assert one.nats != other.nats
    assert one.by_position.shape == (63,)
    assert one.nats == pytest.approx(one.by_position.mean())


@pytest.mark.parametrize("least", ["length", "rows"])
def test_a_floor_needs_two_words_and_two_rows(least):
    with pytest.raises(ConfigError, match=least):
        stories.floor(**{"rows": 2, "length": 2, least: 1})
    assert stories.floor(rows=2, length=2).by_position.shape == (1,)


def test_the_floor_of_a_story_begins_as_written():
    by = stories.floor("stories", rows=10, length=12).by_position
    assert not by[[0, 1, 2, 3, 4, 5, 6, 8, 10]].any()  # "once upon a time there was a … named …"
    assert by[7] == pytest.approx(np.log(2))
    assert by[9] == pytest.approx(np.log(8))


def test_the_floor_of_repeats_is_that_of_their_block():
    """A block's words and its length are all that is new in a row, however long."""
    found = stories.floor("repeats", rows=1000, length=256)
    left = len(WORDS) - 1 - np.arange(PERIODS[1])
    np.testing.assert_allclose(found.by_position[:8], np.log(left[:8]), rtol=1e-12)
    periods = np.arange(PERIODS[0], PERIODS[1] + 1)
    block = np.log(len(periods)) + np.mean([np.log(left[:period]).sum() for period in periods])
    assert abs(found.nats - block / 255) < 4 * found.standard_error
    assert not found.by_position[60:].any()


def test_the_floor_of_a_mixture_lies_between_and_above_its_parts():
    """To learn which it is costs at most ln 2 a row."""
    parts = [stories.floor(kind, rows=100, length=128).nats for kind in ("stories", "repeats")]
    whole = stories.floor(rows=100, length=128, share=0.3).nats
    parted = 0.3 * parts[0] + 0.7 * parts[1]
    told = -(0.3 * np.log(0.3) + 0.7 * np.log(0.7))  # nats that the kind itself is worth
    assert 0 < whole - parted < 1.0001 * told / 127
    assert whole - parted == pytest.approx(told / 127, rel=0.1)


def test_a_standard_error_shrinks_with_more_rows():
    few, many = (stories.floor("stories", rows=n, length=128) for n in (50, 800))
    assert few.standard_error / many.standard_error == pytest.approx(4, rel=0.35)
    assert abs(few.nats - many.nats) < 4 * few.standard_error
