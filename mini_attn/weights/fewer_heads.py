"""Weights of one layer made into those of another, for the arrays of either backend.

Which rows and columns of which weights belong together is all there is to it: reshaping, picking
and one mean, which NumPy's arrays and PyTorch's tensors spell alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mini_attn.config import AttentionConfig
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import check_count

__all__ = ["pooled_heads", "pruned_heads"]

Weight = Any  # an array of either backend
Check = Callable[[str, Any], None]  # refuses what is no floating-point array of the backend


def pooled_heads(
    state: Mapping[str, Weight], config: AttentionConfig, n_kv_heads: int, check_floating: Check
) -> tuple[dict[str, Weight], AttentionConfig]:
    """Return the weights with groups of key/value heads averaged; see `pool_kv_heads`."""
    _check_kinds(state, config)
    if config.n_kv_heads % check_count("n_kv_heads", n_kv_heads):
        raise ConfigError(
            f"n_kv_heads must divide the {config.n_kv_heads} that there are, got {n_kv_heads}"
        )
    pooled = dict(state)
    for name, width in (("k_proj", config.head_dim), ("v_proj", config.v_head_dim)):
        for key in _named(state, name):
            rows = _rows(state, key, config.n_kv_heads * width, check_floating)
            groups = rows.reshape(n_kv_heads, -1, width, *rows.shape[1:])
            pooled[key] = groups.mean(1).reshape(-1, *rows.shape[1:])
    return pooled, replace(config, n_kv_heads=n_kv_heads)


def pruned_heads(
    state: Mapping[str, Weight],
    config: AttentionConfig,
    heads: Sequence[int],
    check_floating: Check,
) -> tuple[dict[str, Weight], AttentionConfig]:
    """Return the weights without some query heads; see `prune_heads`."""
    _check_kinds(state, config)
    kept = _kept_heads(config, heads)
    groups = sorted({head // config.group_size for head in kept})
    gates = config.v_head_dim if config.out_gate else 3  # of a head; else one for each branch
    pruned = dict(state)
    for name, width, staying, count in (
        ("q_proj", config.head_dim, kept, config.n_heads),
        ("k_proj", config.head_dim, groups, config.n_kv_heads),
        ("v_proj", config.v_head_dim, groups, config.n_kv_heads),
        *([("gate_proj", gates, kept, config.n_heads)] if "gate_proj.weight" in state else []),
    ):
        for key in _named(state, name):
            rows = _rows(state, key, count * width, check_floating)
            pruned[key] = rows.reshape(count, width, *rows.shape[1:])[staying].reshape(
                len(staying) * width, *rows.shape[1:]
            )
    if config.sinks:
        pruned["sinks"] = _rows(state, "sinks", config.n_heads, check_floating)[kept]
    weight = _rows(state, "o_proj.weight", config.d_model, check_floating)
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
            "the layer normalizes all heads together (qk_norm_over = 'width'): with fewer of them "
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


def _named(state: Mapping[str, Weight], name: str) -> list[str]:
    """Keys of a projection: its weight, and its bias where it has one."""
    return [f"{name}.weight", *([f"{name}.bias"] if f"{name}.bias" in state else [])]


def _rows(state: Mapping[str, Weight], key: str, rows: int, check_floating: Check) -> Weight:
    """A weight that must be there, with the rows that it must have."""
    if key not in state:
        raise ConfigError(f"the state dict has no {key}: is it one attention layer's?")
    weight = state[key]
    check_floating(key, weight)
    if tuple(weight.shape[:1]) != (rows,):
        raise ShapeError(f"{key} must have {rows} rows, got shape {tuple(weight.shape)}")
    return weight
