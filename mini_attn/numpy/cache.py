"""The key/value cache: allocated once, written in place."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import (
    CacheOverflowError,
    CacheStateError,
    ConfigError,
    DTypeError,
    ShapeError,
)
from mini_attn.numpy._module import check_whole, dtype_of
from mini_attn.shapes import check_count, named_shapes

__all__ = ["KVCache"]

Array = NDArray[Any]


class KVCache:
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
        dtype: str = "float32",
    ) -> None:
        kind = dtype_of(dtype)
        self.batch = check_count("batch", batch)
        self.n_kv_heads = check_count("n_kv_heads", n_kv_heads)
        self.head_dim = check_count("head_dim", head_dim)
        self.capacity = check_count("capacity", capacity)
        self.v_head_dim = head_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
        self.slots = 0
        self.contiguous = True
        self._padded = False
        # Zeros, not empty memory: 0 * NaN would carry garbage into a masked sum.
        self._k = np.zeros((batch, n_kv_heads, capacity, self.head_dim), kind)
        self._v = np.zeros((batch, n_kv_heads, capacity, self.v_head_dim), kind)
        self._count = np.arange(capacity)
        self._positions = np.full((batch, capacity), -1, np.int64)

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
        start, end = self.slots, self.slots + self._check(k, v)
        if positions is None and self.contiguous:
            new_positions = self._count[start:end]
        else:
            new_positions = self._new_positions(positions, end - start)
            self.contiguous &= bool((new_positions == self._count[start:end]).all())
            self._padded |= bool((new_positions < 0).any())
        # Everything has been checked: from here on nothing can fail half-way.
        self._k[:, :, start:end] = k
        self._v[:, :, start:end] = v
        self._positions[:, start:end] = new_positions
        self.slots = end
        return self.view()

    def _check(self, k: Array, v: Array) -> int:
        """Number of new tokens, after every check that could refuse them."""
        for name, given, held in (("k", k, self._k), ("v", v, self._v)):
            shape = getattr(given, "shape", None)
            if shape is None or len(shape) != 4:
                named_shapes(**{name: (given, "batch n_kv_heads q_len head_dim")})
            expected = (self.batch, self.n_kv_heads, k.shape[2], held.shape[3])
            if shape != expected:
                raise ShapeError(
                    f"{name} must be (batch, n_kv_heads, q_len, dim) = {expected}, got {shape}"
                )
            if given.dtype != held.dtype:
                raise DTypeError(f"the cache holds {held.dtype}, {name} is {given.dtype}")
        if k.shape[2] < 1:
            raise ShapeError("append needs at least one token, got q_len = 0")
        self._check_room(k.shape[2])
        return int(k.shape[2])

    def _check_room(self, new: int) -> None:
        if self.slots + new > self.capacity:
            raise CacheOverflowError(
                f"{new} new tokens do not fit: {self.slots} of {self.capacity} slots are "
                "used; make the capacity prompt + new tokens"
            )

    def _new_positions(self, positions: Array | None, new: int) -> Array:
        """Checked positions (batch, new) of the tokens to come."""
        after = self._row_ends()
        if positions is None:
            return np.asarray(after + 1 + np.arange(new))
        check_whole("positions", positions)
        if positions.shape not in ((new,), (self.batch, new)):
            raise ShapeError(
                f"positions must be ({new},) or ({self.batch}, {new}), got {positions.shape}"
            )
        rows = np.broadcast_to(positions, (self.batch, new)).astype(np.int64)
        # A real position must exceed all before it in its row; padding is not compared.
        before = np.maximum.accumulate(np.concatenate([after, rows], axis=1), axis=1)[:, :-1]
        if (rows < -1).any() or ((rows >= 0) & (rows <= before)).any():
            raise ConfigError(
                "positions must be -1 (padding) or grow within a row, "
                f"got {rows.tolist()!s:.80} after {after.ravel().tolist()!s:.40}"
            )
        return rows

    def _row_ends(self) -> Array:
        """Last position of each row (batch, 1), -1 where it has none."""
        return np.asarray(self._positions[:, : self._filled].max(axis=1, keepdims=True, initial=-1))

    def view(self) -> tuple[Array, Array, Array]:
        """Everything held, read-only and without a copy.

        ``k_all, v_all, kv_positions``

        Returns
        -------
        tuple of arrays (k_all, v_all, kv_positions)
            As `append` returns them.

        Notes
        -----
        Later appends write behind the view. After `crop` or `reorder` a view taken before
        shows what has been written since; `fork` keeps a state.

        References
        ----------
        pope2022scaling, section 3.3

        Examples
        --------
        >>> KVCache(1, 1, 2, capacity=4).view()[0].shape
        (1, 1, 0, 2)
        """
        held = (
            self._k[:, :, : self._filled],
            self._v[:, :, : self._filled],
            self._positions[:, : self._filled],
        )
        for array in held:
            array.flags.writeable = False
        return held

    def next_positions(self, new: int) -> Array:
        """Positions that the next tokens get if none are given.

        ``positions = last position of the row + 1, + 2, …``

        Parameters
        ----------
        new : int
            Number of tokens to come.

        Returns
        -------
        integer array (new,) or (batch, new)
            One row where all rows of the batch are alike.

        Raises
        ------
        CacheOverflowError
            If so many do not fit.
        ConfigError
            If ``new`` is below 1.

        Notes
        -----
        Keys are turned to their positions before they are cached: a layer asks first.

        References
        ----------
        su2021roformer, section 3.4.2

        Examples
        --------
        >>> KVCache(1, 1, 2, capacity=4).next_positions(2)
        array([0, 1])
        """
        check_count("new", new)
        self._check_room(new)
        if self.contiguous:
            return self._count[self.slots : self.slots + new]
        return self._new_positions(None, new)

    @property
    def last_sees_all(self) -> bool:
        """Whether no slot is padding, so that a lone newest token may attend to every key."""
        return not self._padded

    @property
    def _filled(self) -> int:
        """Slots that hold something."""
        return self.slots

    @property
    def length(self) -> Array:
        """Tokens held, (batch,); padding is not counted."""
        return np.asarray((self._positions[:, : self._filled] >= 0).sum(axis=1))

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the keys and values of all slots."""
        return self._k.nbytes + self._v.nbytes

    @property
    def used_bytes(self) -> int:
        """Bytes of the keys and values of the slots that are filled."""
        return self.allocated_bytes // self._k.shape[2] * self._filled

    def crop(self, n: int) -> None:
        """Forget all but the first slots.

        ``slots = n``

        Parameters
        ----------
        n : int
            Slots to keep, padded ones counted.

        Raises
        ------
        CacheStateError
            If fewer than ``n`` slots are filled.
        ConfigError
            If ``n`` is no whole number or negative.

        Notes
        -----
        Nothing is moved. Used to take back rejected tokens.

        References
        ----------
        leviathan2023speculative, section 2.3

        Examples
        --------
        >>> import numpy as np
        >>> cache, rows = KVCache(1, 1, 2, capacity=4), np.ones((1, 1, 3, 2), np.float32)
        >>> _ = cache.append(rows, rows)
        >>> cache.crop(1)
        >>> cache.length
        array([1])
        """
        n = check_count("n", n, least=0)
        if n > self.slots:
            raise CacheStateError(f"cannot keep {n} slots: only {self.slots} are filled")
        self.slots = n
        self._look()

    def _look(self) -> None:
        """Whether there are padding and gaps among the filled slots: there may be fewer now."""
        rows = self._positions[:, : self.slots]
        self.contiguous = self.contiguous or bool((rows == self._count[: self.slots]).all())
        self._padded = self._padded and bool((rows < 0).any())

    def fork(self) -> KVCache:
        """A copy that shares nothing.

        ``copy = cache``

        Returns
        -------
        KVCache
            Same contents and capacity; appends to one do not show in the other.

        Notes
        -----
        Copies every allocated slot.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> KVCache(1, 1, 2, capacity=4).fork().capacity
        4
        """
        return copy.deepcopy(self)

    def reorder(self, index: Array) -> None:
        """Let each row continue another row, as beam search needs.

        ``k_all[i] = k_all[index[i]]``

        Parameters
        ----------
        index : integer array (batch,)
            For each row the row it continues; rows may be repeated or dropped.

        Raises
        ------
        ShapeError
            If there is not one index for each row.
        DTypeError
            If the index holds no integers.
        ConfigError
            If an index is not a row.

        Notes
        -----
        Copies the filled slots, so that repeated rows do not share memory.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> import numpy as np
        >>> cache = KVCache(2, 1, 2, capacity=4)
        >>> cache.reorder(np.array([1, 1]))
        """
        check_whole("index", index, narrow=True)
        if index.shape != (self.batch,):
            raise ShapeError(f"index must be (batch,) = ({self.batch},), got {index.shape}")
        if (index < 0).any() or (index >= self.batch).any():
            raise ConfigError(f"index must lie in 0 … {self.batch - 1}, got {index.tolist()!s:.80}")
        self._take(index)
        self._look()

    def _take(self, index: Array) -> None:
        """Let each row continue another, after every check that could refuse it."""
        # Indexing with an array copies before it writes, so repeated rows do not alias.
        for held in (self._k, self._v):
            held[:, :, : self._filled] = held[index, :, : self._filled]
        self._positions[:, : self._filled] = self._positions[index, : self._filled]
