"""Cutting tokens into heads and putting them together, without checks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import AttentionConfig, QueryGrowth
from mini_attn.numpy.layers.basic import Norm
from mini_attn.shapes import DType

Array = NDArray[Any]


def split(x: Array, n_heads: int) -> Array:
    """`split_heads` without checks."""
    return np.asarray(x.reshape(*x.shape[:2], n_heads, x.shape[2] // n_heads).swapaxes(1, 2))


def merge(x: Array) -> Array:
    """`merge_heads` without checks."""
    batch, n_heads, seq, head_dim = x.shape
    return x.swapaxes(1, 2).reshape(batch, seq, n_heads * head_dim)


def draw_norms(config: AttentionConfig, *, dtype: DType) -> tuple[Norm, Norm]:
    """The norms of queries and keys: as long as a head, or as all heads together."""
    heads = (config.n_heads, config.n_kv_heads) if config.qk_norm_over == "width" else (1, 1)
    q_width, k_width = (n * config.head_dim for n in heads)
    kind: dict[str, Any] = {"eps": config.eps, "dtype": dtype}
    return Norm(q_width, "rms_norm", **kind), Norm(k_width, "rms_norm", **kind)


def grown(q: Array, growth: QueryGrowth, positions: Array) -> Array:
    """Queries (batch, n_heads, q_len, head_dim), longer the later their position."""
    steps = (np.maximum(positions, 0) + growth.offset) // growth.every
    factor = 1 + growth.weight * np.log1p(steps.astype(np.float64))  # (…, q_len)
    factor = factor.reshape(-1, 1, q.shape[2], 1)  # (1 or batch, 1, q_len, 1)
    return np.asarray((q * factor).astype(q.dtype))


def opened(x: Array, gate: Array) -> Array:
    """Numbers times the sigmoids of as many gates."""
    wide = gate.astype(np.promote_types(x.dtype, np.float32), copy=False)
    return np.asarray((x * (0.5 * (1 + np.tanh(0.5 * wide)))).astype(x.dtype, copy=False))
