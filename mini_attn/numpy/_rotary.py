"""Rotary embedding as a layer needs it: frequencies once, tables for the positions of a pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import DynamicNTK, LongRoPE, RopeConfig
from mini_attn.numpy.rope import rope_frequencies, turns

Array = NDArray[Any]


class Rotary:
    """How fast each pair of a head turns, as a configuration says."""

    def __init__(self, config: RopeConfig, width: int) -> None:
        self.layout, rotary_dim = config.layout, config.rotary_dim
        # What tables depend on: layers with the same rule share them.
        self.rule = (width if rotary_dim is None else rotary_dim, config.theta, config.scaling)
        self._inv_freq, self._rope_factor, self.logit_factor = self._frequencies(None)

    def _frequencies(self, seq_len: int | None) -> tuple[Array, float, float]:
        rotary_dim, theta, scaling = self.rule
        return rope_frequencies(rotary_dim, theta=theta, scaling=scaling, seq_len=seq_len)

    def tables(self, positions: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
        """Cosines and sines (…, rotary_dim / 2) of positions, in float32 or wider."""
        inv_freq, rope_factor = self._inv_freq, self._rope_factor
        if isinstance(self.rule[2], DynamicNTK | LongRoPE):  # their speed follows the length
            inv_freq, rope_factor, _ = self._frequencies(int(positions.max(initial=0)) + 1)
        return turns(positions, inv_freq, rope_factor, np.promote_types(dtype, np.float32))
