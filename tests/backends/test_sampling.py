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


TINY = [1e-30, 1e-38, 1e-45, 1e-310, 5e-324]


@pytest.mark.parametrize("temperature", TINY)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("offset", [0.0, -300.0, 300.0])
def test_the_smallest_temperatures_take_the_likeliest(lib, temperature, dtype, offset):
    logits = lib.array(np.array([[1.0, 3.0, 2.0], [0.0, -1.0, -np.inf]]) + offset, dtype)
    for options in ({}, {"top_k": 2}, {"top_p": 0.9}):
        options = {"temperature": temperature, **options}
        assert lib.numpy(lib.sample_token(logits, **options)).tolist() == [1, 0]
        scores = lib.numpy(lib.filter_logits(logits, **options))
        assert scores.argmax(axis=1).tolist() == [1, 0]
        assert np.isfinite(scores.max(axis=1)).all()
        assert not np.isnan(scores).any()


def test_the_last_bit_decides_at_a_small_temperature(lib):
    """1.9999999 and its neighbor have one float32 quotient, and are not equally likely."""
    near = np.nextafter(np.float32(2), np.float32(0))
    pair = np.array([[np.nextafter(near, np.float32(0)), near]] * 64, "float32")
    assert (lib.numpy(lib.sample_token(lib.array(pair), temperature=1e-9)) == 1).all()


@pytest.mark.parametrize("temperature", TINY)
def test_equal_logits_stay_equal_at_any_temperature(lib, temperature):
    logits = lib.array(np.array([[7.0, 7.0, -5.0]] * 512, "float32"))
    drawn = lib.numpy(
        lib.sample_token(logits, temperature=temperature, generator=generator(lib, 1))
    )
    assert set(drawn) == {0, 1}
    scores = lib.numpy(lib.filter_logits(logits, temperature=temperature))
    assert (scores[:, 0] == scores[:, 1]).all()


def test_large_logits_and_temperatures_do_not_overflow(lib):
    huge = lib.array(np.array([[1.7e308, -1.7e308, 1.6e308]]))
    assert lib.numpy(lib.sample_token(huge)).tolist() == [0]
    assert lib.numpy(lib.filter_logits(huge)).tolist() == [[1.7e308, -1.7e308, 1.6e308]]
    flat = lib.array(np.array([[1.0, -1.0]] * 400))
    drawn = lib.sample_token(flat, temperature=1.7e308, generator=generator(lib, 4))
    assert 150 < lib.numpy(drawn).sum() < 250


@given(temperature=st.floats(0, 1e300, exclude_min=True), seed=st.integers(0, 99))
def test_any_temperature_draws_from_the_kept(lib, temperature, seed):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 10.0 ** rng.integers(-3, 30), (8, 5))
    drawn = lib.numpy(lib.sample_token(lib.array(logits), temperature=temperature, top_k=2))
    rank = (logits > np.take_along_axis(logits, drawn[:, None], axis=1)).sum(axis=1)
    assert (rank < 2).all()


@pytest.mark.parametrize(
    ("row", "came"),
    [
        ([0.0, np.nan, 1.0], "nan"),
        ([np.nan] * 3, "nan"),
        ([-np.inf, np.nan, np.inf], "nan"),
        ([0.0, np.inf, 1.0], "inf"),
        ([-np.inf] * 3, "-inf"),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_logits_that_are_no_scores(lib, row, came, dtype):
    logits = lib.array(np.array([[0.0, -np.inf, 1.0], row], dtype))
    for call in (lib.filter_logits, lib.sample_token):
        with pytest.raises(ConfigError, match=f"the greatest of row 1 is {came}$"):
            call(logits)
    alone = lib.array(np.array([[-np.inf, -np.inf, -3.0]], dtype))
    assert lib.numpy(lib.sample_token(alone, top_p=0.5)).tolist() == [2]


def test_a_generator_of_another_kind(lib):
    for other in (3, "seed", np.random.RandomState(1)):
        with pytest.raises(DTypeError, match=r"generator must be a (numpy\.random|torch)\.Gen"):
            lib.sample_token(lib.array(LOGITS), generator=other)


class TestTorch:
    """What only PyTorch has: bfloat16, and floats too small to add up."""

    def test_bfloat16_is_widened(self):
        import torch

        import mini_attn.torch as mt

        scores = mt.filter_logits(torch.tensor([[1.0, 2.0]]).bfloat16(), temperature=0.5)
        assert scores.dtype == torch.float32
        assert scores.tolist() == [[2.0, 4.0]]
        with pytest.raises(DTypeError, match="float8"):
            mt.filter_logits(torch.ones(1, 2).to(torch.float8_e4m3fn))
