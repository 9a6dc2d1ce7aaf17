"""A cache in 8 or 4 bits: keys by channel, values by token, the newest tokens as they came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from mini_attn.caching import Cached, Groups, Sealed, Transaction
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.torch.cache import KVCache

__all__ = ["QuantizedKVCache"]


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
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

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
    >>> import torch
    >>> cache = QuantizedKVCache(1, 1, 4, capacity=8, bits=4, group_size=2, residual=1)
    >>> rows = torch.arange(12.0).reshape(1, 1, 3, 4)
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
        device: Any = None,
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
        super().__init__(
            batch, n_kv_heads, head_dim, room, v_head_dim=v_head_dim, dtype=dtype, device=device
        )
        self.capacity = slots
        with torch.inference_mode(False):
            self._count = torch.arange(slots, device=device)
        self._usual = self._count.expand(batch, slots)

    def _lay_out(self, slots: int, kind: torch.dtype, device: Any) -> None:
        super()._lay_out(slots, kind, device)
        rows = (self.batch, self.n_kv_heads, self._groups)
        packed, parts = self.group_size * self.bits // 8, -(-self.v_head_dim // self.group_size)
        keys, values = (*rows, 1, self.head_dim), (*rows, self.group_size, parts)
        wide = torch.promote_types(kind, torch.float32)
        shapes = {  # codes, scales and zeros of the keys, then of the values
            "k": ((*rows, packed, self.head_dim), keys, keys),
            "v": ((*rows, packed, self.v_head_dim), values, values),
        }
        with torch.inference_mode(False):
            sealed = [
                torch.zeros(shape, dtype=torch.uint8 if i == 0 else wide, device=device)
                for each in shapes.values()
                for i, shape in enumerate(each)
            ]
        self._begin(Sealed(0, (*self._state.arrays, *sealed)))

    def append(
        self, k: Tensor, v: Tensor, *, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Write new tokens, and seal groups that are no longer among the newest.

        ``k_all = concatenate(k_past from its codes, k)``

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
        >>> import torch
        >>> cache = QuantizedKVCache(1, 1, 2, capacity=4, group_size=1, residual=0)
        >>> row = torch.ones(1, 1, 1, 2)
        >>> cache.append(row, row)[0].shape, cache.sealed
        (torch.Size([1, 1, 1, 2]), 1)
        """
        return super().append(k, v, positions=positions)

    def stage(
        self, k: Tensor, v: Tensor, positions: Tensor | None, transaction: Transaction
    ) -> Cached:
        """`append` as a part of a step: nobody else sees it until the step is done."""
        state: Any = self._state_in(transaction)
        after: Any = self._advance(state, positions, k.shape[2], transaction)
        k_all, v_all = (
            torch.cat([held, given], dim=2)
            for held, given in zip(self._cached(state), (k.detach(), v.detach()), strict=False)
        )
        groups = self._to_seal(state, after.slots)
        if groups:
            self._seal(state, k_all, v_all, groups)
            # The newest tokens move to the front: into arrays of their own, as the state before
            # the step still needs the old ones.
            with torch.inference_mode(False):
                newest = tuple(torch.zeros_like(array) for array in state.arrays[:2])
            sealed = state.sealed + groups * self.group_size
            after = replace(after, arrays=newest + state.arrays[2:], sealed=sealed)
        self._stage(after, transaction)
        new = slice(0 if groups else state.slots - state.sealed, after.slots - after.sealed)
        for kept, whole in zip(after.arrays[:2], (k_all, v_all), strict=True):
            kept[:, :, new] = whole[:, :, after.sealed + new.start :]
        return Cached(k_all, v_all, *self._order(after))

    def _seal(self, state: Sealed, k_all: Tensor, v_all: Tensor, groups: int) -> None:
        """Codes of the oldest tokens that have none yet, into groups where nobody looks."""
        size, first = self.group_size, state.sealed // self.group_size
        at, end = slice(first, first + groups), state.sealed + groups * size
        k_codes, k_scale, k_zero, v_codes, v_scale, v_zero = (a[:, :, at] for a in state.arrays[2:])
        k, v = (
            array[:, :, state.sealed : end]
            .to(k_scale.dtype)
            .reshape(self.batch, self.n_kv_heads, groups, size, -1)
            for array in (k_all, v_all)
        )
        low, high = k.amin(dim=3, keepdim=True), k.amax(dim=3, keepdim=True)
        k_zero[...], k_scale[...] = low, (high - low) / (2**self.bits - 1)
        low, high = self._channel_ranges(v)
        v_zero[...], v_scale[...] = low, (high - low) / (2**self.bits - 1)
        k_codes[...] = self._pack(k, k_scale, k_zero)
        v_codes[...] = self._pack(v, self._spread(v_scale), self._spread(v_zero))

    def _channel_ranges(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """Least and largest number of each group of channels; the last may be narrower."""
        missing = -v.shape[-1] % self.group_size
        if missing:
            v = torch.cat([v, v[..., -1:].expand(*v.shape[:-1], missing)], dim=-1)
        parts = v.reshape(*v.shape[:-1], -1, self.group_size)
        return parts.amin(dim=-1), parts.amax(dim=-1)

    def _spread(self, each: Tensor) -> Tensor:
        """One number for each group of channels, given to all of its channels."""
        if each.shape[-1] == 1:
            return each
        return each.repeat_interleave(self.group_size, dim=-1)[..., : self.v_head_dim]

    def _pack(self, x: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
        """Codes (..., group_size * bits / 8, channels); a group of equal numbers has scale 0."""
        levels = 2**self.bits - 1
        codes = ((x - zero) / torch.where(scale > 0, scale, 1)).round().clamp(0, levels)
        codes = codes.to(torch.uint8)
        if self.bits == 8:
            return codes
        half = self.group_size // 2  # the second half of the tokens takes the upper bits
        return codes[..., :half, :] | codes[..., half:, :] << 4

    def _unpack(self, codes: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
        """The numbers (batch, n_kv_heads, tokens, channels) that codes stand for."""
        if self.bits == 4:
            codes = torch.cat([codes & 15, codes >> 4], dim=-2)
        numbers = (codes * scale + zero).to(self._dtype)
        return numbers.reshape(self.batch, self.n_kv_heads, -1, codes.shape[-1])

    def _cached(self, state: Any) -> Cached:
        """Everything; sealed tokens are made anew from their codes."""
        kept, groups = state.slots - state.sealed, state.sealed // self.group_size
        k, v = (array[:, :, :kept] for array in state.arrays[:2])
        if groups:
            codes = [array[:, :, :groups] for array in state.arrays[2:]]
            scale, zero = (self._spread(each) for each in codes[4:])
            k = torch.cat([self._unpack(*codes[:3]), k], dim=2)
            v = torch.cat([self._unpack(codes[3], scale, zero), v], dim=2)
        return Cached(k, v, *self._order(state))
