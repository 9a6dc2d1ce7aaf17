"""The three branches of native sparse attention, without checks."""

from __future__ import annotations

import torch
from torch import Tensor

from mini_attn.config import NativeSparseConfig
from mini_attn.torch._module import wide
from mini_attn.torch.attention._row_blocks import RowBlocks
from mini_attn.torch.attention._visibility import Visibility
from mini_attn.torch.attention.dot_product import attend, attend_in_full
from mini_attn.torch.layers.indexed import top_indices


class Branches:
    """What the branches share: queries, keys and values, their blocks, and who sees whom."""

    def __init__(
        self,
        config: NativeSparseConfig,
        scale: float,
        asked: tuple[Tensor, Tensor, Tensor],
        blocks: RowBlocks,
        sights: tuple[Visibility, Visibility],  # of all keys, and of the window
    ) -> None:
        self.config, self.scale, self.blocks = config, scale, blocks
        self.q, self.k, self.v = asked
        self.whole, self.near = sights

    def compressed(self, means: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor | None]:
        """The branch of the means, and the blocks that it chooses.

        These are (batch, n_kv_heads, q_len, n_blocks), in their order; None where it is all.
        """
        blocks, n = self.blocks, self.blocks.n_whole
        batch, n_heads, q_len, _ = self.q.shape
        mask = self.whole.whole()
        free = mask is None and blocks.gapless  # every complete block is seen whole
        if mask is None:
            mask = torch.ones(1, 1, q_len, blocks.kv_len, dtype=torch.bool, device=self.q.device)
        seen = blocks.seen(mask)
        out = self.q.new_zeros(batch, n_heads, q_len, self.v.shape[3])
        weights = wide(self.q).new_zeros(batch, n_heads, q_len, 0)
        if n:
            complete = self._seen(n, None if free else seen.all(dim=4)[..., :n])
            asked = self.q, *means, complete, self.scale, None, self.config.softcap
            out, weights, _ = attend_in_full(*asked)
        if blocks.n_blocks <= self.config.n_blocks:
            return out, None
        return out, self._choice(weights.detach(), seen.any(dim=4))

    def _choice(self, weights: Tensor, some: Tensor) -> Tensor:
        """The blocks of most weight; those of which no head of the group sees a token are last."""
        n, group = self.blocks.n_blocks, self.config.group_size
        batch, _, q_len, whole = weights.shape
        worth = weights.new_zeros(batch, self.k.shape[1], q_len, n)
        worth[..., :whole] = weights.reshape(*worth.shape[:2], group, q_len, whole).sum(dim=2)
        if some.shape[1] > 1:
            some = some.reshape(len(some), self.k.shape[1], group, q_len, n).any(dim=2)
        counted = torch.arange(n, device=worth.device)
        own = self.blocks.of[:, None, self.blocks.kv_len - q_len :, None] == counted
        ranked = worth.masked_fill(~some, -torch.inf).masked_fill(own, torch.inf)
        return top_indices(ranked, self.config.n_blocks)

    def selected(self, chosen: Tensor | None, lone: bool) -> Tensor:
        """The branch of the chosen blocks, which a lone token gathers and several mask."""
        blocks = self.blocks
        if chosen is None:
            return self._attend(self.k, self.v, self.whole)
        if lone:
            inside = torch.arange(blocks.size, device=chosen.device)
            order = (chosen[:, :, 0, :, None] * blocks.size + inside).flatten(2)
            if blocks.gapless:  # its own block comes last, and may not be full
                order = order[..., : order.shape[2] + blocks.kv_len - blocks.n_blocks * blocks.size]
            return self._gathered(order, self.whole.whole())
        found = chosen.new_zeros(*chosen.shape[:3], blocks.n_blocks, dtype=torch.bool)
        found = found.scatter(3, chosen, True)
        read = found.take_along_dim(blocks.of.clamp(min=0)[:, None, None], dim=3)
        read = read.repeat_interleave(self.config.group_size, dim=1)
        mask = self.whole.whole()
        both = self._seen(blocks.kv_len, read if mask is None else read & mask)
        return self._attend(self.k, self.v, both)

    def window(self, lone: bool) -> Tensor:
        """The branch of the last keys."""
        blocks, width = self.blocks, min(self.config.window, self.blocks.kv_len)
        if not lone:
            return self._attend(self.k, self.v, self.near)
        if not blocks.gapless:
            order = blocks.tokens - width + torch.arange(width, device=self.q.device)
            return self._gathered(order[:, None], self.near.whole())
        last = slice(blocks.kv_len - width, blocks.kv_len)
        mask = self.near.tile(slice(0, 1), last)
        if mask is False:
            mask = torch.zeros(1, 1, 1, width, dtype=torch.bool, device=self.q.device)
        return self._attend(self.k[:, :, last], self.v[:, :, last], self._seen(width, mask))

    def _gathered(self, order: Tensor, mask: Tensor | None) -> Tensor:
        """Attention to a row's tokens by their number (1 or batch, 1 or n_kv_heads, keys)."""
        slots, there = self.blocks.places(order)
        k, v = (a.take_along_dim(slots[..., None], dim=2) for a in (self.k, self.v))
        if slots.shape[1] > 1:
            group = self.config.group_size
            slots, there = (a.repeat_interleave(group, dim=1) for a in (slots, there))
        if mask is not None:
            mask = mask.take_along_dim(slots[:, :, None], dim=3) & there[:, :, None]
        elif not self.blocks.gapless:
            mask = there[:, :, None]
        return self._attend(k, v, self._seen(k.shape[2], mask))

    def _seen(self, keys: int, mask: Tensor | None) -> Visibility:
        """Return the visibility of some keys."""
        return Visibility(self.q.shape[2], keys, self.q.device, mask=mask)

    def _attend(self, k: Tensor, v: Tensor, seen: Visibility) -> Tensor:
        """One softmax."""
        return attend(self.q, k, v, seen, self.scale, None, self.config.softcap)
