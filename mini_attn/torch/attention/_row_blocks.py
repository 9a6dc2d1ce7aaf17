"""Blocks of each row's own tokens: which block a key lies in, and which keys a block holds."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mini_attn.torch._module import wide


class RowBlocks:
    """The blocks of some keys by slot; padding lies in none, so that a row is as it is alone."""

    def __init__(
        self, positions: Tensor | None, kv_len: int, size: int, device: torch.device
    ) -> None:
        """Positions (kv_len,) or (batch, kv_len); None where every slot holds a token."""
        self.kv_len, self.size = kv_len, size
        self.n_blocks, self.n_whole = -(-kv_len // size), kv_len // size  # of a row at the most
        self.gapless = positions is None
        self.slots = torch.arange(kv_len, device=device)[None]  # of the tokens, in their order
        self.tokens = torch.full((1, 1), kv_len, device=device)
        self.of = self.slots // size
        if positions is not None:
            real = (
                positions if positions.ndim == 2 else positions[None]
            ) >= 0  # (1 or batch, kv_len)
            self.slots = (~real).to(torch.uint8).argsort(dim=1, stable=True)
            self.tokens = real.sum(dim=1, keepdim=True)
            self.of = ((real.cumsum(dim=1) - 1) // size).masked_fill(~real, -1)

    def means(self, array: Tensor) -> Tensor:
        """Of keys or values (batch, n_kv_heads, kv_len, width), over each block.

        A row with less tokens than others has means that nobody sees.
        """
        count = self.n_whole * self.size
        if self.gapless:
            array = array[:, :, :count]
        else:
            array = array.take_along_dim(self.slots[:, None, :count, None], dim=2)
        blocks = array.reshape(*array.shape[:2], self.n_whole, self.size, array.shape[3])
        return wide(blocks).mean(dim=3).to(array.dtype)

    def seen(self, mask: Tensor) -> Tensor:
        """A mask (…, q_len, kv_len) as (…, q_len, n_blocks, size): by block, in the row's order."""
        if not self.gapless:
            mask = mask.take_along_dim(self.slots[:, None, None], dim=3)
            counted = torch.arange(self.kv_len, device=mask.device)
            mask = mask & (counted < self.tokens[:, None, None])
        mask = F.pad(mask, (0, self.n_blocks * self.size - self.kv_len))
        return mask.reshape(*mask.shape[:3], self.n_blocks, self.size)

    def places(self, order: Tensor) -> tuple[Tensor, Tensor]:
        """Slots of a row's tokens by their number, and whether there is such a token."""
        there = (order >= 0) & (order < self.tokens[:, None])
        own = order.clamp(0, self.kv_len - 1)
        return self.slots[:, None].take_along_dim(own, dim=2), there
