"""Who sees whom: one object, made once per step, asked for a whole or for a tile."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import check_flag
from mini_attn.torch._module import check_positions
from mini_attn.torch.attention.mask import check_window, compare_positions, same_chunk


class Visibility:
    """Which keys each query may attend to: by position, and by a mask where there is one.

    Without positions the keys stand at 0, 1, 2, … and the queries at the last of them. What is
    given has been checked; what follows from it is made when first asked for, and kept.
    """

    def __init__(
        self,
        q_len: int,
        kv_len: int,
        device: torch.device,
        *,
        causal: bool = False,
        window: int | None = None,
        sink_tokens: int = 0,
        q_positions: Tensor | None = None,
        kv_positions: Tensor | None = None,
        mask: Tensor | None = None,
        ranks: Any = None,
    ) -> None:
        self.ranks = ranks  # who else holds keys; see `merge_over_ranks`
        self.q_len, self.kv_len, self.device = q_len, kv_len, device
        self.causal, self.window, self.mask = causal, window, mask
        self.sink_tokens = sink_tokens
        self.q_positions, self.kv_positions = q_positions, kv_positions
        self.counted = q_positions is None and kv_positions is None
        self.all_placed = kv_positions is None and not causal  # positions hide nothing
        # Elsewhere, and in a graph, looking at what was found would mean waiting for it.
        self.on_host = device.type == "cpu" and not torch.compiler.is_compiling()
        self._made, self._whole = False, mask
        self._alive: Tensor | None = None

    @property
    def is_triangle(self) -> bool:
        """Return whether it is the mask that PyTorch's kernels draw themselves."""
        plain = self.causal and self.window is None and self.mask is None
        return plain and self.counted and self.q_len == self.kv_len

    @property
    def hides(self) -> bool:
        """Return whether some key may be hidden from some query, as far as is known unseen."""
        rows, columns = slice(0, self.q_len), slice(0, self.kv_len)
        return self.mask is not None or not self._known(rows, columns)

    def positions(self) -> tuple[Tensor, Tensor]:
        """Positions of queries and keys, those that were not given as they follow."""
        q_positions, kv_positions = self.q_positions, self.kv_positions
        if kv_positions is None:
            kv_positions = torch.arange(self.kv_len, device=self.device)
        if q_positions is None and self.causal:
            q_positions = kv_positions[..., self.kv_len - self.q_len :]
        elif q_positions is None:
            q_positions = kv_positions.new_zeros(self.q_len)  # not compared
        return q_positions, kv_positions

    def whole(self) -> Tensor | None:
        """(1 or batch, 1 or n_heads, q_len, kv_len), True = may attend; None if all is visible."""
        if not self._made:
            rows, columns = slice(0, self.q_len), slice(0, self.kv_len)
            if not self._known(rows, columns):
                placed = self._compare(rows, columns)
                self._whole = placed if self.mask is None else self.mask & placed
            self._made = True
        return self._whole

    def alive(self) -> Tensor:
        """Mark queries that may attend to anything, (1 or batch, 1 or n_heads, q_len, 1)."""
        mask = self.whole()
        assert mask is not None
        if self._alive is None:
            self._alive = mask.any(dim=-1, keepdim=True)
        return self._alive

    def tile(self, rows: slice, columns: slice) -> Tensor | Literal[False] | None:
        """The same for some queries and keys; False if nothing is visible."""
        known = self._known(rows, columns)
        if known is False:
            return False
        mask = None if self.mask is None else cut(self.mask, rows, columns)
        if mask is not None and self.on_host and not mask.any():
            return False
        if known:
            return mask
        placed = self._compare(rows, columns)
        placed = placed if mask is None else mask & placed
        return False if self.on_host and not placed.any() else placed

    def _known(self, rows: slice, columns: slice) -> bool | None:
        """Say by numbers alone if all is visible, or nothing; None where one must look."""
        if self.all_placed or not self.counted:
            return self.all_placed or None
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

    def _compare(self, rows: slice, columns: slice) -> Tensor:
        """Positions compared, (1 or batch, 1, rows, columns)."""
        q, kv = self.positions()
        rule = self.causal, self.window, self.sink_tokens
        placed = compare_positions(q[..., rows], kv[..., columns], *rule)
        return placed[:, None] if placed.ndim == 3 else placed[None, None]


