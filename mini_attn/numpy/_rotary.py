"""Rotary embedding as a layer needs it: frequencies once, tables for the positions of a call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import DynamicNTK, LongRoPE, RopeConfig
from mini_attn.numpy._module import table_dtype
from mini_attn.numpy.rope import apply_rope, rope_frequencies, rope_table

Array = NDArray[Any]


class Rotary:
    """Turns queries and keys to their positions, as a configuration says."""

    def __init__(self, config: RopeConfig, width: int) -> None:
        self.config = config
        self.rotary_dim = width if config.rotary_dim is None else config.rotary_dim
        self._inv_freq, self._rope_factor, self.logit_factor = self._frequencies(None)

    def _frequencies(self, seq_len: int | None) -> tuple[Array, float, float]:
        return rope_frequencies(
            self.rotary_dim, theta=self.config.theta, scaling=self.config.scaling, seq_len=seq_len
        )

    def tables(self, positions: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
        """Cosines and sines (…, rotary_dim / 2) of positions, in float32 or wider."""
        inv_freq, rope_factor = self._inv_freq, self._rope_factor
        if isinstance(self.config.scaling, DynamicNTK | LongRoPE):  # their speed follows the length
            inv_freq, rope_factor, _ = self._frequencies(int(positions.max(initial=0)) + 1)
        kind = table_dtype(dtype)
        return rope_table(positions, inv_freq, rope_factor=rope_factor, dtype=kind)

    def turn(self, q: Array, k: Array, positions: Array) -> tuple[Array, Array]:
        """Queries and keys (batch, heads, seq, head_dim) at their positions."""
        cos, sin = self.tables(positions, q.dtype)
        layout = self.config.layout
        return apply_rope(q, cos, sin, layout=layout), apply_rope(k, cos, sin, layout=layout)
