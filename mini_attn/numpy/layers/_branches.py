"""The three branches of native sparse attention, without checks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import NativeSparseConfig
from mini_attn.numpy.attention._row_blocks import RowBlocks
from mini_attn.numpy.attention._visibility import Visibility
from mini_attn.numpy.attention.dot_product import attend_in_full
from mini_attn.numpy.layers.indexed import top_indices

Array = NDArray[Any]


class Branches:
    """What the branches share: queries, keys and values, their blocks, and who sees whom."""

    def __init__(
        self,
        config: NativeSparseConfig,
        scale: float,
        asked: tuple[Array, Array, Array],
        blocks: RowBlocks,
        sights: tuple[Visibility, Visibility],  # of all keys, and of the window
    ) -> None:
        self.config, self.scale, self.blocks = config, scale, blocks
        self.q, self.k, self.v = asked
        self.whole, self.near = sights

    def compressed(self, means: tuple[Array, Array]) -> tuple[Array, Array | None]:
        """The branch of the means, and the blocks that it chooses.

        These are (batch, n_kv_heads, q_len, n_blocks), in their order; None where it is all.
        """
        blocks, n = self.blocks, self.blocks.n_whole
        batch, n_heads, q_len, _ = self.q.shape
        mask = self.whole.whole()
        free = mask is None and blocks.gapless  # every complete block is seen whole
        seen = blocks.seen(np.ones((1, 1, q_len, blocks.kv_len), bool) if mask is None else mask)
        out = np.zeros((batch, n_heads, q_len, self.v.shape[3]), self.q.dtype)
        weights = np.zeros((batch, n_heads, q_len, 0), np.float32)
        if n:
            complete = Visibility(q_len, n, mask=None if free else np.all(seen, axis=4)[..., :n])
            asked = self.q, *means, complete, self.scale, None, self.config.softcap
            out, weights, _ = attend_in_full(*asked)
        if blocks.n_blocks <= self.config.n_blocks:
            return out, None
        return out, self._choice(weights, np.asarray(seen.any(axis=4)))

    def _choice(self, weights: Array, some: Array) -> Array:
        """The blocks of most weight; those of which no head of the group sees a token are last."""
        n, group = self.blocks.n_blocks, self.config.group_size
        batch, _, q_len, whole = weights.shape
        worth = np.zeros((batch, self.k.shape[1], q_len, n), weights.dtype)
        worth[..., :whole] = weights.reshape(*worth.shape[:2], group, q_len, whole).sum(axis=2)
        if some.shape[1] > 1:
            some = np.asarray(some.reshape(len(some), self.k.shape[1], group, q_len, n).any(axis=2))
        own = self.blocks.of[:, None, self.blocks.kv_len - q_len :, None] == np.arange(n)
        ranked = np.where(own, np.inf, np.where(some, worth, -np.inf))
        return top_indices(ranked, self.config.n_blocks)

    def selected(self, chosen: Array | None, lone: bool) -> Array:
        """The branch of the chosen blocks, which a lone token gathers and several mask."""
        blocks = self.blocks
        if chosen is None:
            return self._attend(self.k, self.v, self.whole)
        if lone:
            order = chosen[:, :, 0, :, None] * blocks.size + np.arange(blocks.size)
            order = order.reshape(*order.shape[:2], chosen.shape[3] * blocks.size)
            if blocks.gapless:  # its own block comes last, and may not be full
                order = order[..., : order.shape[2] + blocks.kv_len - blocks.n_blocks * blocks.size]
            return self._gathered(order, self.whole.whole())
        found = np.zeros((*chosen.shape[:3], blocks.n_blocks), bool)
        np.put_along_axis(found, chosen, True, axis=3)
        read = np.take_along_axis(found, np.maximum(blocks.of, 0)[:, None, None], axis=3)
        read = np.repeat(read, self.config.group_size, axis=1)
        mask = self.whole.whole()
        both = Visibility(*read.shape[2:], mask=read if mask is None else read & mask)
        return self._attend(self.k, self.v, both)

    def window(self, lone: bool) -> Array:
        """The branch of the last keys."""
        blocks, width = self.blocks, min(self.config.window, self.blocks.kv_len)
        if not lone:
            return self._attend(self.k, self.v, self.near)
        if not blocks.gapless:
            order = blocks.tokens - width + np.arange(width)
            return self._gathered(order[:, None], self.near.whole())
        last = slice(blocks.kv_len - width, blocks.kv_len)
        mask = self.near.tile(slice(0, 1), last)
        if mask is False:
            mask = np.zeros((1, 1, 1, width), bool)
        seen = Visibility(1, width, mask=mask)
        return self._attend(self.k[:, :, last], self.v[:, :, last], seen)

    def _gathered(self, order: Array, mask: Array | None) -> Array:
        """Attention to a row's tokens by their number (1 or batch, 1 or n_kv_heads, keys)."""
        slots, there = self.blocks.places(order)
        k, v = (np.take_along_axis(a, slots[..., None], axis=2) for a in (self.k, self.v))
        if slots.shape[1] > 1:
            slots, there = (np.repeat(a, self.config.group_size, axis=1) for a in (slots, there))
        if mask is not None:
            mask = np.take_along_axis(mask, slots[:, :, None], axis=3) & there[:, :, None]
        elif not self.blocks.gapless:
            mask = there[:, :, None]
        return self._attend(k, v, Visibility(1, k.shape[2], mask=mask))

    def _attend(self, k: Array, v: Array, seen: Visibility) -> Array:
        """Return what one softmax gathers."""
        return attend_in_full(self.q, k, v, seen, self.scale, None, self.config.softcap).out
