"""Rotary embedding as a layer needs it: how fast pairs turn, found once."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from mini_attn.config import DynamicNTK, LongRoPE, RopeConfig, RopeFrequencies
from mini_attn.numpy.positions.rope import rope_frequencies

Array = NDArray[Any]


class Rotary:
    """How fast each pair of a head turns, as a configuration says."""

    def __init__(self, config: RopeConfig, width: int) -> None:
        self.layout, rotary_dim = config.layout, config.rotary_dim
        # What tables depend on: layers with the same rule share them.
        turned = width if rotary_dim is None else rotary_dim
        self.rule = (turned, config.theta, config.scaling, config.rotated_pairs)
        inv_freq, rope_factor, self.logit_factor = self._frequencies(None)
        grows = isinstance(config.scaling, DynamicNTK | LongRoPE)  # with the length of the text
        self.speed = None if grows else (inv_freq, rope_factor)

    def speed_at(self, positions: Array) -> tuple[Array, float]:
        """Radians per position of each pair, and the factor of cosine and sine."""
        return self._frequencies(int(positions.max(initial=0)) + 1)[:2]

    def _frequencies(self, seq_len: int | None) -> RopeFrequencies:
        rotary_dim, theta, scaling, rotated = self.rule
        found = rope_frequencies(rotary_dim, theta=theta, scaling=scaling, seq_len=seq_len)
        if rotated is not None:
            found.inv_freq[rotated:] = 0  # the slowest pairs stand still
        return found
