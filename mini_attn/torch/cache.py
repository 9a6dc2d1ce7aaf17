"""The contiguous KV cache: allocated once, written in place."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mini_attn.errors import (
    CacheOverflowError,
    CacheStateError,
    ConfigError,
    DTypeError,
    ShapeError,
)
from mini_attn.shapes import check_count, named_shapes
from mini_attn.torch.dtypes import dtype_of

__all__ = ["KVCache"]


class KVCache:
    """Keys and values of the tokens so far, for one layer.

    ``allocated_bytes = batch * n_kv_heads * capacity * (head_dim + v_head_dim) * dtype_bytes``

    Parameters
    ----------
    batch, n_kv_heads, head_dim, capacity : int
        Sequences, key/value heads, size of a key, and tokens there is room for.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    dtype : str
        Name of the data type, for example ``"float32"``.

    Raises
    ------
    ConfigError
        If a size is below 1.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    What `append` and `view` return are views of the cache's own memory: valid until the
    next change. To keep a state, `fork` it.

    References
    ----------
    pope2022scaling, section 3.3

    Examples
    --------
    >>> import torch
    >>> cache = KVCache(batch=1, n_kv_heads=2, head_dim=4, capacity=8)
    >>> row = torch.ones(1, 2, 1, 4)
    >>> k_all, v_all, kv_positions = cache.append(row, row)
    >>> k_all.shape, kv_positions, cache.used_bytes
    (torch.Size([1, 2, 1, 4]), tensor([[0]]), 64)
    """

    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        capacity: int,
        *,
        v_head_dim: int | None = None,
        dtype: str = "float32",
        device: Any = None,
    ) -> None:
        v_head_dim = head_dim if v_head_dim is None else v_head_dim
        sizes = {
            "batch": batch,
            "n_kv_heads": n_kv_heads,
            "head_dim": head_dim,
            "capacity": capacity,
            "v_head_dim": v_head_dim,
        }
        for name, size in sizes.items():
            check_count(name, size)
        self.batch, self.capacity = batch, capacity
        kind: dict[str, Any] = {"dtype": dtype_of(dtype), "device": device}
        self._k = torch.zeros((batch, n_kv_heads, capacity, head_dim), **kind)
        self._v = torch.zeros((batch, n_kv_heads, capacity, v_head_dim), **kind)
        self._positions = torch.full((batch, capacity), -1, device=device)
        self._counting = torch.arange(capacity, device=device)
        self._slots = 0  # a host integer: no step waits for the device to learn it
        self.has_padding = False

    @property
    def slots(self) -> int:
        """Slots in use, padding included: what the next append starts from."""
        return self._slots

    @property
    def length(self) -> Tensor:
        """Tokens held in each row, padding not counted: integer array (batch,)."""
        return (self._positions[:, : self._slots] >= 0).sum(dim=1)

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the key and value arrays."""
        return self._k.nbytes + self._v.nbytes

    @property
    def used_bytes(self) -> int:
        """Bytes of the slots in use."""
        return self.allocated_bytes // self.capacity * self._slots

    def append(
        self, k: Tensor, v: Tensor, *, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Write new keys and values behind the old ones.

        Parameters
        ----------
        k : array (batch, n_kv_heads, q_len, head_dim)
            New keys, in the cache's dtype.
        v : array (batch, n_kv_heads, q_len, v_head_dim)
            New values, in the cache's dtype.
        positions : integer array (batch, q_len) or None
            Position of each new token, -1 for padding; None continues each row's count.

        Returns
        -------
        tuple of arrays (k_all, v_all, kv_positions)
            Views of all slots in use, and their positions (batch, kv_len).

        Raises
        ------
        ShapeError, DTypeError
            If an array does not fit the cache.
        CacheOverflowError
            If there is no room for ``q_len`` more tokens.
        """
        start, stop = self._slots, self._check_append(k, v)
        new = self._check_positions(positions, stop - start)
        # Everything has been checked: from here on nothing can fail half-way.
        self._k[:, :, start:stop] = k
        self._v[:, :, start:stop] = v
        self._positions[:, start:stop] = new
        self._slots = stop
        self.has_padding = self.has_padding or (positions is not None and bool((new < 0).any()))
        return self.view()

    def view(self) -> tuple[Tensor, Tensor, Tensor]:
        """Keys, values and positions of the slots in use; read-only.

        Returns
        -------
        tuple of arrays (k_all, v_all, kv_positions)
            Shapes (batch, n_kv_heads, kv_len, head_dim), (…, v_head_dim), (batch, kv_len).
        """
        return (
            self._k[:, :, : self._slots],
            self._v[:, :, : self._slots],
            self._positions[:, : self._slots],
        )

    def crop(self, n: int) -> None:
        """Forget all slots from the n-th on.

        Parameters
        ----------
        n : int
            Slots to keep, at most those in use.

        Raises
        ------
        CacheStateError
            If fewer than ``n`` slots are in use.
        ConfigError
            If ``n`` is negative.
        """
        check_count("n", n, least=0)
        if n > self._slots:
            raise CacheStateError(f"cannot crop to {n} slots: only {self._slots} are in use")
        self._slots = n
        self._positions[:, n:] = -1
        self.has_padding = self.has_padding and bool((self._positions[:, :n] < 0).any())

    def fork(self) -> KVCache:
        """An independent copy: what is appended to one is not seen by the other.

        Returns
        -------
        KVCache
            Same contents, own memory.
        """
        return self._copy(torch.arange(self.batch, device=self._k.device))

    def reorder(self, index: Tensor) -> None:
        """Let row ``i`` continue row ``index[i]``, as beam search does.

        Parameters
        ----------
        index : integer array (batch,)
            A row may be named several times; each gets a copy of its own.

        Raises
        ------
        ShapeError, ConfigError
            If there is not one index per row, or one is out of range.
        """
        named_shapes(cache=(self._positions, "batch _"), index=(index, "batch"))
        whole = index.dtype in (torch.int32, torch.int64)
        if not whole or index.min() < 0 or index.max() >= self.batch:
            raise ConfigError(f"index must hold rows 0 to {self.batch - 1}, got {index}")
        copy = self._copy(index)
        self._k, self._v, self._positions = copy._k, copy._v, copy._positions

    def _copy(self, index: Tensor) -> KVCache:
        """A cache with the rows that ``index`` names, in memory of its own."""
        copy = object.__new__(type(self))
        copy.batch, copy.capacity = self.batch, self.capacity
        copy._slots, copy.has_padding = self._slots, self.has_padding
        copy._k, copy._v = self._k.index_select(0, index), self._v.index_select(0, index)
        copy._positions = self._positions.index_select(0, index)
        copy._counting = self._counting
        return copy

    def _check_append(self, k: Tensor, v: Tensor) -> int:
        """Slots in use after the append; raises before anything is written."""
        sizes = named_shapes(
            cache_k=(self._k, "batch n_kv_heads capacity head_dim"),
            cache_v=(self._v, "batch n_kv_heads capacity v_head_dim"),
            k=(k, "batch n_kv_heads q_len head_dim"),
            v=(v, "batch n_kv_heads q_len v_head_dim"),
        )
        if not k.dtype == v.dtype == self._k.dtype:
            raise DTypeError(f"the cache holds {self._k.dtype}, got k {k.dtype} and v {v.dtype}")
        stop = self._slots + sizes["q_len"]
        if sizes["q_len"] < 1:
            raise ShapeError("append needs at least one token, got q_len = 0")
        if stop > self.capacity:
            raise CacheOverflowError(
                f"no room for {sizes['q_len']} more tokens: {self._slots} of capacity "
                f"{self.capacity} are in use; make the cache larger or crop it"
            )
        return stop

    def _check_positions(self, positions: Tensor | None, q_len: int) -> Tensor:
        """Positions of the new slots; None continues each row."""
        if positions is None:
            if not self.has_padding:
                return self._counting[self._slots : self._slots + q_len]
            return self.length[:, None] + self._counting[:q_len]
        shape = tuple(getattr(positions, "shape", ()))
        if shape != (self.batch, q_len) or positions.dtype not in (torch.int32, torch.int64):
            raise ShapeError(
                f"positions must be integers (batch, q_len) = {(self.batch, q_len)}, got {shape}"
            )
        if positions.min() < -1:
            raise ConfigError(f"a position is -1 (padding) or counts from 0, got {positions.min()}")
        return positions
