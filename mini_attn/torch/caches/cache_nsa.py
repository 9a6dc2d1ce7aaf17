"""A cache that holds, beside keys and values, the means of those of each complete block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from mini_attn.caching import CachedMeans, Filled, Transaction
from mini_attn.caching.filled import completed
from mini_attn.errors import ConfigError
from mini_attn.shapes import DType, check_count
from mini_attn.torch._module import wide
from mini_attn.torch.caches.cache import KVCache

__all__ = ["NativeSparseCache"]


class NativeSparseCache(KVCache):
    """Keys and values of the tokens so far, and the means of each block of them, of one layer.

    ``allocated_bytes = batch * n_kv_heads * (capacity + capacity // block_size) *
    (head_dim + v_head_dim) * dtype_bytes``

    Parameters
    ----------
    batch, n_kv_heads, head_dim : int
        Sequences, key/value heads, size of a key.
    capacity : int
        Slots of each sequence; they are allocated at once and never moved.
    block_size : int
        Tokens of a block; a row's tokens are counted without its padding.
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
    A block's means are written once, by the step that brings its last token. How many count
    follows from a row's tokens: after a crop those beyond are looked at no more, and written
    again. The mean is taken in float32 or wider.

    References
    ----------
    yuan2025nsa, section 3.3.1

    Examples
    --------
    >>> import torch
    >>> cache = NativeSparseCache(1, 2, 4, capacity=8, block_size=2)
    >>> rows = torch.ones(1, 2, 5, 4)
    >>> [tuple(array.shape) for array in cache.append(rows, rows)]
    [(1, 2, 5, 4), (1, 2, 5, 4), (1, 2, 2, 4), (1, 2, 2, 4), (1, 5)]
    """

    _shown = (*KVCache._shown, "block_size")

    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        capacity: int,
        *,
        block_size: int,
        v_head_dim: int | None = None,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        self.block_size = check_count("block_size", block_size)
        sizes = (batch, n_kv_heads, head_dim, capacity)
        super().__init__(*sizes, v_head_dim=v_head_dim, dtype=dtype, device=device)

    def _lay_out(self, slots: int, kind: torch.dtype, device: Any) -> None:
        super()._lay_out(slots, kind, device)
        shape = (self.batch, self.n_kv_heads, slots // self.block_size)
        with torch.inference_mode(False):  # a cache outlives the mode it is made in
            means = [
                torch.zeros((*shape, width), dtype=kind, device=device)
                for width in (self.head_dim, self.v_head_dim)
            ]
        self._begin(replace(self._state, arrays=(*self._state.arrays, *means)))

    def _check_fits(self, *, batch: int, dtype: Any, **sizes: int) -> None:
        """Refuse a layer without blocks too: it would not know what to do with their means."""
        super()._check_fits(batch=batch, dtype=dtype, **sizes)
        if "block_size" not in sizes:
            raise ConfigError("the cache holds means of blocks, and the layer has no blocks")

    @property
    def used_bytes(self) -> int:
        """Bytes of the keys and values of the slots that are filled, and of their blocks' means."""
        return sum(array.nbytes for array in self._cached(self._state)[:4])

    def append(  # type: ignore[override]  # it gives two more arrays
        self, k: Tensor, v: Tensor, *, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Write new tokens behind the old ones, and the means of the blocks that they complete.

        ``mean_k[j] = mean(k_all[j * block_size : (j + 1) * block_size])``

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
        tuple of tensors (k_all, v_all, mean_k, mean_v, kv_positions)
            Views of all tokens so far: (batch, n_kv_heads, kv_len, head_dim), the same with
            v_head_dim; of ``kv_len // block_size`` blocks (batch, n_kv_heads, blocks, head_dim)
            and with v_head_dim, of which the first ``length // block_size`` of each row count;
            and the positions (batch, kv_len).

        Raises
        ------
        CacheOverflowError
            If the new tokens do not fit; nothing is written.
        ShapeError
            If a shape is wrong; nothing is written.
        DTypeError
            If a dtype is not the cache's; nothing is written.
        ConfigError
            If a position is below -1 or not after the row's last; nothing is written.

        Notes
        -----
        A step reads the tokens of the blocks that it completes, and no others.

        References
        ----------
        yuan2025nsa, section 3.3.1

        Examples
        --------
        >>> import torch
        >>> cache, rows = NativeSparseCache(1, 1, 2, 4, block_size=2), torch.ones(1, 1, 3, 2)
        >>> cache.append(rows, rows)[2].shape
        torch.Size([1, 1, 1, 2])
        """
        self._check(k, v)
        transaction = Transaction()
        held = self._append(k, v, positions, transaction)
        transaction.commit()
        return held[:5]

    def view(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # type: ignore[override]
        """Everything held, read-only and without a copy.

        ``k_all, v_all, mean_k, mean_v, kv_positions``

        Returns
        -------
        tuple of tensors (k_all, v_all, mean_k, mean_v, kv_positions)
            As ``append`` returns them.

        Notes
        -----
        Later appends write behind the view.

        References
        ----------
        yuan2025nsa, section 3.3.1

        Examples
        --------
        >>> NativeSparseCache(1, 1, 2, capacity=4, block_size=2).view()[2].shape
        torch.Size([1, 1, 0, 2])
        """
        return self._cached(self._state)[:5]

    def _append(  # type: ignore[override]
        self, k: Tensor, v: Tensor, positions: Tensor | None, transaction: Transaction
    ) -> CachedMeans:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        state = self._state_in(transaction)
        after = self._advance(state, positions, k.shape[2], transaction)
        new = slice(state.slots, after.slots)
        self._stage(after, transaction)
        self._written = max(self._written, after.slots)
        keys, values, *means = after.arrays
        keys[:, :, new], values[:, :, new] = k.detach(), v.detach()  # into free slots
        found = completed(state, after, self.batch, self.block_size)
        if len(found[0]):  # whose places no earlier state looks at
            rows, blocks, slots = (self._array(index) for index in found)
            for held, array in zip(means, (keys, values), strict=True):
                tokens = array[rows[:, None], :, slots]  # (m, block_size, n_kv_heads, width)
                held[rows, :, blocks] = wide(tokens).mean(dim=1).to(held.dtype)
        return self._cached(after)

    def _cached(self, state: Filled) -> CachedMeans:  # type: ignore[override]
        """Views of the filled slots, and of as many blocks as they may have completed."""
        ends = (state.slots, state.slots, *[state.slots // self.block_size] * 2)
        k, v, mean_k, mean_v = (a[:, :, :n] for a, n in zip(state.arrays, ends, strict=True))
        return CachedMeans(k, v, mean_k, mean_v, *self._order(state))
