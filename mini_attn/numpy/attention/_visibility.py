"""Who sees whom: one object, made once per step, asked for a whole or for a tile."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import DTypeError, ShapeError
from mini_attn.numpy._module import check_positions
from mini_attn.numpy.attention.mask import check_window, compare_positions
from mini_attn.shapes import check_flag

Array = NDArray[Any]


class Visibility:
    """Which keys each query may attend to: by position, and by a mask where there is one.

    Without positions the keys stand at 0, 1, 2, … and the queries at the last of them. What is
    given has been checked; what follows from it is made when first asked for, and kept.
    """

    def __init__(
        self,
        q_len: int,
        kv_len: int,
        *,
        causal: bool = False,
        window: int | None = None,
        sink_tokens: int = 0,
        q_positions: Array | None = None,
        kv_positions: Array | None = None,
        mask: Array | None = None,
    ) -> None:
        self.q_len, self.kv_len = q_len, kv_len
        self.causal, self.window, self.mask = causal, window, mask
        self.sink_tokens = sink_tokens
        self._counted = q_positions is None and kv_positions is None
        self._all = kv_positions is None and not causal  # that the positions have to say
        if kv_positions is None:
            kv_positions = np.arange(kv_len)
        if q_positions is None and causal:
            q_positions = kv_positions[..., kv_len - q_len :]
        elif q_positions is None:
            q_positions = np.zeros(q_len, np.int64)  # not compared
        self._q = np.atleast_2d(q_positions)[:, None]  # (1 or batch, 1, q_len)
        self._kv = np.atleast_2d(kv_positions)[:, None]  # (1 or batch, 1, kv_len)
        self._made, self._whole = False, mask

    def whole(self) -> Array | None:
        """(1 or batch, 1 or n_heads, q_len, kv_len), True = may attend; None if all is visible."""
        if not self._made:
            rows, columns = slice(0, self.q_len), slice(0, self.kv_len)
            if not self._known(rows, columns):
                rule = self.causal, self.window, self.sink_tokens
                placed = compare_positions(self._q, self._kv, *rule)
                self._whole = placed if self.mask is None else self.mask & placed
            self._made = True
        return self._whole

    def tile(self, rows: slice, columns: slice) -> Array | Literal[False] | None:
        """The same for some queries and keys; False if nothing is visible."""
        known = self._known(rows, columns)
        if known is False:
            return False
        mask = None if self.mask is None else cut(self.mask, rows, columns)
        if mask is not None and not mask.any():
            return False
        if known:
            return mask
        rule = self.causal, self.window, self.sink_tokens
        placed = compare_positions(self._q[..., rows], self._kv[..., columns], *rule)
        placed = placed if mask is None else mask & placed
        return placed if placed.any() else False

    def _known(self, rows: slice, columns: slice) -> bool | None:
        """Say by numbers alone if all is visible, or nothing; None where one must look."""
        if self._all or not self._counted:
            return self._all or None
        offset = self.kv_len - self.q_len  # of the positions that are not given
        first, last = rows.start + offset, rows.stop - 1 + offset
        if columns.start > last:
            return False
        far = self.window is not None and columns.stop <= first - self.window + 1
        if far and columns.start >= self.sink_tokens:
            return False
        start = min(max(columns.start, self.sink_tokens), columns.stop)  # keys before it stay
        seen = self.window is None or start == columns.stop or start > last - self.window
        return True if columns.stop - 1 <= first and seen else None


def cut(array: Array, rows: slice, columns: slice) -> Array:
    """A tile of (batch, n_heads, q_len, kv_len), axes of one left as they are."""
    every = slice(None)
    return array[
        :, :, rows if array.shape[2] > 1 else every, columns if array.shape[3] > 1 else every
    ]


def check_visibility(
    sizes: dict[str, int],
    mask: Array | None,
    causal: bool,
    window: int | None,
    sink_tokens: int,
    q_positions: Array | None,
    kv_positions: Array | None,
) -> Visibility:
    """Return the visibility that a caller of attention gave, after every check."""
    q_len, kv_len = sizes["q_len"], sizes["kv_len"]
    check_flag("causal", causal)
    check_window(causal, window, sink_tokens)
    for name, given in (("q", q_positions), ("kv", kv_positions)):
        if given is not None:
            fit_positions(f"{name}_positions", given, sizes["batch"], sizes[f"{name}_len"])
    if causal and q_positions is None and q_len > kv_len:
        raise ShapeError(
            f"{q_len} causal queries cannot be the last of {kv_len} keys: pass q_positions"
        )
    return Visibility(
        q_len,
        kv_len,
        causal=causal,
        window=window,
        sink_tokens=sink_tokens,
        q_positions=q_positions,
        kv_positions=kv_positions,
        mask=None if mask is None else fit_mask(mask, sizes),
    )


def fit_positions(name: str, positions: Array, batch: int, seq: int) -> None:
    """Refuse positions that are not (seq,), (1, seq) or (batch, seq)."""
    check_positions(name, positions)
    fits = positions.ndim == 1 or len(positions) in (1, batch)
    if positions.shape[-1] != seq or not fits:
        raise ShapeError(
            f"{name} must be ({seq},) or ({batch}, {seq}), got shape {tuple(positions.shape)}"
        )


def fit_mask(mask: Array, sizes: dict[str, int]) -> Array:
    """A boolean mask as `fit_heads` views it."""
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        kind = getattr(mask, "dtype", type(mask).__name__)
        raise DTypeError(f"mask must be boolean, True = may attend, got {kind}")
    return fit_heads("mask", mask, sizes)


def fit_bias(bias: Array, sizes: dict[str, int]) -> Array:
    """A bias as `fit_heads` views it; what hides keys is no bias, but a mask."""
    if not isinstance(bias, np.ndarray) or bias.dtype.kind != "f":
        kind = getattr(bias, "dtype", type(bias).__name__)
        hint = ": pass a boolean array as mask" if str(kind).endswith("bool") else ""
        raise DTypeError(f"bias must be a floating-point array, got {kind}{hint}")
    return fit_heads("bias", bias, sizes)


def fit_heads(name: str, array: Array, sizes: dict[str, int]) -> Array:
    """View a mask or bias as (batch, n_heads, q_len, kv_len), ones where it does not vary."""
    full = (sizes["batch"], sizes["n_heads"], sizes["q_len"], sizes["kv_len"])
    shape = tuple(array.shape)
    four = (1, 1, *shape) if len(shape) == 2 else shape
    four = (shape[0], 1, *shape[1:]) if len(shape) == 3 else four
    if len(four) != 4 or any(a not in (1, b) for a, b in zip(four, full, strict=True)):
        raise ShapeError(
            f"{name} must fit (batch, n_heads, q_len, kv_len) = {full} as (q_len, kv_len), "
            f"(batch, q_len, kv_len) or with all four axes, got shape {shape}"
        )
    return array.reshape(four)
