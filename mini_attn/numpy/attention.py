"""Scaled dot-product attention with grouped heads, and its backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import score_factor
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.numpy._sight import find_seen, fit_heads
from mini_attn.numpy.softmax import logsumexp, softmax, softmax_backward
from mini_attn.shapes import check_heads, named_shapes

__all__ = ["attention_backward", "scaled_dot_product_attention"]

Array = NDArray[Any]

BLOCK_BYTES = 2**18  # of one head: a few fit a core's second-level cache
FEW_ROWS = 8  # with more of them BLAS computes longer than it copies, as measured


def _check_inputs(q: Array, k: Array, v: Array) -> dict[str, int]:
    """Sizes by name; refuses mixed or unsupported types, so that nothing is cast in silence."""
    sizes = named_shapes(
        q=(q, "batch n_heads q_len head_dim"),
        k=(k, "batch n_kv_heads kv_len head_dim"),
        v=(v, "batch n_kv_heads kv_len v_head_dim"),
    )
    if q.dtype.kind != "f" or not q.dtype == k.dtype == v.dtype:
        raise DTypeError(
            "q, k and v must share one floating-point dtype, "
            f"got q {q.dtype}, k {k.dtype}, v {v.dtype}"
        )
    if sizes["head_dim"] < 1:
        raise ShapeError(f"head_dim must be at least 1, got q of shape {q.shape}")
    check_heads(sizes["n_heads"], sizes["n_kv_heads"])
    return sizes


def _grouped(array: Array, n_kv_heads: int) -> Array:
    """(batch, n_heads, q_len, dim) as (batch, n_kv_heads, group * q_len, dim), a view.

    The query heads of a group stand below each other as rows of one matrix, so that one
    product per key/value head serves them all and no key is ever repeated.
    """
    rows = array.shape[1] // n_kv_heads * array.shape[2]
    return array.reshape(array.shape[0], n_kv_heads, rows, array.shape[3])


def _scores(
    q: Array, k: Array, seen: Array | None, bias: Array | None, scale: float, softcap: float | None
) -> tuple[Array, Array]:
    """Scores (batch, n_heads, q_len, kv_len) in float32 or wider, before and after the mask."""
    wide = np.float32 if q.dtype == np.float16 else q.dtype
    rows = _grouped(q.astype(wide, copy=False), k.shape[1]) * scale
    capped = _row_products(rows, k.astype(wide, copy=False))
    if softcap is not None:
        capped = softcap * np.tanh(capped / softcap)
    capped = capped.reshape(*q.shape[:3], k.shape[2])
    scores = capped if bias is None else capped + bias.astype(wide, copy=False)
    return capped, scores if seen is None else np.where(seen, scores, -np.inf)


def _is_long_decode(rows: int, array: Array) -> bool:
    """Whether a group's few rows meet more keys or values than a core's cache holds."""
    return 1 < rows <= FEW_ROWS and array.shape[2] * array.shape[3] * array.itemsize > BLOCK_BYTES


def _blocks(array: Array) -> Iterator[slice]:
    """Keys or values of a head, as many at a time as a core's cache holds."""
    step = max(1, BLOCK_BYTES // (array.shape[3] * array.itemsize))
    return (slice(i, i + step) for i in range(0, array.shape[2], step))


def _row_products(rows: Array, k: Array) -> Array:
    """``rows @ k.T``; for a few rows BLAS would first copy all keys, for one it does not."""
    if not _is_long_decode(rows.shape[2], k):
        return np.asarray(rows @ k.swapaxes(-1, -2))
    scores = np.empty((*rows.shape[:3], k.shape[2]), rows.dtype)
    for some in _blocks(k):  # read once from memory, then once more for each row
        np.matmul(k[:, :, None, some], rows[..., None], out=scores[..., some, None])
    return scores


def _weighted_sum(rows: Array, v: Array) -> Array:
    """``rows @ v``; for a single row BLAS takes twice as long as a plain pass over the values."""
    if rows.shape[2] == 1:
        return np.asarray(np.einsum("bhrk,bhkd->bhrd", rows, v))
    if not _is_long_decode(rows.shape[2], v):
        return np.asarray(rows @ v)
    out = np.zeros((*rows.shape[:3], v.shape[3]), rows.dtype)
    for some in _blocks(v):
        out += rows[..., some] @ v[:, :, some]
    return out


def scaled_dot_product_attention(
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
    return_weights: bool = False,
    return_lse: bool = False,
) -> Any:
    """Each query's weighted sum of the values, by the similarity of its keys.

    ``out = softmax(scale * q @ k.T + bias) @ v``

    Parameters
    ----------
    q : array (batch, n_heads, q_len, head_dim)
        Queries.
    k : array (batch, n_kv_heads, kv_len, head_dim)
        Keys; query head ``h`` reads key/value head ``h // (n_heads // n_kv_heads)``.
    v : array (batch, n_kv_heads, kv_len, v_head_dim)
        Values.
    mask : boolean array (q_len, kv_len), (batch, q_len, kv_len) or (batch, n_heads, q_len, kv_len)
        True = may attend; None allows all that the positions allow.
    causal : bool
        Whether a query sees only keys at its own position and before.
    window : int or None
        Number of keys that a query sees, its own included; None means all.
    q_positions, kv_positions : integer array (seq,) or (batch, seq)
        Positions; None means keys 0 … kv_len-1 and queries the last of them. A key at -1 is
        an empty slot and never seen.
    bias : array, shapes as ``mask``
        Added to the scores; None adds nothing.
    scale : float or None
        Factor of the scores; None means ``head_dim ** -0.5``.
    softcap : float or None
        Scores become ``softcap * tanh(scores / softcap)`` before the bias; None leaves them.
    return_weights, return_lse : bool
        Whether to return the weights (batch, n_heads, q_len, kv_len) and the natural
        log-sum-exp of the scores (batch, n_heads, q_len) as well.

    Returns
    -------
    array (batch, n_heads, q_len, v_head_dim), or a tuple (out, weights, lse) of what was asked
        A query that sees nothing gets zeros, and ``-inf`` as its lse.

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
    ``2 * q_len * kv_len * n_heads * (head_dim + v_head_dim)`` FLOPs for the two products.
    Grouped heads are read in place, keys and values are never repeated.

    References
    ----------
    vaswani2017attention, equation 1
    ainslie2023gqa, section 2.2

    Examples
    --------
    >>> import numpy as np
    >>> q, k, v = np.zeros((1, 2, 1, 4)), np.zeros((1, 1, 3, 4)), np.ones((1, 1, 3, 4))
    >>> scaled_dot_product_attention(q, k, v).shape
    (1, 2, 1, 4)
    """
    sizes = _check_inputs(q, k, v)
    scale = score_factor(scale, softcap, sizes["head_dim"])
    seen = find_seen(mask, causal, window, q_positions, kv_positions, sizes)
    bias = None if bias is None else fit_heads("bias", bias, sizes)
    _, scores = _scores(q, k, seen, bias, scale, softcap)
    weights = softmax(scores)
    out = _weighted_sum(_grouped(weights, k.shape[1]), v.astype(weights.dtype, copy=False))
    answer = [out.reshape(*q.shape[:3], v.shape[3]).astype(q.dtype, copy=False)]
    if return_weights:
        answer.append(weights.astype(q.dtype, copy=False))
    if return_lse:
        answer.append(logsumexp(scores))
    return answer[0] if len(answer) == 1 else tuple(answer)


def attention_backward(
    d_out: Array,
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
) -> tuple[Array, Array, Array]:
    """Gradients of the queries, keys and values.

    ``d_v = weights.T @ d_out;  d_scores = softmax_backward(d_out @ v.T, weights);
    d_q = scale * d_scores @ k;  d_k = scale * d_scores.T @ q``

    Parameters
    ----------
    d_out : array (batch, n_heads, q_len, v_head_dim)
        Gradient of the loss by the output.
    q : array (batch, n_heads, q_len, head_dim)
        Queries.
    k : array (batch, n_kv_heads, kv_len, head_dim)
        Keys.
    v : array (batch, n_kv_heads, kv_len, v_head_dim)
        Values.
    mask, causal, window, q_positions, kv_positions, bias, scale, softcap
        As in `scaled_dot_product_attention`.

    Returns
    -------
    tuple of arrays (d_q, d_k, d_v)
        In the shapes of ``q``, ``k`` and ``v``; zero where nothing was attended to.

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
    The gradients of a shared key/value head sum over the query heads of its group.

    References
    ----------
    dao2022flashattention, appendix B.2

    Examples
    --------
    >>> import numpy as np
    >>> q = k = v = np.zeros((1, 1, 2, 4))
    >>> d_q, d_k, d_v = attention_backward(np.ones((1, 1, 2, 4)), q, k, v)
    >>> d_v[0, 0, 0]
    array([1., 1., 1., 1.])
    """
    sizes = _check_inputs(q, k, v)
    named_shapes(
        q=(q, "batch n_heads q_len head_dim"),
        v=(v, "batch n_kv_heads kv_len v_head_dim"),
        d_out=(d_out, "batch n_heads q_len v_head_dim"),
    )
    if d_out.dtype != q.dtype:
        raise DTypeError(f"d_out must have q's dtype {q.dtype}, got {d_out.dtype}")
    scale = score_factor(scale, softcap, sizes["head_dim"])
    seen = find_seen(mask, causal, window, q_positions, kv_positions, sizes)
    bias = None if bias is None else fit_heads("bias", bias, sizes)
    capped, scores = _scores(q, k, seen, bias, scale, softcap)
    weights = softmax(scores)
    rows, q_rows, d_rows, k, v = (
        array.astype(weights.dtype, copy=False)
        for array in (*(_grouped(a, k.shape[1]) for a in (weights, q, d_out)), k, v)
    )
    d_scores = softmax_backward(d_rows @ v.swapaxes(-1, -2), rows)
    if softcap is not None:  # derivative of softcap * tanh(s / softcap)
        d_scores = d_scores * (1 - (_grouped(capped, k.shape[1]) / softcap) ** 2)
    d_q = (scale * (d_scores @ k)).reshape(q.shape)
    d_k, d_v = scale * (d_scores.swapaxes(-1, -2) @ q_rows), rows.swapaxes(-1, -2) @ d_rows
    return d_q.astype(q.dtype), d_k.astype(q.dtype), d_v.astype(q.dtype)
