"""Scaled dot-product attention with grouped heads, and its backward pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.numpy.mask import visible
from mini_attn.numpy.softmax import logsumexp, softmax, softmax_backward
from mini_attn.shapes import check_heads, named_shapes

__all__ = ["attention_backward", "scaled_dot_product_attention"]

Array = NDArray[Any]


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
    check_heads(sizes["n_heads"], sizes["n_kv_heads"])
    return sizes


def _resolve_positions(
    q_positions: Array | None, kv_positions: Array | None, q_len: int, kv_len: int, causal: bool
) -> tuple[Array, Array]:
    """Keys default to 0 … kv_len-1, queries to the last of them (bottom right)."""
    if kv_positions is None:
        kv_positions = np.arange(kv_len)
    if q_positions is None:
        if causal and q_len > kv_len:
            raise ShapeError(
                f"{q_len} causal queries cannot be the last of {kv_len} keys: pass q_positions"
            )
        q_positions = kv_positions[..., max(kv_len - q_len, 0) :]
    for name, positions, length in (("q", q_positions, q_len), ("kv", kv_positions, kv_len)):
        if positions.shape[-1:] != (length,) and (name == "kv" or causal):
            raise ShapeError(
                f"{name}_positions must end in {name}_len = {length}, got {positions.shape}"
            )
    return q_positions, kv_positions


def _fit_heads(name: str, array: Array, sizes: dict[str, int]) -> Array:
    """View a mask or bias as (batch, n_kv_heads, group, q_len, kv_len), with ones allowed."""
    full = (sizes["batch"], sizes["n_heads"], sizes["q_len"], sizes["kv_len"])
    shape = tuple(array.shape)
    if len(shape) == 2:
        shape = (1, 1, *shape)
    elif len(shape) == 3:  # one mask per sequence, for all heads
        shape = (shape[0], 1, *shape[1:])
    if len(shape) != 4 or any(a not in (1, b) for a, b in zip(shape, full, strict=True)):
        raise ShapeError(
            f"{name} must be (q_len, kv_len), (batch, q_len, kv_len) or "
            f"(batch, n_heads, q_len, kv_len) = {full}, got {tuple(array.shape)}"
        )
    groups = sizes["n_heads"] // sizes["n_kv_heads"]
    heads = (1, 1) if shape[1] == 1 else (sizes["n_kv_heads"], groups)
    return array.reshape(shape[0], *heads, *shape[2:])


def _scores(
    q: Array, k: Array, sizes: dict[str, int], scale: float, softcap: float | None
) -> Array:
    """Scores (batch, n_kv_heads, group, q_len, kv_len): no key is ever repeated."""
    groups = sizes["n_heads"] // sizes["n_kv_heads"]
    # The query heads of a group stand side by side as rows: one product per key/value head.
    rows = q.reshape(sizes["batch"], sizes["n_kv_heads"], groups * sizes["q_len"], -1)
    wide = np.float32 if q.dtype == np.float16 else q.dtype
    keys = k.astype(wide, copy=False).swapaxes(-1, -2)
    scores = (rows.astype(wide, copy=False) * scale) @ keys
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    return scores.reshape(
        sizes["batch"], sizes["n_kv_heads"], groups, sizes["q_len"], sizes["kv_len"]
    )


def _weights(
    q: Array, k: Array, v: Array, options: dict[str, Any]
) -> tuple[Array, Array, dict[str, int], float]:
    """Masked scores, weights, sizes and scale: what forward and backward share."""
    sizes = _check_inputs(q, k, v)
    scale, softcap = options["scale"], options["softcap"]
    scale = sizes["head_dim"] ** -0.5 if scale is None else float(scale)
    if not math.isfinite(scale) or (softcap is not None and not softcap > 0):
        raise ConfigError(
            f"scale must be finite and softcap positive, got {scale!r} and {softcap!r}"
        )
    scores = _scores(q, k, sizes, scale, softcap)
    if options["bias"] is not None:
        scores = scores + _fit_heads("bias", options["bias"], sizes).astype(scores.dtype)
    if options["causal"] or options["kv_positions"] is not None or options["window"] is not None:
        positions = _resolve_positions(
            options["q_positions"],
            options["kv_positions"],
            sizes["q_len"],
            sizes["kv_len"],
            options["causal"],
        )
        seen = visible(*positions, causal=options["causal"], window=options["window"])
        if not seen.all():
            scores = np.where(_fit_heads("positions", seen, sizes), scores, -np.inf)
    if options["mask"] is not None:
        if options["mask"].dtype != np.bool_:
            raise DTypeError(f"mask must be boolean (True = may attend): {options['mask'].dtype}")
        scores = np.where(_fit_heads("mask", options["mask"], sizes), scores, -np.inf)
    return scores, softmax(scores), sizes, scale


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
        Scores become ``softcap * tanh(scores / softcap)``; None leaves them.
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
    options = {
        "mask": mask,
        "causal": causal,
        "window": window,
        "q_positions": q_positions,
        "kv_positions": kv_positions,
        "bias": bias,
        "scale": scale,
        "softcap": softcap,
    }
    scores, weights, sizes, _ = _weights(q, k, v, options)
    batch, n_heads, q_len = sizes["batch"], sizes["n_heads"], sizes["q_len"]
    groups = n_heads // sizes["n_kv_heads"]
    rows = weights.reshape(batch, sizes["n_kv_heads"], groups * q_len, sizes["kv_len"])
    out = (rows @ v.astype(rows.dtype, copy=False)).astype(q.dtype, copy=False)
    answer = [out.reshape(batch, n_heads, q_len, sizes["v_head_dim"])]
    if return_weights:
        answer.append(weights.reshape(batch, n_heads, q_len, -1).astype(q.dtype, copy=False))
    if return_lse:
        answer.append(logsumexp(scores).reshape(batch, n_heads, q_len))
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
    options = {
        "mask": mask,
        "causal": causal,
        "window": window,
        "q_positions": q_positions,
        "kv_positions": kv_positions,
        "bias": bias,
        "scale": scale,
        "softcap": softcap,
    }
    _, weights, sizes, scale = _weights(q, k, v, options)
    named_shapes(q=(q, "batch n_heads q_len _"), d_out=(d_out, "batch n_heads q_len v_head_dim"))
    batch, n_kv_heads = sizes["batch"], sizes["n_kv_heads"]
    wide = weights.dtype
    rows = d_out.astype(wide, copy=False).reshape(batch, n_kv_heads, -1, sizes["v_head_dim"])
    q_rows = q.astype(wide, copy=False).reshape(batch, n_kv_heads, -1, sizes["head_dim"])
    flat = weights.reshape(batch, n_kv_heads, -1, sizes["kv_len"])
    d_v = flat.swapaxes(-1, -2) @ rows
    d_scores = softmax_backward(rows @ v.swapaxes(-1, -2).astype(wide, copy=False), flat)
    if softcap is not None:  # derivative of softcap * tanh(s / softcap)
        capped = _scores(q, k, sizes, scale, softcap).reshape(flat.shape)
        d_scores = d_scores * (1 - (capped / softcap) ** 2)
    d_q = scale * (d_scores @ k.astype(wide, copy=False))
    d_k = scale * (d_scores.swapaxes(-1, -2) @ q_rows)
    return (
        d_q.reshape(q.shape).astype(q.dtype, copy=False),
        d_k.astype(k.dtype, copy=False),
        d_v.astype(v.dtype, copy=False),
    )
