"""Attention tile by tile: the softmax of a row whose scores are never together."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mini_attn.config import score_factor
from mini_attn.errors import DTypeError
from mini_attn.shapes import check_count, named_shapes
from mini_attn.torch._module import wide
from mini_attn.torch._sight import check_places, find_places, fit_heads
from mini_attn.torch._triton import takes
from mini_attn.torch.attention import _check_inputs, _grouped, by_own_kernel
from mini_attn.torch.mask import visible

__all__ = ["merge_attention", "online_attention"]


def online_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    window: int | None = None,
    q_positions: Tensor | None = None,
    kv_positions: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    block_q: int = 64,
    block_k: int = 64,
) -> tuple[Tensor, Tensor]:
    """Attention that sees a few keys at a time and corrects itself.

    ``m' = max(m, scores);  l' = exp(m - m') l + sum(exp(scores - m'));
    out' = exp(m - m') out + exp(scores - m') @ v``

    Parameters
    ----------
    q : array (batch, n_heads, q_len, head_dim)
        Queries.
    k : array (batch, n_kv_heads, kv_len, head_dim)
        Keys; query head ``h`` reads key/value head ``h // (n_heads // n_kv_heads)``.
    v : array (batch, n_kv_heads, kv_len, v_head_dim)
        Values.
    mask, causal, window, q_positions, kv_positions, bias, scale, softcap
        As in `scaled_dot_product_attention`.
    block_q, block_k : int
        Queries and keys of a tile.

    Returns
    -------
    tuple of arrays (out, lse)
        (batch, n_heads, q_len, v_head_dim) in ``q``'s type, and the natural log-sum-exp of the
        scores (batch, n_heads, q_len) in float32 or wider. A query that sees nothing gets
        zeros and ``-inf``.

    Raises
    ------
    ShapeError
        If axes disagree or positions do not fit.
    DTypeError
        If the arrays are not of one floating-point dtype or the mask is not boolean.
    ConfigError
        If the heads do not divide, or an option is out of range.

    Notes
    -----
    The FLOPs of `scaled_dot_product_attention`, less the tiles that nobody sees; memory for
    ``batch * n_heads * block_q * block_k`` scores instead of ``q_len * kv_len``. Exact: the
    order of the sums differs, nothing else. On a GPU, where Triton is installed and there is
    no mask, bias or gradient, an own kernel does the same with tiles of its own.

    References
    ----------
    milakov2018online, algorithm 3
    dao2022flashattention, algorithm 1

    Examples
    --------
    >>> import torch
    >>> q, k, v = torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 3, 4), torch.ones(1, 1, 3, 2)
    >>> out, lse = online_attention(q, k, v, block_k=2)
    >>> out[0, 0, 0], lse[0, 0]
    (tensor([1., 1.]), tensor([1.0986]))
    """
    sizes = _check_inputs(q, k, v)
    factor = score_factor(scale, softcap, sizes["head_dim"])
    check_count("block_q", block_q)
    check_count("block_k", block_k)
    if mask is None and bias is None and takes(q, k, v):
        rule = (causal, window, q_positions, kv_positions, sizes, factor, softcap)
        return by_own_kernel(q, k, v, *rule)
    sight = _Sight(mask, causal, window, q_positions, kv_positions, sizes, q.device)
    bias = None if bias is None else fit_heads("bias", bias, sizes)
    outs, sums = [], []
    for start in range(0, sizes["q_len"], block_q):
        rows = slice(start, min(start + block_q, sizes["q_len"]))
        out, lse = _one_row_of_tiles(
            q[:, :, rows], k, v, rows, sight, bias, factor, softcap, block_k
        )
        outs.append(out.to(q.dtype))
        sums.append(lse)
    if not outs:
        return q.new_zeros(*q.shape[:3], v.shape[3]), wide(q.new_zeros(q.shape[:3]))
    return torch.cat(outs, dim=2), torch.cat(sums, dim=2)


def _one_row_of_tiles(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    rows: slice,
    sight: _Sight,
    bias: Tensor | None,
    factor: float,
    softcap: float | None,
    block_k: int,
) -> tuple[Tensor, Tensor]:
    """A block of queries against all keys: output and log-sum-exp in float32 or wider."""
    batch, n_heads, q_len, _ = q.shape
    n_kv_heads, kv_len = k.shape[1], k.shape[2]
    wide_q = _grouped(wide(q), n_kv_heads) * factor
    top = wide_q.new_full((batch, n_heads, q_len), -torch.inf)
    total, out = torch.zeros_like(top), wide_q.new_zeros(batch, n_heads, q_len, v.shape[3])
    for start in range(0, kv_len, block_k):
        columns = slice(start, min(start + block_k, kv_len))
        seen = sight.tile(rows, columns)
        if seen is False:
            continue
        scores = wide_q @ wide(k[:, :, columns]).transpose(-1, -2)
        if softcap is not None:
            scores = softcap * torch.tanh(scores / softcap)
        scores = scores.reshape(batch, n_heads, q_len, scores.shape[-1])
        if bias is not None:
            scores = scores + _tile(bias, rows, columns).to(scores.dtype)
        if seen is not None:
            scores = scores.masked_fill(~seen, -torch.inf)
        new_top = torch.maximum(top, scores.amax(dim=-1))
        shift = new_top.masked_fill(new_top == -torch.inf, 0)  # a row that has seen nothing yet
        weights = torch.exp(scores - shift[..., None])
        keep = torch.exp(top - shift)  # 0 for a first tile: what was there counts nothing
        total = total * keep + weights.sum(dim=-1)
        part = _grouped(weights, n_kv_heads) @ wide(v[:, :, columns])
        out = out * keep[..., None] + part.reshape(out.shape)
        top = new_top
    empty = total == 0
    lse = (top + total.masked_fill(empty, 1).log()).masked_fill(empty, -torch.inf)
    return out / total.masked_fill(empty, 1)[..., None], lse


class _Sight:
    """Who sees whom, asked for one tile at a time."""

    def __init__(
        self,
        mask: Tensor | None,
        causal: bool,
        window: int | None,
        q_positions: Tensor | None,
        kv_positions: Tensor | None,
        sizes: dict[str, int],
        device: torch.device,
    ) -> None:
        self.mask = None if mask is None else fit_heads("mask", mask, sizes)
        if self.mask is not None and self.mask.dtype != torch.bool:
            raise DTypeError(f"mask must be boolean, True = may attend, got {self.mask.dtype}")
        self.causal, self.window = causal, window
        # Elsewhere, and in a graph, looking at what was found would mean waiting for it.
        self.on_host = device.type == "cpu" and not torch.compiler.is_compiling()
        self.counted = q_positions is None and kv_positions is None
        self.by_position = causal or window is not None or not self.counted
        q_len, kv_len = sizes["q_len"], sizes["kv_len"]
        self.offset = kv_len - q_len  # of the default positions
        if not self.by_position:
            return
        places = find_places(causal, q_positions, kv_positions, sizes, device)
        check_places(places, causal, window, sizes)  # before the first tile is computed
        self.queries, self.keys = places

    def tile(self, rows: slice, columns: slice) -> Any:
        """None if all is visible, False if nothing is, else (1 or batch, …, rows, columns)."""
        seen = None if self.mask is None else _tile(self.mask, rows, columns)
        if not self.by_position:
            return seen
        if self.counted and self.causal:  # known from the numbers alone
            first, last = rows.start + self.offset, rows.stop - 1 + self.offset
            if columns.start > last:
                return False
            if self.window is not None and columns.stop <= first - self.window + 1:
                return False
            if columns.stop - 1 <= first and (
                self.window is None or columns.start > last - self.window
            ):
                return seen
        place = visible(
            self.queries[..., rows], self.keys[..., columns], causal=self.causal, window=self.window
        )
        if self.on_host and not place.any():
            return False
        place = place[:, None] if place.ndim == 3 else place[None, None]
        return place if seen is None else seen & place


def _tile(array: Tensor, rows: slice, columns: slice) -> Tensor:
    """A tile of (batch, n_heads, q_len, kv_len), axes of one left as they are."""
    every = slice(None)
    return array[
        :, :, rows if array.shape[2] > 1 else every, columns if array.shape[3] > 1 else every
    ]


def merge_attention(
    out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor
) -> tuple[Tensor, Tensor]:
    """The attention over two sets of keys, from the attention over each.

    ``lse = log(exp(lse_a) + exp(lse_b));  out = exp(lse_a - lse) out_a + exp(lse_b - lse) out_b``

    Parameters
    ----------
    out_a, out_b : array (batch, n_heads, q_len, v_head_dim)
        Outputs of the same queries over different keys.
    lse_a, lse_b : array (batch, n_heads, q_len)
        Natural log-sum-exp of their scores, ``-inf`` where nothing was seen.

    Returns
    -------
    tuple of arrays (out, lse)
        As if the keys had been together.

    Raises
    ------
    ShapeError
        If axes disagree.
    DTypeError
        If the outputs' types differ, or an array is not floating point.

    Notes
    -----
    Associative and symmetric up to rounding, so that parts may be merged in any order. Some
    libraries give base-2 sums: multiply those by ``log(2)`` first.

    References
    ----------
    dao2022flashattention, section 3.1

    Examples
    --------
    >>> import torch
    >>> a, b = torch.zeros(1, 1, 1, 2), torch.ones(1, 1, 1, 2)
    >>> same = torch.zeros(1, 1, 1)
    >>> out, lse = merge_attention(a, same, b, same)
    >>> float(out[0, 0, 0, 0])
    0.5
    """
    axes = "batch n_heads q_len"
    named_shapes(
        out_a=(out_a, f"{axes} v_head_dim"),
        out_b=(out_b, f"{axes} v_head_dim"),
        lse_a=(lse_a, axes),
        lse_b=(lse_b, axes),
    )
    kinds = {str(out_a.dtype), str(out_b.dtype)}
    if len(kinds) > 1 or not all(a.is_floating_point() for a in (out_a, lse_a, lse_b)):
        raise DTypeError(
            "out_a and out_b must share one floating-point dtype and the sums be floating point, "
            f"got {out_a.dtype}, {out_b.dtype}, {lse_a.dtype} and {lse_b.dtype}"
        )
    top = torch.maximum(lse_a, lse_b)
    shift = top.masked_fill(top == -torch.inf, 0)  # neither saw anything
    share_a, share_b = torch.exp(lse_a - shift), torch.exp(lse_b - shift)
    total = share_a + share_b
    safe = total.masked_fill(total == 0, 1)
    out = (share_a / safe)[..., None] * wide(out_a) + (share_b / safe)[..., None] * wide(out_b)
    lse = (shift + safe.log()).masked_fill(total == 0, -torch.inf)
    return out.to(out_a.dtype), lse
