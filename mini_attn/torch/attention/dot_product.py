"""Scaled dot-product attention with grouped heads, and its backward pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from mini_attn.config import score_factor
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import check_flag, check_heads, named_shapes
from mini_attn.torch._module import check_array, wide
from mini_attn.torch.attention._hidden import visible_product, without_hidden
from mini_attn.torch.attention._sinks import (
    column,
    fit_sinks,
    fits_a_key,
    fraction_for_keys,
    join,
    share,
    with_sink,
)
from mini_attn.torch.attention._visibility import Visibility, check_visibility, fit_bias
from mini_attn.torch.attention.softmax import logsumexp, softmax, softmax_backward
from mini_attn.torch.kernels._fused import by_own_kernel, fused, is_long_decode, streamed

__all__ = ["attention_backward", "scaled_dot_product_attention"]


class Attended(NamedTuple):
    """What attention has found; weights and log-sum-exp are float32 or wider."""

    out: Tensor  # (batch, n_heads, q_len, v_head_dim), in the queries' type
    weights: Tensor  # (batch, n_heads, q_len, kv_len)
    lse: Tensor  # (batch, n_heads, q_len)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visibility: Visibility,
    scale: float,
    bias: Tensor | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Attention without checks, by the kernel that serves it best; a bias has four axes."""
    if visibility.ranks is not None:
        found = attend_with_sum(q, k, v, visibility, scale, bias, softcap)
        return merge_over_ranks(visibility.ranks, *found, sinks).to(q.dtype)

    def compute(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor]:
        return (_by_kernel(q, k, v, visibility, scale, bias, softcap, sinks),)

    return without_hidden(q, k, v, visibility, compute)[0]


