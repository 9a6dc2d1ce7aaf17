"""Which full blocks hold which tokens: prefixes that a later sequence need not compute again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count, size_text

__all__ = ["Known", "Prefixes", "chain_hash"]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What a full block holds: its tokens, and through its parent all that stand before them."""

    parent: Known | None
    tokens: tuple[int, ...]
    key: int


def chain_hash(parent: int, tokens: Sequence[int]) -> int:
    """A number for the tokens of a block and all blocks before it.

    ``key = hash(key of the block before, tokens)``

    Parameters
    ----------
    parent : int
        The number of the block before, 0 for the first block.
    tokens : sequence of int
        The tokens of the block, 64 bits each.

    Returns
    -------
    int
        64 bits.

    Notes
    -----
    BLAKE2b of 8 bytes for each number, least first. Python's own `hash` would differ between
    builds, gives -1 and -2 the same number, and anybody can write down tokens for which it is
    the same. Whoever looks a block up compares its tokens all the same.

    References
    ----------
    kwon2023pagedattention, section 4.4

    Examples
    --------
    >>> first = chain_hash(0, [3, 1])
    >>> chain_hash(first, [4, 1]) == chain_hash(0, [4, 1])
    False
    """
    state = blake2b(parent.to_bytes(8, "little"), digest_size=8)
    for token in tokens:
        state.update(token.to_bytes(8, "little", signed=True))
    return int.from_bytes(state.digest(), "little")


class Prefixes:
    """The full blocks of a pool whose tokens are known, found by the tokens.

    ``block = found[hash(parent, tokens)], if its parent and tokens are these``

    Parameters
    ----------
    n_blocks, block_size : int
        Blocks of the pool, and slots of each.
    hasher : callable (parent, tokens) -> int
        How a block is looked up; what it finds is compared.

    Notes
    -----
    A block stays known when nobody holds it any more, until it is taken for something else or
    written into. The last block of a sequence is not known while it is not full. Of two blocks
    with the same number the first stays.

    References
    ----------
    kwon2023pagedattention, section 4.4

    Examples
    --------
    >>> prefixes = Prefixes(n_blocks=4, block_size=2)
    >>> prefixes.learn([3, 1, 4, 1, 5], table=[2, 0, 3])
    >>> prefixes.find([3, 1, 4, 1, 5, 9]), prefixes.find([3, 1, 4, 1]), prefixes.find([4, 1, 5])
    ([2, 0], [2], [])
    """

    def __init__(
        self,
        n_blocks: int,
        block_size: int,
        hasher: Callable[[int, Sequence[int]], int] = chain_hash,
    ) -> None:
        self.block_size, self.hasher = check_count("block_size", block_size), hasher
        self._held: list[Known | None] = [None] * check_count("n_blocks", n_blocks)
        self._found: dict[int, int] = {}

    def __repr__(self) -> str:
        known = {"known": f"{len(self._found)}/{len(self._held)}", "block_size": self.block_size}
        return f"{type(self).__name__}({size_text(known)})"

    def find(self, tokens: Sequence[int]) -> list[int]:
        """The blocks of the longest known prefix that leaves at least one token to run.

        ``blocks = known blocks of tokens[: n * block_size], n * block_size < len(tokens)``

        Parameters
        ----------
        tokens : sequence of int
            A sequence from its beginning.

        Returns
        -------
        list of int
            Numbers of blocks, held by somebody or free.

        Raises
        ------
        ConfigError
            If a token is no whole number of 64 bits.

        Notes
        -----
        One token is left because somebody wants its logits.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> Prefixes(n_blocks=4, block_size=2).find([3, 1, 4])
        []
        """
        _check_tokens(tokens)
        return self._find(tokens)

    def _find(self, tokens: Sequence[int]) -> list[int]:
        """`find` without checks."""
        found, parent = [], None
        for part in self._parts(tokens[: max(0, len(tokens) - 1)]):
            block = self._found.get(self._key(parent, part))
            known = None if block is None else self._held[block]
            if block is None or known is None or not _same(known, parent, part):
                break
            found.append(block)
            parent = known
        return found

    def learn(self, tokens: Sequence[int], table: Sequence[int]) -> None:
        """Know the full blocks of a sequence from now on.

        ``found[hash(parent, tokens of block i)] = table[i]``

        Parameters
        ----------
        tokens : sequence of int
            A sequence from its beginning, keys and values of which are written.
        table : sequence of int
            Its blocks.

        Raises
        ------
        ConfigError
            If there is no such block, or a token is no whole number of 64 bits. Then nothing
            has changed.

        Notes
        -----
        Called when the step that wrote them is done, never before.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> prefixes = Prefixes(n_blocks=4, block_size=2)
        >>> prefixes.learn([3, 1, 4], table=[2, 0])
        >>> prefixes.find([3, 1, 9])
        [2]
        """
        _check_tokens(tokens)
        parent, last = None, len(self._held) - 1
        if any(not 0 <= block <= last for block in table):
            raise ConfigError(f"there are blocks 0 to {last}, got {list(table)!r:.60}")
        for block, part in zip(table, self._parts(tokens), strict=False):
            parent = self.link(parent, part)
            self.keep(block, parent)

    def link(self, parent: Known | None, tokens: tuple[int, ...]) -> Known:
        """The next of a chain; nothing is known by it yet."""
        return Known(parent, tokens, self._key(parent, tokens))

    def keep(self, block: int, known: Known) -> None:
        """Know one block, unless another with this number is known already."""
        if self._held[block] is None and known.key not in self._found:
            self._held[block] = known  # this first: without its number nobody finds it
            self._found[known.key] = block

    def forget(self, block: int) -> None:
        """A block is about to be written: it is no longer known."""
        known = self._held[block]
        if known is not None:
            self._found.pop(known.key, None)
            self._held[block] = None

    def holds(self, block: int) -> Known | None:
        """Return what a block is known to hold."""
        return self._held[block]

    def _key(self, parent: Known | None, tokens: tuple[int, ...]) -> int:
        return self.hasher(0 if parent is None else parent.key, tokens)

    def _parts(self, tokens: Sequence[int]) -> list[tuple[int, ...]]:
        """The tokens of each full block."""
        size = self.block_size
        return [tuple(tokens[i : i + size]) for i in range(0, len(tokens) // size * size, size)]


def _check_tokens(tokens: Sequence[int]) -> None:
    """Refuse what can't be hashed as a token."""
    for token in tokens:
        if not isinstance(token, int) or not -(2**63) <= token < 2**63:
            raise ConfigError(f"tokens must be whole numbers of 64 bits, got {token!r:.60}")


def _same(known: Known, parent: Known | None, tokens: tuple[int, ...]) -> bool:
    """Return whether a block holds these tokens behind this parent: tokens decide, not numbers."""
    if known.tokens != tokens:
        return False
    one, other = known.parent, parent
    while one is not other:  # a parent that was forgotten and learned anew is another object
        if one is None or other is None or one.tokens != other.tokens:
            return False
        one, other = one.parent, other.parent
    return True
