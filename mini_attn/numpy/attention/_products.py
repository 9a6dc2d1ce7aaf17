"""The two products of attention, as BLAS computes them fastest, and hidden values left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

quietly = np.errstate(invalid="ignore")  # a sum with infinities is NaN, and may be hidden

BLOCK_BYTES = 2**18  # of one head: a few fit a core's second-level cache
FEW_ROWS = 8  # with more of them BLAS computes longer than it copies, as measured


@quietly
def row_products(rows: Array, k: Array) -> Array:
    """``rows @ k.T``; for a few rows BLAS would first copy all keys, for one it does not."""
    few = 1 < rows.shape[2] <= FEW_ROWS
    if not few or k.shape[2] * k.shape[3] * k.itemsize <= BLOCK_BYTES:
        return np.asarray(rows @ k.swapaxes(-1, -2))
    scores = np.empty((*rows.shape[:3], k.shape[2]), rows.dtype)
    for some in _blocks(k):  # read once from memory, then once more for each row
        np.matmul(k[:, :, None, some], rows[..., None], out=scores[..., some, None])
    return scores


@quietly
def weighted_sum(weights: Array, v: Array, mask: Array | None) -> Array:
    """``weights @ v``, (batch, n_heads, q_len, v_head_dim), in the type of the weights.

    For a single row BLAS takes twice as long as a plain pass over the values.
    """
    batch, n_heads, q_len, kv_len = weights.shape
    rows = weights.reshape(batch, v.shape[1], n_heads // v.shape[1] * q_len, kv_len)
    v = v.astype(rows.dtype, copy=False)
    if rows.shape[2] == 1:
        out = np.einsum("bhrk,bhkd->bhrd", rows, v)
    elif rows.shape[2] > FEW_ROWS or kv_len * v.shape[3] * v.itemsize <= BLOCK_BYTES:
        out = rows @ v
    else:
        out = np.zeros((*rows.shape[:3], v.shape[3]), rows.dtype)
        for some in _blocks(v):
            out += rows[..., some] @ v[:, :, some]
    if mask is not None and not np.isfinite(out).all():
        out = _visible_sum(rows, v, np.broadcast_to(mask, weights.shape).reshape(rows.shape))
    return np.asarray(out.reshape(batch, n_heads, q_len, v.shape[3]))


@quietly
def visible_product(rows: Array, values: Array, mask: Array) -> Array:
    """``rows @ values``, where those that are hidden count nothing even if they are NaN."""
    out = rows @ values
    return out if np.isfinite(out).all() else _visible_sum(rows, values, mask)


def _visible_sum(rows: Array, values: Array, mask: Array) -> Array:
    """``rows @ values`` where some value is not finite: one that is hidden counts nothing.

    Rows are 0 where the mask (of their shape) hides, but 0 * NaN is NaN.
    """
    odd = ~np.isfinite(values)
    met = mask.astype(rows.dtype) @ odd.astype(rows.dtype)  # how many of them a row may see
    return np.where(met > 0, np.nan, rows @ np.where(odd, 0, values)).astype(rows.dtype)


def _blocks(array: Array) -> Iterator[slice]:
    """Keys or values of a head, as many at a time as a core's cache holds."""
    step = max(1, BLOCK_BYTES // (array.shape[3] * array.itemsize))
    return (slice(i, i + step) for i in range(0, array.shape[2], step))