def attend_with_sum(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visibility: Visibility,
    scale: float,
    bias: Tensor | None = None,
    softcap: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention without checks and its log-sum-exp, which PyTorch's kernels don't tell."""
    if bias is None:
        found = by_own_kernel(q, k, v, visibility, scale, softcap)
        if found is not None:
            return found
    full = attend_in_full(q, k, v, visibility, scale, bias, softcap)
    return full.out, full.lse


def merge_over_ranks(ranks: Any, out: Tensor, lse: Tensor, sinks: Tensor | None = None) -> Tensor:
    """Merge what each rank has found for the same queries among its own keys.

    It is a soft choice between ranks, in float32 or wider; a sink counts once, at the end.
    """
    packed = torch.cat([wide(out), lse[..., None]], dim=-1)  # one message
    every = ranks.all_gather(packed[None])  # (ranks, batch, n_heads, q_len, v_head_dim + 1)
    outs, sums = every[..., :-1], every[..., -1]
    merged = (softmax(sums, axis=0)[..., None] * outs).sum(dim=0)
    return merged if sinks is None else join(merged, logsumexp(sums, axis=0), sinks)[0]


def attend_in_full(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visibility: Visibility,
    scale: float,
    bias: Tensor | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
) -> Attended:
    """Attention without checks as its formula says: with all weights, which no kernel keeps."""
    mask = visibility.whole()

    def compute(q: Tensor, k: Tensor, v: Tensor) -> Attended:
        scores = score(wide(q) * scale, k, softcap, bias, mask)
        weights, lse = _weights(scores, sinks), logsumexp(scores)
        out = _grouped(weights, k.shape[1]) @ wide(v)
        out = out.reshape(*q.shape[:3], v.shape[3])
        return Attended(out.to(q.dtype), weights, lse if sinks is None else with_sink(lse, sinks))

    return Attended(*without_hidden(q, k, v, visibility, compute))


def attend_watched(cache: Any, transaction: Any, *asked: Any) -> Tensor:
    """The output of `attend`, for a cache that forgets by what each key has got."""
    found = attend_in_full(*asked)
    cache._observe(found.weights.detach(), transaction)
    return found.out


def score(
    q: Tensor,
    k: Tensor,
    softcap: float | None = None,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """``q @ k.T + bias`` of queries that are scaled and float32 or wider, -inf where hidden."""
    scores = _grouped(q, k.shape[1]) @ wide(k).transpose(-1, -2)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    scores = scores.reshape(*q.shape[:3], k.shape[2])
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def _weights(scores: Tensor, sinks: Tensor | None) -> Tensor:
    """The softmax of scores, which a sink of each head may join."""
    weights = softmax(scores)
    return weights if sinks is None else weights * fraction_for_keys(scores, sinks)


def _by_kernel(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visibility: Visibility,
    scale: float,
    bias: Tensor | None,
    softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    """The output by one of four ways that give the same."""
    plain, q_len = bias is None and softcap is None, q.shape[2]
    whole = sinks is None or fits_a_key(q, scale)  # PyTorch's kernel takes it
    if plain and whole and visibility.is_triangle:  # the kernel draws this mask itself
        return fused(q, k, v, visibility, scale, sinks, square=True)
    if bias is None and not (plain and visibility.all_placed and q_len > 1):
        found = by_own_kernel(q, k, v, visibility, scale, softcap)
        if found is not None:
            return found[0] if sinks is None else join(*found, sinks)[0]
    if plain and visibility.whole() is None and is_long_decode(q, k):
        return streamed(q, k, v, scale, sinks)
    if plain and whole and k.shape[2]:
        return fused(q, k, v, visibility, scale, sinks)
    scores = score(wide(q) * scale, k, softcap, bias, visibility.whole())
    out = _grouped(_weights(scores, sinks), k.shape[1]) @ wide(v)
    return out.reshape(*q.shape[:3], v.shape[3]).to(q.dtype)


def _gradients(
    d_out: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visibility: Visibility,
    scale: float,
    bias: Tensor | None,
    softcap: float | None,
    sinks: Tensor | None,
) -> tuple[Tensor, ...]:
    """Gradients of queries, keys, values and any sinks, without checks, in float32 or wider."""
    mask, n_kv_heads = visibility.whole(), k.shape[1]
    scores = score(wide(q) * scale, k, softcap, bias, mask)
    weights = _weights(scores, sinks)
    shown = torch.ones_like(weights, dtype=torch.bool) if mask is None else mask
    shown = _grouped(shown.expand(weights.shape), n_kv_heads)
    # The heads of a group are rows of one matrix: what they ask of their shared key adds up.
    weights, q_rows, d_rows = (_grouped(wide(a), n_kv_heads) for a in (weights, q, d_out))
    weights = weights.masked_fill(~shown, 0)  # where a query is NaN, its weights are
    d_weights = (d_rows @ wide(v).transpose(-1, -2)).masked_fill(~shown, 0)
    d_scores = softmax_backward(d_weights, weights)
    if softcap is not None:  # derivative of softcap * tanh(s / softcap)
        capped = _grouped(score(wide(q) * scale, k, softcap), n_kv_heads)
        d_scores = (d_scores * (1 - (capped / softcap) ** 2)).masked_fill(~shown, 0)
    shown_to = shown.transpose(-1, -2)
    d_q = scale * visible_product(d_scores, wide(k), shown)
    d_k = scale * visible_product(d_scores.transpose(-1, -2), q_rows, shown_to)
    d_v = visible_product(weights.transpose(-1, -2), d_rows, shown_to)
    if sinks is None:
        return d_q, d_k, d_v
    lse = logsumexp(scores)
    # Its value is 0: the sink gets what its weight takes from the others.
    taken = (d_weights * weights).sum(dim=-1).reshape(lse.shape)
    return d_q, d_k, d_v, -(share(column(sinks, lse), lse) * taken).sum(dim=(0, 2))


def _grouped(tensor: Tensor, n_kv_heads: int) -> Tensor:
    """(batch, n_heads, q_len, dim) as (batch, n_kv_heads, group * q_len, dim), a view.

    The query heads of a group are stacked as rows of one matrix, so that one
    product per key/value head serves them all and no key is ever repeated.
    """
    rows = tensor.shape[1] // n_kv_heads * tensor.shape[2]
    return tensor.reshape(tensor.shape[0], n_kv_heads, rows, tensor.shape[3])


def check_inputs(**arrays: Tensor) -> dict[str, int]:
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
    if not arrays["q"].is_floating_point() or len(set(kinds.values())) > 1:
        got = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        raise DTypeError(f"{', '.join(kinds)} must share one floating-point dtype, got {got}")
    if sizes["head_dim"] < 1:
        raise ShapeError(f"head_dim must be at least 1, got q of shape {tuple(arrays['q'].shape)}")
    check_heads(sizes["n_heads"], sizes["n_kv_heads"])
    return sizes


def scaled_dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    window: int | None = None,
    sink_tokens: int = 0,
    q_positions: Tensor | None = None,
    kv_positions: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    return_weights: bool = False,
    return_lse: bool = False,
) -> Any:
    """Each query's weighted sum of the values, by the similarity of its keys.

    ``out = softmax(scale * q @ k.T + bias) @ v``

    Parameters
    ----------
    q : tensor (batch, n_heads, q_len, head_dim)
        Queries.
    k : tensor (batch, n_kv_heads, kv_len, head_dim)
        Keys; query head ``h`` reads key/value head ``h // (n_heads // n_kv_heads)``.
    v : tensor (batch, n_kv_heads, kv_len, v_head_dim)
        Values.
    mask : boolean tensor (q_len, kv_len), (batch, q_len, kv_len) or (batch, n_heads, q_len, kv_len)
        True = may attend; None allows all that the positions allow.
    causal : bool
        Whether a query sees only keys at its own position and before; the layers' default is True.
    window : int or None
        Number of keys that a query sees, its own included; None means all.
    sink_tokens : int
        Number of first positions that stay visible behind the window; only with a window.
    q_positions, kv_positions : integer tensor (seq,) or (batch, seq)
        Positions; None means keys 0 … kv_len-1 and queries the last of them. A key at -1 is
        an empty slot and never seen.
    bias : tensor, shapes as ``mask``
        Added to the scores; None adds nothing.
    scale : float or None
        Factor of the scores; None means ``head_dim ** -0.5``.
    softcap : float or None
        Scores become ``softcap * tanh(scores / softcap)`` before the bias; None leaves them.
    sinks : tensor (n_heads,) or None
        A logit of each query head that joins the softmax and brings no value; None, like
        ``-inf``, is none. With ``inf`` or NaN nothing, or NaN, is gathered where a key is seen.
    return_weights, return_lse : bool
        Whether to return the weights (batch, n_heads, q_len, kv_len) and the natural
        log-sum-exp of the scores (batch, n_heads, q_len) as well; the sum counts the sink.

    Returns
    -------
    tensor (batch, n_heads, q_len, v_head_dim), or a tuple (out, weights, lse) of what was asked
        A query that sees nothing gets zeros, and as its lse ``-inf``, or the sink.

    Raises
    ------
    ShapeError
        If axes disagree or positions do not fit.
    DTypeError
        If the tensors are not of one floating-point dtype or the mask is not boolean.
    ConfigError
        If the heads do not divide, or an option is out of range.

    Notes
    -----
    ``2 * q_len * kv_len * n_heads * (head_dim + v_head_dim)`` FLOPs for the two products.
    Grouped heads are read in place, keys and values are never repeated.

    With sinks ``weights = exp(scores) / (exp(sink) + sum(exp(scores)))``: all is as without,
    times ``sigmoid(lse - sink)``.

    PyTorch: its fused kernel does the work unless a bias, a soft cap, the weights or the lse
    are asked for; with sinks it gets a key more, but for a single query or float16. On a GPU,
    where Triton is installed and no gradient is asked for, a kernel of this package serves
    single queries, positions, windows, soft caps and the lse; it reads no key that nobody sees.
    Where ``sink_tokens`` stay visible it is left aside.

    References
    ----------
    vaswani2017attention, equation 1
    ainslie2023gqa, section 2.2
    openai2025gptoss, section 2.2

    Examples
    --------
    >>> import torch
    >>> q, k, v = torch.zeros(1, 2, 1, 4), torch.zeros(1, 1, 3, 4), torch.ones(1, 1, 3, 4)
    >>> scaled_dot_product_attention(q, k, v).shape
    torch.Size([1, 2, 1, 4])
    """
    check_flag("return_weights", return_weights)
    check_flag("return_lse", return_lse)
    sizes = check_inputs(q=q, k=k, v=v)
    sinks = None if sinks is None else fit_sinks(sinks, sizes["n_heads"])
    scale = score_factor(scale, softcap, sizes["head_dim"])
    rule = (mask, causal, window, sink_tokens, q_positions, kv_positions)
    visibility = check_visibility(sizes, q.device, *rule)
    bias = None if bias is None else fit_bias(bias, sizes)
    if not return_weights and not return_lse:
        return attend(q, k, v, visibility, scale, bias, softcap, sinks)
    if bias is None and not return_weights:
        found = by_own_kernel(q, k, v, visibility, scale, softcap)
        if found is not None:
            return found if sinks is None else join(*found, sinks)
    full = attend_in_full(q, k, v, visibility, scale, bias, softcap, sinks)
    answer = [full.out]
    if return_weights:
        answer.append(full.weights.to(q.dtype))
    if return_lse:
        answer.append(full.lse)
    return tuple(answer)


def attention_backward(
    d_out: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    window: int | None = None,
    sink_tokens: int = 0,
    q_positions: Tensor | None = None,
    kv_positions: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Gradients of the queries, keys and values, and of sinks where there are any.

    ``d_v = weights.T @ d_out;  d_scores = softmax_backward(d_out @ v.T, weights);
    d_q = scale * d_scores @ k;  d_k = scale * d_scores.T @ q;
    d_sink = -sum(exp(sink - lse) * sum(d_out * out))``

    Parameters
    ----------
    d_out : tensor (batch, n_heads, q_len, v_head_dim)
        Gradient of the loss by the output.
    q : tensor (batch, n_heads, q_len, head_dim)
        Queries.
    k : tensor (batch, n_kv_heads, kv_len, head_dim)
        Keys.
    v : tensor (batch, n_kv_heads, kv_len, v_head_dim)
        Values.
    mask, causal, window, sink_tokens, q_positions, kv_positions, bias, scale, softcap, sinks
        As in `scaled_dot_product_attention`.

    Returns
    -------
    tuple of tensors (d_q, d_k, d_v), with sinks (d_q, d_k, d_v, d_sinks)
        In the shapes and types of ``q``, ``k``, ``v`` and ``sinks``; zero where nothing was
        attended to.

    Raises
    ------
    ShapeError
        If axes disagree or positions do not fit.
    DTypeError
        If the tensors are not of one floating-point dtype or the mask is not boolean.
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
    >>> import torch
    >>> q = k = v = torch.zeros(1, 1, 2, 4)
    >>> d_q, d_k, d_v = attention_backward(torch.ones(1, 1, 2, 4), q, k, v)
    >>> d_v[0, 0, 0]
    tensor([1., 1., 1., 1.])
    """
    sizes = check_inputs(q=q, k=k, v=v, d_out=d_out)
    sinks = None if sinks is None else fit_sinks(sinks, sizes["n_heads"])
    scale = score_factor(scale, softcap, sizes["head_dim"])
    rule = (mask, causal, window, sink_tokens, q_positions, kv_positions)
    visibility = check_visibility(sizes, q.device, *rule)
    bias = None if bias is None else fit_bias(bias, sizes)
    grads = _gradients(d_out, q, k, v, visibility, scale, bias, softcap, sinks)
    inputs = (q, k, v) if sinks is None else (q, k, v, sinks)
    return tuple(
        grad.reshape(given.shape).to(given.dtype) for grad, given in zip(grads, inputs, strict=True)
    )
