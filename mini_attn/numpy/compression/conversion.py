"""Weights of one layer made into those of another: fewer key/value heads, fewer heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import AttentionConfig
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import check_array, check_count

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
        If the heads do not divide, the layer normalises all heads together, or a weight is missing.

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
    _check_kinds(state, config)
    if config.n_kv_heads % check_count("n_kv_heads", n_kv_heads):
        raise ConfigError(
            f"n_kv_heads must divide the {config.n_kv_heads} that there are, got {n_kv_heads}"
        )
    pooled = dict(state)
    for name, width in (("k_proj", config.head_dim), ("v_proj", config.v_head_dim)):
        for key in _named(state, name):
            rows = _rows(key, state[key], config.n_kv_heads * width)
            groups = rows.reshape(n_kv_heads, -1, width, *rows.shape[1:])
            pooled[key] = groups.mean(axis=1).reshape(-1, *rows.shape[1:])
    return pooled, replace(config, n_kv_heads=n_kv_heads)


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
        left would differ in size, the layer has ALiBi or normalises all heads together, or a
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
    _check_kinds(state, config)
    kept = _kept_heads(config, heads)
    groups = sorted({head // config.group_size for head in kept})
    pruned = dict(state)
    for name, width, staying, count in (
        ("q_proj", config.head_dim, kept, config.n_heads),
        ("k_proj", config.head_dim, groups, config.n_kv_heads),
        ("v_proj", config.v_head_dim, groups, config.n_kv_heads),
        *([("gate_proj", 3, kept, config.n_heads)] if "gate_proj.weight" in state else []),
    ):
        for key in _named(state, name):
            rows = _rows(key, state[key], count * width)
            pruned[key] = rows.reshape(count, width, *rows.shape[1:])[staying].reshape(
                len(staying) * width, *rows.shape[1:]
            )
    if config.sinks:
        pruned["sinks"] = _rows("sinks", _given(state, "sinks"), config.n_heads)[kept]
    _named(state, "o_proj")
    weight = _rows("o_proj.weight", state["o_proj.weight"], config.d_model)
    if tuple(weight.shape[1:]) != (config.n_heads * config.v_head_dim,):
        raise ShapeError(
            f"o_proj.weight must have {config.n_heads * config.v_head_dim} columns, "
            f"got shape {tuple(weight.shape)}"
        )
    columns = weight.reshape(-1, config.n_heads, config.v_head_dim)[:, kept]
    pruned["o_proj.weight"] = columns.reshape(-1, len(kept) * config.v_head_dim)
    return pruned, replace(config, n_heads=len(kept), n_kv_heads=len(groups))


def _check_kinds(state: Any, config: Any) -> None:
    """Refuse what is no state dict, or no configuration of such a layer."""
    if not isinstance(state, Mapping):
        raise DTypeError(f"state must map names to arrays, got {state!r:.60}")
    if not isinstance(config, AttentionConfig):
        raise ConfigError(f"config must be an AttentionConfig, got {config!r:.60}")
    if config.qk_norm and config.qk_norm_over == "width":
        raise ConfigError(
            "the layer normalises all heads together (qk_norm_over = 'width'): with fewer of them "
            "each would have another size"
        )


def _kept_heads(config: AttentionConfig, heads: Sequence[int]) -> list[int]:
    """Heads that stay, after every check."""
    if config.alibi:
        raise ConfigError("a layer with ALiBi cannot be pruned: slopes follow from head numbers")
    if not isinstance(heads, Sequence) or isinstance(heads, str | bytes):
        raise ConfigError(f"heads must be a sequence of whole numbers, got {heads!r:.60}")
    going = [check_count("head", head, least=0) for head in heads]
    if len(set(going)) < len(going) or any(head >= config.n_heads for head in going):
        raise ConfigError(
            f"heads must be different and lie in 0 … {config.n_heads - 1}, got {going!s:.80}"
        )
    kept = [head for head in range(config.n_heads) if head not in set(going)]
    if not kept:
        raise ConfigError(f"all {config.n_heads} heads would go: at least one must stay")
    left = [head // config.group_size for head in kept]
    sizes = {group: left.count(group) for group in left}
    if len(set(sizes.values())) > 1:
        raise ConfigError(
            "every key/value head that stays must keep as many query heads, "
            f"left would be {list(sizes.values())!s:.80}"
        )
    return kept


def _named(state: Mapping[str, Any], name: str) -> list[str]:
    """Keys of a projection: its weight, and its bias where it has one."""
    _given(state, f"{name}.weight")
    return [key for key in (f"{name}.weight", f"{name}.bias") if key in state]


def _given(state: Mapping[str, Any], key: str) -> Any:
    """A weight that must be there."""
    if key not in state:
        raise ConfigError(f"the state dict has no {key}: is it one attention layer's?")
    return state[key]


def _rows(key: str, weight: Array, rows: int) -> Array:
    """The weight, with the rows that it must have."""
    check_array(key, weight, np.ndarray)
    if weight.dtype.kind != "f":
        raise DTypeError(f"{key} must be floating point, got {weight.dtype}")
    if tuple(weight.shape[:1]) != (rows,):
        raise ShapeError(f"{key} must have {rows} rows, got shape {tuple(weight.shape)}")
    return weight
