"""Scaled dot-product attention with grouped heads, and its backward pass."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import check_heads, named_shapes
from mini_attn.torch.mask import visible
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
    check_heads(sizes["n_heads"], sizes["n_kv_heads"])
    return sizes


def _resolve_positions(
    q_positions: Tensor | None, kv_positions: Tensor | None, q: Tensor, kv_len: int, causal: bool
) -> tuple[Tensor, Tensor]:
    """Keys default to 0 … kv_len-1, queries to the last of them (bottom right)."""
    q_len = q.shape[2]
    if kv_positions is None:
        kv_positions = torch.arange(kv_len, device=q.device)
    if q_positions is None:
        if causal and q_len > kv_len:
            raise ShapeError(
                f"{q_len} causal queries cannot be the last of {kv_len} keys: pass q_positions"
            )
        q_positions = kv_positions[..., max(kv_len - q_len, 0) :]
    for name, positions, length in (("q", q_positions, q_len), ("kv", kv_positions, kv_len)):
        if positions.shape[-1:] != (length,) and (name == "kv" or causal):
            raise ShapeError(
                f"{name}_positions must end in {name}_len = {length}, got {tuple(positions.shape)}"
            )
    return q_positions, kv_positions


def _fit_heads(name: str, tensor: Tensor, sizes: dict[str, int]) -> Tensor:
    """View a mask or bias as (batch, n_kv_heads, group, q_len, kv_len), with ones allowed."""
    full = (sizes["batch"], sizes["n_heads"], sizes["q_len"], sizes["kv_len"])
    shape = tuple(tensor.shape)
    if len(shape) == 2:
        shape = (1, 1, *shape)
    elif len(shape) == 3:  # one mask per sequence, for all heads
        shape = (shape[0], 1, *shape[1:])
    if len(shape) != 4 or any(a not in (1, b) for a, b in zip(shape, full, strict=True)):
        raise ShapeError(
            f"{name} must be (q_len, kv_len), (batch, q_len, kv_len) or "
            f"(batch, n_heads, q_len, kv_len) = {full}, got {tuple(tensor.shape)}"
        )
    groups = sizes["n_heads"] // sizes["n_kv_heads"]
    heads = (1, 1) if shape[1] == 1 else (sizes["n_kv_heads"], groups)
    return tensor.reshape(shape[0], *heads, *shape[2:])


def _wide(tensor: Tensor) -> Tensor:
    """float32 or wider, for scores and sums."""
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def _scores(
    q: Tensor, k: Tensor, sizes: dict[str, int], scale: float, softcap: float | None
) -> Tensor:
    """Scores (batch, n_kv_heads, group, q_len, kv_len): no key is ever repeated."""
    groups = sizes["n_heads"] // sizes["n_kv_heads"]
    # The query heads of a group stand side by side as rows: one product per key/value head.
    rows = q.reshape(sizes["batch"], sizes["n_kv_heads"], groups * sizes["q_len"], -1)
    # A product in half precision would round the scores: they are statistics of the softmax.
    scores = (_wide(rows) * scale) @ _wide(k).transpose(-1, -2)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    return scores.reshape(
        sizes["batch"], sizes["n_kv_heads"], groups, sizes["q_len"], sizes["kv_len"]
    )


def _mask_of(q: Tensor, sizes: dict[str, int], options: dict[str, Any]) -> Tensor | None:
    """What positions and mask allow, as (batch, n_kv_heads, group, q_len, kv_len) with ones."""
    allowed: Tensor | None = None
    if options["causal"] or options["kv_positions"] is not None or options["window"] is not None:
        positions = _resolve_positions(
            options["q_positions"], options["kv_positions"], q, sizes["kv_len"], options["causal"]
        )
        seen = visible(*positions, causal=options["causal"], window=options["window"])
        allowed = _fit_heads("positions", seen, sizes)
    if options["mask"] is not None:
        if options["mask"].dtype != torch.bool:
            raise DTypeError(f"mask must be boolean (True = may attend): {options['mask'].dtype}")
        mask = _fit_heads("mask", options["mask"], sizes)
        allowed = mask if allowed is None else allowed & mask
    return allowed


def _check_factors(scale: float | None, softcap: float | None, head_dim: int) -> float:
    """The factor of the scores, once both factors are known to make sense."""
    scale = head_dim**-0.5 if scale is None else float(scale)
    if not math.isfinite(scale) or (softcap is not None and not softcap > 0):
        raise ConfigError(
            f"scale must be finite and softcap positive, got {scale!r} and {softcap!r}"
        )
    return scale


def _weights(
    q: Tensor, k: Tensor, sizes: dict[str, int], options: dict[str, Any]
) -> tuple[Tensor, Tensor, float]:
    """Masked scores, weights and scale: what forward and backward share."""
    scale = _check_factors(options["scale"], options["softcap"], sizes["head_dim"])
    scores = _scores(q, k, sizes, scale, options["softcap"])
    if options["bias"] is not None:
        scores = scores + _fit_heads("bias", options["bias"], sizes).to(scores.dtype)
    allowed = _mask_of(q, sizes, options)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)
    return scores, softmax(scores), scale


def _is_square_causal(sizes: dict[str, int], options: dict[str, Any]) -> bool:
    """Whether the mask is the plain triangle, which the fused kernel draws itself."""
    others = ("mask", "window", "q_positions", "kv_positions", "bias")
    return (
        options["causal"]
        and sizes["q_len"] == sizes["kv_len"]
        and all(options[name] is None for name in others)
    )


def _fused(
    q: Tensor, k: Tensor, v: Tensor, sizes: dict[str, int], options: dict[str, Any]
) -> Tensor | None:
    """PyTorch's fused kernel where it computes the same thing and no slower; else None."""
    plain = options["softcap"] is None and options["bias"] is None
    if not plain or (sizes["q_len"] == 1 and sizes["n_heads"] != sizes["n_kv_heads"]):
        return None  # grouped decode: reading each key once beats the kernel's own grouping
    scale = _check_factors(options["scale"], None, sizes["head_dim"])
    grouped = sizes["n_heads"] != sizes["n_kv_heads"]
    if _is_square_causal(sizes, options):
        return F.scaled_dot_product_attention(
            q, k, v, is_causal=True, scale=scale, enable_gqa=grouped
        )
    allowed = _mask_of(q, sizes, options)
    if allowed is not None and (grouped or not bool(allowed.any(-1).all())):
        return None  # a row without any key must give zeros, in the gradient too
    mask = None if allowed is None else allowed.flatten(1, 2)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=grouped)


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
    Grouped heads are read in place, keys and values are never repeated. PyTorch's fused
    kernel does the work where it computes the same thing.

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
    sizes = _check_inputs(q, k, v)
    if not (return_weights or return_lse):
        fused = _fused(q, k, v, sizes, options)
        if fused is not None:
            return fused
    scores, weights, _ = _weights(q, k, sizes, options)
    batch, n_heads, q_len = sizes["batch"], sizes["n_heads"], sizes["q_len"]
    rows = weights.reshape(batch, sizes["n_kv_heads"], -1, sizes["kv_len"])
    out = (rows @ _wide(v)).to(q.dtype)
    answer = [out.reshape(batch, n_heads, q_len, sizes["v_head_dim"])]
    if return_weights:
        answer.append(weights.reshape(batch, n_heads, q_len, -1).to(q.dtype))
    if return_lse:
        answer.append(logsumexp(scores).reshape(batch, n_heads, q_len))
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
    sizes = _check_inputs(q, k, v)
    _, weights, scale = _weights(q, k, sizes, options)
    named_shapes(q=(q, "batch n_heads q_len _"), d_out=(d_out, "batch n_heads q_len v_head_dim"))
    batch, n_kv_heads = sizes["batch"], sizes["n_kv_heads"]
    rows = _wide(d_out).reshape(batch, n_kv_heads, -1, sizes["v_head_dim"])
    q_rows = _wide(q).reshape(batch, n_kv_heads, -1, sizes["head_dim"])
    flat = weights.reshape(batch, n_kv_heads, -1, sizes["kv_len"])
    d_v = flat.transpose(-1, -2) @ rows
    d_scores = softmax_backward(rows @ _wide(v).transpose(-1, -2), flat)
    if softcap is not None:  # derivative of softcap * tanh(s / softcap)
        capped = _scores(q, k, sizes, scale, softcap).reshape(flat.shape)
        d_scores = d_scores * (1 - (capped / softcap) ** 2)
    d_q = scale * (d_scores @ _wide(k))
    d_k = scale * (d_scores.transpose(-1, -2) @ q_rows)
    return d_q.reshape(q.shape).to(q.dtype), d_k.to(k.dtype), d_v.to(v.dtype)
