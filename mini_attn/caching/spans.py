"""Spans of tokens that leave one entry each, and two rings: a window, and tokens that still wait.

A token's number counts padding, so that rows of a batch share their slots; spans are counted in a
row's own tokens. Positions follow from the two, so that none are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching.filled import Filled, counted_on, counts, follow
from mini_attn.caching.slots import Slots
from mini_attn.caching.transaction import Transaction
from mini_attn.errors import CacheStateError, ConfigError, DTypeError, ShapeError
from mini_attn.shapes import named_shapes

__all__ = ["CachedSpans", "Closed", "Spans", "advanced", "closed"]

Array = NDArray[Any]
Finish = Callable[[int, Any, Array], Any]  # of which part, the means (m, width), their spans (m,)


class CachedSpans(NamedTuple):
    """What the tokens of a step may attend to, and how much the order of the keys says."""

    k: Any  # of recent tokens
    entries: tuple[Any, ...]  # (batch, 1, slots // compress, width), and those of an indexer
    positions: Any  # of the keys; None where a lone token sees them all
    counted: bool
    last_sees_all: bool


class Closed(NamedTuple):
    """The spans that a step completes: whose they are, and where their tokens stand."""

    rows: Array  # (m,)
    spans: Array  # (m,), counted in a row's own tokens
    numbers: Array  # (m, series, compress); the last series is the span's own tokens
    there: Array  # (m, series): no span stands before the first


def closed(before: Filled, after: Filled, batch: int, compress: int, series: int) -> Closed:
    """The spans of each row that a step completes, those before them too where they overlap."""
    first, end = (counts(state, batch)[1] // compress for state in (before, after))
    new = end - first
    rows = np.repeat(np.arange(batch), new)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(new) - new, new)
    spans = np.repeat(first, new) + place
    said = spans[:, None] + np.arange(1 - series, 1)  # (m, series)
    padding = after.slots - counts(after, batch)[1]
    numbers = padding[rows, None] + said * compress
    return Closed(rows, spans, numbers[..., None] + np.arange(compress), said >= 0)


def advanced(state: Filled, given: Array | None, batch: int, new: int) -> Filled:
    """The state after new tokens, each of which follows the one before it."""
    end = state.slots + new
    if given is None and state.counted:
        return replace(state, slots=end)
    fresh = follow(state, given, batch, new)
    ends, _ = counts(state, batch)
    padding = np.logical_and.accumulate(fresh < 0, axis=1).sum(axis=1, keepdims=True)
    expected = ends + 1 - padding + np.arange(new)
    if (fresh != np.where(np.arange(new) < padding, -1, expected)).any() or (
        (padding > 0) & (ends >= 0)
    ).any():
        raise ConfigError(
            "an entry stands for tokens that follow each other: the positions of a row must be -1 "
            f"(padding) and then count 0, 1, 2, …, got {fresh.tolist()!s:.80} after "
            f"{ends.ravel().tolist()!s:.40}"
        )
    if state.counted and not padding.any():
        return replace(state, slots=end)
    return replace(counted_on(state, fresh), slots=end)


class Spans(Slots):
    """The integers of a cache of entries; its arrays are keys, entries and waiting tokens."""

    _shown = (*Slots._shown, "window", "compress", "index_head_dim")
    window: int
    compress: int
    head_dim: int
    index_head_dim: int | None
    _said = ("values", "gates", "index_values", "index_gates")

    # What a backend says beside what `Slots` asks for.

    def _kept(self, array: Any) -> Any:
        """An array as a cache may keep it."""
        return array

    def _view(self, array: Any) -> Any:
        """An array as others may look at it."""
        return array

    def _joined(self, arrays: Sequence[Any]) -> Any:
        """Arrays (batch, heads, seq, width), one after the other."""
        raise NotImplementedError

    def _means(self, values: Any, gates: Any, ends: Closed) -> Any:
        """Gated means (m, width) of tokens by their place."""
        raise NotImplementedError

    # Sizes.

    @property
    def series(self) -> int:
        """Return to how many entries each token adds, two where spans overlap."""
        return 1 if self.index_head_dim is None else 2

    @property
    def _ends(self) -> tuple[int, int]:
        """Slots of the window and of waiting tokens."""
        most = self.capacity or 0
        return min(self.window, most), min(self.series * self.compress, most)

    def _shapes(self) -> list[tuple[int, ...]]:
        """Shapes of all arrays: keys, entries, what tokens say to them."""
        window, waiting = self._ends
        assert self.capacity is not None
        widths = [self.head_dim, *([self.index_head_dim] if self.index_head_dim else [])]
        entries = [(self.batch, 1, self.capacity // self.compress, width) for width in widths]
        said = [(self.batch, self.series, waiting, width) for width in widths for _ in range(2)]
        return [(self.batch, 1, window, self.head_dim), *entries, *said]

    def _sorts(self, arrays: Sequence[Any]) -> tuple[Any, Sequence[Any], Sequence[Any]]:
        """Keys, entries, and what tokens say to them."""
        return arrays[0], arrays[1 : 1 + self.series], arrays[1 + self.series :]

    @property
    def used_bytes(self) -> int:
        """Bytes of the slots that are filled, and of the entries that may be complete."""
        return sum(array.nbytes for array in self._filled(self._state))

    def _check_fits(self, *, batch: int, dtype: Any, **sizes: int) -> None:
        """Refuse a layer without entries too: nobody would say what is in them."""
        super()._check_fits(batch=batch, dtype=dtype, **sizes)
        if "compress" not in sizes:
            raise ConfigError("the cache holds entries of several tokens, and the layer makes none")

    def _check_said(self, k: Any, said: dict[str, Any], finish: Any, kind: type) -> None:
        """Refuse what is not this cache's shape and type."""
        if finish is not None and not callable(finish):
            raise ConfigError(f"finish must be callable or None, got {finish!r:.60}")
        named_shapes(kind, k=(k, "batch heads q_len head_dim"))
        widths = {"k": self.head_dim} | {
            name: self.index_head_dim if name.startswith("index") else self.head_dim
            for name in said
        }
        for name, given in ({"k": k} | said).items():
            width = widths[name]
            if width is None:
                if given is not None:
                    raise ConfigError(f"{name} is for an indexer, and the cache has none")
                continue
            named_shapes(kind, **{name: (given, "batch series q_len width")})
            shape, heads = tuple(given.shape), 1 if name == "k" else self.series
            expected = (self.batch, heads, k.shape[2], width)
            if shape != expected:
                raise ShapeError(
                    f"{name} must be (batch, {'1' if name == 'k' else 'series'}, q_len, dim) = "
                    f"{expected}, got {shape}"
                )
            if given.dtype != self._dtype:
                raise DTypeError(f"the cache holds {self._dtype}, {name} is {given.dtype}")
        if k.shape[2] < 1:
            raise ShapeError("append needs at least one token, got q_len = 0")

    # A step.

    def _advance(self, state: Filled, positions: Any, new: int, transaction: Transaction) -> Filled:
        self._check_room(state, new, transaction)
        given = None if positions is None else self._integers("positions", positions)
        return advanced(state, given, self.batch, new)

    def _append(
        self,
        k: Any,
        values: Any,
        positions: Any,
        transaction: Transaction,
        gates: Any,
        index_values: Any = None,
        index_gates: Any = None,
        finish: Finish | None = None,
    ) -> CachedSpans:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        state, new = self._state_in(transaction), k.shape[2]
        after = self._advance(state, positions, new, transaction)
        given = (values, gates, index_values, index_gates)
        said = [self._kept(array) for array in given if array is not None]
        k = self._kept(k)
        keys, held, waiting = self._sorts(state.arrays)
        ends = closed(state, after, self.batch, self.compress, self.series)
        means = self._closing(state, waiting, said, ends, finish) if len(ends.rows) else []
        near = None
        if new > 1:  # of a full ring the oldest key is too far back even for the first query
            near = self._behind(keys, state.slots, k)[:, :, int(state.slots >= keys.shape[2]) :]
        self._stage(after, transaction, self._put_aside(state, after, transaction))
        for array, a in zip((keys, *waiting), (k, *said), strict=True):
            self._write(array, state.slots, a)
        for array, mean in zip(held, means, strict=False):
            rows, spans = self._array(ends.rows), self._array(ends.spans)
            array[rows, :, spans] = self._kept(mean)[:, None]
        return self._seen(state, after, near)

    def _closing(
        self,
        state: Filled,
        waiting: Sequence[Any],
        said: Sequence[Any],
        ends: Closed,
        finish: Finish | None,
    ) -> list[Any]:
        """Means (m, width) of the spans that a step completes, for each part, finished."""
        both = [
            self._behind(ring, state.slots, new) for ring, new in zip(waiting, said, strict=True)
        ]
        first = max(0, state.slots - self._ends[1])
        at = ends._replace(numbers=ends.numbers - first)
        means = [self._means(*pair, at) for pair in zip(both[::2], both[1::2], strict=True)]
        if finish is None:
            return means
        return [finish(i, mean, ends.spans) for i, mean in enumerate(means)]

    def _behind(self, array: Any, slots: int, new: Any) -> Any:
        """Put new tokens behind what a ring holds, in their order."""
        size = array.shape[2]
        order = np.arange(max(0, slots - size), slots) % size
        return self._joined([array[:, :, self._array(order)], new])

    def _write(self, array: Any, slots: int, new: Any) -> None:
        """Write new tokens into a ring; of many the last stay."""
        size, count = array.shape[2], new.shape[2]
        stay = min(size, count)
        at = np.arange(slots + count - stay, slots + count) % size
        array[:, :, self._array(at)] = new[:, :, count - stay :]

    def _put_aside(self, state: Filled, after: Filled, transaction: Transaction) -> list[Any]:
        """Copy what slots hold that are about to be overwritten, unless this step wrote it."""
        before, _, owner, _ = self._cell[0]
        settled = before.slots if owner is transaction else state.slots
        keys, _, waiting = self._sorts(state.arrays)
        aside = []
        for array in (keys, *waiting):
            size = array.shape[2]
            lost = np.arange(max(state.slots - size, 0), min(after.slots - size, settled)) % size
            if len(lost):
                at = (slice(None), slice(None), self._array(lost))
                aside.append((array, at, array[at]))  # a copy: the index is no slice
        return aside

    def _seen(self, state: Filled, after: Filled, near: Any) -> CachedSpans:
        """Return what new tokens may attend to: the ring as it lies, or what it held and they."""
        keys, entries, _ = self._sorts(self._filled(after))
        size, slots = self._ends[0], after.slots
        if near is None:
            if after.counted:
                return CachedSpans(keys, tuple(entries), None, slots <= size, True)
            numbers = np.arange(min(slots, size))
            numbers = slots - 1 - (slots - 1 - numbers) % size
        else:
            keys, numbers = near, np.arange(slots - near.shape[2], slots)
        in_order = after.counted and slots == len(numbers)
        positions = None if in_order else self._places(after, numbers)
        return CachedSpans(keys, tuple(entries), positions, in_order, after.counted)

    def _places(self, state: Filled, numbers: Array) -> Any:
        """Positions (batch, n) of tokens by their number, -1 where one is padding."""
        padding = state.slots - counts(state, self.batch)[1]
        return self._array(np.maximum(numbers - padding[:, None], -1))

    def _filled(self, state: Filled) -> list[Any]:
        """Views of the slots that are filled, and of the entries that may be complete."""
        window, waiting = (min(size, state.slots) for size in self._ends)
        keys, entries, said = self._sorts(state.arrays)
        ends = [window, *[state.slots // self.compress] * len(entries), *[waiting] * len(said)]
        arrays = (keys, *entries, *said)
        return [self._view(a[:, :, :end]) for a, end in zip(arrays, ends, strict=True)]

    def _cached(self, state: Filled) -> tuple[Any, ...]:  # type: ignore[override]
        """Everything held, and the positions of all tokens so far."""
        return (*self._filled(state), self._places(state, np.arange(state.slots)))

    # Between steps.

    def view(self) -> tuple[Any, ...]:
        """Everything held, read-only and without a copy.

        ``k, entries, …, waiting values, waiting gates, …, positions``

        Returns
        -------
        tuple of arrays
            Keys of recent tokens (batch, 1, tokens, head_dim), in the order of the ring; entries
            (batch, 1, slots // compress, head_dim), of which a row's first ``length // compress``
            count; with an indexer its entries; what waiting tokens say, values and gates
            (batch, series, tokens, head_dim), with an indexer to its entries too; and the
            positions (batch, slots) of all tokens so far.

        Notes
        -----
        Later appends write behind the entries, and over the others.

        References
        ----------
        deepseek2026v4, section 2.3

        Examples
        --------
        >>> from mini_attn.numpy import CompressedCache
        >>> CompressedCache(1, 2, capacity=8, window=4, compress=2).view()[1].shape
        (1, 1, 0, 2)
        """
        return self._cached(self._state)

    def _crop(self, state: Filled, n: int) -> None:
        before, smallest = self._cell[0][0], min(self._ends)
        if not n or state.slots <= smallest:  # nothing that is kept has been overwritten
            self._set(self._shortened(state, n))
        elif before is not state and (n == before.slots or n < before.slots <= smallest):
            self._revoke(self._shortened(before, n) if n < before.slots else before)
        else:
            raise CacheStateError(
                f"cannot keep {n} of {state.slots} slots: of the tokens before, the window and the "
                f"spans that are complete have left {smallest} at the most; the latest append can "
                "be taken back whole, and so can everything"
            )

    def _shortened(self, state: Filled, n: int) -> Filled:
        if state.counted or n == state.slots:
            return replace(state, slots=n)
        _, lengths = counts(state, self.batch)
        lengths = np.maximum(n - (state.slots - lengths), 0)
        ends = lengths[:, None] - 1
        return replace(state, slots=n, ends=ends, lengths=lengths, padded=bool((lengths < n).any()))

    def _moved_state(self, state: Filled, index: Array, moved: Callable[[Any], Any]) -> Filled:
        state = replace(state, arrays=tuple(moved(array) for array in state.arrays))
        if state.lengths is None or state.ends is None:
            return state
        return replace(state, ends=state.ends[index], lengths=state.lengths[index])
