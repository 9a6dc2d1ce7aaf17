"""Softmax, its logarithm's normaliser and its backward pass."""

from __future__ import annotations

import torch
from torch import Tensor

from mini_attn.errors import DTypeError

__all__ = ["logsumexp", "softmax", "softmax_backward"]


def _statistics(scores: Tensor) -> Tensor:
    """The scores in the type in which sums and maxima are taken: float32 or wider."""
    if not isinstance(scores, Tensor) or not scores.is_floating_point():
        kind = getattr(scores, "dtype", type(scores).__name__)
        raise DTypeError(f"scores must be a floating-point tensor, got {kind}")
    return scores if scores.dtype in (torch.float32, torch.float64) else scores.float()


def softmax(scores: Tensor, *, axis: int = -1) -> Tensor:
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
    wide = _statistics(scores)
    # An empty row is neutralised before the exponential: afterwards its gradient would be NaN.
    empty = torch.isneginf(wide).all(dim=axis, keepdim=True)
    weights = torch.softmax(wide.masked_fill(empty, 0), dim=axis).masked_fill(empty, 0)
    return weights.to(scores.dtype)


def logsumexp(scores: Tensor, *, axis: int = -1) -> Tensor:
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

    Notes
    -----
    Two attention results over disjoint keys can be merged when their ``lse`` is known.

    References
    ----------
    milakov2018online, section 2

    Examples
    --------
    >>> import torch
    >>> logsumexp(torch.zeros(4))
    tensor(1.3863)
    """
    wide = _statistics(scores)
    empty = torch.isneginf(wide).all(dim=axis)
    shifted = wide.masked_fill(empty.unsqueeze(axis), 0)
    return torch.logsumexp(shifted, dim=axis).masked_fill(empty, -torch.inf)


def softmax_backward(d_weights: Tensor, weights: Tensor, *, axis: int = -1) -> Tensor:
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
    d_wide, wide = _statistics(d_weights), _statistics(weights)
    dot = (d_wide * wide).sum(dim=axis, keepdim=True)
    return (wide * (d_wide - dot)).to(weights.dtype)
