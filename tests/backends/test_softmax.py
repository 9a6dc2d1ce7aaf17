"""Softmax, log-sum-exp and their edges, in both backends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.errors import DTypeError, ShapeError

rows = st.lists(st.one_of(st.floats(-1e4, 1e4), st.just(float("-inf"))), min_size=1, max_size=9)


@given(row=rows)
def test_softmax_is_a_distribution_or_zeros(lib, row):
    weights = lib.numpy(lib.softmax(lib.array(row, "float64")))
    alone = np.isneginf(row).all()
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(0.0 if alone else 1.0, abs=1e-12)
    assert (weights[np.isneginf(row)] == 0).all()


@given(row=rows, shift=st.floats(-1e3, 1e3))
def test_softmax_ignores_a_shift_and_keeps_the_order(lib, row, shift):
    weights = lib.numpy(lib.softmax(lib.array(row, "float64")))
    shifted = lib.numpy(lib.softmax(lib.array(np.array(row) + shift, "float64")))
    np.testing.assert_allclose(weights, shifted, atol=1e-10)
    order = np.argsort(row, kind="stable")
    assert (np.diff(weights[order]) >= 0).all()


@given(row=rows)
def test_logsumexp_is_the_logarithm_of_the_denominator(lib, row):
    lse = float(lib.logsumexp(lib.array(row, "float64")))
    if np.isneginf(row).all():
        assert lse == -np.inf
    else:
        weights = lib.numpy(lib.softmax(lib.array(row, "float64")))
        expected = np.exp(np.array(row) - lse)
        np.testing.assert_allclose(weights, expected, atol=1e-9)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_any_axis(lib, rng, axis):
    scores = lib.array(rng.standard_normal((3, 5)))
    weights = lib.numpy(lib.softmax(scores, axis=axis))
    np.testing.assert_allclose(weights.sum(axis=axis), 1.0)
    assert lib.numpy(lib.logsumexp(scores, axis=axis)).shape == weights.sum(axis=axis).shape


def test_statistics_of_half_precision_are_taken_in_single(lib):
    scores = lib.array(np.zeros(4096), "float16")
    weights = lib.softmax(scores)
    assert str(weights.dtype).endswith("float16")
    assert (lib.numpy(weights) == np.float16(1 / 4096)).all()
    assert str(lib.logsumexp(scores).dtype).endswith("float32")
    large = lib.numpy(lib.softmax(lib.array([6e4, 6e4], "float16")))
    assert (large == 0.5).all()


def test_backward_equals_finite_differences(lib, rng):
    scores, d_weights = rng.standard_normal((2, 3, 5))
    scores[0, 2] = -np.inf
    scores[1] = -np.inf
    weights = lib.softmax(lib.array(scores))
    d_scores = lib.numpy(lib.softmax_backward(lib.array(d_weights), weights))
    numeric = np.zeros_like(scores)
    for i in np.ndindex(scores.shape):
        if np.isfinite(scores[i]):
            pair = []
            for sign in (1, -1):
                moved = scores.copy()
                moved[i] += sign * 1e-6
                pair.append((lib.numpy(lib.softmax(lib.array(moved))) * d_weights).sum())
            numeric[i] = (pair[0] - pair[1]) / 2e-6
    np.testing.assert_allclose(d_scores, numeric, atol=1e-8)
    assert (d_scores[1] == 0).all()


def test_autograd_through_an_empty_row_is_zero_not_nan():
    import torch

    import mini_attn.torch as mt

    for function in (mt.softmax, mt.logsumexp):
        scores = torch.tensor([[0.0, 1.0], [-torch.inf, -torch.inf]], requires_grad=True)
        out = function(scores)
        out[torch.isfinite(out)].sum().backward()
        assert torch.isfinite(scores.grad).all()
        assert (scores.grad[1] == 0).all()


def test_refusals(lib):
    with pytest.raises(DTypeError, match="floating-point"):
        lib.softmax(lib.array([1, 2]))
    with pytest.raises(DTypeError, match="list"):
        lib.logsumexp([1.0])
    with pytest.raises(ShapeError, match="axis = 1"):
        lib.softmax(lib.array([1.0]), axis=1)
    with pytest.raises(ShapeError, match=r"\(2,\)"):
        lib.softmax_backward(lib.array([1.0, 2.0]), lib.array([1.0]))


@pytest.mark.filterwarnings("error")
def test_an_infinite_score_has_an_infinite_denominator(lib):
    scores = lib.array([[np.inf, 0.0], [-np.inf, 0.0]])
    assert lib.numpy(lib.logsumexp(scores)).tolist() == [np.inf, 0.0]
