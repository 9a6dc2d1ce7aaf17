"""Tables of blocks: which block of a pool holds which slots of each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching.filled import Filled
from mini_attn.caching.slots import Slots
from mini_attn.caching.transaction import Transaction
from mini_attn.errors import CacheOverflowError, CacheStateError, ShapeError

__all__ = ["BorrowedBlocks", "Paged", "Pages"]

Array = NDArray[Any]
Table = tuple[tuple[int, ...], ...]


@dataclass(slots=True)
class Paged(Filled):
    """The state of a cache in blocks."""

    table: Table = ()
    index: Any = None  # the table as the backend's array (batch, blocks), for gathering


class Pages(Slots):
    """The integers of a cache whose slots lie in blocks of a pool."""

    pool: Any  # the backend's pool, a `Blocks`

    def _fill(self, state: Any) -> dict[str, Any]:
        """Return how full it is; what it may still take depends on the pool's others."""
        held = len(set(chain(*state.table)))
        return {"slots": state.slots, "n_blocks": held, "block_size": self.pool.block_size}

    @property
    def block_table(self) -> list[list[int]]:
        """Blocks of each row, in the order of its slots; a copy."""
        return [list(blocks) for blocks in self._paged.table]

    @property
    def _paged(self) -> Paged:
        state = self._state
        assert isinstance(state, Paged)
        return state

    @property
    def capacity(self) -> int:  # type: ignore[override]  # it changes with what others hold
        """Slots that each row can reach with the blocks that are free now."""
        state, free = self._paged, self.pool.n_free
        free -= self._needed(state, state.slots)[1]
        if free < 0:  # not even the shared last blocks can be copied, which writing begins with
            return state.slots
        return (len(state.table[0]) + free // self.batch) * self.pool.block_size

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the keys and values of the blocks it holds, each counted once."""
        held = len(set(chain(*self._paged.table)))
        return self.pool.allocated_bytes // self.pool.n_blocks * held

    @property
    def used_bytes(self) -> int:
        """Bytes of the keys and values of the slots that are filled, each counted once."""
        size, state = self.pool.block_size, self._paged
        filled = {
            block: min(size, state.slots - i * size)
            for blocks in state.table
            for i, block in enumerate(blocks)
        }
        return self.pool.allocated_bytes // (self.pool.n_blocks * size) * sum(filled.values())

    def _needed(self, state: Paged, end: int) -> tuple[int, int]:
        """New blocks up to a slot, and copies of the last ones, which others hold too."""
        size = self.pool.block_size
        fresh = self.batch * (-(-end // size) - len(state.table[0]))
        if state.slots % size == 0:
            return fresh, 0
        last = [blocks[state.slots // size] for blocks in state.table]
        copies = 0
        for block in set(last):  # of the rows that share it one may keep it, if nobody else does
            copies += min(last.count(block), self.pool._held_by(block) - 1)
        return fresh, copies

    def _check_room(self, state: Filled, new: int, transaction: Any) -> None:
        assert isinstance(state, Paged)
        free = self.pool._state_in(transaction)
        need = sum(self._needed(state, state.slots + new))
        if need > free:
            raise CacheOverflowError(
                f"{new} new tokens need {need} blocks, {free} of {self.pool.n_blocks} are free"
            )

    def _width(self, least: int) -> int:
        return max(2 * least, self.pool.block_size)

    def _own(
        self, state: Filled, end: int, transaction: Transaction
    ) -> tuple[Paged, list[tuple[int, int]]]:
        """The state with blocks up to a slot that nobody else holds, and what to copy into them."""
        assert isinstance(state, Paged)
        size, start = self.pool.block_size, state.slots
        need = sum(self._needed(state, end))
        if not need:
            self._forget_last(state)
            return state, []
        free = iter(self.pool._change(transaction, take=need))
        table, copies = [], []
        left = dict.fromkeys(chain(*state.table), 0)  # how often each has been left here
        for row in state.table:
            blocks = list(row)
            shared = blocks[start // size] if start % size else None
            if shared is not None and self.pool._held_by(shared) - left[shared] > 1:
                blocks[start // size] = own = next(free)
                left[shared] += 1
                copies.append((own, shared))
            blocks += [next(free) for _ in range(-(-end // size) - len(blocks))]
            table.append(tuple(blocks))
        self.pool._change(transaction, release=[shared for _, shared in copies])
        owned = self._with_table(state, tuple(table))
        self._forget_last(owned)
        return owned, copies

    def _forget_last(self, state: Paged) -> None:
        """A block that was full, and was cut, is written over: it holds something else then."""
        size = self.pool.block_size
        if state.slots % size:
            for blocks in state.table:
                self.pool.prefixes.forget(blocks[state.slots // size])

    def _with_table(self, state: Paged, table: Table) -> Paged:
        index = np.array(table, np.int64).reshape(self.batch, -1)
        return replace(state, table=table, index=self._array(index))

    def _crop(self, state: Filled, n: int) -> None:
        assert isinstance(state, Paged)
        keep = -(-n // self.pool.block_size)
        table = tuple(blocks[:keep] for blocks in state.table)
        gone = [block for blocks in state.table for block in blocks[keep:]]
        shortened = self._shortened(state, n)
        assert isinstance(shortened, Paged)
        self._change_with_pool(self._with_table(shortened, table), release=gone)

    def _change_with_pool(self, state: Paged, **change: Any) -> None:
        """Another state here and other counts in the pool, both or neither."""
        transaction = Transaction()
        self.pool._change(transaction, **change)
        self._stage(state, transaction)
        transaction.commit()

    def fork(self) -> Any:  # noqa: D102 - the contract is that of `Slots`
        twin = super().fork()
        transaction = Transaction()
        self.pool._change(transaction, share=chain(*self._paged.table))
        transaction.commit()
        return twin

    def _reorder(self, index: Array) -> None:
        state, (_, after, _, _) = self._paged, self._moved(index)
        share = chain(*after.table)
        self._change_with_pool(after, share=share, release=chain(*state.table))

    def _moved_state(self, state: Filled, index: Array, moved: Callable[[Any], Any]) -> Filled:
        assert isinstance(state, Paged)
        own = super()._moved_state(replace(state, arrays=()), index, moved)
        assert isinstance(own, Paged)
        table = tuple(state.table[row] for row in index.tolist())
        return self._with_table(replace(own, arrays=state.arrays), table)

    # Prefixes that other sequences have computed.

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
            self._change_with_pool(after, share=chain(*table))
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


class BorrowedBlocks(Pages):
    """The integers of a cache that writes into the blocks it is given and counts none of them.

    A scheduler counts; whoever runs its step makes one for each piece and layer.
    """

    def _borrow(self, table: tuple[int, ...], start: int) -> None:
        """These blocks, the first slots of which are filled."""
        state = self._with_table(self._paged, (table,))
        self._set(replace(state, slots=start))

    def _check_room(self, state: Filled, new: int, transaction: Any) -> None:
        assert isinstance(state, Paged)
        room = len(state.table[0]) * self.pool.block_size
        if state.slots + new > room:
            raise CacheOverflowError(
                f"{new} new tokens do not fit: {state.slots} of {room} slots are used in the "
                f"{len(state.table[0])} blocks that the step was given"
            )

    def _own(
        self, state: Filled, end: int, transaction: Transaction
    ) -> tuple[Paged, list[tuple[int, int]]]:
        assert isinstance(state, Paged)
        return state, []
