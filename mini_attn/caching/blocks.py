"""Blocks of slots that several caches hold at once: how many hold each, and which are free."""

from __future__ import annotations

from collections.abc import Iterable

from mini_attn.caching.transaction import Transaction, Versioned
from mini_attn.errors import CacheOverflowError, CacheStateError, ConfigError
from mini_attn.shapes import check_count

__all__ = ["Blocks"]


class Blocks(Versioned[int]):
    """How many hold each block, and which are free: the integers of a pool.

    ``n_free = blocks that nobody holds``
    """

    n_blocks: int
    block_size: int

    def _all_free(self, n_blocks: int) -> None:
        self._references = [0] * n_blocks
        self._free = list(range(n_blocks - 1, -1, -1))  # those before n_free; the last goes first
        self._begin(n_blocks)

    @property
    def n_free(self) -> int:
        """Blocks that nobody holds."""
        return self._state

    def references(self, block: int) -> int:
        """How many hold a block.

        ``0 = free``

        Parameters
        ----------
        block : int
            Number of a block.

        Returns
        -------
        int
            Rows of block tables, of any cache, in which it stands.

        Raises
        ------
        ConfigError
            If there is no such block.

        Notes
        -----
        Above 1 the block may be read and not written.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> from mini_attn.numpy import BlockPool
        >>> BlockPool(2, n_kv_heads=1, head_dim=4).references(0)
        0
        """
        if check_count("block", block, least=0) >= self.n_blocks:
            raise ConfigError(f"block must lie in 0 … {self.n_blocks - 1}, got {block}")
        self._state  # noqa: B018 - settles what an unfinished step has left
        return self._references[block]

    def take(self) -> int:
        """A free block, held once from now on.

        ``references = 0 → 1``

        Returns
        -------
        int
            Its number.

        Raises
        ------
        CacheOverflowError
            If all blocks are held.

        Notes
        -----
        What it held before is not cleared: nobody reads a slot before writing it.

        References
        ----------
        kwon2023pagedattention, section 4.1

        Examples
        --------
        >>> from mini_attn.numpy import BlockPool
        >>> BlockPool(2, n_kv_heads=1, head_dim=4).take()
        0
        """
        transaction = Transaction()
        (block,) = self._change(transaction, take=1)
        transaction.commit()
        return block

    def share(self, block: int) -> None:
        """Hold a block once more.

        ``references = references + 1``

        Parameters
        ----------
        block : int
            A block that is held.

        Raises
        ------
        ConfigError
            If there is no such block.
        CacheStateError
            If it is free.

        Notes
        -----
        Nothing is copied.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> from mini_attn.numpy import BlockPool
        >>> pool = BlockPool(2, n_kv_heads=1, head_dim=4)
        >>> block = pool.take()
        >>> pool.share(block)
        >>> pool.references(block)
        2
        """
        if not self.references(block):
            raise CacheStateError(f"block {block} is free: take it first")
        transaction = Transaction()
        self._change(transaction, share=(block,))
        transaction.commit()

    def release(self, block: int) -> None:
        """Hold a block once less; free it when nobody holds it.

        ``references = references - 1``

        Parameters
        ----------
        block : int
            A block that is held.

        Raises
        ------
        ConfigError
            If there is no such block.
        CacheStateError
            If it is free already.

        Notes
        -----
        Nothing is moved.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> from mini_attn.numpy import BlockPool
        >>> pool = BlockPool(2, n_kv_heads=1, head_dim=4)
        >>> pool.release(pool.take())
        >>> pool.n_free
        2
        """
        if not self.references(block):
            raise CacheStateError(f"block {block} is free already")
        transaction = Transaction()
        self._change(transaction, release=(block,))
        transaction.commit()

    def _change(
        self,
        transaction: Transaction,
        *,
        take: int = 0,
        share: Iterable[int] = (),
        release: Iterable[int] = (),
    ) -> list[int]:
        """Take so many free blocks, hold some once more and others once less; those taken."""
        free = self._state_in(transaction)
        if take > free:
            raise CacheOverflowError(
                f"{take} blocks are needed, {free} of {self.n_blocks} are free"
            )
        taken = self._free[free - take : free][::-1]
        counts = dict.fromkeys(taken, 1)
        for block in share:
            counts[block] = counts.get(block, self._references[block]) + 1
        freed = []
        for block in release:
            counts[block] = counts.get(block, self._references[block]) - 1
            if not counts[block]:
                freed.append(block)
        left = free - take
        writes: list[tuple[list[int], int, int]] = [
            *((self._references, block, count) for block, count in counts.items()),
            *((self._free, left + i, block) for i, block in enumerate(freed)),
        ]
        kept = [(numbers, i, numbers[i]) for numbers, i, _ in writes]
        self._stage(left + len(freed), transaction, kept)
        for numbers, i, new in writes:
            numbers[i] = new
        return taken
