"""Blocks of key and value slots that several caches take from and share."""

from __future__ import annotations

from typing import Any

import torch

from mini_attn.errors import CacheOverflowError, CacheStateError, ConfigError
from mini_attn.shapes import check_count
from mini_attn.torch._module import dtype_of

__all__ = ["BlockPool"]


class BlockPool:
    """Blocks of key and value slots, taken and given back by caches.

    ``allocated_bytes = n_blocks * n_kv_heads * block_size * (head_dim + v_head_dim) * dtype_bytes``

    Parameters
    ----------
    n_blocks, n_kv_heads, head_dim : int
        Blocks, key/value heads, size of a key.
    block_size : int
        Slots of a block.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    dtype : str
        Name of the data type.

    Raises
    ------
    ConfigError
        If a size is below 1.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    A block is free while nobody refers to it. References are counted, so that several
    sequences can hold the block of a common prefix.

    References
    ----------
    kwon2023pagedattention, section 4.1

    Examples
    --------
    >>> pool = BlockPool(8, n_kv_heads=2, head_dim=4, block_size=16)
    >>> block = pool.take()
    >>> pool.n_free
    7
    """

    def __init__(
        self,
        n_blocks: int,
        n_kv_heads: int,
        head_dim: int,
        *,
        block_size: int = 16,
        v_head_dim: int | None = None,
        dtype: str = "float32",
        device: Any = None,
    ) -> None:
        kind = dtype_of(dtype)
        self.n_blocks = check_count("n_blocks", n_blocks)
        self.n_kv_heads = check_count("n_kv_heads", n_kv_heads)
        self.head_dim = check_count("head_dim", head_dim)
        self.block_size = check_count("block_size", block_size)
        self.v_head_dim = head_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
        slots = (n_blocks, n_kv_heads, block_size)
        with torch.inference_mode(False):  # a pool outlives the mode it is made in
            self._k = torch.zeros((*slots, self.head_dim), dtype=kind, device=device)
            self._v = torch.zeros((*slots, self.v_head_dim), dtype=kind, device=device)
        self._references = [0] * n_blocks
        self._free = list(range(n_blocks - 1, -1, -1))  # the last is taken first

    @property
    def n_free(self) -> int:
        """Blocks that nobody refers to."""
        return len(self._free)

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the keys and values of all blocks, taken or free."""
        return self._k.nbytes + self._v.nbytes

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
        >>> BlockPool(2, n_kv_heads=1, head_dim=4).references(0)
        0
        """
        if check_count("block", block, least=0) >= self.n_blocks:
            raise ConfigError(f"block must lie in 0 … {self.n_blocks - 1}, got {block}")
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
        >>> BlockPool(2, n_kv_heads=1, head_dim=4).take()
        0
        """
        if not self._free:
            raise CacheOverflowError(f"all {self.n_blocks} blocks of the pool are held")
        block = self._free.pop()
        self._references[block] = 1
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
        >>> pool = BlockPool(2, n_kv_heads=1, head_dim=4)
        >>> block = pool.take()
        >>> pool.share(block)
        >>> pool.references(block)
        2
        """
        if not self.references(block):
            raise CacheStateError(f"block {block} is free: take it first")
        self._references[block] += 1

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
        >>> pool = BlockPool(2, n_kv_heads=1, head_dim=4)
        >>> pool.release(pool.take())
        >>> pool.n_free
        2
        """
        if not self.references(block):
            raise CacheStateError(f"block {block} is free already")
        self._references[block] -= 1
        if not self._references[block]:
            self._free.append(block)
