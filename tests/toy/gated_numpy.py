"""Gated attention in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.numpy import GroupedQueryAttention, Linear


class GatedAttention(GroupedQueryAttention):
    """``out = sigmoid(gate_proj(x)) * attention(x)``"""

    def __init__(self, config: Any, *, seed: int = 0, dtype: str = "float32") -> None:
        super().__init__(config, seed=seed, dtype=dtype)
        self.gate_proj = Linear(config.d_model, config.d_model, seed=seed + 9, dtype=dtype)

    def __call__(self, x: Any, **options: Any) -> Any:
        return super().__call__(x, **options) / (1 + np.exp(-self.gate_proj(x)))
