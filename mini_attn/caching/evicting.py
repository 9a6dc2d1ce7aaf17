"""A cache with room for some keys: what it counts, and when it waits for weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching.filled import Filled, counted_on
from mini_attn.caching.slots import Slots
from mini_attn.errors import CacheStateError

__all__ = ["Evicting", "Kept"]

Array = NDArray[Any]


@dataclass(slots=True)
class Kept(Filled):
    """The state of a cache that evicts; a step makes new arrays and never writes into old ones.

    ``slots`` counts the tokens so far, whether their keys are still held or not.
    """

    places: Any = None  # positions of what is held (batch, n_kv_heads, held), the backend's
    totals: Any = None  # what each held key has got so far (batch, n_kv_heads, held), or None
    waiting: int = 0  # tokens of the latest step, until their weights are told
    before: Any = None  # the state before the latest step, which can be taken back


class Evicting(Slots):
    """The integers of a cache that forgets keys: the next position counts what was seen.

    ``position = tokens so far``, not ``keys held``
    """

    _shown = (*Slots._shown, "policy")
    budget: int

    def _fill(self, state: Filled) -> dict[str, Any]:
        return {**super()._fill(state), "held": f"{self._held(state)}/{self.budget}"}

    @property
    def contiguous(self) -> bool:
        """Return whether every row holds positions 0, 1, 2, … in this order, until it evicts."""
        state = self._state
        return state.counted and self._held(state) == state.slots

    @property
    def used_bytes(self) -> int:
        """Bytes of the keys and values that are held."""
        return self.allocated_bytes

    def _held(self, state: Filled) -> int:
        """Keys of each row and head that are held."""
        return int(state.arrays[0].shape[2])

    def _state_after(self, state: Any, positions: Any, new: int) -> tuple[Any, Array]:
        """The state after ``new`` tokens, without their keys, and their positions."""
        if state.waiting:
            raise CacheStateError(
                f"the cache waits for the weights of its latest {state.waiting} tokens: give them "
                "to observe, as the layers of heads do by themselves"
            )
        fresh = self._follow(state, positions, new)
        end, state = state.slots + new, replace(state, before=replace(state, before=None))
        if state.counted and bool((fresh == np.arange(state.slots, end)).all()):
            return replace(state, slots=end), np.broadcast_to(fresh, (self.batch, new))
        return replace(counted_on(state, fresh), slots=end), fresh

    def _waiting_in(self, transaction: Any) -> Any:
        """The state whose weights are told now."""
        state: Any = self._state_in(transaction)
        if not state.waiting:
            raise CacheStateError("no tokens wait for weights: append comes before observe")
        return state

    def _crop(self, state: Any, n: int) -> None:
        before = state.before
        if n and (before is None or n != before.slots):
            raise CacheStateError(
                f"cannot keep {n} of {state.slots} tokens: what was evicted on account of the "
                "others is gone; the latest step can be taken back whole, or everything"
            )
        self._set(before if n else self._empty())

    def _empty(self) -> Any:
        """The state of a cache that has seen nothing."""
        raise NotImplementedError

    def _moved_state(self, state: Any, index: Array, moved: Callable[[Any], Any]) -> Any:
        return replace(
            state,
            arrays=tuple(moved(array) for array in state.arrays),
            places=moved(state.places),
            totals=None if state.totals is None else moved(state.totals),
            before=state.before and self._moved_state(state.before, index, moved),
            ends=None if state.ends is None else state.ends[index],
            lengths=None if state.lengths is None else state.lengths[index],
        )
