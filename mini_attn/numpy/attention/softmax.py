"""Softmax, its logarithm's normalizer and its backward pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import check_count

__all__ = ["logsumexp", "softmax", "softmax_backward"]

Array = NDArray[Any]


def _statistics(name: str, scores: Array, axis: int) -> Array:
    """The scores in the type in which sums and maxima are taken: float32 or wider."""
    if not isinstance(scores, np.ndarray) or scores.dtype.kind != "f":
        kind = getattr(scores, "dtype", type(scores).__name__)
        raise DTypeError(f"{name} must be a floating-point array, got {kind}")
    check_count("axis", axis, least=-math.inf)
    if not -scores.ndim <= axis < scores.ndim:
        raise ShapeError(f"axis = {axis} does not exist in shape {scores.shape}")
    return scores.astype(np.float32) if scores.dtype == np.float16 else scores


def softmax(scores: Array, *, axis: int = -1) -> Array:
    """Weights that sum to 1 along an axis.

    ``weights[i] = exp(scores[i]) / sum_j exp(scores[j])``

    Parameters
    ----------
    scores : array (..., n)
        Scores; ``-inf`` where nothing may be attended to.
    axis : int
        The axis that sums to 1.

    Returns
    -------
    array (..., n)
        Weights in the scores' dtype. A row of ``-inf`` alone gives zeros.

    Raises
    ------
    DTypeError
        If the scores are not floating point.
    ShapeError
        If the axis does not exist.
    ConfigError
        If the axis is no whole number.

    Notes
    -----
    The maximum is subtracted first, so that no exponential overflows. Sums are float32 or
    wider.

    References
    ----------
    vaswani2017attention, equation 1

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.array([0.0, 0.0, -np.inf]))
    array([0.5, 0.5, 0. ])
    """
    return normalise(_statistics("scores", scores, axis), axis).astype(scores.dtype, copy=False)


def normalise(wide: Array, axis: int = -1) -> Array:
    """`softmax` without checks, of scores in float32 or wider."""
    top = wide.max(axis=axis, keepdims=True, initial=-np.inf)
    # exp(-inf - (-inf)) is NaN: a row without any finite score is shifted by 0 instead.
    weights = np.exp(wide - np.where(np.isneginf(top), 0, top))
    total = weights.sum(axis=axis, keepdims=True)
    weights /= np.where(total == 0, 1, total)
    return np.asarray(weights)


def logsumexp(scores: Array, *, axis: int = -1) -> Array:
    """Natural logarithm of the softmax denominator.

    ``lse = log(sum_j exp(scores[j]))``

    Parameters
    ----------
    scores : array (..., n)
        Scores; ``-inf`` where nothing may be attended to.
    axis : int
        The axis that is summed.

    Returns
    -------
    array (...)
        float32 or wider; ``-inf`` for a row of ``-inf`` alone.

    Raises
    ------
    DTypeError
        If the scores are not floating point.
    ShapeError
        If the axis does not exist.
    ConfigError
        If the axis is no whole number.

    Notes
    -----
    Two attention results over disjoint keys can be merged when their ``lse`` is known.

    References
    ----------
    milakov2018online, section 2

    Examples
    --------
    >>> import numpy as np
    >>> float(logsumexp(np.zeros(4)).round(4))
    1.3863
    """
    wide = _statistics("scores", scores, axis)
    top = wide.max(axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isinf(top), 0, top).astype(wide.dtype)  # inf - inf is NaN
    with np.errstate(divide="ignore"):  # log(0) = -inf is the answer for an empty row
        lse = np.log(np.exp(wide - top).sum(axis=axis, keepdims=True)) + top
    return np.asarray(np.squeeze(lse, axis=axis))


def softmax_backward(d_weights: Array, weights: Array, *, axis: int = -1) -> Array:
    """Gradient of the scores from the gradient of the weights.

    ``d_scores[i] = weights[i] * (d_weights[i] - sum_j d_weights[j] * weights[j])``

    Parameters
    ----------
    d_weights : array (..., n)
        Gradient of the loss by each weight.
    weights : array (..., n)
        What `softmax` returned.
    axis : int
        The axis that sums to 1.

    Returns
    -------
    array (..., n)
        Gradient by each score; zero in an empty row.

    Raises
    ------
    DTypeError
        If the arrays are not floating point.
    ShapeError
        If the two arrays differ in shape or dtype, or the axis does not exist.
    ConfigError
        If the axis is no whole number.

    Notes
    -----
    Each row of the result sums to 0: adding a constant to all scores changes nothing.

    References
    ----------
    dao2022flashattention, appendix B.2

    Examples
    --------
    >>> import numpy as np
    >>> softmax_backward(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    array([ 0.25, -0.25])
    """
    d_wide = _statistics("d_weights", d_weights, axis)
    wide = _statistics("weights", weights, axis)
    if d_wide.shape != wide.shape or d_weights.dtype != weights.dtype:
        raise ShapeError(
            f"d_weights {d_weights.shape} {d_weights.dtype} must be like "
            f"weights {weights.shape} {weights.dtype}"
        )
    dot = (d_wide * wide).sum(axis=axis, keepdims=True)
    return np.asarray((wide * (d_wide - dot)).astype(weights.dtype, copy=False))
