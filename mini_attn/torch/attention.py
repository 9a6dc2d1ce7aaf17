"""Scaled dot-product attention with grouped heads, and its backward pass."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mini_attn.config import score_factor
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import check_heads, named_shapes
from mini_attn.torch._module import wide
from mini_attn.torch._sight import check_places, find_places, find_seen, fit_heads
from mini_attn.torch._triton import attend, takes
from mini_attn.torch.mask import check_window
from mini_attn.torch.softmax import logsumexp, softmax, softmax_backward

__all__ = ["attention_backward", "scaled_dot_product_attention"]


def _check_inputs(q: Tensor, k: Tensor, v: Tensor) -> dict[str, int]:
    """Sizes by name; refuses mixed or unsupported types, so that nothing is cast in silence."""
    sizes = named_shapes(
        q=(q, "batch n_heads q_len head_dim"),
        k=(k, "batch n_kv_heads kv_len head_dim"),
        v=(v, "batch n_kv_heads kv_len v_head_dim"),
    )
    if not q.is_floating_point() or not q.dtype == k.dtype == v.dtype:
        raise DTypeError(
            "q, k and v must share one floating-point dtype, "
            f"got q {q.dtype}, k {k.dtype}, v {v.dtype}"
        )
    if sizes["head_dim"] < 1:
        raise ShapeError(f"head_dim must be at least 1, got q of shape {tuple(q.shape)}")
    check_heads(sizes["n_heads"], sizes["n_kv_heads"])
    return sizes


def _grouped(tensor: Tensor, n_kv_heads: int) -> Tensor:
    """(batch, n_heads, q_len, dim) as (batch, n_kv_heads, group * q_len, dim), a view.

    The query heads of a group stand below each other as rows of one matrix, so that one
    product per key/value head serves them all and no key is ever repeated.
    """
    rows = tensor.shape[1] // n_kv_heads * tensor.shape[2]
    return tensor.reshape(tensor.shape[0], n_kv_heads, rows, tensor.shape[3])


def _scores(
    q: Tensor,
    k: Tensor,
    seen: Tensor | None,
    bias: Tensor | None,
    scale: float,
    softcap: float | None,
) -> tuple[Tensor, Tensor]:
    """Scores (batch, n_heads, q_len, kv_len) in float32 or wider, before and after the mask."""
    capped = (_grouped(wide(q), k.shape[1]) * scale) @ wide(k).transpose(-1, -2)
    if softcap is not None:
        capped = softcap * torch.tanh(capped / softcap)
    capped = capped.reshape(*q.shape[:3], k.shape[2])
    scores = capped if bias is None else capped + bias.to(capped.dtype)
    return capped, scores if seen is None else scores.masked_fill(~seen, -torch.inf)


def _fused(
    q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None, scale: float, *, square: bool
) -> Tensor:
    """The same by PyTorch's own kernel, which never holds all scores at once."""
    batch, n_kv_heads, group = q.shape[0], k.shape[1], q.shape[1] // k.shape[1]
    full = (*q.shape[:3], v.shape[3])
    alive: Tensor | None = None
    if seen is not None:
        # The kernel must not meet a row without keys: such rows see all and are zeroed after.
        alive = seen.any(dim=-1, keepdim=True)
        seen = seen | ~alive
    if group > 1 and q.shape[2] == 1 and (seen is None or seen.shape[1] == 1):
        q = _grouped(q, n_kv_heads)  # the group's heads are the rows of one query
    elif group > 1:
        # One sequence per key/value head; expand repeats keys by a stride of 0, not in memory.
        q = q.reshape(batch * n_kv_heads, group, *q.shape[2:])
        k, v = (a.reshape(len(q), 1, *a.shape[2:]).expand(-1, group, -1, -1) for a in (k, v))
        if seen is not None and seen.shape[:2] != (1, 1):
            # One mask for all heads stays one: the kernel makes floats of every copy.
            each = 1 if seen.shape[1] == 1 else group
            seen = seen.expand(batch, n_kv_heads * each, -1, -1)
            seen = seen.reshape(batch * n_kv_heads, each, *seen.shape[2:])
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=square, scale=scale)
    out = out.reshape(full)
    return out if alive is None else torch.where(alive, out, 0.0)


def by_own_kernel(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool,
    window: int | None,
    q_positions: Tensor | None,
    kv_positions: Tensor | None,
    sizes: dict[str, int],
    scale: float,
    softcap: float | None,
) -> tuple[Tensor, Tensor]:
    """Output and log-sum-exp by this package's kernel, which reads no key that nobody sees."""
    places = None
    if q_positions is not None or kv_positions is not None or (causal and q.shape[2] > k.shape[2]):
        places = find_places(causal, q_positions, kv_positions, sizes, q.device)
        check_places(places, causal, window, sizes)
    check_window(causal, window)
    return attend(q, k, v, places, causal=causal, window=window, scale=scale, softcap=softcap)


