"""The chances of next words, against definitions, counts and a second reader."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn import stories
from mini_attn.stories.grammar import PRONOUNS, STATES, parse
from mini_attn.stories.reading import reader
from mini_attn.stories.sampling import PERIODS, SHARE
from mini_attn.stories.vocabulary import CLASSES, START, WORDS, encode

KINDS = ("mixture", "stories", "repeats")
VOCAB = len(WORDS)
START_ID = WORDS.index(START)


@pytest.fixture(scope="module", params=KINDS)
def sampled(request):
    """A kind, 200,000 words of it, and the chances of each."""
    ids = stories.sample_rows(800, 251, seed=11, kind=request.param)
    return request.param, ids, stories.row_probabilities(ids, kind=request.param)


def test_chances_sum_to_one(sampled):
    _, _, chances = sampled
    assert (chances >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=-1), 1, rtol=0, atol=1e-12)


def test_every_word_that_came_could_come(sampled):
    _, ids, chances = sampled
    assert (ids[:, 0] == START_ID).all()
    assert (np.take_along_axis(chances[:, :-1], ids[:, 1:, None], axis=2) > 0).all()


def z_scores(came, chances):
    """Counts against sums of chances, in standard errors; exact certainty leaves no room."""
    variance = (chances * (1 - chances)).sum(axis=0)
    rest = (came - chances).sum(axis=0)
    return rest[variance > 1e-9] / np.sqrt(variance[variance > 1e-9])


@pytest.mark.exhaustive
def test_each_word_comes_as_often_as_foretold(sampled):
    """Steps are uncorrelated given their past, so that counts have the variance of the steps."""
    kind, ids, chances = sampled
    assert ids[:, 1:].size == 200_000
    flat = chances[:, :-1].reshape(-1, VOCAB)
    came = np.eye(VOCAB)[ids[:, 1:].ravel()]
    z = z_scores(came, flat)
    assert len(z) >= (70 if kind == "stories" else VOCAB - 1)  # many words of stories are certain
    assert np.abs(z).max() < 4.5
    assert abs((z**2).mean() - 1) < 0.6


def test_each_chance_comes_true_as_often_as_it_says(sampled):
    """Words that had about the same chance, by the thousand."""
    kind, ids, chances = sampled
    flat = chances[:, :-1].reshape(-1, VOCAB)
    came = np.zeros(flat.shape, bool)
    came[np.arange(len(flat)), ids[:, 1:].ravel()] = True
    told = np.flatnonzero(flat.ravel() > 0)
    p, hit = flat.ravel()[told], came.ravel()[told]
    bins = np.minimum((p * 20).astype(int), 19)
    variance = np.bincount(bins, p * (1 - p), 20)
    rest = np.bincount(bins, hit - p, 20)
    full = variance > 20
    assert full.sum() >= (12 if kind == "mixture" else 3)
    assert np.abs(rest[full] / np.sqrt(variance[full])).max() < 4


def test_the_surprise_at_what_came_is_the_floor(sampled):
    kind, ids, chances = sampled
    surprise = -np.log(np.take_along_axis(chances[:, :-1], ids[:, 1:, None], axis=2)[..., 0])
    entropy = -(chances * np.log(np.where(chances > 0, chances, 1))).sum(axis=-1)[:, :-1]
    rest = (surprise - entropy).mean(axis=1)
    assert abs(rest.mean()) < 3.5 * rest.std(ddof=1) / np.sqrt(len(rest))
    floor = stories.floor(kind, length=251, rows=400, seed=12)
    both = np.hypot(surprise.mean(axis=1).std(ddof=1) / np.sqrt(len(rest)), floor.standard_error)
    assert abs(surprise.mean() - floor.nats) < 3.5 * both


def second_reader(ids):
    """The same chances from the grammar's lines alone: all ways to tell the prefix, weighed."""

    def opened(weight, rest, then, moves, held):
        if rest:
            return {(rest, then, moves, held): weight}
        kept = dict(held)
        for to, source in (move.split("=") for move in moves.split()):
            kept[to] = dict(held).get(source, "")
        found = defaultdict(float)
        total = sum(line.weight for line in STATES[then])
        for line in STATES[then]:
            way = (parse(line.text), line.then, line.moves, tuple(sorted(kept.items())))
            for key, share in opened(weight * line.weight / total, *way).items():
                found[key] += share
        return found

    ways = opened(1.0, (), "start", "", ())
    for word in [WORDS[i] for i in ids]:
        after = defaultdict(float)
        for (rest, then, moves, held), weight in ways.items():
            slot = rest[0]
            for said, share, kept in spoken(slot, dict(held)):
                if said == word:
                    key = (rest[1:], then, moves, tuple(sorted(kept.items())))
                    for way, part in opened(weight * share, *key).items():
                        after[way] += part
        total = sum(after.values())
        ways = {way: weight / total for way, weight in after.items()}
        chances = np.zeros(VOCAB)
        for (rest, _, _, held), weight in ways.items():
            for said, share, _ in spoken(rest[0], dict(held)):
                chances[WORDS.index(said)] += weight * share
        yield chances


