"""A cache in 8 to 2 bits: whole numbers in groups, or small floats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from mini_attn.caching import Cached, Groups, Sealed, Transaction
from mini_attn.shapes import DType
from mini_attn.torch._module import dtype_of
from mini_attn.torch.attention._reading import Reading
from mini_attn.torch.caches._codes import decode, decode_floats, encode, encode_floats, narrow
from mini_attn.torch.caches.cache import KVCache
from mini_attn.torch.compression.rotation import rotate

__all__ = ["QuantizedKVCache"]


class QuantizedKVCache(Reading, Groups, KVCache):
    """Keys and values of one layer in few bits: whole numbers in groups, or small floats.

    ``code = round((x - zero) / scale), zero = min, scale = (max - zero) / (2 ** bits - 1)``

    Parameters
    ----------
    batch, n_kv_heads, head_dim : int
        Sequences, key/value heads, size of a key.
    capacity : int
        Slots of each sequence.
    bits : {8, 4, 3, 2} or None
        Bits of all codes; the short form of ``k_bits`` and ``v_bits``.
    k_bits, v_bits : {8, 4, 3, 2} or None
        Bits of a key's and of a value's codes; None means ``bits``, or 8.
    group_size : int or None
        Tokens that are sealed together, and numbers of a group: one channel of these tokens, or
        so many channels of one token. Even for 4 bits, a multiple of 4 for 2 and of 8 for 3.
        None means 32.
    key_axis : {"channel", "token"}
        What a group of keys lies in; values go by token, and so do all floats.
    scale_dtype : {"float32", "float16"} or None
        Type of scales and zeros; None means float32, or float64 where the numbers are.
    residual : int or None
        Newest tokens that stay as they came, at the least; None means 32, or 0 with a format.
    format : {"fp8", "nvfp4"} or None
        Small floats instead of whole numbers: E4M3, or E2M1 with an E4M3 scale for 16 channels.
        Each token is sealed by itself.
    k_scale, v_scale : float or tensor (n_kv_heads,), or None
        With a format, the scale of all keys or values, or of each head's; None means 1.
    rotation : {"hadamard"} or None
        What keys and values go through before they are rounded.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    dtype : str or data type
        Data type, or its name, that comes in and out.
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

    Raises
    ------
    ConfigError
        If a size is below 1, an option is none of these, ``bits`` comes with ``k_bits`` or
        ``v_bits``, codes of a group do not fill bytes, options of whole numbers come with a
        format or scales without one, or a rotated width is no power of 2.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    A number comes back within half a scale, beside the rounding of its type, and exactly where
    all numbers of the group are alike and its zero is exact. Of a type narrower than the
    numbers the zero is rounded down and the scale, taken from that zero, up; codes are made
    with both as they are kept, so that this holds there too. It adds to the scale at most one
    part in 1,024, or 2 ** -24 where it is smaller than 2 ** -14, and the rounding of the zero
    over ``2 ** bits - 1``. A code half-way between two is the even one.

    ``allocated_bytes = batch * n_kv_heads * (groups * group_bytes + room * (head_dim +
    v_head_dim) * dtype_bytes)`` with ``groups = (capacity - residual) // group_size``,
    ``room = min(capacity, residual + group_size - 1)`` and ``group_bytes = group_size * (k_bits *
    head_dim + v_bits * v_head_dim) / 8 + 2 * scale_bytes * (head_dim + group_size *
    ceil(v_head_dim / group_size))``: codes, scales and zeros. Keys by token have ``group_size *
    ceil(head_dim / group_size)`` scales for ``head_dim``: as many where ``group_size`` divides
    ``head_dim``. ``used_bytes`` counts the sealed groups and the filled part of the residual.
    A number takes ``bits + 16 * scale_bytes / group_size`` bits. In groups of 32 those are 4, 5,
    6 and 10 for 2, 3, 4 and 8 bits with float32 scales, and 3, 4, 5 and 9 with float16. Eight
    codes of 3 bits lie in 3 bytes, codes of 4 or 2 bits in one.

    A format's scales of a tensor or its heads are known beforehand, as servers have them from a
    few texts: ``max |k| / 448`` for ``"fp8"`` and ``max |k| / 2688`` for ``"nvfp4"``, of the
    rotated keys where they are rotated. They come with the weights, so they are no cache's
    bytes. A token takes ``head_dim + v_head_dim`` bytes a head in ``"fp8"``, and ``ceil(width /
    2) + ceil(width / 16)`` each for key and value in ``"nvfp4"``: 4.5 bits a number.
    ``code = nearest(x / k_scale)``, a tie going to the even code; in ``"nvfp4"`` ``nearest(x /
    (k_scale * block_scale)), block_scale = e4m3(max |x of the block| / (6 * k_scale))``, and a
    block whose scale is below half of E4M3's smallest number, 2 ** -10, comes back as zeros.
    Conversion saturates: what lies beyond the largest number becomes it, infinity too. NaN stays
    NaN in E4M3; E2M1 has none, so there the append that would seal it is refused. As each
    token is sealed by itself, a cache in a format can be cropped anywhere.

    Rotated keys and values have no channel that sets the scale of the others. The queries of
    `attend` go through the same rotation, so that scores stay what they are, and its output is
    turned back; `append` and `view` turn back what they decode. The rotation takes no bytes.

    As whole numbers, those that are not finite, and ranges that do not fit the scales' type
    (65,504 is the largest float16), are refused by the append that would seal them; then
    nothing is written. Padding counts in its group like any token. What an append sealed is
    kept beside it until the next, so that it can be taken back. Keys go by channel because few
    channels hold the largest numbers, which would set the scale of every token. `append` and
    `view` make all numbers anew from the codes; `attend` makes those of a few groups at a time.

    PyTorch: where the tensors lie on a device, nobody waits to hear of such numbers; their
    group comes back as NaN.

    References
    ----------
    liu2024kivi, section 3
    micikevicius2022fp8, section 3
    nvidia2025nvfp4
    ashkboos2024quarot, section 4

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
        bits: int | None = None,
        k_bits: int | None = None,
        v_bits: int | None = None,
        group_size: int | None = None,
        key_axis: str = "channel",
        scale_dtype: DType | None = None,
        residual: int | None = None,
        format: str | None = None,
        k_scale: Any = None,
        v_scale: Any = None,
        rotation: str | None = None,
        v_head_dim: int | None = None,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        options: dict[str, Any] = {"bits": bits, "k_bits": k_bits, "v_bits": v_bits}
        options |= {"group_size": group_size, "key_axis": key_axis, "scale_dtype": scale_dtype}
        options |= {"format": format}
        widths = (head_dim, head_dim if v_head_dim is None else v_head_dim)
        slots, room = self._plan(capacity, widths, residual, dtype=dtype, **options)
        self._plan_numbers(n_kv_heads, rotation, k_scale=k_scale, v_scale=v_scale)
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
        with torch.inference_mode(False):
            sealed = [
                torch.zeros((*rows, *shape), dtype=getattr(torch, name), device=device)
                for coding in self._codings
                for shape, name in coding.layout(self.scale_dtype)
            ]
            if self.format:
                self._scales = {
                    name: torch.tensor(scale, dtype=torch.float32, device=device).view(-1, 1, 1, 1)
                    for name, scale in (("k", self.k_scale), ("v", self.v_scale))
                }
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
            If a position is below -1 or not after the row's last, or a group that is to be
            sealed holds what is not finite or too large for its scales; nothing is written.

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

    def _append(
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
        first, end = state.sealed // self.group_size, state.sealed + groups * self.group_size
        wide = torch.promote_types(self._dtype, torch.float32)
        parts = self._parts(state, slice(first, first + groups))
        for (name, coding, arrays), whole in zip(parts, (k_all, v_all), strict=True):
            x = whole[:, :, state.sealed : end].to(wide)
            x = x.reshape(self.batch, self.n_kv_heads, groups, self.group_size, coding.width)
            x = self._turned(x)
            if self.format:
                found: Any = encode_floats(name, x, coding, self._scales[name])
            else:
                found = encode(name, x, coding, dtype_of(self.scale_dtype))
            for array, made in zip(arrays, found, strict=True):
                array[...] = made

    def _decoded(self, state: Any, groups: slice) -> tuple[Tensor, Tensor]:
        """Keys and values of some groups, made anew from their codes; rotated as they are kept."""
        kind = torch.promote_types(self._dtype, torch.float32) if self.rotation else self._dtype
        k, v = (
            decode_floats(arrays, coding, self._scales[name], kind)
            if self.format
            else decode(arrays, coding, kind)
            for name, coding, arrays in self._parts(state, groups)
        )
        return k, v

    def _turned(self, x: Tensor) -> Tensor:
        """Rotated numbers, or what was rotated turned back: the rotation is its own inverse."""
        return rotate(x) if self.rotation else x

    def _cached(self, state: Any) -> Cached:
        """Everything; sealed tokens are made anew from their codes."""
        kept, groups = state.slots - state.sealed, state.sealed // self.group_size
        k, v = (array[:, :, :kept] for array in state.arrays[:2])
        if groups:
            made = self._decoded(state, slice(groups))
            if self.rotation:
                made = tuple(narrow(rotate(each), self._dtype) for each in made)  # type: ignore
            k, v = (
                torch.cat([old, newest], dim=2) for old, newest in zip(made, (k, v), strict=True)
            )
        return Cached(k, v, *self._order(state))
