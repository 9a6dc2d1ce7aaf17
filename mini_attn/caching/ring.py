"""A ring of slots: where the newest tokens go, what they overwrite, and what can be taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching.filled import Filled, counted_on, counts
from mini_attn.caching.slots import Slots
from mini_attn.caching.transaction import Transaction
from mini_attn.errors import CacheStateError, ConfigError

__all__ = ["Ring"]

Array = NDArray[Any]


class Ring(Slots):
    """The integers of a cache that keeps the last tokens alone.

    ``slot = number of the token % size``
    """

    _size: int

    @property
    def contiguous(self) -> bool:
        """Whether every row holds positions 0, 1, 2, … in this order, as before the ring wraps."""
        state = self._state
        return state.counted and state.slots <= self._size

    @property
    def last_sees_all(self) -> bool:
        """Whether no slot is padding or too far back for a lone newest token."""
        return self._state.counted

    @property
    def used_bytes(self) -> int:
        """Bytes of the keys and values of the slots that are filled."""
        filled = min(self.slots, self._size)
        return sum(array[:, :, :filled].nbytes for array in self._state.arrays)

    def _upon(
        self, state: Filled, positions: Any, new: int, transaction: Transaction
    ) -> tuple[Filled, Array]:
        """The state after ``new`` tokens and their positions; nothing is written yet."""
        self._check_room(state, new, transaction)
        usual = np.arange(state.slots, state.slots + new)[None]
        after = replace(state, slots=state.slots + new)
        if positions is None and state.counted:
            return after, usual
        fresh = self._follow(state, positions, new)
        if positions is not None:
            ends, _ = counts(state, self.batch)
            before = np.concatenate([ends, fresh[:, :-1]], axis=1)
            if ((fresh < 0) & (np.maximum.accumulate(before, axis=1) >= 0)).any():
                raise ConfigError(
                    "padding must stand before a row's first token: the ring counts slots"
                )
        if state.counted and bool((fresh == usual).all()):
            return after, usual
        return replace(counted_on(state, fresh), slots=after.slots), fresh

    def _at(self, first: int, count: int) -> Any:
        """Slots of tokens that follow each other: a slice where they lie side by side."""
        slot = first % self._size
        if slot + count <= self._size:
            return slice(slot, slot + count)
        return (slot + np.arange(count)) % self._size

    def _lost(self, state: Filled, new: int, transaction: Transaction) -> Any:
        """Slots of tokens from before the step that ``new`` tokens overwrite, or None.

        What the step itself has written need not be kept: chunk after chunk, no more than the
        ring is put aside.
        """
        before, _, owner, _ = self._cell[0]
        settled = before.slots if owner is transaction else state.slots
        first = max(state.slots - self._size, 0)
        end = min(state.slots + new - self._size, state.slots, settled)
        return self._at(first, end - first) if first < end else None

    def _crop(self, state: Filled, n: int) -> None:
        if state.slots <= self._size:  # nothing has been overwritten
            self._set(self._shortened(state, n))
            return
        before, _, _, overwritten = self._cell[0]
        if before is state or n > before.slots or n < before.slots > self._size:
            raise CacheStateError(
                f"cannot keep {n} of {state.slots} slots: the ring of {self._size} has wrapped"
            )
        rows = before.rows.copy()
        for array, at, old in reversed(overwritten):
            if array is before.rows:
                rows[at] = old
        shortened = self._shortened(replace(before, rows=rows), n) if n < before.slots else before
        self._revoke(replace(shortened, rows=before.rows))  # where the old numbers will be again

    def _looked_at(self, state: Filled) -> Filled:
        known = super()._looked_at(state)
        return replace(known, rows=state.rows, mirror=state.mirror)  # the ring's order needs them

    def _moved_state(self, state: Filled, index: Array, moved: Callable[[Any], Any]) -> Filled:
        rows = moved(state.rows)
        return replace(
            state,
            arrays=tuple(moved(array) for array in state.arrays),
            rows=rows,
            mirror=self._array(rows) if self._shares_memory else moved(state.mirror),
            ends=None if state.ends is None else state.ends[index],
            lengths=None if state.lengths is None else state.lengths[index],
        )
