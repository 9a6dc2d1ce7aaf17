"""A cache in 8 or 4 bits: keys by channel, values by token, the newest tokens as they came."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import CacheStateError, ConfigError
from mini_attn.numpy.cache import KVCache
from mini_attn.shapes import check_count

__all__ = ["QuantizedKVCache"]

Array = NDArray[Any]


class QuantizedKVCache(KVCache):
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
        super().__init__(batch, n_kv_heads, head_dim, room, v_head_dim=v_head_dim, dtype=dtype)
        self.capacity, self.sealed = slots, 0
        self.bits, self.group_size, self.residual = bits, size, residual
        self._count = np.arange(slots)
        self._positions = np.full((batch, slots), -1, np.int64)
        self._undo: dict[str, Any] = {}
        rows = (batch, n_kv_heads, max(0, slots - residual) // size)
        parts = -(-self.v_head_dim // size)
        self._k_codes = np.zeros((*rows, size * bits // 8, self.head_dim), np.uint8)
        self._v_codes = np.zeros((*rows, size * bits // 8, self.v_head_dim), np.uint8)
        wide = np.promote_types(self._k.dtype, np.float32)
        self._k_scale, self._k_zero = np.zeros((2, *rows, 1, self.head_dim), wide)
        self._v_scale, self._v_zero = np.zeros((2, *rows, size, parts), wide)

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
        start, new = self.slots, self._check(k, v)
        usual = self._count[start : start + new]
        rows = usual
        if positions is not None or not self.contiguous:
            rows = self._new_positions(positions, new)
        k_all, v_all = (
            np.concatenate([held, given], axis=2)
            for held, given in zip(self.view()[:2], (k, v), strict=True)
        )
        groups = max(0, start + new - self.sealed - self.residual) // self.group_size
        self._remember(groups)
        # Everything has been checked: from here on nothing can fail half-way.
        self.contiguous &= bool((rows == usual).all())
        self._padded |= bool((rows < 0).any())
        self._positions[:, start : start + new] = rows
        self.slots = start + new
        if groups:
            self._seal(k_all, v_all, groups)
        kept = self.slots - self.sealed
        self._k[:, :, :kept] = k_all[:, :, self.sealed :]
        self._v[:, :, :kept] = v_all[:, :, self.sealed :]
        for array in (k_all, v_all):
            array.flags.writeable = False
        return k_all, v_all, self._held_positions()

    def _remember(self, groups: int) -> None:
        """What it takes to undo an append that seals so many groups."""
        self._undo = {"slots": self.slots, "sealed": self.sealed}
        if groups:
            kept = self.slots - self.sealed
            self._undo["kept"] = self._k[:, :, :kept].copy(), self._v[:, :, :kept].copy()

    def _seal(self, k_all: Array, v_all: Array, groups: int) -> None:
        """Turn the oldest tokens that are not sealed yet into codes."""
        size, first = self.group_size, self.sealed // self.group_size
        at, end = slice(first, first + groups), self.sealed + groups * size
        k, v = (
            array[:, :, self.sealed : end]
            .astype(self._k_scale.dtype)
            .reshape(self.batch, self.n_kv_heads, groups, size, -1)
            for array in (k_all, v_all)
        )
        low, high = k.min(axis=3, keepdims=True), k.max(axis=3, keepdims=True)
        self._k_zero[:, :, at], self._k_scale[:, :, at] = low, (high - low) / (2**self.bits - 1)
        low, high = self._channel_ranges(v)
        self._v_zero[:, :, at], self._v_scale[:, :, at] = low, (high - low) / (2**self.bits - 1)
        self._k_codes[:, :, at] = self._pack(k, self._k_scale[:, :, at], self._k_zero[:, :, at])
        scale, zero = (self._spread(a[:, :, at]) for a in (self._v_scale, self._v_zero))
        self._v_codes[:, :, at] = self._pack(v, scale, zero)
        self.sealed = end

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
        numbers = codes * scale + zero
        shape = (self.batch, self.n_kv_heads, self.sealed, codes.shape[-1])
        return numbers.astype(self._k.dtype).reshape(shape)

    def _held_positions(self) -> Array:
        held = self._positions[:, : self.slots]
        held.flags.writeable = False
        return held

    def view(self) -> tuple[Array, Array, Array]:
        """Everything held, read-only: sealed tokens made anew from their codes.

        ``x = code * scale + zero``

        Returns
        -------
        tuple of arrays (k_all, v_all, kv_positions)
            As `append` returns them, but the newest tokens may be sealed by now.

        Notes
        -----
        A copy, except while nothing is sealed.

        References
        ----------
        liu2024kivi, section 3.2

        Examples
        --------
        >>> QuantizedKVCache(1, 1, 2, capacity=4).view()[0].shape
        (1, 1, 0, 2)
        """
        kept, groups = self.slots - self.sealed, self.sealed // self.group_size
        k, v = self._k[:, :, :kept], self._v[:, :, :kept]
        if groups:
            at = (slice(None), slice(None), slice(groups))
            old = self._unpack(self._k_codes[at], self._k_scale[at], self._k_zero[at])
            k = np.concatenate([old, k], axis=2)
            scale, zero = (self._spread(a[at]) for a in (self._v_scale, self._v_zero))
            v = np.concatenate([self._unpack(self._v_codes[at], scale, zero), v], axis=2)
        for array in (k, v):
            array.flags.writeable = False
        return k, v, self._held_positions()

    @property
    def _groups(self) -> tuple[Array, ...]:
        """The arrays that hold sealed groups, (batch, n_kv_heads, groups, ...) each."""
        keys = self._k_codes, self._k_scale, self._k_zero
        return (*keys, self._v_codes, self._v_scale, self._v_zero)

    @property
    def allocated_bytes(self) -> int:
        """Bytes of codes, scales and zeros of all groups, and of the residual."""
        return sum(held.nbytes for held in (*self._groups, self._k, self._v))

    @property
    def used_bytes(self) -> int:
        """Bytes of the groups that are sealed and of the residual's filled slots."""
        groups, kept = self.sealed // self.group_size, self.slots - self.sealed
        sealed = sum(held[:, :, :groups].nbytes for held in self._groups)
        return sealed + self._k[:, :, :kept].nbytes + self._v[:, :, :kept].nbytes

    def crop(self, n: int) -> None:
        """Forget all but the first slots.

        ``slots = n``

        Parameters
        ----------
        n : int
            Slots to keep, padded ones counted.

        Raises
        ------
        CacheStateError
            If fewer than ``n`` slots are filled, or the group of a token to go is sealed.
        ConfigError
            If ``n`` is no whole number or negative.

        Notes
        -----
        Tokens that are not sealed can be taken back, and the latest append whatever it
        sealed.

        References
        ----------
        leviathan2023speculative, section 2.3

        Examples
        --------
        >>> import numpy as np
        >>> cache = QuantizedKVCache(1, 1, 2, capacity=4, group_size=1, residual=0)
        >>> row = np.ones((1, 1, 1, 2), np.float32)
        >>> _ = cache.append(row, row), cache.append(row, row)
        >>> cache.crop(0)
        Traceback (most recent call last):
        mini_attn.errors.CacheStateError: cannot keep 0 of 2 slots: the first 2 are sealed
        """
        n = check_count("n", n, least=0)
        undo = self._undo
        if "kept" in undo and undo["sealed"] <= n <= undo["slots"]:
            kept = undo["slots"] - undo["sealed"]
            self._k[:, :, :kept], self._v[:, :, :kept] = undo["kept"]
            self.slots, self.sealed, self._undo = undo["slots"], undo["sealed"], {}
        if n < self.sealed:
            raise CacheStateError(
                f"cannot keep {n} of {self.slots} slots: the first {self.sealed} are sealed"
            )
        super().crop(n)
        if undo and n <= undo["slots"]:
            self._undo = {}

    def _take(self, index: Array) -> None:
        super()._take(index)
        sealed = self.sealed // self.group_size
        for held in self._groups:
            held[:, :, :sealed] = held[index, :, :sealed]
        if "kept" in self._undo:
            self._undo["kept"] = tuple(held[index] for held in self._undo["kept"])
