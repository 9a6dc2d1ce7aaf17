"""A cache in 8 or 4 bits: keys by channel, values by token, the newest tokens as they came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching import Cached, Groups, Sealed, Transaction
from mini_attn.errors import ConfigError
from mini_attn.numpy.cache import KVCache
from mini_attn.shapes import check_count

__all__ = ["QuantizedKVCache"]

Array = NDArray[Any]


class QuantizedKVCache(Groups, KVCache):
    """Keys and values of one layer as whole numbers of few bits, in groups with a scale each.

    ``code = round((x - zero) / scale), zero = min, scale = (max - min) / (2 ** bits - 1)``

    Parameters
    ----------
    batch, n_kv_heads, head_dim : int
        Sequences, key/value heads, size of a key.
    capacity : int
        Slots of each sequence.
    bits : {8, 4}
        Bits of a code; two codes of 4 bits share a byte.
    group_size : int
        Tokens that are sealed together. A group of keys is one channel of these tokens, a group
        of values so many channels of one token.
    residual : int
        Newest tokens that stay as they came, at the least.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    dtype : str
        Name of the data type that comes in and out.

    Raises
    ------
    ConfigError
        If a size is below 1, the bits are neither 8 nor 4, or tokens of 4 bits cannot pair up.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    A number comes back within half a step, ``(max - min) / (2 * (2 ** bits - 1))`` of its group,
    beside the rounding of its type, and exactly where all numbers of the group are alike.
    ``allocated_bytes = batch * n_kv_heads * (groups * group_bytes + room * (head_dim +
    v_head_dim) * dtype_bytes)`` with ``groups = (capacity - residual) // group_size``,
    ``room = min(capacity, residual + group_size - 1)`` and ``group_bytes = group_size * bits / 8 *
    (head_dim + v_head_dim) + 2 * scale_bytes * (head_dim + group_size * ceil(v_head_dim /
    group_size))``: codes, scales and zeros; scales are float32, or float64 where the numbers are.
    With 4 bits and groups of 32 that is 6 bits a number. ``used_bytes`` counts the sealed groups
    and the filled part of the residual. What an append sealed is kept beside it until the next,
    so that it can be taken back. Keys go by channel because few
    channels hold the largest numbers, which would set the scale of every token. A step makes
    one layer's numbers anew from the codes.

    References
    ----------
    liu2024kivi, section 3

    Examples
    --------
    >>> import numpy as np
    >>> cache = QuantizedKVCache(1, 1, 4, capacity=8, bits=4, group_size=2, residual=1)
    >>> rows = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    >>> _ = cache.append(rows, rows)
    >>> cache.sealed, bool((cache.view()[0] == rows).all())
    (2, True)
    """

    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        capacity: int,
        *,
        bits: int = 8,
        group_size: int = 32,
        residual: int = 32,
        v_head_dim: int | None = None,
        dtype: str = "float32",
    ) -> None:
        if bits not in (8, 4):
            raise ConfigError(f"bits must be 8 or 4, got {bits!r}")
        size = check_count("group_size", group_size)
        if bits == 4 and size % 2:
            raise ConfigError(f"4 bits put two tokens into a byte: group_size {size} must be even")
        slots = check_count("capacity", capacity)
        room = max(1, min(slots, check_count("residual", residual, least=0) + size - 1))
        self.bits, self.group_size, self.residual = bits, size, residual
        self._groups = max(0, slots - residual) // size
        super().__init__(batch, n_kv_heads, head_dim, room, v_head_dim=v_head_dim, dtype=dtype)
        self.capacity = slots
        self._usual = np.broadcast_to(np.arange(slots), (batch, slots))

    def _lay_out(self, slots: int, kind: np.dtype[Any]) -> None:
        super()._lay_out(slots, kind)
        rows = (self.batch, self.n_kv_heads, self._groups)
        packed, parts = self.group_size * self.bits // 8, -(-self.v_head_dim // self.group_size)
        keys, values = (*rows, 1, self.head_dim), (*rows, self.group_size, parts)
        wide = np.promote_types(kind, np.float32)
        self._begin(
            Sealed(
                0,
                (
                    *self._state.arrays,
                    np.zeros((*rows, packed, self.head_dim), np.uint8),
                    np.zeros(keys, wide),  # scales
                    np.zeros(keys, wide),  # zeros
                    np.zeros((*rows, packed, self.v_head_dim), np.uint8),
                    np.zeros(values, wide),
                    np.zeros(values, wide),
                ),
            )
        )

    def append(
        self, k: Array, v: Array, *, positions: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Write new tokens, and seal groups that are no longer among the newest.

        ``k_all = concatenate(k_past from its codes, k)``

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
            All tokens so far, the new ones as they came: (batch, n_kv_heads, kv_len, head_dim),
            the same with v_head_dim, and their positions (batch, kv_len).

        Raises
        ------
        CacheOverflowError
            If the new tokens do not fit; nothing is written.
        ShapeError
            If a shape is wrong; nothing is written.
        DTypeError
            If a dtype is not the cache's; nothing is written.
        ConfigError
            If a position is below -1 or not after the row's last; nothing is written.

        Notes
        -----
        A prompt attends to itself in full precision, whatever of it is sealed at once.

        References
        ----------
        liu2024kivi, section 3.2

        Examples
        --------
        >>> import numpy as np
        >>> cache = QuantizedKVCache(1, 1, 2, capacity=4, group_size=1, residual=0)
        >>> row = np.ones((1, 1, 1, 2), np.float32)
        >>> cache.append(row, row)[0].shape, cache.sealed
        ((1, 1, 1, 2), 1)
        """
        return super().append(k, v, positions=positions)

    def stage(
        self, k: Array, v: Array, positions: Array | None, transaction: Transaction
    ) -> Cached:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        state: Any = self._state_in(transaction)
        after: Any = self._advance(state, positions, k.shape[2], transaction)
        k_all, v_all = (
            np.concatenate([held, given], axis=2)
            for held, given in zip(self._cached(state), (k, v), strict=False)
        )
        groups = self._to_seal(state, after.slots)
        if groups:
            self._seal(state, k_all, v_all, groups)
            # The newest tokens move to the front: into arrays of their own, as the state before
            # the step still needs the old ones.
            newest = tuple(np.zeros_like(array) for array in state.arrays[:2])
            sealed = state.sealed + groups * self.group_size
            after = replace(after, arrays=newest + state.arrays[2:], sealed=sealed)
        self._stage(after, transaction)
        new = slice(0 if groups else state.slots - state.sealed, after.slots - after.sealed)
        for kept, whole in zip(after.arrays[:2], (k_all, v_all), strict=True):
            kept[:, :, new] = whole[:, :, after.sealed + new.start :]
            whole.flags.writeable = False
        return Cached(k_all, v_all, *self._order(after))

    def _seal(self, state: Sealed, k_all: Array, v_all: Array, groups: int) -> None:
        """Codes of the oldest tokens that have none yet, into groups where nobody looks."""
        size, first = self.group_size, state.sealed // self.group_size
        at, end = slice(first, first + groups), state.sealed + groups * size
        k_codes, k_scale, k_zero, v_codes, v_scale, v_zero = (a[:, :, at] for a in state.arrays[2:])
        k, v = (
            array[:, :, state.sealed : end]
            .astype(k_scale.dtype)
            .reshape(self.batch, self.n_kv_heads, groups, size, -1)
            for array in (k_all, v_all)
        )
        low, high = k.min(axis=3, keepdims=True), k.max(axis=3, keepdims=True)
        k_zero[...], k_scale[...] = low, (high - low) / (2**self.bits - 1)
        low, high = self._channel_ranges(v)
        v_zero[...], v_scale[...] = low, (high - low) / (2**self.bits - 1)
        k_codes[...] = self._pack(k, k_scale, k_zero)
        v_codes[...] = self._pack(v, self._spread(v_scale), self._spread(v_zero))

    def _channel_ranges(self, v: Array) -> tuple[Array, Array]:
        """Least and largest number of each group of channels; the last may be narrower."""
        missing = -v.shape[-1] % self.group_size
        if missing:
            v = np.concatenate([v, np.repeat(v[..., -1:], missing, axis=-1)], axis=-1)
        parts = v.reshape(*v.shape[:-1], -1, self.group_size)
        return parts.min(axis=-1), parts.max(axis=-1)

    def _spread(self, each: Array) -> Array:
        """One number for each group of channels, given to all of its channels."""
        if each.shape[-1] == 1:
            return each
        return np.repeat(each, self.group_size, axis=-1)[..., : self.v_head_dim]

    def _pack(self, x: Array, scale: Array, zero: Array) -> Array:
        """Codes (..., group_size * bits / 8, channels); a group of equal numbers has scale 0."""
        levels = 2**self.bits - 1
        codes = np.rint((x - zero) / np.where(scale > 0, scale, 1)).clip(0, levels).astype(np.uint8)
        if self.bits == 8:
            return np.asarray(codes)
        half = self.group_size // 2  # the second half of the tokens takes the upper bits
        return np.asarray(codes[..., :half, :] | codes[..., half:, :] << 4)

    def _unpack(self, codes: Array, scale: Array, zero: Array) -> Array:
        """The numbers (batch, n_kv_heads, tokens, channels) that codes stand for."""
        if self.bits == 4:
            codes = np.concatenate([codes & 15, codes >> 4], axis=-2)
        numbers = (codes * scale + zero).astype(self._dtype)
        return numbers.reshape(self.batch, self.n_kv_heads, -1, codes.shape[-1])

    def _cached(self, state: Any) -> Cached:
        """Everything; sealed tokens are made anew from their codes."""
        kept, groups = state.slots - state.sealed, state.sealed // self.group_size
        k, v = (array[:, :, :kept] for array in state.arrays[:2])
        if groups:
            codes = [array[:, :, :groups] for array in state.arrays[2:]]
            scale, zero = (self._spread(each) for each in codes[4:])
            k = np.concatenate([self._unpack(*codes[:3]), k], axis=2)
            v = np.concatenate([self._unpack(codes[3], scale, zero), v], axis=2)
        k.flags.writeable = v.flags.writeable = False
        return Cached(k, v, *self._order(state))
