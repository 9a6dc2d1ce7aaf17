"""A ring of the last tokens: what a sliding window leaves of a cache."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mini_attn.caching import Cached, Filled, Ring, Transaction
from mini_attn.shapes import DType, check_count
from mini_attn.torch.caches.cache import KVCache

__all__ = ["SlidingWindowCache"]


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
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

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
    >>> import torch
    >>> cache = SlidingWindowCache(1, 1, 4, capacity=8, window=3)
    >>> _ = cache.append(torch.ones(1, 1, 3, 4), torch.ones(1, 1, 3, 4))
    >>> cache.append(torch.ones(1, 1, 1, 4), torch.ones(1, 1, 1, 4))[2]
    tensor([[3, 1, 2]])
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
        device: Any = None,
    ) -> None:
        size = check_count("window", window) + check_count("sink_tokens", sink_tokens, least=0)
        if capacity is not None:
            size = min(size, check_count("capacity", capacity))
        super().__init__(
            batch, n_kv_heads, head_dim, size, v_head_dim=v_head_dim, dtype=dtype, device=device
        )
        self.capacity, self.window, self.sink_tokens = capacity, window, sink_tokens
        self._size, self._firsts = size, min(sink_tokens, size)

    def _lay_out(self, slots: int, kind: torch.dtype, device: Any) -> None:
        super()._lay_out(slots, kind, device)
        rows = np.tile(np.arange(slots), (self.batch, 1))
        self._begin(replace(self._state, rows=rows, mirror=self._array(rows)))

    def _arange(self, start: int, stop: int) -> Tensor:
        return torch.arange(start, stop, device=self._device)

    def append(
        self, k: Tensor, v: Tensor, *, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Write new tokens over the oldest.

        ``k_all = concatenate(k_held, k)``

        Parameters
        ----------
        k : tensor (batch, n_kv_heads, q_len, head_dim)
            Keys of the new tokens.
        v : tensor (batch, n_kv_heads, q_len, v_head_dim)
            Values of the new tokens.
        positions : integer tensor (q_len,) or (batch, q_len), or None
            Their positions, -1 for padding; None continues after each row's last position.

        Returns
        -------
        tuple of tensors (k_all, v_all, kv_positions)
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
        >>> import torch
        >>> cache = SlidingWindowCache(1, 1, 4, capacity=8, window=2)
        >>> rows = torch.ones(1, 1, 3, 4)
        >>> cache.append(rows, rows)[0].shape, cache.view()[0].shape
        (torch.Size([1, 1, 3, 4]), torch.Size([1, 1, 2, 4]))
        """
        return super().append(k, v, positions=positions)

    def _append(
        self, k: Tensor, v: Tensor, positions: Tensor | None, transaction: Transaction
    ) -> Cached:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        state = self._state_in(transaction)
        new, k, v = k.shape[2], k.detach(), v.detach()  # a cache carries no gradients
        if new == 1 and positions is None and state.counted:
            return self._stage_one(state, k, v, transaction)
        after, fresh = self._state_after(state, positions, new, transaction)
        chunk = None
        if new > 1 and after.slots > self._size:
            chunk = self._with_chunk(state, after, k, v, fresh)
        lost = self._lost(state, new, transaction)
        moved = None if after.counted else self._moved_first(state, fresh)
        self._stage(after, transaction, self._put_aside(state, lost, moved))
        some, at = self._landing(state.slots, new)
        places, slots = self._index(some), self._index(at)
        for array, given in zip(state.arrays, (k, v), strict=True):
            array[:, :, slots] = given[:, :, places]
            if moved is not None:
                row, place, slot = (self._array(numbers) for numbers in moved)
                array[row, :, slot] = given[row, :, place]
        self._write_rows(state, fresh, some, at, moved)
        return self._cached(after) if chunk is None else chunk

    def _stage_one(self, state: Filled, k: Tensor, v: Tensor, transaction: Transaction) -> Cached:
        """One token more while all rows count: what a decode step needs, and no more."""
        self._check_room(state, 1, transaction)
        lost, at = self._lost(state, 1, transaction), self._at(state.slots, 1)
        after = Filled(state.slots + 1, state.arrays, rows=state.rows, mirror=state.mirror)
        self._stage(after, transaction, self._put_aside(state, lost, None))
        keys, values = state.arrays
        keys.narrow(2, at.start, 1).copy_(k)
        values.narrow(2, at.start, 1).copy_(v)
        state.rows[:, at] = state.slots
        self._update_mirror(state.mirror, state.rows, at)
        return self._cached(after)

    def _index(self, at: Any) -> Any:
        """Slots as PyTorch takes them."""
        return at if isinstance(at, slice) else self._array(at)

    def _put_aside(self, state: Filled, lost: Any, moved: Any) -> list[Any]:
        """Copy what slots hold that are about to be overwritten."""
        aside: list[Any] = []
        for slots in (lost, None if moved is None else slice(self._firsts)):
            if slots is not None:
                at = (slice(None), slice(None), self._index(slots))
                aside += [(array, at, array[at].clone()) for array in state.arrays]
                aside.append((state.rows, (slice(None), slots), state.rows[:, slots].copy()))
                if not self._shares_memory:
                    aside.append((state.mirror, at[1:], state.mirror[at[1:]].clone()))
        return aside

    def _with_chunk(self, state: Filled, after: Filled, k: Tensor, v: Tensor, fresh: Any) -> Cached:
        """Return a copy of a chunk and of the held tokens that it overwrites but still reads."""
        seen = self._still_seen(state)
        keys, values = state.arrays
        rows = self._array(fresh).expand(self.batch, -1)
        return Cached(
            torch.cat([*(keys[:, :, at] for at in seen), k], dim=2),
            torch.cat([*(values[:, :, at] for at in seen), v], dim=2),
            torch.cat([*(state.mirror[:, at] for at in seen), rows], dim=1),
            counted=after.counted and state.slots < self._size,
            last_sees_all=after.counted,
        )

    def _cached(self, state: Filled) -> Cached:
        """Views of the slots in the order in which they lie."""
        if state.slots > self._size:  # all of it
            k, v = state.arrays
            return Cached(k, v, state.mirror, counted=False, last_sees_all=state.counted)
        k, v = (array.narrow(2, 0, state.slots) for array in state.arrays)
        rows = state.mirror.narrow(1, 0, state.slots)
        return Cached(k, v, rows, counted=state.counted, last_sees_all=state.counted)
