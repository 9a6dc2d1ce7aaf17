"""Attention tile by tile: the softmax of a row whose scores are never together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import score_factor
from mini_attn.errors import DTypeError
from mini_attn.numpy._module import check_array
from mini_attn.numpy.attention._products import weighted_sum
from mini_attn.numpy.attention._sinks import fit_sinks, join
from mini_attn.numpy.attention._visibility import Visibility, check_visibility, cut, fit_bias
from mini_attn.numpy.attention.dot_product import check_inputs, score
from mini_attn.shapes import check_count, named_shapes

__all__ = ["merge_attention", "online_attention"]

Array = NDArray[Any]
Tile = tuple[slice, Callable[[], tuple[Array, Array]]]


def online_attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    window: int | None = None,
    sink_tokens: int = 0,
    q_positions: Array | None = None,
    kv_positions: Array | None = None,
    bias: Array | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Array | None = None,
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
    mask, causal, window, sink_tokens, q_positions, kv_positions, bias, scale, softcap, sinks
        As in `scaled_dot_product_attention`.
    block_q, block_k : int
        Queries and keys of a tile.

    Returns
    -------
    tuple of arrays (out, lse)
        (batch, n_heads, q_len, v_head_dim) in ``q``'s type, and the natural log-sum-exp of the
        scores (batch, n_heads, q_len) in float32 or wider; it counts the sink. A query that
        sees nothing gets zeros, and ``-inf`` or the sink.

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

    A sink counts once: where keys come in parts that `merge_attention` puts together, give it
    to one part, whichever, and to no other.

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
    sizes = check_inputs(q=q, k=k, v=v)
    sinks = None if sinks is None else fit_sinks(sinks, sizes["n_heads"])
    scale = score_factor(scale, softcap, sizes["head_dim"])
    check_count("block_q", block_q)
    check_count("block_k", block_k)
    rule = (mask, causal, window, sink_tokens, q_positions, kv_positions)
    visibility = check_visibility(sizes, *rule)
    bias = None if bias is None else fit_bias(bias, sizes)
    out = np.empty((*q.shape[:3], v.shape[3]), q.dtype)
    lse = np.empty(q.shape[:3], np.promote_types(q.dtype, np.float32))
    for start in range(0, sizes["q_len"], block_q):
        rows = slice(start, min(start + block_q, sizes["q_len"]))
        found = fold(
            q[:, :, rows],
            _slices(k, v, block_k),
            rows,
            visibility,
            scale,
            v_head_dim=v.shape[3],
            bias=bias,
            softcap=softcap,
        )
        out[:, :, rows], lse[:, :, rows] = found if sinks is None else join(*found, sinks)
    return out, lse


def _slices(k: Array, v: Array, block_k: int) -> Iterator[Tile]:
    """Keys and values that lie in one array, some at a time."""
    for start in range(0, k.shape[2], block_k):
        columns = slice(start, min(start + block_k, k.shape[2]))
        yield columns, lambda at=columns: (k[:, :, at], v[:, :, at])  # type: ignore[misc]


def fold(
    q: Array,
    tiles: Iterable[Tile],
    rows: slice,
    visibility: Visibility,
    scale: float,
    *,
    v_head_dim: int,
    bias: Array | None = None,
    softcap: float | None = None,
) -> tuple[Array, Array]:
    """A block of queries against all keys: output and log-sum-exp in float32 or wider.

    A tile is which keys it has, and how to read them; what nobody sees is not read.
    """
    kind = np.promote_types(q.dtype, np.float32)
    q = np.ascontiguousarray(q).astype(kind, copy=False) * scale
    top = np.full(q.shape[:3], -np.inf, kind)
    total, out = np.zeros_like(top), np.zeros((*q.shape[:3], v_head_dim), kind)
    for columns, read in tiles:
        mask = visibility.tile(rows, columns)
        if mask is False:
            continue
        k, v = read()
        part = None if bias is None else cut(bias, rows, columns)
        scores = score(q, k, softcap, part, mask)
        new_top = np.maximum(top, scores.max(axis=-1))
        shift = np.where(np.isneginf(new_top), 0, new_top)  # a row that has seen nothing yet
        weights = np.exp(scores - shift[..., None])
        keep = np.exp(top - shift)  # 0 for a first tile: what was there counts nothing
        total = total * keep + weights.sum(axis=-1)
        out = out * keep[..., None] + weighted_sum(weights, v, mask)
        top = new_top
    empty = total == 0
    lse = np.where(empty, -np.inf, top + np.log(np.where(empty, 1, total)))
    return out / np.where(empty, 1, total)[..., None], lse


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
    for name, array in (("out_a", out_a), ("out_b", out_b), ("lse_a", lse_a), ("lse_b", lse_b)):
        check_array(name, array)
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
