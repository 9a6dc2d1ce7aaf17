"""Rotary embedding as a layer needs it: frequencies once, tables for the positions of a call."""

from __future__ import annotations

import torch
from torch import Tensor

from mini_attn.config import DynamicNTK, LongRoPE, RopeConfig
from mini_attn.torch._module import table_dtype
from mini_attn.torch.rope import apply_rope, rope_frequencies, rope_table


class Rotary:
    """Turns queries and keys to their positions, as a configuration says.

    No module and no buffer: `model.to(torch.bfloat16)` must not round the frequencies.
    """

    def __init__(self, config: RopeConfig, width: int) -> None:
        self.config = config
        self.rotary_dim = width if config.rotary_dim is None else config.rotary_dim
        with torch.device("cpu"):  # real numbers, also where the layer is built without storage
            self._inv_freq, self._rope_factor, self.logit_factor = self._frequencies(None)

    def _frequencies(self, seq_len: int | None) -> tuple[Tensor, float, float]:
        return rope_frequencies(
            self.rotary_dim, theta=self.config.theta, scaling=self.config.scaling, seq_len=seq_len
        )

    def tables(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosines and sines (…, rotary_dim / 2) of positions, in float32 or wider."""
        inv_freq, rope_factor = self._inv_freq, self._rope_factor
        if isinstance(self.config.scaling, DynamicNTK | LongRoPE):  # their speed follows the length
            last = int(positions.max()) if positions.numel() else 0
            inv_freq, rope_factor, _ = self._frequencies(max(last, 0) + 1)  # -1: all is padding
        elif inv_freq.device != positions.device and positions.device.type != "mps":
            inv_freq = self._inv_freq = inv_freq.to(positions.device)  # once, not in each step
        kind = table_dtype(dtype)
        return rope_table(positions, inv_freq, rope_factor=rope_factor, dtype=kind)

    def turn(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys (batch, heads, seq, head_dim) at their positions."""
        cos, sin = self.tables(positions, q.dtype)
        layout = self.config.layout
        return apply_rope(q, cos, sin, layout=layout), apply_rope(k, cos, sin, layout=layout)
