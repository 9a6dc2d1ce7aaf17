"""Cutting tokens into heads and putting them together, without checks."""

from __future__ import annotations

from torch import Tensor


def split(x: Tensor, n_heads: int) -> Tensor:
    """`split_heads` without checks."""
    return x.reshape(*x.shape[:2], n_heads, x.shape[2] // n_heads).transpose(1, 2)


def merge(x: Tensor) -> Tensor:
    """`merge_heads` without checks."""
    batch, n_heads, seq, head_dim = x.shape
    return x.transpose(1, 2).reshape(batch, seq, n_heads * head_dim)