def of_one_token(
    positions: Tensor,
    kv_positions: Tensor,
    window: int | None,
    sink_tokens: int = 0,
    chunked: bool = False,
) -> Visibility:
    """Return what one token of each row sees of all slots of a cache, free ones too."""
    rows, keys = (given.reshape(-1, 1, given.shape[-1]) for given in (positions, kv_positions))
    near = same_chunk(rows, keys, window) if chunked and window is not None else None
    return Visibility(
        1,
        kv_positions.shape[-1],
        positions.device,
        causal=True,
        window=window,
        sink_tokens=sink_tokens,
        q_positions=positions,
        kv_positions=kv_positions,
        mask=near,
    )


def cut(tensor: Tensor, rows: slice, columns: slice) -> Tensor:
    """A tile of (batch, n_heads, q_len, kv_len), axes of one left as they are."""
    every = slice(None)
    return tensor[
        :, :, rows if tensor.shape[2] > 1 else every, columns if tensor.shape[3] > 1 else every
    ]


def check_visibility(
    sizes: dict[str, int],
    device: torch.device,
    mask: Tensor | None,
    causal: bool,
    window: int | None,
    sink_tokens: int,
    q_positions: Tensor | None,
    kv_positions: Tensor | None,
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
        device,
        causal=causal,
        window=window,
        sink_tokens=sink_tokens,
        q_positions=q_positions,
        kv_positions=kv_positions,
        mask=None if mask is None else fit_mask(mask, sizes),
    )


def fit_positions(name: str, positions: Tensor, batch: int, seq: int) -> None:
    """Refuse positions that are not (seq,), (1, seq) or (batch, seq)."""
    check_positions(name, positions)
    fits = positions.ndim == 1 or len(positions) in (1, batch)
    if positions.shape[-1] != seq or not fits:
        raise ShapeError(
            f"{name} must be ({seq},) or ({batch}, {seq}), got shape {tuple(positions.shape)}"
        )


def fit_mask(mask: Tensor, sizes: dict[str, int]) -> Tensor:
    """A boolean mask as `fit_heads` views it."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        kind = getattr(mask, "dtype", type(mask).__name__)
        raise DTypeError(f"mask must be boolean, True = may attend, got {kind}")
    return fit_heads("mask", mask, sizes)


def fit_bias(bias: Tensor, sizes: dict[str, int]) -> Tensor:
    """A bias as `fit_heads` views it; what hides keys is no bias, but a mask."""
    if not isinstance(bias, Tensor) or not bias.is_floating_point():
        kind = getattr(bias, "dtype", type(bias).__name__)
        hint = ": pass a boolean tensor as mask" if str(kind).endswith("bool") else ""
        raise DTypeError(f"bias must be a floating-point tensor, got {kind}{hint}")
    return fit_heads("bias", bias, sizes)


def fit_heads(name: str, tensor: Tensor, sizes: dict[str, int]) -> Tensor:
    """View a mask or bias as (batch, n_heads, q_len, kv_len), ones where it does not vary."""
    full = (sizes["batch"], sizes["n_heads"], sizes["q_len"], sizes["kv_len"])
    shape = tuple(tensor.shape)
    four = (1, 1, *shape) if len(shape) == 2 else shape
    four = (shape[0], 1, *shape[1:]) if len(shape) == 3 else four
    if len(four) != 4 or any(a not in (1, b) for a, b in zip(four, full, strict=True)):
        raise ShapeError(
            f"{name} must fit (batch, n_heads, q_len, kv_len) = {full} as (q_len, kv_len), "
            f"(batch, q_len, kv_len) or with all four axes, got shape {shape}"
        )
    return tensor.reshape(four)