def spoken(slot, held):
    """What a slot can say: word, chance, registers afterwards."""
    if slot.word:
        return [(slot.word, 1.0, held)]
    if slot.drawn:
        free = [word for word in CLASSES[slot.drawn] if word not in held.values()]
        return [(word, 1 / len(free), held | {slot.register: word}) for word in free]
    word = held[slot.register]
    return [(PRONOUNS[slot.form][word] if slot.form else word, 1.0, held)]


def test_stories_have_the_chances_of_the_grammar():
    ids = stories.sample_rows(4, 256, seed=3, kind="stories")
    chances = stories.row_probabilities(ids, kind="stories")
    for row, told in zip(ids, chances, strict=True):
        np.testing.assert_allclose(told, list(second_reader(row)), rtol=0, atol=1e-12)


def prefix_chance(words):
    """The chance that a row of repeats begins so: a sum over the lengths of its block."""
    if not len(words) or words[0] != START_ID:
        return float(not len(words))
    least, most = PERIODS
    rest, total = words[1:], 0.0
    for period in range(least, most + 1):
        block = rest[:period]
        repeated = np.resize(block, len(rest)) if len(rest) else rest
        if len({*block.tolist()} - {START_ID}) == len(block) and (rest == repeated).all():
            ways = np.arange(VOCAB - 1, VOCAB - 1 - len(block), -1, dtype=float)
            total += 1 / (most + 1 - least) / np.prod(ways)
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (1, 2, 5))]
)
def test_repeats_have_the_chances_of_their_definition(seed):
    ids = stories.sample_rows(1, 130, seed, kind="repeats")[0]
    told = stories.row_probabilities(ids, kind="repeats")
    for t in range(0, len(ids), 3):
        prefix = ids[: t + 1]
        whole = prefix_chance(prefix)
        exact = [prefix_chance(np.append(prefix, word)) / whole for word in range(VOCAB)]
        np.testing.assert_allclose(told[t], exact, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(
    "broken",
    [
        "<s> a girl a",  # a word comes again before eight of them
        "<s> a girl had one red bear by the school girl",  # the second word, where the first is due
        "<s> a girl had one red bear by the a girl red",  # another word than the block has
        "<s> a girl had one red bear by the a <s>",
        "<s> <s>",
        "a girl",
    ],
)
def test_a_row_that_is_no_repeat_has_no_next_word(broken):
    """Up to its last word it is one."""
    ids = encode(broken)
    told = stories.row_probabilities(ids, kind="repeats").sum(axis=1)
    expected = np.ones(len(ids)) if ids[0] == START_ID else np.zeros(len(ids))
    expected[-1] = 0
    np.testing.assert_allclose(told, expected, atol=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_the_mixture_weighs_both_by_what_was_read(share):
    """A row of repeats that begins as a story does; a story; a repeat."""
    long = stories.sample_rows(1, 40, 2, kind="stories")[0]
    odd = np.append(encode("<s> once upon a time"), 80)
    for ids in (long, stories.sample_rows(1, 40, 3, kind="repeats")[0], odd):
        parts = [stories.row_probabilities(ids, kind=kind) for kind in ("stories", "repeats")]
        weights = np.array([share, 1 - share])
        told = stories.row_probabilities(ids, share=share)
        for t in range(len(ids)):
            if t:
                weights = weights * [part[t - 1, ids[t]] for part in parts]
                weights /= weights.sum()
            exact = weights[0] * parts[0][t] + weights[1] * parts[1][t]
            np.testing.assert_allclose(told[t], exact, rtol=1e-9, atol=1e-15)


def test_a_mixture_of_one_part_is_that_part():
    ids = stories.sample_rows(3, 60, 1, kind="stories")
    whole = stories.row_probabilities(ids, kind="stories")
    np.testing.assert_array_equal(stories.row_probabilities(ids, share=1), whole)


def test_step_by_step_is_whole_rows(sampled):
    kind, ids, chances = sampled
    for row, told in zip(ids[:2], chances[:2], strict=True):
        np.testing.assert_allclose(stories.row_probabilities(row, kind=kind), told, atol=1e-15)
        for t in (0, 1, 5, 63, 64, 120, 121, 250):
            alone = stories.next_probabilities(row[: t + 1].tolist(), kind=kind)
            np.testing.assert_allclose(alone, told[t], rtol=0, atol=1e-15)


def test_a_step_has_the_chance_that_was_foretold(sampled):
    kind, ids, chances = sampled
    reading = reader(20, {"mixture": SHARE, "stories": 1.0, "repeats": 0.0}[kind])
    for t, words in enumerate(ids[:20].T):
        had = reading.step(words)
        told = chances[np.arange(20), t - 1, words] if t else 1.0
        np.testing.assert_allclose(had, told, rtol=1e-12)


@given(
    st.sampled_from(KINDS), st.integers(0, 10**6), st.integers(1, 200), st.integers(0, VOCAB - 1)
)
def test_a_prefix_is_outside_exactly_where_a_word_has_no_chance(kind, seed, length, word):
    prefix = stories.sample_rows(1, length, seed, kind=kind)[0]
    before = stories.next_probabilities(prefix, kind=kind)
    after = stories.next_probabilities(np.append(prefix, word), kind=kind)
    assert (after is None) == (before[word] == 0)


_ANNA = (
    "<s> once upon a time there was a girl named anna . anna had a red ball . one day anna went to "
    "the park and met"
)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("<s> once upon a time", {"mixture", "stories", "repeats"}),
        ("<s> ball box", {"mixture", "repeats"}),
        ("<s> ball ball", set()),
        ("once", set()),
        ("<s> <s>", set()),
        ("<s> once upon a time there was the boy", {"mixture", "repeats"}),
        ("<s> a a a a a a a the <s>", set()),
        (f"{_ANNA} tom", {"mixture", "stories"}),
        (f"{_ANNA} anna", set()),  # a word that is held is not drawn again
        (f"{_ANNA} ball", set()),
    ],
)
def test_outside_of_the_language_there_is_no_chance(text, inside):
    ids = encode(text)
    for kind in KINDS:
        found = stories.next_probabilities(ids, kind=kind)
        assert (found is not None) == (kind in inside)
        more = np.concatenate([ids, encode("<s> once")])
        if kind not in inside:  # there is no way back
            assert stories.next_probabilities(more, kind=kind) is None
            assert not stories.row_probabilities(more, kind=kind)[len(ids) - 1 :].any()


def test_rows_outside_leave_the_others_alone():
    ids = stories.sample_rows(3, 80, 4)
    whole = stories.row_probabilities(ids)
    broken = ids.copy()
    broken[1, 30:] = START_ID
    told = stories.row_probabilities(broken)
    np.testing.assert_array_equal(told[[0, 2]], whole[[0, 2]])
    np.testing.assert_array_equal(told[1, :30], whole[1, :30])
    assert not told[1, 31:].any()
