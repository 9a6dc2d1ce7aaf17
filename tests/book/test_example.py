"""The running example: that each hand-made pattern is really there, and the data well formed."""

from __future__ import annotations

import numpy as np
import pytest

from mini_attn import example


def attend(head):
    """Causal attention weights (seq, seq) of one head, in plain NumPy."""
    x = np.array(example.EMBEDDINGS)
    columns = slice(head * example.HEAD_DIM, (head + 1) * example.HEAD_DIM)
    q, k = (x @ np.array(example.WEIGHTS[name])[:, columns] for name in "qk")
    scores = q @ k.T * example.HEAD_DIM**-0.5
    scores[np.triu_indices(len(x), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def test_head_1_looks_at_the_token_before():
    weights = attend(0)
    for i in range(1, len(example.TOKENS)):
        row = weights[i, : i + 1]
        assert row.argmax() == i - 1, example.TOKENS[i]
        assert 0.7 < row.max() < 0.9  # strong, and the others still to be seen
    assert (weights[2:, :].max(axis=1) < 0.8).all()


def names(pairs):
    return [f"{example.TOKENS[i]} to {example.TOKENS[j]}".strip() for i, j in pairs]


MATCHES = [(3, 0), (4, 1), (6, 2), (7, 3)]  # time-Once, there-upon, a-a, lamp-time


@pytest.mark.parametrize(("query", "key"), MATCHES, ids=names(MATCHES))
def test_head_2_looks_at_content_that_matches(query, key):
    row = attend(1)[query]
    before = row[:query]  # every token matches itself; what matters is which earlier one it finds
    assert before.argmax() == key
    others = np.delete(before, key)
    assert before[key] > 3 * others.max()


def test_head_2_gives_equal_words_equal_weight():
    row = attend(1)[6]  # " a" again: the first and the second are the same word to this head
    assert row[2] == row[6] == row.max()
    assert row[2] > 0.35
    assert attend(0)[6, 2] < 0.05  # the other head knows where they stand, and looks elsewhere


def test_heads_see_disjoint_halves():
    """Head 1 reads only the clock, head 2 only the content: the patterns have one cause each."""
    for name in "qk":
        matrix = np.array(example.WEIGHTS[name])
        assert not matrix[:4, :4].any()
        assert not matrix[4:, 4:].any()
        assert matrix[4:, :4].any(axis=1).all()
        assert matrix[:4, 4:].any(axis=1).all()
    assert not np.array(example.WEIGHTS["v"])[4:].any()


def test_the_clock_turns_back_by_one_step():
    """Head 1's query of token i is, but for its length, its key of token i - 1."""
    x = np.array(example.EMBEDDINGS)
    q, k = (x @ np.array(example.WEIGHTS[name])[:, :4] for name in "qk")
    for i in range(1, len(x)):
        cosine = q[i] @ k[i - 1] / np.linalg.norm(q[i]) / np.linalg.norm(k[i - 1])
        assert cosine == pytest.approx(1, abs=1e-4)


def test_the_data_fit_together():
    seq = len(example.TOKENS)
    assert seq == len(example.TOKEN_IDS) == len(example.EMBEDDINGS) == 8
    assert example.TOKENS[: example.PROMPT_LEN] == ("Once", " upon", " a", " time")
    assert example.TOKEN_IDS[: example.PROMPT_LEN] == (7454, 2402, 257, 640)
    assert all(len(row) == example.D_MODEL for row in example.EMBEDDINGS)
    assert example.D_MODEL == example.N_HEADS * example.HEAD_DIM == 8
    assert len(example.CONTENT_FEATURES) == 4
    assert set(example.WEIGHTS) == {"q", "k", "v", "o"}
    for matrix in example.WEIGHTS.values():
        assert np.array(matrix).shape == (example.D_MODEL, example.N_HEADS * example.HEAD_DIM)
    second_a, first_a = example.EMBEDDINGS[6], example.EMBEDDINGS[2]
    assert second_a[:4] == first_a[:4]
    assert second_a[4:] != first_a[4:]


def test_every_number_is_small_and_short_enough_to_print():
    matrices = (example.EMBEDDINGS, *example.WEIGHTS.values())
    for value in np.concatenate([np.ravel(matrix) for matrix in matrices]):
        assert abs(value) <= 3
        assert value == round(value, 2)


def test_the_data_are_plain_tuples():
    """No array: the example imports nothing and goes to JSON as it is."""
    for matrix in (example.EMBEDDINGS, *example.WEIGHTS.values()):
        assert isinstance(matrix, tuple)
        assert all(isinstance(row, tuple) for row in matrix)
        assert all(type(value) is float for row in matrix for value in row)
