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
    """The integers of a cache that keeps the last tokens, and the first ones of each row if asked.

    ``slot = number of the token % size``

    With first tokens to keep, the ring begins behind their slots. A token's number counts padding,
    so that rows of a batch share their slots; but a row's first tokens are counted from its own
    beginning. Where padding stood before them they go to the slots of the first numbers, and
    the slots that they would have had in the ring say -1.
    """

    _shown = (*Slots._shown, "window", "sink_tokens")
    _size: int
    _firsts: int  # slots for first tokens, before the ring's

    @property
    def contiguous(self) -> bool:
        """Return whether rows hold positions 0, 1, 2, … in this order, as before the ring wraps."""
        state = self._state
        return state.counted and state.slots <= self._size

    @property
    def last_sees_all(self) -> bool:
        """Return whether no slot is padding or too far back for a lone newest token."""
        return self._state.counted

    @property
    def used_bytes(self) -> int:
        """Bytes of the keys and values of the slots that are filled."""
        filled = min(self.slots, self._size)
        return sum(array[:, :, :filled].nbytes for array in self._state.arrays)

    def _state_after(
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

    def _slot(self, number: Any) -> Any:
        """The slot in the ring of a token's number, or of several."""
        return self._firsts + (number - self._firsts) % (self._size - self._firsts)

    def _at(self, first: int, count: int) -> Any:
        """Slots of tokens that follow each other: a slice where they lie side by side."""
        slot = first if first < self._firsts else self._slot(first)
        if slot + count <= self._size:
            return slice(slot, slot + count)
        return self._slot(first + np.arange(count))

    def _still_seen(self, state: Filled) -> list[slice]:
        """Return the slots that a chunk may still attend to.

        Of a full ring the oldest token is too far back even for the chunk's first query.
        """
        if state.slots < self._size:
            return [slice(state.slots)]
        oldest = self._slot(state.slots)
        return [slice(oldest), slice(oldest + 1, self._size)]

    def _landing(self, first: int, new: int) -> tuple[Any, Any]:
        """Find which of the new tokens stay, and their slots."""
        end, ring = first + new, self._size - self._firsts
        if end <= self._size:
            return slice(None), self._at(first, new)
        if first >= self._firsts:
            stay = min(new, ring)
            return slice(new - stay, None), self._at(end - stay, stay)
        early, late = np.arange(first, self._firsts), np.arange(end - ring, end)
        numbers, slots = (np.concatenate([early, b]) for b in (late, self._slot(late)))
        return numbers - first, slots

    def _moved_first(self, state: Filled, fresh: Array) -> tuple[Array, Array, Array] | None:
        """Rows, places in a chunk and slots of the first tokens of rows that do not just count."""
        if not self._firsts:
            return None
        _, lengths = counts(state, self.batch)
        if lengths.min() >= self._firsts:
            return None
        number = lengths[:, None] + np.cumsum(fresh >= 0, axis=1) - 1
        row, place = np.nonzero((fresh >= 0) & (number < self._firsts))
        return row, place, number[row, place]

    def _write_rows(self, state: Filled, fresh: Array, some: Any, at: Any, moved: Any) -> None:
        """The positions of new tokens, each in the slot of its token."""
        told = fresh
        if moved is not None:
            row, place, slot = moved
            told = fresh.copy()
            told[row, place] = -1
        state.rows[:, at] = told[:, some]
        self._update_mirror(state.mirror, state.rows, at)
        if moved is not None:
            state.rows[row, slot] = fresh[row, place]
            self._update_mirror(state.mirror, state.rows, slice(self._firsts))

    def _lost(self, state: Filled, new: int, transaction: Transaction) -> Any:
        """Slots of tokens from before the step that ``new`` tokens overwrite, or None.

        What the step itself has written need not be kept: chunk after chunk, no more than the
        ring is put aside.
        """
        before, _, owner, _ = self._cell[0]
        settled = before.slots if owner is transaction else state.slots
        ring = self._size - self._firsts
        first = max(state.slots - ring, self._firsts)
        end = min(state.slots + new - ring, state.slots, settled)
        return self._at(first, end - first) if first < end else None

    def _crop(self, state: Filled, n: int) -> None:
        if not n or state.slots <= self._size:  # nothing that is kept has been overwritten
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
        before = replace(before, rows=rows, mirror=self._array(rows))
        self._revoke(self._shortened(before, n) if n < before.slots else before)

    def _shortened(self, state: Filled, n: int) -> Filled:
        if self._firsts and not state.counted:  # a row's first tokens stand before their numbers
            _, lengths = counts(state, self.batch)
            number = np.arange(self._firsts) + state.slots - lengths[:, None]
            rows = state.rows.copy()
            rows[:, : self._firsts][number >= n] = -1
            state = replace(state, rows=rows, mirror=self._array(rows))
        return super()._shortened(state, n)

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