def _is_long_decode(q: Tensor, k: Tensor) -> bool:
    """Whether a single query meets more keys than a CPU's caches hold (8 MB, as measured)."""
    fits = k.nbytes <= 2**23 or k.dtype not in (torch.float32, torch.float64)
    return q.shape[2] == 1 and k.device.type == "cpu" and not fits


def _streamed(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """One query over keys too many for the processor's caches: each is read once, in order."""
    rows = _grouped(q, k.shape[1]) * scale
    weights = torch.softmax(k @ rows.transpose(-1, -2), dim=-2)
    return (weights.transpose(-1, -2) @ v).reshape(*q.shape[:3], v.shape[3])


def scaled_dot_product_attention(
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
    Grouped heads are read in place, keys and values are never repeated. PyTorch's fused
    kernel does the work unless a bias, a soft cap, the weights or the lse are asked for. On a
    GPU, where Triton is installed and no gradient is asked for, an own kernel serves single
    queries, positions, windows, soft caps and the lse; it reads no key that nobody sees.

    References
    ----------
    vaswani2017attention, equation 1
    ainslie2023gqa, section 2.2

    Examples
    --------
    >>> import torch
    >>> q, k, v = torch.zeros(1, 2, 1, 4), torch.zeros(1, 1, 3, 4), torch.ones(1, 1, 3, 4)
    >>> scaled_dot_product_attention(q, k, v).shape
    torch.Size([1, 2, 1, 4])
    """
    sizes = _check_inputs(q, k, v)
    scale = score_factor(scale, softcap, sizes["head_dim"])
    plain = bias is None and softcap is None and not return_weights and not return_lse
    triangle = mask is None and window is None and q_positions is None and kv_positions is None
    if plain and causal and triangle and sizes["q_len"] == sizes["kv_len"]:
        return _fused(q, k, v, None, scale, square=True)  # the kernel draws this mask itself
    whole = plain and not causal and kv_positions is None and sizes["q_len"] > 1
    if mask is None and bias is None and not return_weights and not whole and takes(q, k, v):
        rule = (causal, window, q_positions, kv_positions, sizes, scale, softcap)
        out, lse = by_own_kernel(q, k, v, *rule)
        return (out, lse) if return_lse else out
    seen = find_seen(mask, causal, window, q_positions, kv_positions, sizes, q.device)
    if plain and seen is None and _is_long_decode(q, k):
        return _streamed(q, k, v, scale)
    if plain and sizes["kv_len"]:
        return _fused(q, k, v, seen, scale, square=False)
    bias = None if bias is None else fit_heads("bias", bias, sizes)
    _, scores = _scores(q, k, seen, bias, scale, softcap)
    weights = softmax(scores)
    out = _grouped(weights, k.shape[1]) @ wide(v)
    answer = [out.reshape(*q.shape[:3], v.shape[3]).to(q.dtype)]
    if return_weights:
        answer.append(weights.to(q.dtype))
    if return_lse:
        answer.append(logsumexp(scores))
    return answer[0] if len(answer) == 1 else tuple(answer)


def attention_backward(
    d_out: Tensor,
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
) -> tuple[Tensor, Tensor, Tensor]:
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
    >>> import torch
    >>> q = k = v = torch.zeros(1, 1, 2, 4)
    >>> d_q, d_k, d_v = attention_backward(torch.ones(1, 1, 2, 4), q, k, v)
    >>> d_v[0, 0, 0]
    tensor([1., 1., 1., 1.])
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
    seen = find_seen(mask, causal, window, q_positions, kv_positions, sizes, q.device)
    bias = None if bias is None else fit_heads("bias", bias, sizes)
    capped, scores = _scores(q, k, seen, bias, scale, softcap)
    rows, q_rows, d_rows = (_grouped(wide(a), k.shape[1]) for a in (softmax(scores), q, d_out))
    d_scores = softmax_backward(d_rows @ wide(v).transpose(-1, -2), rows)
    if softcap is not None:  # derivative of softcap * tanh(s / softcap)
        d_scores = d_scores * (1 - (_grouped(capped, k.shape[1]) / softcap) ** 2)
    d_q = (scale * (d_scores @ wide(k))).reshape(q.shape)
    d_k, d_v = scale * (d_scores.transpose(-1, -2) @ q_rows), rows.transpose(-1, -2) @ d_rows
    return d_q.to(q.dtype), d_k.to(q.dtype), d_v.to(q.dtype)
