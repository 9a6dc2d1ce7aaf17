"""One step over several caches: all of it or nothing, whatever interrupts.

A step writes where nobody looks yet, and gives each cache a state to come. Until the step's
transaction is done, everybody else sees the state from before; and being done is one
assignment for all caches together. So there is no moment at which half of the caches have
moved on, and an exception leaves nothing to undo: a step that never ends has never happened.

Where a write must overwrite what was held (a ring's oldest token), the old numbers are kept
aside first. Whoever looks next puts them back if the step was not done; being interrupted
there does no harm either, as putting back twice is the same as once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mini_attn.errors import CacheStateError

__all__ = ["Transaction", "Versioned"]

State = Any  # what a subclass holds: it says so for its own `_state`
Overwritten = tuple[Any, Any, Any]  # an array, the index written to, and what stood there


class Transaction:
    """What a step does to caches; it counts once it is committed, and before that not at all."""

    done = False
    lost = False  # somebody else has used one of the caches since

    def commit(self) -> None:
        """Make the states to come the states that are, in every cache at once.

        Raises
        ------
        CacheStateError
            If another step has used one of the caches in between.
        """
        if self.lost:
            raise CacheStateError("another step has used one of the caches while this one ran")
        self.done = True


_SETTLED = Transaction()
_SETTLED.commit()


class Versioned:
    """What has a state that transactions replace; states are never changed in place."""

    # One place that copies of an object may share: see `joined`.
    _cell: list[tuple[State, State, Transaction, tuple[Overwritten, ...]]]
    _within: Transaction | None = None  # the pass that such a copy is looked at from

    def _begin(self, state: State) -> None:
        """The first state."""
        self._cell = [(state, state, _SETTLED, ())]

    def _set(self, state: State) -> None:
        """Another state, at once."""
        self._cell[0] = (state, state, _SETTLED, ())

    @property
    def _state(self) -> State:
        """The state that counts; what an unfinished step has overwritten is put back first."""
        before, after, transaction, overwritten = self._cell[0]
        if transaction.done or transaction is self._within:
            return after
        for array, index, old in reversed(overwritten):
            array[index] = old
        transaction.lost = True
        self._set(before)
        return before

    @property
    def _peeked(self) -> State:
        """The state that counts, for who only looks: an unfinished step is left alone."""
        before, after, transaction, _ = self._cell[0]
        return after if transaction.done or transaction is self._within else before

    def _state_in(self, transaction: Transaction) -> State:
        """The state that a step sees: its own, if it has staged one."""
        _, after, owner, _ = self._cell[0]
        return after if owner is transaction or owner.done else self._state

    def _stage(
        self, state: State, transaction: Transaction, overwritten: Iterable[Overwritten] = ()
    ) -> None:
        """Give the state to come; call it before anything is overwritten."""
        before, after, owner, kept = self._cell[0]
        if owner is not transaction:
            before, kept = after if owner.done else self._state, ()
        self._cell[0] = (before, state, transaction, (*kept, *overwritten))

    def _revoke(self, before: State) -> None:
        """Take the latest transaction back, for this cache alone, and go on from a state."""
        _, after, _, overwritten = self._cell[0]
        self._cell[0] = (before, after, Transaction(), overwritten)
