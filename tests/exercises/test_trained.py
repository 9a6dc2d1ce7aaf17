"""Exercises on a trained model's heads: the answers they take for right are what was measured."""

from __future__ import annotations

import numpy as np
import pytest

from mini_attn.exercises import exercise
from mini_attn.exercises.trained import block_row, maps_of, story_row, trained_stream
from mini_attn.stories import sample_rows
from mini_attn.stories.family import film, film_frame, load
from mini_attn.stories.inside import without_heads, word_losses
from solutions import breaking_head, copy_stripe, induction_score, word_votes


@pytest.mark.parametrize("frame", [-1, -4])
def test_the_head_that_breaks_copying_is_the_one_that_measuring_finds(frame: int) -> None:
    """Each head switched off in turn; the maps alone name the one that costs most."""
    model = film_frame(film()["frames"][frame]["step"])
    rows = np.stack([block_row(np.random.default_rng(n), 20, 3) for n in range(4)])
    costs = {
        place: word_losses(without_heads(model, [place]), rows)[:, 21:].mean()
        for place in np.ndindex(2, 4)
    }
    worst = max(costs, key=lambda place: costs[place])
    for period in (8, 11, 14):
        maps = maps_of(block_row(np.random.default_rng(period), period, 3), frame)
        assert tuple(breaking_head.REFERENCE(maps)) == worst


def test_heads_that_copy_score_high_in_both_exercises() -> None:
    ids = block_row(np.random.default_rng(5), 12)
    maps = maps_of(ids)
    by_words = [induction_score.REFERENCE(layer, ids) for layer in maps]
    by_stripe = [copy_stripe.REFERENCE(layer, 12) for layer in maps]
    np.testing.assert_allclose(by_words, by_stripe, atol=1e-6)  # one earlier copy each
    assert by_stripe[1].max() > 0.7 > 0.2 > by_stripe[0].max()
    starter = np.diagonal(maps[1], -12, axis1=-2, axis2=-1).mean(axis=-1)
    assert starter.max() < 0.1  # as the task says: no head does it


def test_the_parts_of_the_stream_give_the_logits_of_the_model() -> None:
    ids = story_row(np.random.default_rng(6), 30)
    parts, gain, table = trained_stream(ids)
    stream = parts.sum(axis=0)
    logits = stream / np.sqrt(np.square(stream).mean()) * gain @ table.T
    np.testing.assert_allclose(logits, load("mha")(ids[None])[0, -1], atol=1e-3)
    votes = word_votes.REFERENCE(parts, gain, table, 5, 9)
    np.testing.assert_allclose(votes.sum(), logits[5] - logits[9])


def test_rows_are_of_the_language() -> None:
    row = block_row(np.random.default_rng(0), 9, 3)
    assert (row[0], len(row)) == (0, 28)
    assert len(set(row[1:10])) == 9
    assert (row[1:10] == row[10:19]).all()
    story = story_row(np.random.default_rng(1), 60)
    seeds = np.random.default_rng(1).integers(2**31)
    assert (story == sample_rows(1, 60, int(seeds), kind="stories")[0]).all()


def test_maps_of_an_exercise_are_not_shared() -> None:
    """An answer that writes into its input spoils nobody else's."""
    ids = block_row(np.random.default_rng(2), 8)
    first = maps_of(ids)
    first[:] = 0
    assert maps_of(ids).sum() > 0
    assert exercise("breaking_head").cases(np.random.default_rng(0))["random"][0]["maps"].any()
