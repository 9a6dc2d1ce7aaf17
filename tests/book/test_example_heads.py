"""The running example with four query heads: each pattern is there, and neighbors' keys agree."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn import example
from mini_attn.example import heads as example_heads

X = np.array(example.EMBEDDINGS)[None]
SIZE = example.HEAD_DIM


def weights_of(n_heads: int = example_heads.N_HEADS) -> np.ndarray:
    """Attention weights (head, query, key) of the example."""
    q, k, v = (ma.split_heads(X @ np.array(example_heads.WEIGHTS[name]), n_heads) for name in "qkv")
    _, weights = ma.scaled_dot_product_attention(q, k, v, causal=True, return_weights=True)
    return weights[0]


def test_shapes() -> None:
    width = example_heads.N_HEADS * SIZE
    for name in "qkv":
        assert np.array(example_heads.WEIGHTS[name]).shape == (example.D_MODEL, width)
    assert np.array(example_heads.WEIGHTS["o"]).shape == (width, example.D_MODEL)
    assert len(example_heads.QUESTIONS) == example_heads.N_HEADS


def test_the_clock_heads_look_one_and_two_back() -> None:
    one, two = weights_of()[:2]
    assert [row.argmax() for row in one[1:]] == list(range(len(X[0]) - 1))
    assert [row.argmax() for row in two[2:]] == list(range(len(X[0]) - 2))
    assert one[2:].max(axis=1).min() > 0.7
    assert two[2:].max(axis=1).min() > 0.7


def test_the_content_heads_find_what_they_ask_for() -> None:
    like, goes_with = weights_of()[2:]
    tokens = [token.strip() for token in example.TOKENS]
    lamp, there = tokens.index("lamp"), tokens.index("there")
    assert like[lamp].argmax() == lamp
    assert {tokens[j] for j in np.argsort(goes_with[lamp])[-2:]} == {"a"}  # its articles
    assert sorted(np.argsort(goes_with[there])[-2:]) == [0, tokens.index("time")]


def test_heads_0_and_2_are_those_of_the_small_example() -> None:
    for name in "qkv":
        four = np.array(example_heads.WEIGHTS[name]).reshape(example.D_MODEL, -1, SIZE)
        two = np.array(example.WEIGHTS[name]).reshape(example.D_MODEL, -1, SIZE)
        assert np.array_equal(four[:, [0, 2]], two)


def test_neighbours_have_equal_keys_and_values_and_others_not() -> None:
    for name in "kv":
        heads = np.array(example_heads.WEIGHTS[name]).reshape(example.D_MODEL, -1, SIZE)
        assert np.array_equal(heads[:, ::2], heads[:, 1::2])
    keys = np.array(example_heads.WEIGHTS["k"]).reshape(example.D_MODEL, -1, SIZE)
    assert not np.array_equal(keys[:, 0], keys[:, 2])
