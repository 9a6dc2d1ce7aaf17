"""Blocks of each row's own tokens: which block a key lies in, and which keys a block holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class RowBlocks:
    """The blocks of some keys by slot; padding lies in none, so that a row is as it is alone."""

    def __init__(self, positions: Array | None, kv_len: int, size: int) -> None:
        """Positions (kv_len,) or (batch, kv_len); None where every slot holds a token."""
        self.kv_len, self.size = kv_len, size
        self.n_blocks, self.n_whole = -(-kv_len // size), kv_len // size  # of a row at the most
        self.gapless = positions is None
        if positions is None:
            self.slots = np.arange(kv_len)[None]  # of the tokens, in their order
            self.tokens = np.full((1, 1), kv_len)
            self.of = self.slots // size
        else:
            real = np.atleast_2d(positions) >= 0  # (1 or batch, kv_len)
            self.slots = np.argsort(~real, axis=1, kind="stable")
            self.tokens = real.sum(axis=1, keepdims=True)
            self.of = np.where(real, (np.cumsum(real, axis=1) - 1) // size, -1)

    def means(self, array: Array) -> Array:
        """Of keys or values (batch, n_kv_heads, kv_len, width), over each block.

        A row with less tokens than others has means that nobody sees.
        """
        count = self.n_whole * self.size
        if self.gapless:
            array = array[:, :, :count]
        else:
            array = np.take_along_axis(array, self.slots[:, None, :count, None], axis=2)
        blocks = array.reshape(*array.shape[:2], self.n_whole, self.size, array.shape[3])
        wide = np.promote_types(array.dtype, np.float32)
        return blocks.mean(axis=3, dtype=wide).astype(array.dtype, copy=False)

    def seen(self, mask: Array) -> Array:
        """A mask (…, q_len, kv_len) as (…, q_len, n_blocks, size): by block, in the row's order."""
        if not self.gapless:
            mask = np.take_along_axis(mask, self.slots[:, None, None], axis=3)
            mask = mask & (np.arange(self.kv_len) < self.tokens[:, None, None])
        empty = self.n_blocks * self.size - self.kv_len
        mask = np.pad(mask, ((0, 0), (0, 0), (0, 0), (0, empty)))
        return mask.reshape(*mask.shape[:3], self.n_blocks, self.size)

    def places(self, order: Array) -> tuple[Array, Array]:
        """Slots of a row's tokens by their number, and whether there is such a token."""
        there = (order >= 0) & (order < self.tokens[:, None])
        own = np.clip(order, 0, self.kv_len - 1)
        return np.take_along_axis(self.slots[:, None], own, axis=2), there
