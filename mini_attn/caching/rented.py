"""Blocks that somebody else counts: a cache for one step of one sequence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mini_attn.caching.filled import Filled
from mini_attn.caching.pages import Paged, Pages
from mini_attn.caching.transaction import Transaction
from mini_attn.errors import CacheOverflowError

__all__ = ["Rented"]


class Rented(Pages):
    """The integers of a cache that writes into the blocks it is given and counts none of them.

    A scheduler counts; whoever runs its step makes one for each piece and layer.
    """

    def _rent(self, table: tuple[int, ...], start: int) -> None:
        """These blocks, the first slots of which are filled."""
        state = self._with_table(self._paged, (table,))
        self._set(replace(state, slots=start))

    def _check_room(self, state: Filled, new: int, transaction: Any) -> None:
        assert isinstance(state, Paged)
        room = len(state.table[0]) * self.pool.block_size
        if state.slots + new > room:
            raise CacheOverflowError(
                f"{new} new tokens do not fit: {state.slots} of {room} slots are used in the "
                f"{len(state.table[0])} blocks that the step was given"
            )

    def _own(
        self, state: Filled, end: int, transaction: Transaction
    ) -> tuple[Paged, list[tuple[int, int]]]:
        assert isinstance(state, Paged)
        return state, []
