"""Blocks of key and value slots that several caches take from and share."""

from __future__ import annotations

from typing import Any

import torch

from mini_attn.caching import Blocks
from mini_attn.shapes import DType, check_count
from mini_attn.torch._module import dtype_of

__all__ = ["BlockPool"]


class BlockPool(Blocks):
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
    dtype : str or data type
        Data type or its name, as ``"float32"``.
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

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

    _shown = (*Blocks._shown, "n_kv_heads", "head_dim", "v_head_dim")

    def __init__(
        self,
        n_blocks: int,
        n_kv_heads: int,
        head_dim: int,
        *,
        block_size: int = 16,
        v_head_dim: int | None = None,
        dtype: DType = "float32",
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
        self._dtype = kind
        self._all_free(n_blocks)

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the keys and values of all blocks, taken or free."""
        return self._k.nbytes + self._v.nbytes
