"""Cutting tokens into heads and putting them together, without checks."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mini_attn.config import AttentionConfig
from mini_attn.shapes import DType
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
