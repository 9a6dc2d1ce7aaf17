"""A ring of the last tokens: what a sliding window leaves of a cache."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching import Cached, Filled, Ring, Transaction
from mini_attn.numpy.caches.cache import KVCache
from mini_attn.shapes import DType, check_count

__all__ = ["SlidingWindowCache"]

Array = NDArray[Any]


class SlidingWindowCache(Ring, KVCache):
    """Keys and values of the last ``window`` tokens, of one layer, and of the first if asked.

    ``slot = number of the token % min(window, capacity)``

    Parameters
    ----------
    batch, n_kv_heads, head_dim : int
        Sequences, key/value heads, size of a key.
    capacity : int or None
        Tokens that each sequence may have in all, padding included; None sets no bound.
    window : int
        Keys that a query sees, its own included.
    sink_tokens : int
        First tokens of each row that stay besides.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If a size is below 1, or ``sink_tokens`` negative.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    ``allocated_bytes = batch * n_kv_heads * min(sink_tokens + window, capacity) *
    (head_dim + v_head_dim) * dtype_bytes``. A token overwrites the one ``window`` before it, which
    no later query sees. The first ``sink_tokens`` tokens have slots of their own before the ring;
    a row that begins with padding keeps its first real tokens. Positions stay those of the text:
    keys are cached as they were rotated, where StreamingLLM rotates them anew in each step.
    Keys lie in the order of the ring: the positions that come with them say which is which,
    and softmax does not ask. Padding stands before a row's first token. What a step overwrote is
    kept beside the ring until the next, so that it can be taken back.

    References
    ----------
    jiang2023mistral, section 2
    xiao2023streaming, section 3.2

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
        sink_tokens: int = 0,
        v_head_dim: int | None = None,
        dtype: DType = "float32",
    ) -> None:
        size = check_count("window", window) + check_count("sink_tokens", sink_tokens, least=0)
        if capacity is not None:
            size = min(size, check_count("capacity", capacity))
        super().__init__(batch, n_kv_heads, head_dim, size, v_head_dim=v_head_dim, dtype=dtype)
        self.capacity, self.window, self.sink_tokens = capacity, window, sink_tokens
        self._size, self._firsts = size, min(sink_tokens, size)

    def _lay_out(self, slots: int, kind: np.dtype[Any]) -> None:
        super()._lay_out(slots, kind)
        rows = self._usual.copy()
        self._begin(replace(self._state, rows=rows, mirror=self._array(rows)))

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
        still needs keys that it overwrites, so it gets a copy of them and of itself. A full
        ring's oldest key isn't among them: it's too far back even for the chunk's first query.

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
        return super().append(k, v, positions=positions)

    def _append(
        self, k: Array, v: Array, positions: Array | None, transaction: Transaction
    ) -> Cached:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        state = self._state_in(transaction)
        new, (keys, values) = k.shape[2], state.arrays
        after, fresh = self._state_after(state, positions, new, transaction)
        chunk = None
        if new > 1 and after.slots > self._size:
            chunk = self._with_chunk(state, after, k, v, fresh)
        lost = self._lost(state, new, transaction)
        moved = None if after.counted else self._moved_first(state, fresh)
        self._stage(after, transaction, self._put_aside(state, lost, moved))
        some, at = self._landing(state.slots, new)
        keys[:, :, at], values[:, :, at] = k[:, :, some], v[:, :, some]
        if moved is not None:
            row, place, slot = moved
            keys[row, :, slot], values[row, :, slot] = k[row, :, place], v[row, :, place]
        self._write_rows(state, fresh, some, at, moved)
        return self._cached(after) if chunk is None else chunk

    def _put_aside(self, state: Filled, lost: Any, moved: Any) -> list[Any]:
        """Copy what slots hold that are about to be overwritten."""
        aside: list[Any] = []
        for slots in (lost, None if moved is None else slice(self._firsts)):
            if slots is not None:
                at = (slice(None), slice(None), slots)
                aside += [(array, at, array[at].copy()) for array in state.arrays]
                aside.append((state.rows, at[1:], state.rows[:, slots].copy()))
        return aside

    def _with_chunk(self, state: Filled, after: Filled, k: Array, v: Array, fresh: Array) -> Cached:
        """Return a copy of a chunk and of the held tokens that it overwrites but still reads."""
        seen = self._still_seen(state)
        keys, values = state.arrays
        rows = np.broadcast_to(fresh, (self.batch, fresh.shape[1]))
        return Cached(
            np.concatenate([*(keys[:, :, at] for at in seen), k], axis=2),
            np.concatenate([*(values[:, :, at] for at in seen), v], axis=2),
            np.concatenate([*(state.rows[:, at] for at in seen), rows], axis=1),
            counted=after.counted and state.slots < self._size,
            last_sees_all=after.counted,
        )

    def _cached(self, state: Filled) -> Cached:
        """Views of the slots in the order in which they lie."""
        filled = min(state.slots, self._size)
        k, v = (array[:, :, :filled] for array in state.arrays)
        rows = state.rows[:, :filled]
        for view in (k, v, rows):
            view.flags.writeable = False
        in_order = state.counted and state.slots <= self._size
        return Cached(k, v, rows, counted=in_order, last_sees_all=state.counted)
