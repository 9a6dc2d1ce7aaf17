"""Slots that fill from the left: how many are filled, and which position each of them holds.

All of it is whole numbers on the host, so that no step waits for a device to learn them. A
backend's cache inherits from `Slots` and adds its arrays; see `mini_attn.numpy.caches.cache`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching.filled import Cached, Filled, counted_on, follow, read
from mini_attn.caching.sizes import Sizes
from mini_attn.caching.transaction import Transaction
from mini_attn.errors import CacheOverflowError, CacheStateError, ConfigError, ShapeError
from mini_attn.shapes import check_count

__all__ = ["Slots"]

Array = NDArray[Any]


class Slots(Sizes):
    """The integers of a cache whose slots fill one after the other.

    ``slots = slots + q_len``
    """

    _shares_memory = True  # a backend's positions lie in NumPy's own memory

    # What a backend says: how integers go to its arrays and back, and what a state holds.

    def _integers(self, name: str, array: Any, *, narrow: bool = False) -> Array:
        """Integers from outside as NumPy's, after a check of their type."""
        raise NotImplementedError

    def _array(self, integers: Array) -> Any:
        """NumPy's integers as the backend's; the memory may be the same."""
        raise NotImplementedError

    def _arange(self, start: int, stop: int) -> Any:
        """Integers that count on, in the backend's type."""
        return np.arange(start, stop)

    def _update_mirror(self, mirror: Any, rows: Array, at: slice) -> None:
        """Bring the backend's positions up to date where they do not share NumPy's memory."""

    def _rows_of(self, array: Any, index: Array) -> Any:
        """A copy of an array with other rows of the batch."""
        return array[index]

    def _cached(self, state: Filled) -> Cached:
        """Return what a state holds."""
        raise NotImplementedError

    # Public properties.

    @property
    def slots(self) -> int:
        """Slots that are filled, padded ones counted."""
        return self._state.slots

    @property
    def contiguous(self) -> bool:
        """Return whether every row holds positions 0, 1, 2, … in this order."""
        return self._state.counted

    @property
    def last_sees_all(self) -> bool:
        """True if no slot is padding, so that a lone newest token may attend to every key."""
        return not self._state.padded

    @property
    def length(self) -> Any:
        """Tokens so far, (batch,); padding is not counted."""
        state = self._state
        if state.lengths is None:
            return self._array(np.full(self.batch, state.slots))
        return self._array(state.lengths.copy())

    # A step.

    def _advance(self, state: Filled, positions: Any, new: int, transaction: Transaction) -> Filled:
        """The state after ``new`` tokens, whose positions are written into free slots."""
        self._check_room(state, new, transaction)
        end = state.slots + new
        if positions is None and state.counted:
            return Filled(end, state.arrays) if type(state) is Filled else replace(state, slots=end)
        fresh = self._follow(state, positions, new)
        if state.counted and bool((fresh == np.arange(state.slots, end)).all()):
            return replace(state, slots=end)
        after = replace(counted_on(state, fresh), slots=end)
        if after.rows is None or after.rows.shape[1] < end:
            after = self._with_rows(after, end)
        after.rows[:, state.slots : end] = fresh
        self._update_mirror(after.mirror, after.rows, slice(state.slots, end))
        return after

    def _width(self, least: int) -> int:
        """Slots to have positions for, where so many are needed."""
        return least if self.capacity is None else self.capacity

    def _follow(self, state: Filled, positions: Any, new: int) -> Array:
        """Checked positions (batch, new) of the tokens to come."""
        given = None if positions is None else self._integers("positions", positions)
        return follow(state, given, self.batch, new)

    def _with_rows(self, state: Filled, least: int) -> Filled:
        """The state with room for positions."""
        rows = np.tile(np.arange(self._width(least)), (self.batch, 1))
        if state.rows is not None:
            rows[:, : state.rows.shape[1]] = state.rows
        return replace(state, rows=rows, mirror=self._array(rows))

    def _check_room(self, state: Filled, new: int, transaction: Transaction) -> None:
        if self.capacity is not None and state.slots + new > self.capacity:
            raise CacheOverflowError(
                f"{new} new tokens do not fit: {state.slots} of {self.capacity} slots are used; "
                "make the capacity prompt + new tokens"
            )

    def _next_positions(self, new: int, transaction: Transaction) -> Any:
        """`next_positions` as a step sees them that has staged something already."""
        state = self._state_in(transaction)
        self._check_room(state, new, transaction)
        if state.counted:
            return self._arange(state.slots, state.slots + new)
        return self._array(follow(state, None, self.batch, new))

    def next_positions(self, new: int) -> Any:
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
        Keys are rotated to their positions before they are cached: a layer asks first. A ring
        goes on counting when it begins again.

        References
        ----------
        su2021roformer, section 3.4.2

        Examples
        --------
        >>> from mini_attn.numpy import KVCache
        >>> KVCache(1, 1, 2, capacity=4).next_positions(2)
        array([0, 1])
        """
        return self._next_positions(check_count("new", new), Transaction())

    # Between steps.

    def view(self) -> tuple[Any, Any, Any]:
        """Everything held, read-only and, where it lies as it is needed, without a copy.

        ``k_all, v_all, kv_positions``

        Returns
        -------
        tuple of arrays (k_all, v_all, kv_positions)
            As ``append`` returns them. A ring gives the tokens it still holds in the order in
            which they lie; pages are gathered, and codes turned back into numbers.

        Notes
        -----
        Later appends write behind the view. After `crop` a view taken before shows what has
        been written since; `fork` keeps a state.

        References
        ----------
        pope2022scaling, section 3.3

        Examples
        --------
        >>> from mini_attn.numpy import KVCache
        >>> KVCache(1, 1, 2, capacity=4).view()[0].shape
        (1, 1, 0, 2)
        """
        return self._cached(self._state)[:3]

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
            If fewer than ``n`` slots are filled, or what would be seen again is gone:
            overwritten in a ring that has wrapped, or sealed in a quantized cache.
        ConfigError
            If ``n`` is no whole number or negative.

        Notes
        -----
        Nothing is moved. Used to take back rejected tokens. The latest append can always be
        taken back, whatever it has overwritten or sealed, and so can everything. Blocks that
        are not needed any more go back to their pool.

        References
        ----------
        leviathan2023speculative, section 2.3

        Examples
        --------
        >>> import numpy as np
        >>> from mini_attn.numpy import KVCache
        >>> cache, rows = KVCache(1, 1, 2, capacity=4), np.ones((1, 1, 3, 2), np.float32)
        >>> _ = cache.append(rows, rows)
        >>> cache.crop(1)
        >>> cache.length
        array([1])
        """
        n = check_count("n", n, least=0)
        state = self._state
        if n > state.slots:
            raise CacheStateError(f"cannot keep {n} slots: only {state.slots} are filled")
        if n < state.slots:
            self._crop(state, n)

    def _crop(self, state: Filled, n: int) -> None:
        self._set(self._shortened(state, n))

    def _shortened(self, state: Filled, n: int) -> Filled:
        """The state with its first slots alone; padding and gaps may be gone with the others."""
        state = replace(state, slots=n)
        return state if state.counted else self._looked_at(state)

    def _looked_at(self, state: Filled) -> Filled:
        """The state as its positions have it; where all rows count, they need not be kept."""
        known = read(state.rows[:, : state.slots])
        if known["counted"]:
            known |= {"rows": None, "mirror": None}
        return replace(state, **known)

    def fork(self) -> Any:
        """A copy that shares nothing that either will write to.

        ``copy = cache``

        Returns
        -------
        cache of the same class
            Same contents and capacity; appends to one do not show in the other.

        Notes
        -----
        Copies every allocated slot. Pages are shared instead, each until one of the two caches
        writes into it.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> from mini_attn.numpy import KVCache
        >>> KVCache(1, 1, 2, capacity=4).fork().capacity
        4
        """
        twin = copy.copy(self)
        # Of a copy that belongs to a pass:
        for own in ("_append", "_next_positions", "_observe", "_within"):
            vars(twin).pop(own, None)
        twin._cell = [self._moved(np.arange(self.batch))]
        return twin

    def reorder(self, index: Any) -> None:
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
        Copies, so that repeated rows do not share memory. Views taken before keep what they
        showed.

        References
        ----------
        kwon2023pagedattention, section 4.4

        Examples
        --------
        >>> import numpy as np
        >>> from mini_attn.numpy import KVCache
        >>> cache = KVCache(2, 1, 2, capacity=4)
        >>> cache.reorder(np.array([1, 1]))
        """
        rows = self._integers("index", index, narrow=True)
        if rows.shape != (self.batch,):
            raise ShapeError(f"index must be (batch,) = ({self.batch},), got {rows.shape}")
        if (rows < 0).any() or (rows >= self.batch).any():
            raise ConfigError(f"index must lie in 0 … {self.batch - 1}, got {rows.tolist()!s:.80}")
        self._reorder(rows.astype(np.int64))

    def _reorder(self, index: Array) -> None:
        self._cell[0] = self._moved(index)

    def _moved(self, index: Array) -> Any:
        """The entry with other rows of the batch, in arrays of its own."""
        self._state  # noqa: B018 - settles what an unfinished step has left
        before, after, transaction, overwritten = self._cell[0]
        copies: dict[int, Any] = {}

        def moved(array: Any) -> Any:
            if id(array) not in copies:
                copies[id(array)] = self._rows_of(array, index)
            return copies[id(array)]

        kept = tuple(
            (moved(array), at, self._rows_of(old, index)) for array, at, old in overwritten
        )
        states = (self._moved_state(state, index, moved) for state in (before, after))
        return (*states, transaction, kept)

    def _moved_state(self, state: Filled, index: Array, moved: Callable[[Any], Any]) -> Filled:
        """A state with other rows of the batch."""
        state = replace(state, arrays=tuple(moved(array) for array in state.arrays))
        if state.rows is None:
            return state
        rows = moved(state.rows)
        return self._looked_at(replace(state, rows=rows, mirror=self._array(rows)))
