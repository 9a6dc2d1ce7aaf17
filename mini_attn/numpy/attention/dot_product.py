"""Scaled dot-product attention with grouped heads, and its backward pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import score_factor
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.numpy._module import check_array
from mini_attn.numpy.attention._products import quietly, row_products, visible_product, weighted_sum
from mini_attn.numpy.attention._sinks import column, fit_sinks, fraction_for_keys, share, with_sink
from mini_attn.numpy.attention._visibility import Visibility, check_visibility, fit_bias
from mini_attn.numpy.attention.softmax import logsumexp, normalise, softmax_backward
from mini_attn.shapes import check_flag, check_heads, named_shapes

__all__ = ["attention_backward", "scaled_dot_product_attention"]

Array = NDArray[Any]


class Attended(NamedTuple):
    """What attention has found; weights and scores are float32 or wider."""

    out: Array  # (batch, n_heads, q_len, v_head_dim), in the queries' type
    weights: Array  # (batch, n_heads, q_len, kv_len)
    scores: Array  # (batch, n_heads, q_len, kv_len), -inf where a key is hidden


def attend_in_full(
    q: Array,
    k: Array,
    v: Array,
    visibility: Visibility,
    scale: float,
    bias: Array | None = None,
    softcap: float | None = None,
    sinks: Array | None = None,
) -> Attended:
    """Return attention without checks: all sizes fit, and a bias has four axes."""
    mask = visibility.whole()
    q_wide = q.astype(np.promote_types(q.dtype, np.float32), copy=False)
    scores = score(q_wide * scale, k, softcap, bias, mask)
    weights = normalise(scores)
    if sinks is not None:
        weights *= fraction_for_keys(scores, sinks)
    out = weighted_sum(weights, v, mask)
    return Attended(out.astype(q.dtype, copy=False), weights, scores)


def score(
    q: Array,
    k: Array,
    softcap: float | None = None,
    bias: Array | None = None,
    mask: Array | None = None,
) -> Array:
    """``q @ k.T + bias`` of scaled queries, -inf where a key is hidden."""
    batch, n_heads, q_len, head_dim = q.shape
    # The query heads of a group are rows of one matrix, whose product with their key is one.
    rows = q.reshape(batch, k.shape[1], n_heads // k.shape[1] * q_len, head_dim)
    scores = row_products(rows, k.astype(q.dtype, copy=False))
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    scores = scores.reshape(batch, n_heads, q_len, k.shape[2])
    if bias is not None:
        scores = scores + bias.astype(q.dtype, copy=False)
    return scores if mask is None else np.where(mask, scores, -np.inf)


@quietly
def _gradients(
    d_out: Array,
    q: Array,
    k: Array,
    v: Array,
    visibility: Visibility,
    scale: float,
    bias: Array | None,
    softcap: float | None,
    sinks: Array | None,
) -> tuple[Array, ...]:
    """Gradients of queries, keys, values and any sinks, without checks, in float32 or wider."""
    mask, n_kv_heads = visibility.whole(), k.shape[1]
    q_wide = q.astype(np.promote_types(q.dtype, np.float32), copy=False)
    scores = score(q_wide * scale, k, softcap, bias, mask)
    weights = normalise(scores)
    if sinks is not None:
        weights *= fraction_for_keys(scores, sinks)
    shown = _grouped(np.broadcast_to(True if mask is None else mask, weights.shape), n_kv_heads)
    # The heads of a group are rows of one matrix: what they ask of their shared key adds up.
    weights, q_rows, d_out = (_grouped(array, n_kv_heads) for array in (weights, q_wide, d_out))
    k_wide, v, d_out = (array.astype(weights.dtype, copy=False) for array in (k, v, d_out))
    weights = np.where(shown, weights, 0)  # where a query is NaN, its weights are
    d_weights = np.where(shown, d_out @ v.swapaxes(-1, -2), 0)
    d_scores = softmax_backward(d_weights, weights)
    if softcap is not None:  # derivative of softcap * tanh(s / softcap)
        capped = _grouped(score(q_wide * scale, k, softcap), n_kv_heads)
        d_scores = np.where(shown, d_scores * (1 - (capped / softcap) ** 2), 0)
    shown_to = shown.swapaxes(-1, -2)
    d_q = scale * visible_product(d_scores, k_wide, shown)
    d_k = scale * visible_product(d_scores.swapaxes(-1, -2), q_rows, shown_to)
    d_v = visible_product(weights.swapaxes(-1, -2), d_out, shown_to)
    if sinks is None:
        return d_q, d_k, d_v
    lse = logsumexp(scores)
    # Its value is 0: the sink gets what its weight takes from the others.
    taken = (d_weights * weights).sum(axis=-1).reshape(lse.shape)
    return d_q, d_k, d_v, -(share(column(sinks, lse), lse) * taken).sum(axis=(0, 2))


def _grouped(array: Array, n_kv_heads: int) -> Array:
    """(batch, n_heads, q_len, dim) as (batch, n_kv_heads, group * q_len, dim), a view.

    The query heads of a group are stacked as rows of one matrix, so that one
    product per key/value head serves them all and no key is ever repeated.
    """
    rows = array.shape[1] // n_kv_heads * array.shape[2]
    return array.reshape(array.shape[0], n_kv_heads, rows, array.shape[3])


def check_inputs(**arrays: Array) -> dict[str, int]:
    """Sizes by name; refuses mixed or unsupported types, so that nothing is cast in silence."""
    axes = {
        "q": "batch n_heads q_len head_dim",
        "k": "batch n_kv_heads kv_len head_dim",
        "v": "batch n_kv_heads kv_len v_head_dim",
        "d_out": "batch n_heads q_len v_head_dim",
    }
    sizes = named_shapes(**{name: (array, axes[name]) for name, array in arrays.items()})
    for name, array in arrays.items():
        check_array(name, array)
    kinds = {name: array.dtype for name, array in arrays.items()}
    if arrays["q"].dtype.kind != "f" or len(set(kinds.values())) > 1:
        got = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        raise DTypeError(f"{', '.join(kinds)} must share one floating-point dtype, got {got}")
    if sizes["head_dim"] < 1:
        raise ShapeError(f"head_dim must be at least 1, got q of shape {arrays['q'].shape}")
    check_heads(sizes["n_heads"], sizes["n_kv_heads"])
    return sizes


def scaled_dot_product_attention(
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
        Whether a query sees only keys at its own position and before; the layers' default is True.
    window : int or None
        Number of keys that a query sees, its own included; None means all.
    sink_tokens : int
        Number of first positions that stay visible behind the window; only with a window.
    q_positions, kv_positions : integer array (seq,) or (batch, seq)
        Positions; None means keys 0 … kv_len-1 and queries the last of them. A key at -1 is
        an empty slot and never seen.
    bias : array, shapes as ``mask``
        Added to the scores; None adds nothing.
    scale : float or None
        Factor of the scores; None means ``head_dim ** -0.5``.
    softcap : float or None
        Scores become ``softcap * tanh(scores / softcap)`` before the bias; None leaves them.
    sinks : array (n_heads,) or None
        A logit of each query head that joins the softmax and brings no value; None, like
        ``-inf``, is none. With ``inf`` or NaN nothing, or NaN, is gathered where a key is seen.
    return_weights, return_lse : bool
        Whether to return the weights (batch, n_heads, q_len, kv_len) and the natural
        log-sum-exp of the scores (batch, n_heads, q_len) as well; the sum counts the sink.

    Returns
    -------
    array (batch, n_heads, q_len, v_head_dim), or a tuple (out, weights, lse) of what was asked
        A query that sees nothing gets zeros, and as its lse ``-inf``, or the sink.

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

    With sinks ``weights = exp(scores) / (exp(sink) + sum(exp(scores)))``: all is as without,
    times ``sigmoid(lse - sink)``.

    References
    ----------
    vaswani2017attention, equation 1
    ainslie2023gqa, section 2.2
    openai2025gptoss, section 2.2

    Examples
    --------
    >>> import numpy as np
    >>> q, k, v = np.zeros((1, 2, 1, 4)), np.zeros((1, 1, 3, 4)), np.ones((1, 1, 3, 4))
    >>> scaled_dot_product_attention(q, k, v).shape
    (1, 2, 1, 4)
    """
    check_flag("return_weights", return_weights)
    check_flag("return_lse", return_lse)
    sizes = check_inputs(q=q, k=k, v=v)
    sinks = None if sinks is None else fit_sinks(sinks, sizes["n_heads"])
    scale = score_factor(scale, softcap, sizes["head_dim"])
    rule = (mask, causal, window, sink_tokens, q_positions, kv_positions)
    visibility = check_visibility(sizes, *rule)
    bias = None if bias is None else fit_bias(bias, sizes)
    found = attend_in_full(q, k, v, visibility, scale, bias, softcap, sinks)
    answer = [found.out]
    if return_weights:
        answer.append(found.weights.astype(q.dtype, copy=False))
    if return_lse:
        lse = logsumexp(found.scores)
        answer.append(lse if sinks is None else with_sink(lse, sinks))
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
    sink_tokens: int = 0,
    q_positions: Array | None = None,
    kv_positions: Array | None = None,
    bias: Array | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Array | None = None,
) -> tuple[Array, ...]:
    """Gradients of the queries, keys and values, and of sinks where there are any.

    ``d_v = weights.T @ d_out;  d_scores = softmax_backward(d_out @ v.T, weights);
    d_q = scale * d_scores @ k;  d_k = scale * d_scores.T @ q;
    d_sink = -sum(exp(sink - lse) * sum(d_out * out))``

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
    mask, causal, window, sink_tokens, q_positions, kv_positions, bias, scale, softcap, sinks
        As in `scaled_dot_product_attention`.

    Returns
    -------
    tuple of arrays (d_q, d_k, d_v), with sinks (d_q, d_k, d_v, d_sinks)
        In the shapes and types of ``q``, ``k``, ``v`` and ``sinks``; zero where nothing was
        attended to.

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
    sizes = check_inputs(q=q, k=k, v=v, d_out=d_out)
    sinks = None if sinks is None else fit_sinks(sinks, sizes["n_heads"])
    scale = score_factor(scale, softcap, sizes["head_dim"])
    rule = (mask, causal, window, sink_tokens, q_positions, kv_positions)
    visibility = check_visibility(sizes, *rule)
    bias = None if bias is None else fit_bias(bias, sizes)
    grads = _gradients(d_out, q, k, v, visibility, scale, bias, softcap, sinks)
    inputs = (q, k, v) if sinks is None else (q, k, v, sinks)
    return tuple(
        grad.reshape(given.shape).astype(given.dtype)
        for grad, given in zip(grads, inputs, strict=True)
    )
