"""A cache in blocks that begins with the blocks of a known prefix, and tells of its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

from mini_attn.caching.sizes import Sizes
from mini_attn.errors import CacheStateError, ShapeError

__all__ = ["Adopting"]


class Adopting(Sizes):
    """What `Pages` can do with the prefixes that its pool knows."""

    pool: Any
    _paged: Any
    _with_table: Any
    _together: Any
    _integers: Any

    def adopt(self, tokens: Any) -> int:
        """Hold the blocks of the longest prefix that is known, instead of computing it again.

        ``slots = block_size * blocks that each row's tokens begin with``

        Parameters
        ----------
        tokens : integer array (batch, seq)
            What the sequences will hold, from their beginning.

        Returns
        -------
        int
            Slots that are filled now; the tokens behind them are still to be run.

        Raises
        ------
        CacheStateError
            If the cache is not empty.
        ShapeError
            If there is not one row of tokens for each sequence.
        DTypeError
            If the tokens are no integers.

        Notes
        -----
        At least one token of each row is left to run, as its logits are wanted. Rows are filled
        alike: the shortest prefix among them counts. Blocks that nobody holds any more are
        revived. Each layer has a cache of its own, and each adopts.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> import numpy as np
        >>> from mini_attn.numpy import BlockPool, PagedKVCache
        >>> pool, rows = BlockPool(8, 1, 4, block_size=2), np.ones((1, 1, 5, 4), np.float32)
        >>> cache, tokens = PagedKVCache(pool, batch=1), np.array([[3, 1, 4, 1, 5]])
        >>> _ = cache.append(rows, rows)
        >>> cache.remember(tokens)
        >>> twin = PagedKVCache(pool, batch=1)
        >>> twin.adopt(tokens), twin.block_table
        (4, [[0, 1]])
        """
        state, rows = self._paged, self._tokens(tokens)
        if state.slots:
            raise CacheStateError(
                f"only an empty cache adopts a prefix, here {state.slots} slots are filled"
            )
        found = [self.pool.prefixes.find(row) for row in rows]
        n = min(len(blocks) for blocks in found)
        if n:
            table = tuple(tuple(blocks[:n]) for blocks in found)
            after = replace(self._with_table(state, table), slots=n * self.pool.block_size)
            self._together(after, share=chain(*table))
        return n * self.pool.block_size

    def remember(self, tokens: Any) -> None:
        """Say which tokens it holds, so that other sequences may adopt its full blocks.

        ``found[hash(tokens up to a full block's end)] = block``

        Parameters
        ----------
        tokens : integer array (batch, slots)
            Tokens of all its slots.

        Raises
        ------
        CacheStateError
            If its rows do not hold positions 0, 1, 2, …
        ShapeError
            If there is not one token for each slot.
        DTypeError
            If the tokens are no integers.

        Notes
        -----
        Keys depend on all tokens before them and on the model: pools of one model remember, and
        what else changes keys (an adapter, an image) belongs into the tokens or into a pool of
        its own. Known until the block is taken for something else or written into.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> import numpy as np
        >>> from mini_attn.numpy import BlockPool, PagedKVCache
        >>> pool, row = BlockPool(8, 1, 4, block_size=1), np.ones((1, 1, 1, 4), np.float32)
        >>> cache = PagedKVCache(pool, batch=1)
        >>> _ = cache.append(row, row)
        >>> cache.remember(np.array([[7]]))
        >>> pool.prefixes.find([7, 8])
        [0]
        """
        state, rows = self._paged, self._tokens(tokens)
        if len(rows[0]) != state.slots:
            raise ShapeError(
                f"tokens must be (batch, slots) = ({self.batch}, {state.slots}), "
                f"got ({self.batch}, {len(rows[0])})"
            )
        if not state.counted:
            raise CacheStateError("a cache with padding or gaps has no prefix to share")
        for row, blocks in zip(rows, state.table, strict=True):
            self.pool.prefixes.learn(row, blocks)

    def _tokens(self, tokens: Any) -> list[list[int]]:
        """Checked tokens of each row."""
        rows = self._integers("tokens", tokens)
        if rows.ndim != 2 or len(rows) != self.batch:
            raise ShapeError(f"tokens must be (batch, seq), batch = {self.batch}, got {rows.shape}")
        listed: list[list[int]] = rows.tolist()
        return listed
