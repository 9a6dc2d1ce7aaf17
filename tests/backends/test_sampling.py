"""Choosing a token by chance: what is shut out, how often the rest comes, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.errors import ConfigError, DTypeError, ShapeError

LOGITS = np.log(np.array([[0.5, 0.25, 0.15, 0.1], [0.1, 0.2, 0.3, 0.4]]))


def kept(lib, **options):
    scores = lib.numpy(lib.filter_logits(lib.array(LOGITS), **options))
    return [np.flatnonzero(np.isfinite(row)).tolist() for row in scores]


def generator(lib, seed):
    if lib.name == "numpy":
        return np.random.default_rng(seed)
    import torch

    return torch.Generator().manual_seed(seed)


def test_top_k_keeps_the_likeliest(lib):
    assert kept(lib, top_k=1) == [[0], [3]]
    assert kept(lib, top_k=3) == [[0, 1, 2], [1, 2, 3]]
    assert kept(lib, top_k=9) == [[0, 1, 2, 3]] * 2


@pytest.mark.parametrize(
    ("top_p", "tokens"),
    [
        (0.01, [[0], [3]]),
        (0.39, [[0], [3]]),
        (0.51, [[0, 1], [2, 3]]),  # the token that reaches the sum is kept
        (0.76, [[0, 1, 2], [1, 2, 3]]),
        (1.0, [[0, 1, 2, 3]] * 2),
    ],
)
def test_top_p_keeps_the_fewest_that_reach_it(lib, top_p, tokens):
    assert kept(lib, top_p=top_p) == tokens


def test_top_p_counts_among_what_top_k_left(lib):
    assert kept(lib, top_k=2, top_p=0.66) == [[0], [2, 3]]  # 2/3 and 4/7


def test_equal_logits_at_the_edge_of_top_k_all_stay(lib):
    scores = lib.numpy(lib.filter_logits(lib.array([[1.0, 2.0, 1.0, 0.0]]), top_k=2))
    assert np.isfinite(scores).tolist() == [[True, True, True, False]]


@given(temperature=st.floats(0.1, 10.0))
def test_temperature_divides(lib, temperature):
    scores = lib.numpy(lib.filter_logits(lib.array(LOGITS), temperature=temperature))
    np.testing.assert_allclose(scores, LOGITS / temperature, rtol=1e-12)


def test_backends_agree(backends, rng):
    logits = rng.standard_normal((5, 31))
    first, second = (
        lib.numpy(lib.filter_logits(lib.array(logits), temperature=0.7, top_k=12, top_p=0.8))
        for lib in backends
    )
    np.testing.assert_allclose(first, second, rtol=1e-12)


def test_half_precision_is_widened(lib):
    scores = lib.numpy(lib.filter_logits(lib.array(LOGITS, "float16"), temperature=0.5))
    assert scores.dtype == np.float32


@pytest.mark.parametrize("options", [{}, {"temperature": 2.0}, {"top_k": 2}, {"top_p": 0.7}])
def test_tokens_come_as_often_as_they_should(lib, options):
    draws = 20000
    logits = lib.array(np.repeat(LOGITS[:1], draws, axis=0))
    tokens = lib.numpy(lib.sample_token(logits, generator=generator(lib, 3), **options))
    scores = lib.numpy(lib.filter_logits(lib.array(LOGITS[:1]), **options))[0]
    expected = np.exp(scores) / np.exp(scores).sum()
    often = np.bincount(tokens, minlength=4) / draws
    assert (often[expected == 0] == 0).all()
    np.testing.assert_allclose(often, expected, atol=0.015)  # four standard deviations


def test_the_same_seed_draws_the_same(lib):
    logits = lib.array(np.zeros((64, 50)))
    first, second, other = (
        lib.numpy(lib.sample_token(logits, generator=generator(lib, seed))) for seed in (1, 1, 2)
    )
    assert (first == second).all()
    assert (first != other).any()
    assert first.shape == (64,)


@pytest.mark.parametrize(
    ("error", "options"),
    [
        (ConfigError, {"temperature": 0.0}),
        (ConfigError, {"temperature": float("nan")}),
        (ConfigError, {"top_k": 0}),
        (ConfigError, {"top_k": 1.5}),
        (ConfigError, {"top_p": 0.0}),
        (ConfigError, {"top_p": 1.5}),
    ],
)
def test_options_out_of_range(lib, error, options):
    with pytest.raises(error):
        lib.sample_token(lib.array(LOGITS), **options)


def test_logits_of_another_kind(lib):
    with pytest.raises(ShapeError, match="vocab_size"):
        lib.filter_logits(lib.array(LOGITS[0]))
    with pytest.raises(ShapeError, match="empty"):
        lib.filter_logits(lib.array(np.zeros((2, 0))))
    with pytest.raises(DTypeError):
        lib.filter_logits(lib.array(np.zeros((1, 3), int)))
