"""The state of a cache, and what its positions come to: pure functions of whole numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError, ShapeError

__all__ = [
    "Cached",
    "CachedIndexed",
    "CachedMeans",
    "Filled",
    "completed",
    "counted_on",
    "counts",
    "follow",
    "read",
]

Array = NDArray[Any]


class Cached(NamedTuple):
    """What the tokens of a step may attend to, and how much its order says."""

    k: Any
    v: Any
    positions: Any
    counted: bool  # every row holds positions 0, 1, 2, … in this order
    last_sees_all: bool  # a lone newest token may attend to all of it


class CachedIndexed(NamedTuple):
    """The same with the keys by which an indexer chooses."""

    k: Any
    v: Any
    index_k: Any
    positions: Any
    counted: bool
    last_sees_all: bool


class CachedMeans(NamedTuple):
    """The same with the means of blocks; of each row those of its complete blocks count."""

    k: Any
    v: Any
    mean_k: Any
    mean_v: Any
    positions: Any
    counted: bool
    last_sees_all: bool


@dataclass(slots=True)
class Filled:
    """The state of a cache; none of its numbers changes, a step gives another state."""

    slots: int
    arrays: tuple[Any, ...]  # the backend's, written only where no state looks
    counted: bool = True  # every row holds positions 0, 1, 2, …
    padded: bool = False
    rows: Any = None  # positions (batch, slots or more); None while all rows count
    mirror: Any = None  # the same in the backend's type
    ends: Array | None = None  # last position of each row (batch, 1), -1 where it has none
    lengths: Array | None = None  # tokens of each row (batch,), padding left out


def counts(state: Filled, batch: int) -> tuple[Array, Array]:
    """Last position (batch, 1) and number of tokens (batch,) of each row."""
    if state.ends is None or state.lengths is None:
        return np.full((batch, 1), state.slots - 1), np.full(batch, state.slots)
    return state.ends, state.lengths


def follow(state: Filled, given: Array | None, batch: int, new: int) -> Array:
    """Checked positions (batch, new) of the tokens to come."""
    ends, _ = counts(state, batch)
    if given is None:
        return np.asarray(ends + 1 + np.arange(new))
    if given.shape not in ((new,), (batch, new)):
        raise ShapeError(f"positions must be ({new},) or ({batch}, {new}), got {given.shape}")
    fresh = np.broadcast_to(given, (batch, new)).astype(np.int64)
    # A real position must exceed all before it in its row; padding is not compared.
    before = np.maximum.accumulate(np.concatenate([ends, fresh], axis=1), axis=1)[:, :-1]
    if (fresh < -1).any() or ((fresh >= 0) & (fresh <= before)).any():
        raise ConfigError(
            "positions must be -1 (padding) or grow within a row, "
            f"got {fresh.tolist()!s:.80} after {ends.ravel().tolist()!s:.40}"
        )
    return fresh


def counted_on(state: Filled, fresh: Array) -> Filled:
    """Return what is known of each row once it has tokens that do not just count on."""
    ends, lengths = counts(state, len(fresh))
    real = fresh >= 0
    return replace(
        state,
        counted=False,
        padded=state.padded or not bool(real.all()),
        ends=np.maximum(ends, fresh.max(axis=1, keepdims=True)),
        lengths=lengths + real.sum(axis=1),
    )


def read(rows: Array) -> dict[str, Any]:
    """Derive what a state knows from positions (batch, slots)."""
    if bool((rows == np.arange(rows.shape[1])).all()):
        return {"counted": True, "padded": False, "ends": None, "lengths": None}
    real = rows >= 0
    return {
        "counted": False,
        "padded": not bool(real.all()),
        "ends": rows.max(axis=1, keepdims=True, initial=-1),
        "lengths": real.sum(axis=1),
    }


def completed(before: Filled, after: Filled, batch: int, size: int) -> tuple[Array, Array, Array]:
    """The blocks of each row's own tokens that a step has filled, and where their tokens lie.

    Rows (m,), blocks (m,) and slots (m, size): a row's tokens are counted without its padding.
    """
    full = [counts(state, batch)[1] // size for state in (before, after)]
    new = [(row, block) for row in range(batch) for block in range(full[0][row], full[1][row])]
    rows, blocks = np.array(new, np.int64).reshape(-1, 2).T
    places = blocks[:, None] * size + np.arange(size)  # slots too, where all rows count
    if after.counted or not after.padded:
        return rows, blocks, places
    own = {row: np.flatnonzero(after.rows[row, : after.slots] >= 0) for row in set(rows.tolist())}
    slots = [own[row][place] for row, place in zip(rows.tolist(), places, strict=True)]
    return rows, blocks, np.array(slots, np.int64).reshape(-1, size)
