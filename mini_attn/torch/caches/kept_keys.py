"""Which keys stay: what they have got, with whom they share it, and who is kept."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mini_attn.errors import ConfigError, ShapeError
from mini_attn.shapes import check_choice, check_count, check_heads, named_shapes
from mini_attn.torch._module import check_floating, check_whole, wide

__all__ = ["kept_keys", "kv_head_weights", "pool_weights"]


def kv_head_weights(weights: Tensor, n_kv_heads: int) -> Tensor:
    """Weights of attention, summed over the query heads that share a key/value head.

    ``out[b, g] = sum of weights[b, h] over the heads h of group g``

    Parameters
    ----------
    weights : tensor (batch, n_heads, q_len, kv_len)
        Weights of attention.
    n_kv_heads : int
        Key/value heads.

    Returns
    -------
    tensor (batch, n_kv_heads, q_len, kv_len)
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
    >>> import torch
    >>> kv_head_weights(torch.full((1, 4, 1, 2), 0.5), 2).tolist()
    [[[[1.0, 1.0]], [[1.0, 1.0]]]]
    """
    check_floating("weights", weights)
    n_heads = named_shapes(weights=(weights, "batch n_heads q_len kv_len"))["n_heads"]
    check_heads(n_heads, check_count("n_kv_heads", n_kv_heads))
    return per_group(weights, n_kv_heads)


def per_group(weights: Tensor, n_kv_heads: int) -> Tensor:
    """`kv_head_weights` of weights whose axes fit."""
    batch, _, q_len, kv_len = weights.shape
    groups = wide(weights).reshape(batch, n_kv_heads, -1, q_len, kv_len).sum(dim=2)
    if groups.isnan().any():
        raise ConfigError(
            "weights must be numbers, got NaN: no key can be ranked by it; "
            "a query, a key or the input of the layer is NaN or infinite"
        )
    return groups


def pool_weights(weights: Tensor, kernel: int, pooling: str = "max") -> Tensor:
    """The largest or the mean of what a key and its neighbors have got.

    ``max: out[j] = max of weights[j - kernel // 2 … j + kernel // 2];
    mean: their sum / kernel, with 0 beyond the ends``

    Parameters
    ----------
    weights : tensor (..., kv_len)
        What each key has got.
    kernel : int
        Neighbors, the key's own place included; an odd number.
    pooling : {"max", "mean"}
        Which of the two.

    Returns
    -------
    tensor, shape as ``weights``
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
    >>> import torch
    >>> pool_weights(torch.tensor([0.0, 3.0, 0.0, 0.0]), 3)
    tensor([3., 3., 3., 0.])
    """
    check_floating("weights", weights)
    check_choice("pooling", pooling, ("max", "mean"))
    if check_count("kernel", kernel) % 2 == 0:
        raise ConfigError(f"kernel must be odd, so that a key stands in its middle, got {kernel}")
    if not weights.shape[-1]:
        return weights
    beyond = -torch.inf if pooling == "max" else 0.0
    near = F.pad(weights, (kernel // 2, kernel // 2), value=beyond).unfold(-1, kernel, 1)
    return near.amax(dim=-1) if pooling == "max" else near.sum(dim=-1) / kernel


def kept_keys(
    scores: Tensor, positions: Tensor, budget: int, *, recent: int = 0, sink_tokens: int = 0
) -> Tensor:
    """The slots of the keys that stay, those with the largest scores, in their order.

    ``slots = sort(argsort(-scores, stable)[:budget])``

    Parameters
    ----------
    scores : tensor (..., kv_len)
        What each key is worth.
    positions : integer tensor (..., kv_len)
        Their positions, growing, -1 for padding.
    budget : int
        Keys that stay.
    recent : int
        Newest tokens that stay whatever their score.
    sink_tokens : int
        First positions that stay whatever their score.

    Returns
    -------
    integer tensor (..., min(budget, kv_len))
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
    >>> import torch
    >>> kept_keys(torch.tensor([0.1, 0.9, 0.5, 0.2]), torch.arange(4), 2, recent=1)
    tensor([1, 3])
    """
    check_floating("scores", scores)
    check_whole("positions", positions)
    if scores.shape != positions.shape:
        raise ShapeError(
            "scores and positions must have one shape, "
            f"got {tuple(scores.shape)} and {tuple(positions.shape)}"
        )
    reserved = check_count("recent", recent, least=0)
    reserved += check_count("sink_tokens", sink_tokens, least=0)
    if check_count("budget", budget) < reserved:
        raise ConfigError(f"budget = {budget} keys is less than recent + sink_tokens = {reserved}")
    if scores.isnan().any():
        raise ConfigError("scores must be numbers, got NaN: no key can be ranked by it")
    before = positions.cummax(dim=-1).values[..., :-1]
    if ((positions[..., 1:] >= 0) & (positions[..., 1:] <= before)).any():
        raise ConfigError("positions must grow from slot to slot, but for padding (-1)")
    return rank(scores, positions, budget, recent, sink_tokens)


def rank(scores: Tensor, positions: Tensor, budget: int, recent: int, sink_tokens: int) -> Tensor:
    """`kept_keys` without checks."""
    real = positions >= 0
    newer = real.flip(-1).cumsum(dim=-1).flip(-1)  # tokens from here on
    safe = (newer <= recent) | (positions < sink_tokens)
    ranked = scores.masked_fill(safe, torch.inf).masked_fill(~real, -torch.inf)
    order = ranked.sort(dim=-1, descending=True, stable=True).indices
    return order[..., :budget].sort(dim=-1).values
