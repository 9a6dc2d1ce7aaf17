"""Attention tile by tile: the softmax of a row whose scores are never together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import score_factor
from mini_attn.errors import DTypeError
from mini_attn.numpy._sight import check_places, find_places, fit_heads
from mini_attn.numpy.attention import _check_inputs, _grouped
from mini_attn.numpy.mask import visible
from mini_attn.shapes import check_count, named_shapes

__all__ = ["merge_attention", "online_attention"]

Array = NDArray[Any]


def online_attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    window: int | None = None,
    q_positions: Array | None = None,
    kv_positions: Array | None = None,
    bias: Array | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    block_q: int = 64,
    block_k: int = 64,
) -> tuple[Array, Array]:
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
    order of the sums differs, nothing else.

    References
    ----------
    milakov2018online, algorithm 3
    dao2022flashattention, algorithm 1

    Examples
    --------
    >>> import numpy as np
    >>> q, k, v = np.zeros((1, 1, 1, 4)), np.zeros((1, 1, 3, 4)), np.ones((1, 1, 3, 2))
    >>> out, lse = online_attention(q, k, v, block_k=2)
    >>> out[0, 0, 0], lse[0, 0]
    (array([1., 1.]), array([1.09861229]))
    """
    sizes = _check_inputs(q, k, v)
    factor = score_factor(scale, softcap, sizes["head_dim"])
    check_count("block_q", block_q)
    check_count("block_k", block_k)
    sight = _Sight(mask, causal, window, q_positions, kv_positions, sizes)
    bias = None if bias is None else fit_heads("bias", bias, sizes)
    outs, sums = [], []
    for start in range(0, sizes["q_len"], block_q):
        rows = slice(start, min(start + block_q, sizes["q_len"]))
        out, lse = _one_row_of_tiles(
            q[:, :, rows], k, v, rows, sight, bias, factor, softcap, block_k
        )
        outs.append(out.astype(q.dtype, copy=False))
        sums.append(lse)
    if not outs:
        return np.zeros((*q.shape[:3], v.shape[3]), q.dtype), np.zeros(
            q.shape[:3], np.result_type(q.dtype, np.float32)
        )
    return np.concatenate(outs, axis=2), np.concatenate(sums, axis=2)


def _one_row_of_tiles(
    q: Array,
    k: Array,
    v: Array,
    rows: slice,
    sight: _Sight,
    bias: Array | None,
    factor: float,
    softcap: float | None,
    block_k: int,
) -> tuple[Array, Array]:
    """A block of queries against all keys: output and log-sum-exp in float32 or wider."""
    batch, n_heads, q_len, _ = q.shape
    n_kv_heads, kv_len = k.shape[1], k.shape[2]
    wide_q = (
        _grouped(q.astype(np.result_type(q.dtype, np.float32), copy=False), n_kv_heads) * factor
    )
    top = np.full((batch, n_heads, q_len), -np.inf, wide_q.dtype)
    total, out = np.zeros_like(top), np.zeros((batch, n_heads, q_len, v.shape[3]), wide_q.dtype)
    for start in range(0, kv_len, block_k):
        columns = slice(start, min(start + block_k, kv_len))
        seen = sight.tile(rows, columns)
        if seen is False:
            continue
        scores = wide_q @ k[:, :, columns].astype(wide_q.dtype, copy=False).swapaxes(-1, -2)
        if softcap is not None:
            scores = softcap * np.tanh(scores / softcap)
        scores = scores.reshape(batch, n_heads, q_len, scores.shape[-1])
        if bias is not None:
            scores = scores + _tile(bias, rows, columns).astype(scores.dtype, copy=False)
        if seen is not None:
            scores = np.where(seen, scores, -np.inf)
        new_top = np.maximum(top, scores.max(axis=-1))
        shift = np.where(np.isneginf(new_top), 0, new_top)  # a row that has seen nothing yet
        weights = np.exp(scores - shift[..., None])
        keep = np.exp(top - shift)  # 0 for a first tile: what was there counts nothing
        total = total * keep + weights.sum(axis=-1)
        part = _grouped(weights, n_kv_heads) @ v[:, :, columns].astype(wide_q.dtype, copy=False)
        out = out * keep[..., None] + part.reshape(out.shape)
        top = new_top
    empty = total == 0
    lse = np.where(empty, -np.inf, top + np.log(np.where(empty, 1, total)))
    return out / np.where(empty, 1, total)[..., None], lse


class _Sight:
    """Who sees whom, asked for one tile at a time."""

    def __init__(
        self,
        mask: Array | None,
        causal: bool,
        window: int | None,
        q_positions: Array | None,
        kv_positions: Array | None,
        sizes: dict[str, int],
    ) -> None:
        self.mask = None if mask is None else fit_heads("mask", mask, sizes)
        if self.mask is not None and self.mask.dtype != np.bool_:
            raise DTypeError(f"mask must be boolean, True = may attend, got {self.mask.dtype}")
        self.causal, self.window = causal, window
        self.counted = q_positions is None and kv_positions is None
        self.by_position = causal or window is not None or not self.counted
        q_len, kv_len = sizes["q_len"], sizes["kv_len"]
        self.offset = kv_len - q_len  # of the default positions
        if not self.by_position:
            return
        places = find_places(causal, q_positions, kv_positions, sizes)
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
        if not place.any():
            return False
        place = place[:, None] if place.ndim == 3 else place[None, None]
        return place if seen is None else seen & place


def _tile(array: Array, rows: slice, columns: slice) -> Array:
    """A tile of (batch, n_heads, q_len, kv_len), axes of one left as they are."""
    every = slice(None)
    return array[
        :, :, rows if array.shape[2] > 1 else every, columns if array.shape[3] > 1 else every
    ]


def merge_attention(out_a: Array, lse_a: Array, out_b: Array, lse_b: Array) -> tuple[Array, Array]:
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
    >>> import numpy as np
    >>> a, b = np.zeros((1, 1, 1, 2)), np.ones((1, 1, 1, 2))
    >>> same = np.zeros((1, 1, 1))
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
    if len(kinds) > 1 or not all(a.dtype.kind == "f" for a in (out_a, lse_a, lse_b)):
        raise DTypeError(
            "out_a and out_b must share one floating-point dtype and the sums be floating point, "
            f"got {out_a.dtype}, {out_b.dtype}, {lse_a.dtype} and {lse_b.dtype}"
        )
    top = np.maximum(lse_a, lse_b)
    shift = np.where(np.isneginf(top), 0, top)  # neither saw anything
    share_a, share_b = np.exp(lse_a - shift), np.exp(lse_b - shift)
    total = share_a + share_b
    safe = np.where(total == 0, 1, total)
    out = (share_a / safe)[..., None] * out_a + (share_b / safe)[..., None] * out_b
    lse = np.where(total == 0, -np.inf, shift + np.log(safe))
    return out.astype(out_a.dtype, copy=False), lse
