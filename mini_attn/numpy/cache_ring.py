"""A ring of the last tokens: what a sliding window leaves of a cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import CacheOverflowError, CacheStateError, ConfigError
from mini_attn.numpy.cache import KVCache
from mini_attn.shapes import check_count

__all__ = ["SlidingWindowCache"]

Array = NDArray[Any]


class SlidingWindowCache(KVCache):
    """Keys and values of the last ``window`` tokens, of one layer.

    ``slot = number of the token % min(window, capacity)``

    Parameters
    ----------
    batch, n_kv_heads, head_dim : int
        Sequences, key/value heads, size of a key.
    capacity : int or None
        Tokens that each sequence may have in all, padding included; None sets no bound.
    window : int
        Keys that a query sees, its own included.
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
    ``allocated_bytes = batch * n_kv_heads * min(window, capacity) * (head_dim + v_head_dim) *
    dtype_bytes``. A token overwrites the one ``window`` before it, which no later query sees.
    Keys lie in the order of the ring: the positions that come with them say which is which,
    and softmax does not ask. Padding stands before a row's first token. What an append overwrote is
    kept beside the ring until the next, so that it can be taken back.

    References
    ----------
    jiang2023mistral, section 2

    Examples
    --------
    >>> import numpy as np
    >>> cache = SlidingWindowCache(1, 1, 4, capacity=8, window=3)
    >>> _ = cache.append(np.ones((1, 1, 3, 4), np.float32), np.ones((1, 1, 3, 4), np.float32))
    >>> cache.append(np.ones((1, 1, 1, 4), np.float32), np.ones((1, 1, 1, 4), np.float32))[2]
    array([[3, 1, 2]])
    """

    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        capacity: int | None,
        *,
        window: int,
        v_head_dim: int | None = None,
        dtype: str = "float32",
    ) -> None:
        size = check_count("window", window)
        if capacity is not None:
            size = min(size, check_count("capacity", capacity))
        super().__init__(batch, n_kv_heads, head_dim, size, v_head_dim=v_head_dim, dtype=dtype)
        self.capacity = capacity  # type: ignore[assignment]  # the tokens to come may be unbounded
        self.window = window
        self._size = size
        # While all rows count 0, 1, 2, …, the number of slots says it all; ends and tokens of
        # each row are kept only once some row has padding or gaps.
        self._regular = True
        self._ends, self._tokens = np.zeros((batch, 1), np.int64), np.zeros(batch, np.int64)
        self._undo: dict[str, Any] = {}

    def append(
        self, k: Array, v: Array, *, positions: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Write new tokens over the oldest.

        ``k_all = concatenate(k_held, k)``

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
            All that the new tokens may attend to: (batch, n_kv_heads, kv_len, head_dim), the
            same with v_head_dim, and their positions (batch, kv_len).

        Raises
        ------
        CacheOverflowError
            If the new tokens exceed the capacity; nothing is written.
        ShapeError
            If a shape is wrong; nothing is written.
        DTypeError
            If a dtype is not the cache's; nothing is written.
        ConfigError
            If a position is below -1 or not after the row's last, or padding comes after a
            token; nothing is written.

        Notes
        -----
        One token is written in place and the ring is returned as it lies. A chunk that wraps
        still needs keys that it overwrites: it gets a copy of what was held and of itself.

        References
        ----------
        jiang2023mistral, section 2

        Examples
        --------
        >>> import numpy as np
        >>> cache = SlidingWindowCache(1, 1, 4, capacity=8, window=2)
        >>> rows = np.ones((1, 1, 3, 4), np.float32)
        >>> cache.append(rows, rows)[0].shape, cache.view()[0].shape
        ((1, 1, 3, 4), (1, 1, 2, 4))
        """
        new, start = self._check(k, v), self.slots
        if new == 1 and positions is None and self._regular:
            return self._step(k, v)
        rows, regular = self._rows(positions, new)
        wraps, whole = start + new > self._size, None
        if wraps and new > 1:
            held = self.view()
            whole = (
                np.concatenate([held[0], k], axis=2),
                np.concatenate([held[1], v], axis=2),
                np.concatenate([held[2], rows], axis=1),
            )
        slots = self._where(start, new)
        self._remember(slots, wraps=wraps)
        # Everything has been checked: from here on nothing can fail half-way.
        fits = slice(max(new - self._size, 0), None)
        self._k[:, :, slots], self._v[:, :, slots] = k[:, :, fits], v[:, :, fits]
        self._positions[:, slots] = rows[:, fits]
        if not regular:
            self._count_rows(rows)
        self._regular, self.slots = regular, start + new
        self.contiguous = regular and (not wraps or (whole is not None and start <= self._size))
        return self.view() if whole is None else whole

    def _step(self, k: Array, v: Array) -> tuple[Array, Array, Array]:
        """One token more while all rows count alike: what a decode step needs and no more."""
        start, slot = self.slots, self.slots % self._size
        at = slice(slot, slot + 1)
        self._remember(at, wraps=start >= self._size)
        self._k[:, :, at], self._v[:, :, at], self._positions[:, at] = k, v, start
        self.slots, self.contiguous = start + 1, start < self._size
        return self.view()

    def _remember(self, slots: Any, *, wraps: bool) -> None:
        """What it takes to undo an append to these slots; arrays go by rows of the batch."""
        arrays = [self._ends, self._tokens]
        if wraps and self.slots:
            kept = self._k[:, :, slots], self._v[:, :, slots], self._positions[:, slots]
            arrays += [array.copy() for array in kept]
        self._undo = {"slots": self.slots, "regular": self._regular, "at": slots, "arrays": arrays}

    def _check_room(self, new: int) -> None:
        if self.capacity is not None and self.slots + new > self.capacity:
            raise CacheOverflowError(
                f"{new} new tokens do not fit: {self.slots} of {self.capacity} have come; make "
                "the capacity prompt + new tokens"
            )

    def _rows(self, positions: Array | None, new: int) -> tuple[Array, bool]:
        """Checked positions (batch, new), and whether all rows still count 0, 1, 2, …"""
        usual = np.arange(self.slots, self.slots + new)
        if positions is None and self._regular:
            return np.broadcast_to(usual, (self.batch, new)), True
        rows = self._new_positions(positions, new)
        begun = np.maximum.accumulate(np.concatenate([self._row_ends(), rows], axis=1), axis=1)
        if positions is not None and bool(((rows < 0) & (begun[:, :-1] >= 0)).any()):
            raise ConfigError(
                "padding must stand before a row's first token: the ring counts slots"
            )
        return rows, self._regular and bool((rows == usual).all())

    def _row_ends(self) -> Array:
        if self._regular:
            return np.full((self.batch, 1), self.slots - 1)
        return self._ends

    def _count_rows(self, rows: Array) -> None:
        """Last position and number of tokens of each row, once they are not all alike."""
        tokens = self.length
        self._ends = np.maximum(self._row_ends(), rows.max(axis=1, keepdims=True))
        self._tokens = tokens + (rows >= 0).sum(axis=1)

    def _where(self, start: int, new: int) -> Any:
        """Slots of the last tokens that fit: a slice where they lie side by side."""
        stay = min(new, self._size)
        first = (start + new - stay) % self._size
        if first + stay <= self._size:
            return slice(first, first + stay)
        return (first + np.arange(stay)) % self._size

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
        They go on counting when the ring begins again.

        References
        ----------
        su2021roformer, section 3.4.2

        Examples
        --------
        >>> SlidingWindowCache(1, 1, 2, capacity=4, window=2).next_positions(3)
        array([0, 1, 2])
        """
        check_count("new", new)
        self._check_room(new)
        if self._regular:
            return np.arange(self.slots, self.slots + new)
        return self._new_positions(None, new)

    @property
    def last_sees_all(self) -> bool:
        """Whether no slot is padding or too far back for a lone newest token."""
        return self._regular

    @property
    def _filled(self) -> int:
        return min(self.slots, self._size)

    @property
    def length(self) -> Array:
        """Tokens so far, (batch,), of which the last are held; padding is not counted."""
        if self._regular:
            return np.full(self.batch, self.slots)
        return self._tokens

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
            If fewer than ``n`` slots have been filled, or tokens that would be seen again have
            been overwritten.
        ConfigError
            If ``n`` is no whole number or negative.

        Notes
        -----
        Before the ring has wrapped, every crop is possible; after that the latest append can
        be taken back, and no more.

        References
        ----------
        leviathan2023speculative, section 2.3

        Examples
        --------
        >>> import numpy as np
        >>> cache = SlidingWindowCache(1, 1, 4, capacity=8, window=2)
        >>> _ = cache.append(np.ones((1, 1, 3, 4), np.float32), np.ones((1, 1, 3, 4), np.float32))
        >>> cache.crop(1)
        Traceback (most recent call last):
        mini_attn.errors.CacheStateError: cannot keep 1 of 3 slots: the ring of 2 has wrapped
        """
        n = check_count("n", n, least=0)
        if n > self.slots:
            raise CacheStateError(f"cannot keep {n} slots: only {self.slots} are filled")
        if n == self.slots:
            return
        undone = self._undo.get("slots", self.slots + 1)
        if self.slots > self._size and (n > undone or (n < undone and undone > self._size)):
            raise CacheStateError(
                f"cannot keep {n} of {self.slots} slots: the ring of {self._size} has wrapped"
            )
        if self.slots > self._size or n == undone:
            self._take_back()
        if n < self.slots:
            self._shorten(n)
        self._look()

    def _look(self) -> None:
        self.contiguous = self._regular and self.slots <= self._size

    def _take_back(self) -> None:
        """The state before the latest append."""
        self.slots = self._undo["slots"]
        self._regular, at = self._undo["regular"], self._undo["at"]
        self._ends, self._tokens, *kept = self._undo["arrays"]
        if kept:
            self._k[:, :, at], self._v[:, :, at], self._positions[:, at] = kept
        self._undo = {}

    def _shorten(self, n: int) -> None:
        """Keep the first slots of a ring that has not wrapped."""
        self.slots, self._undo = n, {}
        rows = self._positions[:, :n]
        self._regular = bool((rows == self._count[:n]).all())
        self._tokens = (rows >= 0).sum(axis=1)
        self._ends = KVCache._row_ends(self)

    def _take(self, index: Array) -> None:
        super()._take(index)
        self._ends, self._tokens = self._ends[index], self._tokens[index]
        if self._undo:
            self._undo["arrays"] = [array[index] for array in self._undo["arrays"]]
