"""Blocks of slots that several caches hold at once: how many hold each, and which are free."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mini_attn.caching.prefixes import Prefixes
from mini_attn.caching.transaction import Transaction, Versioned
from mini_attn.errors import CacheOverflowError, CacheStateError, ConfigError
from mini_attn.shapes import check_count, size_text

__all__ = ["Blocks"]


@dataclass(eq=False)
class Block:
    """One block: how many hold it and, while nobody does, its neighbors among the free ones."""

    number: int
    references: int = 0
    previous: Block | None = None
    following: Block | None = None


class Blocks(Versioned):
    """How many hold each block, and which are free: the integers of a pool.

    ``n_free = blocks that nobody holds``

    Parameters
    ----------
    n_blocks, block_size : int
        Blocks, and slots of each.

    Raises
    ------
    ConfigError
        If a number is below 1.

    Notes
    -----
    A pool of a backend adds the arrays. Blocks alone are what a `Scheduler` counts with.

    Examples
    --------
    >>> blocks = Blocks(4, block_size=2)
    >>> blocks.take(), blocks.take(), blocks.n_free
    (0, 1, 2)
    """

    _dtype: Any = None  # blocks alone hold nothing
    _shown: tuple[str, ...] = ("n_blocks", "block_size")

    if TYPE_CHECKING:  # what its state is

        @property
        def _state(self) -> int: ...

    def __init__(self, n_blocks: int, block_size: int) -> None:
        self.n_blocks = check_count("n_blocks", n_blocks)
        self.block_size = check_count("block_size", block_size)
        self._all_free(n_blocks)

    def __repr__(self) -> str:
        sizes = {name: getattr(self, name) for name in self._shown}
        text = size_text({"n_free": self._peeked, **sizes, "dtype": self._dtype})
        return f"{type(self).__name__}({text})"

    def _all_free(self, n_blocks: int) -> None:
        self._blocks = [Block(number) for number in range(n_blocks)]
        self._ends = Block(n_blocks)  # no block: before the first free one and behind the last
        ring = [self._ends, *self._blocks, self._ends]
        for block, following in pairwise(ring):
            block.following, following.previous = following, block
        self.prefixes = Prefixes(n_blocks, self.block_size)
        self._begin(n_blocks)

    @property
    def n_free(self) -> int:
        """Blocks that nobody holds."""
        return self._state

    def references(self, block: int) -> int:
        """Count the references to a block.

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
        return self._held_by(block)

    def _held_by(self, block: int) -> int:
        """Count the references to a block as the step that is running sees them."""
        return self._blocks[block].references

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
        known: Container[int] = (),
    ) -> list[int]:
        """Take so many free blocks, hold some once more and others once less; those taken.

        A free block that is held once more is revived: what it holds is still known. Known
        blocks that are freed go to the end of the line, so that they stay so for long; `known`
        names those that will be when this step is done.
        """
        free = self._state_in(transaction)
        draft = _Draft(self._ends)
        free -= sum(draft.incref(self._blocks[block]) for block in share)
        if take > free:
            raise CacheOverflowError(
                f"{take} blocks are needed, {free} of {self.n_blocks} are free"
            )
        taken = [draft.take().number for _ in range(take)]
        free -= take
        for block in release:
            is_known = block in known or self.prefixes.holds(block) is not None
            free += draft.decref(self._blocks[block], is_known)
        kept = [(fields, name, fields[name]) for fields, name, _ in draft.writes()]
        self._stage(free, transaction, kept)
        for block in taken:
            self.prefixes.forget(block)  # for good: whoever takes it writes into it
        for fields, name, new in draft.writes():
            fields[name] = new
        return taken


class _Draft:
    """Blocks as a step leaves them; nothing is written yet."""

    def __init__(self, ends: Block) -> None:
        self._ends = ends
        self._new: dict[tuple[Block, str], Any] = {}

    def _get(self, block: Block, field: str) -> Any:
        return self._new.get((block, field), getattr(block, field))

    def take(self) -> Block:
        """The free block that is first in line, held once."""
        block: Block = self._get(self._ends, "following")
        self.incref(block)
        return block

    def incref(self, block: Block) -> bool:
        """Count once more; whether it was free."""
        count = self._get(block, "references")
        self._new[block, "references"] = count + 1
        if not count:
            self._join(self._get(block, "previous"), self._get(block, "following"))
        return not count

    def decref(self, block: Block, known: bool) -> bool:
        """Count once less; whether it is free now: last in line if it is known, else first."""
        count = self._get(block, "references") - 1
        self._new[block, "references"] = count
        if not count:
            before = self._get(self._ends, "previous") if known else self._ends
            after = self._ends if known else self._get(self._ends, "following")
            self._join(before, block)
            self._join(block, after)
        return not count

    def _join(self, block: Block, following: Block) -> None:
        self._new[block, "following"], self._new[following, "previous"] = following, block

    def writes(self) -> Iterator[tuple[dict[str, Any], str, Any]]:
        """The fields of each block that change, which field, and what it becomes."""
        return ((vars(block), field, new) for (block, field), new in self._new.items())
