"""Softmax, its logarithm's normalizer and its backward pass."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import check_count
from mini_attn.torch._module import wide

__all__ = ["logsumexp", "softmax", "softmax_backward"]


def _statistics(name: str, scores: Tensor, axis: int) -> Tensor:
    """The scores in the type in which sums and maxima are taken: float32 or wider."""
    if not isinstance(scores, Tensor) or not scores.is_floating_point():
        kind = getattr(scores, "dtype", type(scores).__name__)
        raise DTypeError(f"{name} must be a floating-point tensor, got {kind}")
    check_count("axis", axis, least=-math.inf)
    if not -scores.ndim <= axis < scores.ndim:
        raise ShapeError(f"axis = {axis} does not exist in shape {tuple(scores.shape)}")
    return wide(scores)


def softmax(scores: Tensor, *, axis: int = -1) -> Tensor:
    """Weights that sum to 1 along an axis.

    ``weights[i] = exp(scores[i]) / sum_j exp(scores[j])``

    Parameters
    ----------
    scores : tensor (..., n)
        Scores; ``-inf`` where nothing may be attended to.
    axis : int
        The axis that sums to 1.

    Returns
    -------
    tensor (..., n)
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
    >>> import torch
    >>> softmax(torch.tensor([0.0, 0.0, -torch.inf]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    given = _statistics("scores", scores, axis)
    # An empty row is neutralised before the exponential: afterwards its gradient would be NaN.
    empty = torch.isneginf(given).all(dim=axis, keepdim=True)
    weights = torch.softmax(given.masked_fill(empty, 0), dim=axis).masked_fill(empty, 0)
    return weights.to(scores.dtype)


def logsumexp(scores: Tensor, *, axis: int = -1) -> Tensor:
    """Natural logarithm of the softmax denominator.

    ``lse = log(sum_j exp(scores[j]))``

    Parameters
    ----------
    scores : tensor (..., n)
        Scores; ``-inf`` where nothing may be attended to.
    axis : int
        The axis that is summed.

    Returns
    -------
    tensor (...)
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
    >>> import torch
    >>> round(float(logsumexp(torch.zeros(4))), 4)
    1.3863
    """
    given = _statistics("scores", scores, axis)
    empty = torch.isneginf(given).all(dim=axis, keepdim=True)
    lse = torch.logsumexp(given.masked_fill(empty, 0), dim=axis)
    return lse.masked_fill(empty.squeeze(axis), -torch.inf)


def softmax_backward(d_weights: Tensor, weights: Tensor, *, axis: int = -1) -> Tensor:
    """Gradient of the scores from the gradient of the weights.

    ``d_scores[i] = weights[i] * (d_weights[i] - sum_j d_weights[j] * weights[j])``

    Parameters
    ----------
    d_weights : tensor (..., n)
        Gradient of the loss by each weight.
    weights : tensor (..., n)
        What `softmax` returned.
    axis : int
        The axis that sums to 1.

    Returns
    -------
    tensor (..., n)
        Gradient by each score; zero in an empty row.

    Raises
    ------
    DTypeError
        If the tensors are not floating point.
    ShapeError
        If the two tensors differ in shape or dtype, or the axis does not exist.
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
    >>> import torch
    >>> softmax_backward(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5]))
    tensor([ 0.2500, -0.2500])
    """
    d_wide = _statistics("d_weights", d_weights, axis)
    w_wide = _statistics("weights", weights, axis)
    if d_wide.shape != w_wide.shape or d_weights.dtype != weights.dtype:
        raise ShapeError(
            f"d_weights {tuple(d_weights.shape)} {d_weights.dtype} must be like "
            f"weights {tuple(weights.shape)} {weights.dtype}"
        )
    dot = (d_wide * w_wide).sum(dim=axis, keepdim=True)
    return (w_wide * (d_wide - dot)).to(weights.dtype)
