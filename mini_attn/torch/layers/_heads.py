"""Cutting tokens into heads and putting them together, without checks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mini_attn.config import AttentionConfig, QueryGrowth
from mini_attn.shapes import DType
from mini_attn.torch._module import wide
from mini_attn.torch.layers.basic import Norm


def split(x: Tensor, n_heads: int) -> Tensor:
    """`split_heads` without checks."""
    return x.reshape(*x.shape[:2], n_heads, x.shape[2] // n_heads).transpose(1, 2)


def merge(x: Tensor) -> Tensor:
    """`merge_heads` without checks."""
    batch, n_heads, seq, head_dim = x.shape
    return x.transpose(1, 2).reshape(batch, seq, n_heads * head_dim)


def draw_norms(config: AttentionConfig, *, dtype: DType, device: Any) -> tuple[Norm, Norm]:
    """The norms of queries and keys: as long as a head, or as all heads together."""
    heads = (config.n_heads, config.n_kv_heads) if config.qk_norm_over == "width" else (1, 1)
    q_width, k_width = (n * config.head_dim for n in heads)
    kind: dict[str, Any] = {"eps": config.eps, "dtype": dtype, "device": device}
    return Norm(q_width, "rms_norm", **kind), Norm(k_width, "rms_norm", **kind)


def grown(q: Tensor, growth: QueryGrowth, positions: Tensor) -> Tensor:
    """Queries (batch, n_heads, q_len, head_dim), longer the later their position."""
    steps = (positions.clamp(min=0) + growth.offset) // growth.every
    factor = 1 + growth.weight * torch.log1p(steps.to(wide(q).dtype))  # (…, q_len)
    factor = factor.reshape(-1, 1, q.shape[2], 1)  # (1 or batch, 1, q_len, 1)
    return (q * factor).to(q.dtype)


def opened(x: Tensor, gate: Tensor) -> Tensor:
    """Numbers times the sigmoids of as many gates."""
    return (x * wide(gate).sigmoid()).to(x.dtype)
