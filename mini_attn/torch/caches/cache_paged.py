"""A cache in blocks of a shared pool: no slot is set aside, and prefixes can be shared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from mini_attn.caching import Cached, Paged, Pages, Transaction
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.torch.attention._reading import Reading, read_pages
from mini_attn.torch.attention.online import Tile
from mini_attn.torch.caches.block_pool import BlockPool
from mini_attn.torch.caches.cache import KVCache

__all__ = ["PagedKVCache"]


class PagedKVCache(Reading, Pages, KVCache):
    """Keys and values of the tokens so far, of one layer, in blocks of a pool.

    ``slot s of row b = slot s % block_size of block block_table[b][s // block_size]``

    Parameters
    ----------
    pool : BlockPool
        Where blocks are taken from; several caches may share it.
    batch : int
        Sequences.

    Raises
    ------
    ConfigError
        If ``batch`` is below 1 or there is no pool.

    Notes
    -----
    ``allocated_bytes = distinct blocks held * n_kv_heads * block_size * (head_dim + v_head_dim)
    * dtype_bytes``: at most one block of each row is not full. `fork` and `reorder` copy block
    numbers only; a row that writes into a block that others hold gets its own copy of that
    block first. `append` and `view` gather the blocks into one array, a copy of all that is held;
    `attend` and `paged_attention` follow the table instead. `adopt` begins with the blocks of a
    known prefix. A cache that is no longer needed gives its blocks back by ``crop(0)``.

    References
    ----------
    kwon2023pagedattention, sections 4.1 to 4.4

    Examples
    --------
    >>> import torch
    >>> from mini_attn.torch import BlockPool
    >>> pool = BlockPool(8, n_kv_heads=1, head_dim=4, block_size=2)
    >>> cache, rows = PagedKVCache(pool, batch=1), torch.ones(1, 1, 3, 4)
    >>> cache.append(rows, rows)[0].shape, cache.block_table
    (torch.Size([1, 1, 3, 4]), [[0, 1]])
    >>> twin = cache.fork()  # holds the same two blocks
    >>> pool.n_free
    6
    """

    def __init__(self, pool: BlockPool, batch: int) -> None:
        if not isinstance(pool, BlockPool):
            raise ConfigError(f"pool must be a BlockPool, got {pool!r:.60}")
        self.pool, self.batch = pool, check_count("batch", batch)
        self.n_kv_heads = pool.n_kv_heads
        self.head_dim, self.v_head_dim = pool.head_dim, pool.v_head_dim
        self._dtype, self._device = pool._k.dtype, pool._k.device
        self._shares_memory = self._device.type == "cpu"
        arrays = (pool._k, pool._v)  # the pool's: nothing is allocated here
        self._begin(self._with_table(Paged(0, arrays), ((),) * batch))

    def append(
        self, k: Tensor, v: Tensor, *, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Write new tokens behind the old ones, into new blocks where the last are full.

        ``k_all = concatenate(k_past, k)``

        Parameters
        ----------
        k : tensor (batch, n_kv_heads, q_len, head_dim)
            Keys of the new tokens.
        v : tensor (batch, n_kv_heads, q_len, v_head_dim)
            Values of the new tokens.
        positions : integer tensor (q_len,) or (batch, q_len), or None
            Their positions, -1 for padding; None continues after each row's last position.

        Returns
        -------
        tuple of tensors (k_all, v_all, kv_positions)
            All tokens so far, gathered: (batch, n_kv_heads, kv_len, head_dim), the same with
            v_head_dim, and their positions (batch, kv_len).

        Raises
        ------
        CacheOverflowError
            If the pool has too few free blocks; nothing is written or taken.
        ShapeError
            If a shape is wrong; nothing is written.
        DTypeError
            If a dtype is not the cache's; nothing is written.
        ConfigError
            If a position is below -1 or not after the row's last; nothing is written.

        Notes
        -----
        A last block that others hold too is copied before it is written.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> import torch
        >>> from mini_attn.torch import BlockPool
        >>> pool, rows = BlockPool(1, 1, 4, block_size=2), torch.ones(1, 1, 3, 4)
        >>> PagedKVCache(pool, batch=1).append(rows, rows)
        Traceback (most recent call last):
        mini_attn.errors.CacheOverflowError: 3 new tokens need 2 blocks, 1 of 1 are free
        """
        return super().append(k, v, positions=positions)

    def _append(
        self, k: Tensor, v: Tensor, positions: Tensor | None, transaction: Transaction
    ) -> Cached:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        state: Any = self._state_in(transaction)
        after: Any = self._advance(state, positions, k.shape[2], transaction)
        owned, copies = self._own(state, after.slots, transaction)
        after = replace(after, table=owned.table, index=owned.index)
        self._stage(after, transaction)
        size, new = self.pool.block_size, self._arange(state.slots, after.slots)
        blocks = after.index[:, new // size]  # (batch, q_len)
        for held, given in zip(after.arrays, (k.detach(), v.detach()), strict=True):
            for own, shared in copies:
                held[own] = held[shared]
            held[blocks, :, new % size] = given.swapaxes(1, 2)
        return self._cached(after)

    def _arange(self, start: int, stop: int) -> Tensor:
        return torch.arange(start, stop, device=self._device)

    def _cached(self, state: Any) -> Cached:
        """Everything, gathered from its blocks."""
        k, v = (self._gather(array, state) for array in state.arrays)
        if state.counted:
            rows = self._arange(0, state.slots).expand(self.batch, -1)
        else:
            rows = state.mirror[:, : state.slots].clone()
        return Cached(k, v, rows, counted=state.counted, last_sees_all=not state.padded)

    def _tiles(self, state: Any, block_k: int) -> Iterator[Tile]:
        return read_pages(state.arrays, state.index, state.slots, block_k)

    def _gather(self, blocks: Tensor, state: Any) -> Tensor:
        """(n_blocks, n_kv_heads, block_size, dim) as (batch, n_kv_heads, slots, dim)."""
        # Heads go first, so that the blocks of a head come to lie side by side in the one copy.
        rows = blocks.transpose(0, 1)[:, state.index]  # (n_kv_heads, batch, blocks, size, dim)
        return rows.transpose(0, 1).reshape(self.batch, self.n_kv_heads, -1, blocks.shape[3])[
            :, :, : state.slots
        ]
