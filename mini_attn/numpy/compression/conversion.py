"""Weights of one layer made into those of another: fewer key/value heads, fewer heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from mini_attn.config import AttentionConfig
from mini_attn.numpy._module import check_floating

__all__ = ["pool_kv_heads", "prune_heads"]

Array = NDArray[Any]


def pool_kv_heads(
    state: Mapping[str, Array], config: AttentionConfig, n_kv_heads: int
) -> tuple[dict[str, Array], AttentionConfig]:
    """Let groups of key/value heads become one each: their mean.

    ``k_proj'[g] = mean(k_proj[g * size : (g + 1) * size]);  v_proj' likewise``

    Parameters
    ----------
    state : mapping of str to array
        Weights of one attention layer, as its ``state_dict`` gives them.
    config : AttentionConfig
        Sizes of that layer.
    n_kv_heads : int
        Key/value heads to make; a divisor of those there are.

    Returns
    -------
    tuple (state, config)
        For ``GroupedQueryAttention(config).load_state_dict(state)``; what does not change is
        the given array itself.

    Raises
    ------
    ShapeError
        If a weight does not have the rows that the configuration says.
    DTypeError
        If the state is no mapping, or a weight no floating-point array of the backend.
    ConfigError
        If the heads do not divide, the layer normalizes all heads together, or a weight is missing.

    Notes
    -----
    Where the pooled heads are equal the layer computes the same; else it is a start for
    further training. Of the ways tried in the source, the mean lost least.

    References
    ----------
    ainslie2023gqa, section 2.1

    Examples
    --------
    >>> from mini_attn.numpy import MultiHeadAttention
    >>> config = AttentionConfig(d_model=8, n_heads=4, head_dim=2)
    >>> state, config = pool_kv_heads(MultiHeadAttention(config).state_dict(), config, 2)
    >>> tuple(state["k_proj.weight"].shape), config.n_kv_heads
    ((4, 8), 2)
    """
    from mini_attn.weights.fewer_heads import pooled_heads  # checkpoints are slow to import

    return pooled_heads(state, config, n_kv_heads, check_floating)


def prune_heads(
    state: Mapping[str, Array], config: AttentionConfig, heads: Sequence[int]
) -> tuple[dict[str, Array], AttentionConfig]:
    """Take query heads out of a layer, and key/value heads that nobody reads any more.

    ``out' = out - sum over pruned heads of head_h @ o_proj[:, h]``

    Parameters
    ----------
    state : mapping of str to array
        Weights of one attention layer, as its ``state_dict`` gives them.
    config : AttentionConfig
        Sizes of that layer.
    heads : sequence of int
        Query heads to take out.

    Returns
    -------
    tuple (state, config)
        For ``GroupedQueryAttention(config).load_state_dict(state)``.

    Raises
    ------
    ShapeError
        If a weight does not have the rows or columns that the configuration says.
    DTypeError
        If the state is no mapping, or a weight no floating-point array of the backend.
    ConfigError
        If a head does not exist or is named twice, none would be left, the groups that are
        left would differ in size, the layer has ALiBi or normalizes all heads together, or a
        weight is missing.

    Notes
    -----
    The output is that of the whole layer with those heads' results set to zero. With ALiBi a
    head's slope follows from its number, which pruning would change.

    References
    ----------
    michel2019sixteen, section 2.2

    Examples
    --------
    >>> from mini_attn.numpy import GroupedQueryAttention
    >>> config = AttentionConfig(d_model=8, n_heads=4, head_dim=2, n_kv_heads=2)
    >>> state, config = prune_heads(GroupedQueryAttention(config).state_dict(), config, [0, 1])
    >>> config.n_heads, config.n_kv_heads, tuple(state["o_proj.weight"].shape)
    (2, 1, (8, 4))
    """
    from mini_attn.weights.fewer_heads import pruned_heads  # checkpoints are slow to import

    return pruned_heads(state, config, heads, check_floating)
