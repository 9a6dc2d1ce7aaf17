"""Cutting tokens into heads and putting them together, without checks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def split(x: Array, n_heads: int) -> Array:
    """`split_heads` without checks."""
    return np.asarray(x.reshape(*x.shape[:2], n_heads, x.shape[2] // n_heads).swapaxes(1, 2))


def merge(x: Array) -> Array:
    """`merge_heads` without checks."""
    batch, n_heads, seq, head_dim = x.shape
    return x.swapaxes(1, 2).reshape(batch, seq, n_heads * head_dim)
