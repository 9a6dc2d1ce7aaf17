"""A cache in blocks of a shared pool: no slot is set aside, and prefixes can be shared."""

from __future__ import annotations

from itertools import chain

import torch
from torch import Tensor

from mini_attn.errors import CacheOverflowError, CacheStateError, ConfigError
from mini_attn.shapes import check_count
from mini_attn.torch.block_pool import BlockPool
from mini_attn.torch.cache import KVCache

__all__ = ["PagedKVCache"]


class PagedKVCache(KVCache):
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
    block first. `append` and `view` gather the blocks into one array: here that is a copy of
    all that is held, which a kernel that follows the table itself does not make. A cache that is
    no longer needed gives its blocks back by ``crop(0)``.

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
        # The checks, positions and lengths are KVCache's; the arrays are the pool's, so that
        # nothing is allocated here.
        if not isinstance(pool, BlockPool):
            raise ConfigError(f"pool must be a BlockPool, got {pool!r:.60}")
        self.pool, self.batch = pool, check_count("batch", batch)
        self.n_kv_heads = pool.n_kv_heads
        self.head_dim, self.v_head_dim = pool.head_dim, pool.v_head_dim
        self.slots = 0
        self.contiguous = True
        self._padded = False
        self._k, self._v = pool._k, pool._v
        self.block_table: list[list[int]] = [[] for _ in range(batch)]
        self._grow(pool.block_size)
        self._note_table()

    @property
    def capacity(self) -> int:  # type: ignore[override]  # it changes with what others hold
        """Slots that each row can reach with the blocks that are free now."""
        free = self.pool.n_free - self._blocks_needed(self.slots)[1]
        if free < 0:  # not even the shared last blocks can be copied, which writing begins with
            return self.slots
        return (len(self.block_table[0]) + free // self.batch) * self.pool.block_size

    def append(
        self, k: Tensor, v: Tensor, *, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Write new tokens behind the old ones, into new blocks where the last are full.

        ``k_all = concatenate(k_past, k)``

        Parameters
        ----------
        k : array (batch, n_kv_heads, q_len, head_dim)
            Keys of the new tokens.
        v : array (batch, n_kv_heads, q_len, v_head_dim)
            Values of the new tokens.
        positions : integer array (q_len,) or (batch, q_len), or None
            Their positions, -1 for padding; None continues after each row's last position.

        Returns
        -------
        tuple of arrays (k_all, v_all, kv_positions)
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
        start, new = self.slots, self._check(k, v)
        usual = self._count[start : start + new]
        rows = (
            usual if positions is None and self.contiguous else self._new_positions(positions, new)
        )
        # Everything has been checked: from here on nothing can fail half-way.
        if rows is not usual:
            self.contiguous = self.contiguous and bool((rows == usual).all())
            self._padded = self._padded or bool((rows < 0).any())
        self._own_blocks(start, start + new)
        size = self.pool.block_size
        blocks = self._table[:, usual // size]  # (batch, q_len)
        self._k[blocks, :, usual % size] = k.detach().swapaxes(1, 2)
        self._v[blocks, :, usual % size] = v.detach().swapaxes(1, 2)
        self._positions[:, start : start + new] = rows
        self.slots = start + new
        return self.view()

    def _check_room(self, new: int) -> None:
        need = sum(self._blocks_needed(self.slots + new))
        if need > self.pool.n_free:
            raise CacheOverflowError(
                f"{new} new tokens need {need} blocks, {self.pool.n_free} of "
                f"{self.pool.n_blocks} are free"
            )
        self._grow(self.slots + new)

    def _blocks_needed(self, end: int) -> tuple[int, int]:
        """New blocks up to a slot, and copies of the last ones, which others hold too."""
        size = self.pool.block_size
        fresh = self.batch * (-(-end // size) - len(self.block_table[0]))
        if self.slots % size == 0:
            return fresh, 0
        last = [blocks[self.slots // size] for blocks in self.block_table]
        # Of the rows here that share a block, one may keep it if nobody else holds it.
        copies = sum(min(last.count(block), self.pool.references(block) - 1) for block in set(last))
        return fresh, copies

    def _own_blocks(self, start: int, end: int) -> None:
        """Blocks for the slots from start to end that nobody else holds."""
        size, changed = self.pool.block_size, False
        for blocks in self.block_table:
            if start % size and self.pool.references(blocks[start // size]) > 1:
                shared = blocks[start // size]
                blocks[start // size] = own = self.pool.take()
                self._k[own], self._v[own] = self._k[shared], self._v[shared]
                self.pool.release(shared)
                changed = True
            while len(blocks) * size < end:
                blocks.append(self.pool.take())
                changed = True
        if changed:
            self._note_table()

    def _grow(self, slots: int) -> None:
        """Room for the positions of so many slots."""
        held = getattr(self, "_positions", None)
        if held is not None and slots <= held.shape[1]:
            return
        size = max(2 * slots, self.pool.block_size)
        with torch.inference_mode(False):
            self._count = torch.arange(size, device=self._k.device)
            self._positions = self._count.repeat(self.batch, 1)
            if held is not None:
                self._positions[:, : held.shape[1]] = held

    def _note_table(self) -> None:
        """The block table as an array (batch, blocks), for gathering."""
        self._table = torch.tensor(
            self.block_table, dtype=torch.long, device=self._k.device
        ).reshape(self.batch, -1)

    def view(self) -> tuple[Tensor, Tensor, Tensor]:
        """Everything held, gathered from its blocks.

        ``k_all, v_all, kv_positions``

        Returns
        -------
        tuple of arrays (k_all, v_all, kv_positions)
            As `append` returns them; a copy.

        Notes
        -----
        Later appends do not show in it.

        References
        ----------
        kwon2023pagedattention, section 4.1

        Examples
        --------
        >>> from mini_attn.torch import BlockPool
        >>> PagedKVCache(BlockPool(4, 1, 2), batch=1).view()[0].shape
        torch.Size([1, 1, 0, 2])
        """
        return (
            self._gather(self._k),
            self._gather(self._v),
            self._positions[:, : self.slots].clone(),
        )

    def _gather(self, blocks: Tensor) -> Tensor:
        """(n_blocks, n_kv_heads, block_size, dim) as (batch, n_kv_heads, slots, dim)."""
        # Heads go first, so that the blocks of a head come to lie side by side in the one copy.
        rows = blocks.transpose(0, 1)[:, self._table]  # (n_kv_heads, batch, blocks, size, dim)
        return rows.transpose(0, 1).reshape(self.batch, self.n_kv_heads, -1, blocks.shape[3])[
            :, :, : self.slots
        ]

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the keys and values of the blocks it holds, each counted once."""
        held = len(set(chain(*self.block_table)))
        return self.pool.allocated_bytes // self.pool.n_blocks * held

    @property
    def used_bytes(self) -> int:
        """Bytes of the keys and values of the slots that are filled, each counted once."""
        size = self.pool.block_size
        filled = {
            block: min(size, self.slots - i * size)
            for blocks in self.block_table
            for i, block in enumerate(blocks)
        }
        slot = self.pool.allocated_bytes // (self.pool.n_blocks * size)
        return slot * sum(filled.values())

    def crop(self, n: int) -> None:
        """Forget all but the first slots, and give back the blocks that are not needed.

        ``slots = n``

        Parameters
        ----------
        n : int
            Slots to keep, padded ones counted; 0 gives everything back.

        Raises
        ------
        CacheStateError
            If fewer than ``n`` slots are filled.
        ConfigError
            If ``n`` is no whole number or negative.

        Notes
        -----
        Nothing is moved, and what others hold stays theirs.

        References
        ----------
        leviathan2023speculative, section 2.3

        Examples
        --------
        >>> import torch
        >>> from mini_attn.torch import BlockPool
        >>> pool, rows = BlockPool(4, 1, 4, block_size=2), torch.ones(1, 1, 3, 4)
        >>> cache = PagedKVCache(pool, batch=1)
        >>> _ = cache.append(rows, rows)
        >>> cache.crop(1)
        >>> from mini_attn.torch import BlockPool
        >>> pool.n_free
        3
        """
        n = check_count("n", n, least=0)
        if n > self.slots:
            raise CacheStateError(f"cannot keep {n} slots: only {self.slots} are filled")
        keep = -(-n // self.pool.block_size)
        for blocks in self.block_table:
            while len(blocks) > keep:
                self.pool.release(blocks.pop())
        self._note_table()
        self.slots = n
        self._look()

    def fork(self) -> PagedKVCache:
        """A cache that shares every block until one of the two writes.

        ``copy = cache``

        Returns
        -------
        PagedKVCache
            Same contents, same pool; appends to one do not show in the other.

        Notes
        -----
        Copies block numbers and positions, no keys and no values: a prompt that many
        continuations share is held once.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> from mini_attn.torch import BlockPool
        >>> PagedKVCache(BlockPool(4, 1, 2), batch=1).fork().slots
        0
        """
        twin = PagedKVCache(self.pool, self.batch)
        twin._grow(self.slots)
        twin._positions[:, : self.slots] = self._positions[:, : self.slots]
        twin.block_table = [list(blocks) for blocks in self.block_table]
        for block in chain(*twin.block_table):
            self.pool.share(block)
        twin.slots, twin.contiguous, twin._padded = self.slots, self.contiguous, self._padded
        twin._note_table()
        return twin

    def _take(self, index: Tensor) -> None:
        table = [list(self.block_table[row]) for row in index.tolist()]
        for block in chain(*table):  # first, so that no block is free in between
            self.pool.share(block)
        for block in chain(*self.block_table):
            self.pool.release(block)
        self.block_table = table
        self._positions[:, : self.slots] = self._positions[index, : self.slots]
        self._note_table()
