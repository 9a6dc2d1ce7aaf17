"""Which keys stay: what they have got, with whom they share it, and who is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError, ShapeError
from mini_attn.numpy._module import check_floating, check_whole
from mini_attn.shapes import check_choice, check_count, check_heads, named_shapes

__all__ = ["kept_keys", "kv_head_weights", "pool_weights"]

Array = NDArray[Any]


def kv_head_weights(weights: Array, n_kv_heads: int) -> Array:
    """Weights of attention, summed over the query heads that share a key/value head.

    ``out[b, g] = sum of weights[b, h] over the heads h of group g``

    Parameters
    ----------
    weights : array (batch, n_heads, q_len, kv_len)
        Weights of attention.
    n_kv_heads : int
        Key/value heads.

    Returns
    -------
    array (batch, n_kv_heads, q_len, kv_len)
        What each query gives each key of the head, in float32 or wider.

    Raises
    ------
    ShapeError
        If there are not four axes.
    DTypeError
        If the weights are not floating point.
    ConfigError
        If the heads do not divide, or a weight is NaN.

    Notes
    -----
    The heads of a group read the same keys, so that they can only forget together.

    References
    ----------
    zhang2023h2o, section 4
    ainslie2023gqa, section 2.2

    Examples
    --------
    >>> import numpy as np
    >>> kv_head_weights(np.full((1, 4, 1, 2), 0.5), 2)
    array([[[[1., 1.]],
    <BLANKLINE>
            [[1., 1.]]]])
    """
    check_floating("weights", weights)
    n_heads = named_shapes(weights=(weights, "batch n_heads q_len kv_len"))["n_heads"]
    check_heads(n_heads, check_count("n_kv_heads", n_kv_heads))
    return per_group(weights, n_kv_heads)


def per_group(weights: Array, n_kv_heads: int) -> Array:
    """`kv_head_weights` of weights whose axes fit."""
    batch, n_heads, q_len, kv_len = weights.shape
    wide = weights.astype(np.promote_types(weights.dtype, np.float32), copy=False)
    groups = wide.reshape(batch, n_kv_heads, n_heads // n_kv_heads, q_len, kv_len).sum(axis=2)
    if np.isnan(groups).any():
        raise ConfigError(
            "weights must be numbers, got NaN: no key can be ranked by it; "
            "a query, a key or the input of the layer is NaN or infinite"
        )
    return np.asarray(groups)


def pool_weights(weights: Array, kernel: int, pooling: str = "max") -> Array:
    """The largest or the mean of what a key and its neighbors have got.

    ``max: out[j] = max of weights[j - kernel // 2 … j + kernel // 2];
    mean: their sum / kernel, with 0 beyond the ends``

    Parameters
    ----------
    weights : array (..., kv_len)
        What each key has got.
    kernel : int
        Neighbors, the key's own place included; an odd number.
    pooling : {"max", "mean"}
        Which of the two.

    Returns
    -------
    array, shape as ``weights``
        In the same type.

    Raises
    ------
    ConfigError
        If the kernel is even or below 1, or the pooling unknown.
    DTypeError
        If the weights are not floating point.

    Notes
    -----
    So keys stay in runs: a single word alone is seldom what later text needs.

    References
    ----------
    li2024snapkv, section 4.2

    Examples
    --------
    >>> import numpy as np
    >>> pool_weights(np.array([0.0, 3.0, 0.0, 0.0]), 3)
    array([3., 3., 3., 0.])
    """
    check_floating("weights", weights)
    check_choice("pooling", pooling, ("max", "mean"))
    if check_count("kernel", kernel) % 2 == 0:
        raise ConfigError(f"kernel must be odd, so that a key stands in its middle, got {kernel}")
    sides = [(0, 0)] * (weights.ndim - 1) + [(kernel // 2, kernel // 2)]
    if not weights.shape[-1]:
        return weights
    beyond = -np.inf if pooling == "max" else 0.0
    padded = np.pad(weights, sides, constant_values=beyond)
    near = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=-1)
    pooled = near.max(axis=-1) if pooling == "max" else near.sum(axis=-1) / kernel
    return np.asarray(pooled, weights.dtype)


def kept_keys(
    scores: Array, positions: Array, budget: int, *, recent: int = 0, sink_tokens: int = 0
) -> Array:
    """The slots of the keys that stay, those with the largest scores, in their order.

    ``slots = sort(argsort(-scores, stable)[:budget])``

    Parameters
    ----------
    scores : array (..., kv_len)
        What each key is worth.
    positions : integer array (..., kv_len)
        Their positions, growing, -1 for padding.
    budget : int
        Keys that stay.
    recent : int
        Newest tokens that stay whatever their score.
    sink_tokens : int
        First positions that stay whatever their score.

    Returns
    -------
    integer array (..., min(budget, kv_len))
        Slots, from the first to the last.

    Raises
    ------
    ShapeError
        If scores and positions differ in shape.
    DTypeError
        If scores are not floating point or positions no integers.
    ConfigError
        If a number is out of range, the budget is smaller than what stays in any case, a score
        is NaN, or positions do not grow.

    Notes
    -----
    Of equal scores the earlier key stays, in every implementation. Padding goes first.

    References
    ----------
    zhang2023h2o, algorithm 1

    Examples
    --------
    >>> import numpy as np
    >>> kept_keys(np.array([0.1, 0.9, 0.5, 0.2]), np.arange(4), 2, recent=1)
    array([1, 3])
    """
    check_floating("scores", scores)
    check_whole("positions", positions)
    if scores.shape != positions.shape:
        raise ShapeError(
            f"scores and positions must have one shape, got {scores.shape} and {positions.shape}"
        )
    reserved = check_count("recent", recent, least=0)
    reserved += check_count("sink_tokens", sink_tokens, least=0)
    if check_count("budget", budget) < reserved:
        raise ConfigError(f"budget = {budget} keys is less than recent + sink_tokens = {reserved}")
    if np.isnan(scores).any():
        raise ConfigError("scores must be numbers, got NaN: no key can be ranked by it")
    before = np.maximum.accumulate(positions, axis=-1)[..., :-1]
    if ((positions[..., 1:] >= 0) & (positions[..., 1:] <= before)).any():
        raise ConfigError("positions must grow from slot to slot, but for padding (-1)")
    return rank(scores, positions, budget, recent, sink_tokens)


def rank(scores: Array, positions: Array, budget: int, recent: int, sink_tokens: int) -> Array:
    """`kept_keys` without checks."""
    real = positions >= 0
    newer = np.flip(np.flip(real, -1).cumsum(axis=-1), -1)  # tokens from here on
    safe = (newer <= recent) | (positions < sink_tokens)
    ranked = np.where(real, np.where(safe, np.inf, scores), -np.inf)
    order = np.argsort(-ranked, axis=-1, kind="stable")
    return np.sort(order[..., :budget], axis=-1)
