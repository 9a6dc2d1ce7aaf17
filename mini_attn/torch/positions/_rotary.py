"""Rotary embedding as a layer needs it: frequencies once, tables for the positions of a pass."""

from __future__ import annotations

import torch
from torch import Tensor

from mini_attn.config import DynamicNTK, LongRoPE, RopeConfig, RopeFrequencies
from mini_attn.torch._module import exact_device
from mini_attn.torch.positions.rope import cos_and_sin, rope_frequencies


class Rotary:
    """How fast each pair of a head turns, as a configuration says.

    No module and no buffer: `model.to(torch.bfloat16)` must not round the frequencies.
    """

    def __init__(self, config: RopeConfig, width: int) -> None:
        self.layout, rotary_dim = config.layout, config.rotary_dim
        # What tables depend on: layers with the same rule share them.
        turned = width if rotary_dim is None else rotary_dim
        self.rule = (turned, config.theta, config.scaling, config.rotated_pairs)
        with torch.device("cpu"):  # real numbers, also where the layer is built without storage
            self._inv_freq, self._rope_factor, self.logit_factor = self._frequencies(None)

    def _frequencies(self, seq_len: int | None) -> RopeFrequencies:
        rotary_dim, theta, scaling, rotated = self.rule
        found = rope_frequencies(rotary_dim, theta=theta, scaling=scaling, seq_len=seq_len)
        if rotated is not None:
            found.inv_freq[rotated:] = 0  # the slowest pairs stand still
        return found

    def tables(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosines and sines (…, rotary_dim / 2) of positions, in float32 or wider."""
        inv_freq, rope_factor = self._inv_freq, self._rope_factor
        if isinstance(self.rule[2], DynamicNTK | LongRoPE):  # their speed follows the length
            last = int(positions.max()) if positions.numel() else 0
            inv_freq, rope_factor, _ = self._frequencies(max(last, 0) + 1)  # -1: all is padding
        elif inv_freq.device != (home := exact_device(positions.device)):
            inv_freq = self._inv_freq = inv_freq.to(home)  # once, not in each step
        return cos_and_sin(
            positions, inv_freq, rope_factor, torch.promote_types(dtype, torch.float32)
        )
