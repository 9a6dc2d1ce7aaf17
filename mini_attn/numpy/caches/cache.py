"""The key/value cache: allocated once, written in place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching import Cached, Filled, Slots, Transaction
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.numpy._module import check_whole, dtype_of
from mini_attn.shapes import DType, check_count, named_shapes

__all__ = ["KVCache"]

Array = NDArray[Any]


class KVCache(Slots):
    """Keys and values of the tokens so far, of one layer.

    ``allocated_bytes = batch * n_kv_heads * capacity * (head_dim + v_head_dim) * dtype_bytes``

    Parameters
    ----------
    batch, n_kv_heads, head_dim : int
        Sequences, key/value heads, size of a key.
    capacity : int
        Slots of each sequence; they are allocated at once and never moved.
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
    An append writes the new tokens only, so its cost does not grow with the length. Rows of
    a batch share their slots; padded slots have position -1. ``allocated_bytes`` counts keys
    and values, not the integers that hold the positions.

    References
    ----------
    pope2022scaling, section 3.3

    Examples
    --------
    >>> import numpy as np
    >>> cache = KVCache(1, 2, 4, capacity=8, dtype="float64")
    >>> k, v, kv_positions = cache.append(np.ones((1, 2, 3, 4)), np.ones((1, 2, 3, 4)))
    >>> k.shape, kv_positions
    ((1, 2, 3, 4), array([[0, 1, 2]]))
    """

    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        capacity: int,
        *,
        v_head_dim: int | None = None,
        dtype: DType = "float32",
    ) -> None:
        kind = dtype_of(dtype)
        self.batch = check_count("batch", batch)
        self.n_kv_heads = check_count("n_kv_heads", n_kv_heads)
        self.head_dim = check_count("head_dim", head_dim)
        self.capacity = check_count("capacity", capacity)
        self.v_head_dim = head_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
        self._lay_out(capacity, kind)

    def _lay_out(self, slots: int, kind: np.dtype[Any]) -> None:
        """Arrays for so many slots, and the state of an empty cache."""
        shape = (self.batch, self.n_kv_heads, slots)
        # Zeros, not empty memory: 0 * NaN would carry garbage into a masked sum.
        k, v = (np.zeros((*shape, width), kind) for width in (self.head_dim, self.v_head_dim))
        self._dtype = kind
        self._usual = np.broadcast_to(np.arange(slots), (self.batch, slots))
        self._begin(Filled(0, (k, v)))

    def append(
        self, k: Array, v: Array, *, positions: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Write new tokens behind the old ones.

        ``k_all = concatenate(k_past, k)``

        Parameters
        ----------
        k : array (batch, n_kv_heads, q_len, head_dim)
            Keys of the new tokens.
        v : array (batch, n_kv_heads, q_len, v_head_dim)
            Values of the new tokens.
        positions : integer array (q_len,) or (batch, q_len), or None
            Their positions, -1 for padding; None continues after each row's last position.

        Returns
        -------
        tuple of arrays (k_all, v_all, kv_positions)
            Views of all tokens so far: (batch, n_kv_heads, kv_len, head_dim), the same with
            v_head_dim, and their positions (batch, kv_len).

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
        ``2 * batch * n_kv_heads * q_len * head_dim`` elements are written, none is moved.

        References
        ----------
        pope2022scaling, section 3.3

        Examples
        --------
        >>> import numpy as np
        >>> cache, row = KVCache(1, 1, 2, capacity=2), np.ones((1, 1, 1, 2), np.float32)
        >>> cache.append(row, row)[0].shape
        (1, 1, 1, 2)
        """
        self._check(k, v)
        transaction = Transaction()
        held = self._append(k, v, positions, transaction)
        transaction.commit()
        return held[:3]

    def _append(
        self, k: Array, v: Array, positions: Array | None, transaction: Transaction
    ) -> Cached:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        state = self._state_in(transaction)
        after = self._advance(state, positions, k.shape[2], transaction)
        new = slice(state.slots, after.slots)
        self._stage(after, transaction)
        keys, values = after.arrays
        keys[:, :, new], values[:, :, new] = k, v  # into free slots
        return self._cached(after)

    def _cached(self, state: Filled) -> Cached:
        """Views of the filled slots."""
        keys, values = state.arrays
        k, v = keys[:, :, : state.slots], values[:, :, : state.slots]
        k.flags.writeable = v.flags.writeable = False
        return Cached(k, v, *self._order(state))

    def _order(self, state: Filled) -> tuple[Array, bool, bool]:
        """Positions, whether they just count, and whether a lone newest token sees them all."""
        rows = (self._usual if state.counted else state.rows)[:, : state.slots]
        rows.flags.writeable = False
        return rows, state.counted, not state.padded

    def _check(self, k: Array, v: Array) -> None:
        """Refuse what is not this cache's shape and type."""
        for name, given, width in (("k", k, self.head_dim), ("v", v, self.v_head_dim)):
            if not isinstance(given, np.ndarray) or given.ndim != 4:
                named_shapes(**{name: (given, "batch n_kv_heads q_len head_dim")})
                raise DTypeError(f"{name} must be a NumPy array, got {type(given).__name__}")
            expected = (self.batch, self.n_kv_heads, k.shape[2], width)
            if given.shape != expected:
                raise ShapeError(
                    f"{name} must be (batch, n_kv_heads, q_len, dim) = {expected}, "
                    f"got {given.shape}"
                )
            if given.dtype != self._dtype:
                raise DTypeError(f"the cache holds {self._dtype}, {name} is {given.dtype}")
        if k.shape[2] < 1:
            raise ShapeError("append needs at least one token, got q_len = 0")

    def _integers(self, name: str, array: Any, *, narrow: bool = False) -> Array:
        check_whole(name, array, narrow=narrow)
        return np.asarray(array)

    def _array(self, integers: Array) -> Array:
        return integers
