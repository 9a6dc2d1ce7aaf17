"""A state that does not grow: tokens are counted, and none of them can be found again.

A step gives another state and leaves the one before as it was, so that nothing has to be put
back, and a snapshot is the state itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching.filled import Filled, counted_on
from mini_attn.caching.slots import Slots
from mini_attn.caching.transaction import Transaction
from mini_attn.errors import CacheStateError, ConfigError

__all__ = ["Snapshot", "States"]

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot:
    """What a cache held when it was asked; only the cache that gave it takes it back."""

    tokens: int  # slots, padded ones counted
    _sizes: tuple[int, ...]
    _state: Filled

    def __repr__(self) -> str:
        return f"Snapshot(tokens={self.tokens})"


class States(Slots):
    """The integers of a cache that holds a state: how many tokens each row has seen.

    ``slots = slots + q_len``
    """

    _empty: tuple[Any, ...]  # the arrays before the first token
    _counted_sizes: tuple[int, ...]  # of what a snapshot must fit

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the state, however many tokens it has seen."""
        return sum(array.nbytes for array in self._state.arrays)

    @property
    def used_bytes(self) -> int:
        """Bytes of the state, which is used whole from the first token on."""
        state = self._state
        used = state.arrays if state.slots else ()
        if not used:
            return 0
        matrices, tail = used
        return int(matrices.nbytes + tail[:, self._first_used(state) :].nbytes)

    def _first_used(self, state: Filled) -> int:
        """Return where tokens begin in the convolution's tail: before the first are zeros."""
        return max(0, int(state.arrays[1].shape[1]) - state.slots)

    def _advance(self, state: Filled, positions: Any, new: int, transaction: Transaction) -> Filled:
        """The count after ``new`` tokens, whose positions are checked and not kept."""
        self._check_room(state, new, transaction)
        end = state.slots + new
        if positions is None and state.counted:
            return replace(state, slots=end)
        fresh = self._follow(state, positions, new)
        if state.counted and bool((fresh == np.arange(state.slots, end)).all()):
            return replace(state, slots=end)
        return replace(counted_on(state, fresh), slots=end)

    def _crop(self, state: Filled, n: int) -> None:
        if n:
            raise CacheStateError(
                f"a state cannot be cropped from {state.slots} slots to {n}: what tokens have "
                "written into it is a sum; take a snapshot() before them and restore() it"
            )
        self._set(Filled(0, self._empty))

    def _moved_state(self, state: Filled, index: Array, moved: Callable[[Any], Any]) -> Filled:
        counted: dict[str, Any] = {
            name: None if rows is None else rows[index]
            for name, rows in (("ends", state.ends), ("lengths", state.lengths))
        }
        return replace(super()._moved_state(state, index, moved), **counted)

    def snapshot(self) -> Snapshot:
        """Keep what the cache holds now, to come back to.

        ``kept = state``

        Returns
        -------
        Snapshot
            For `restore` of this cache. It shares the state's memory, which no step writes to; the
            cache's own bytes leave it out.

        Notes
        -----
        This stands in for `crop`, which a state cannot do: take one before tokens that may have to
        be taken back, such as those of a draft.

        References
        ----------
        leviathan2023speculative, section 2.3

        Examples
        --------
        >>> from mini_attn.numpy import StateCache
        >>> StateCache(1, 2, 4).snapshot()
        Snapshot(tokens=0)
        """
        state = self._state
        return Snapshot(state.slots, self._counted_sizes, state)

    def restore(self, snapshot: Snapshot) -> None:
        """Hold what was held when the snapshot was taken.

        ``state = kept``

        Parameters
        ----------
        snapshot : Snapshot
            From `snapshot`, of this cache or one of the same sizes; it may be used again.

        Raises
        ------
        ConfigError
            If it is no snapshot, or one of a cache of other sizes.

        Notes
        -----
        Nothing is copied. Rows are those of the snapshot: what `reorder` did since is undone too.

        References
        ----------
        leviathan2023speculative, section 2.3

        Examples
        --------
        >>> from mini_attn.numpy import StateCache
        >>> cache = StateCache(1, 2, 4)
        >>> cache.restore(cache.snapshot())
        >>> cache.slots
        0
        """
        if not isinstance(snapshot, Snapshot):
            raise ConfigError(f"restore takes what snapshot() gave, got {snapshot!r:.60}")
        if snapshot._sizes != self._counted_sizes:
            raise ConfigError(
                f"the snapshot is of a cache of sizes {snapshot._sizes}, this one has "
                f"{self._counted_sizes}"
            )
        self._set(snapshot._state)
