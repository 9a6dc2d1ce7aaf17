"""A cache that holds, beside keys and values, the small keys by which an indexer chooses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching import CachedIndexed, Filled, Transaction
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.numpy.caches.cache import KVCache
from mini_attn.shapes import DType, check_count, named_shapes

__all__ = ["IndexedCache"]

Array = NDArray[Any]


class IndexedCache(KVCache):
    """Keys, values and index keys of the tokens so far, of one layer.

    ``allocated_bytes = batch * capacity * (n_kv_heads * (head_dim + v_head_dim) +
    index_head_dim) * dtype_bytes``

    Parameters
    ----------
    batch, n_kv_heads, head_dim : int
        Sequences, key/value heads, size of a key.
    capacity : int
        Slots of each sequence; they are allocated at once and never moved.
    index_head_dim : int
        Size of the key that the indexer's heads share.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If a size is below 1.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    All tokens stay: what is chosen is what a step reads. DeepSeek keeps the index keys in
    8 bits; here they have the type of the others.

    References
    ----------
    deepseek2025v32, section 2.1

    Examples
    --------
    >>> import numpy as np
    >>> cache = IndexedCache(1, 2, 4, capacity=8, index_head_dim=3, dtype="float64")
    >>> rows = np.ones((1, 2, 5, 4))
    >>> [array.shape for array in cache.append(rows, rows, np.ones((1, 5, 3)))]
    [(1, 2, 5, 4), (1, 2, 5, 4), (1, 5, 3), (1, 5)]
    """

    _shown = (*KVCache._shown, "index_head_dim")

    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        capacity: int,
        *,
        index_head_dim: int,
        v_head_dim: int | None = None,
        dtype: DType = "float32",
    ) -> None:
        self.index_head_dim = check_count("index_head_dim", index_head_dim)
        sizes = (batch, n_kv_heads, head_dim, capacity)
        super().__init__(*sizes, v_head_dim=v_head_dim, dtype=dtype)

    def _lay_out(self, slots: int, kind: np.dtype[Any]) -> None:
        super()._lay_out(slots, kind)
        index = np.zeros((self.batch, 1, slots, self.index_head_dim), kind)
        self._begin(replace(self._state, arrays=(*self._state.arrays, index)))

    def _check_fits(self, *, batch: int, dtype: Any, **sizes: int) -> None:
        """Refuse a layer without an indexer too: nobody would write the index keys."""
        super()._check_fits(batch=batch, dtype=dtype, **sizes)
        if "index_head_dim" not in sizes:
            raise ConfigError("the cache holds index keys, and the layer has no indexer")

    def append(  # type: ignore[override]  # it takes one more array
        self, k: Array, v: Array, index_k: Array, *, positions: Array | None = None
    ) -> tuple[Array, Array, Array, Array]:
        """Write new tokens behind the old ones.

        ``k_all = concatenate(k_past, k)``

        Parameters
        ----------
        k : array (batch, n_kv_heads, q_len, head_dim)
            Keys of the new tokens.
        v : array (batch, n_kv_heads, q_len, v_head_dim)
            Values of the new tokens.
        index_k : array (batch, q_len, index_head_dim)
            Their index keys.
        positions : integer array (q_len,) or (batch, q_len), or None
            Their positions, -1 for padding; None continues after each row's last position.

        Returns
        -------
        tuple of arrays (k_all, v_all, index_k_all, kv_positions)
            Views of all tokens so far: (batch, n_kv_heads, kv_len, head_dim), the same with
            v_head_dim, (batch, kv_len, index_head_dim), and their positions (batch, kv_len).

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
        ``q_len * index_head_dim`` numbers more a row than without an indexer.

        References
        ----------
        deepseek2025v32, section 2.1

        Examples
        --------
        >>> import numpy as np
        >>> cache = IndexedCache(1, 1, 2, capacity=2, index_head_dim=3)
        >>> row, index_row = np.ones((1, 1, 1, 2), np.float32), np.ones((1, 1, 3), np.float32)
        >>> cache.append(row, row, index_row)[2].shape
        (1, 1, 3)
        """
        self._check(k, v)
        named_shapes(np.ndarray, index_k=(index_k, "batch q_len index_head_dim"))
        expected = (self.batch, k.shape[2], self.index_head_dim)
        if index_k.shape != expected:
            raise ShapeError(
                f"index_k must be (batch, q_len, index_head_dim) = {expected}, got {index_k.shape}"
            )
        if index_k.dtype != self._dtype:
            raise DTypeError(f"the cache holds {self._dtype}, index_k is {index_k.dtype}")
        transaction = Transaction()
        held = self._append(k, v, positions, transaction, index_k)
        transaction.commit()
        return held[:4]

    def view(self) -> tuple[Array, Array, Array, Array]:  # type: ignore[override]
        """Everything held, read-only and without a copy.

        ``k_all, v_all, index_k_all, kv_positions``

        Returns
        -------
        tuple of arrays (k_all, v_all, index_k_all, kv_positions)
            As ``append`` returns them.

        Notes
        -----
        Later appends write behind the view.

        References
        ----------
        deepseek2025v32, section 2.1

        Examples
        --------
        >>> import numpy as np
        >>> IndexedCache(1, 1, 2, capacity=4, index_head_dim=3).view()[2].shape
        (1, 0, 3)
        """
        return self._cached(self._state)[:4]

    def _append(  # type: ignore[override]
        self,
        k: Array,
        v: Array,
        positions: Array | None,
        transaction: Transaction,
        index_k: Array,
    ) -> CachedIndexed:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        state = self._state_in(transaction)
        after = self._advance(state, positions, k.shape[2], transaction)
        new = slice(state.slots, after.slots)
        self._stage(after, transaction)
        for array, given in zip(after.arrays, (k, v, index_k[:, None]), strict=True):
            array[:, :, new] = given  # into free slots
        return self._cached(after)

    def _cached(self, state: Filled) -> CachedIndexed:  # type: ignore[override]
        """Views of the filled slots; index keys without an axis of heads."""
        k, v, index_k = (array[:, :, : state.slots] for array in state.arrays)
        index_k = index_k[:, 0]
        for view in (k, v, index_k):
            view.flags.writeable = False
        return CachedIndexed(k, v, index_k, *self._order(state))
