"""Attention by the kernel that serves it best: PyTorch's, this package's, or plain products."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mini_attn.torch.attention._sinks import as_first_key, join
from mini_attn.torch.attention._visibility import Visibility
from mini_attn.torch.kernels._triton import attend as own_kernel
from mini_attn.torch.kernels._triton import takes


def fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visibility: Visibility,
    scale: float,
    sinks: Tensor | None = None,
    *,
    square: bool = False,
) -> Tensor:
    """PyTorch's own kernel, which never holds all scores at once; `square` draws its mask."""
    batch, n_kv_heads, group = q.shape[0], k.shape[1], q.shape[1] // k.shape[1]
    full = (*q.shape[:3], v.shape[3])
    mask = None if square else visibility.whole()
    alive: Tensor | None = None
    if mask is not None:
        # The kernel must not meet a row without keys: such rows see all and are zeroed after.
        alive = visibility.alive()
        mask = mask | ~alive
    if sinks is not None:
        q, k, v = as_first_key(q, k, v, sinks, scale, square=square)
        mask = None if mask is None else F.pad(mask, (1, 0), value=True)
    if group > 1 and q.shape[2] == 1 and (mask is None or mask.shape[1] == 1):
        # A group's heads are the rows of one query.
        q = q.reshape(batch, n_kv_heads, group, q.shape[3])
    elif group > 1:
        # One sequence per key/value head; expand repeats keys by a stride of 0, not in memory.
        q = q.reshape(batch * n_kv_heads, group, *q.shape[2:])
        k, v = (a.reshape(len(q), 1, *a.shape[2:]).expand(-1, group, -1, -1) for a in (k, v))
        if mask is not None and mask.shape[:2] != (1, 1):
            # One mask for all heads stays one: the kernel makes floats of every copy.
            each = 1 if mask.shape[1] == 1 else group
            mask = mask.expand(batch, n_kv_heads * each, -1, -1)
            mask = mask.reshape(batch * n_kv_heads, each, *mask.shape[2:])
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=square, scale=scale)
    if sinks is not None:
        out = out.reshape(*full[:2], full[2] + square, v.shape[3])[:, :, square:, : full[3]]
        # PyTorch's kernel for the CPU makes zeros of a row of NaN.
        out = out.masked_fill(sinks.isnan()[:, None, None], torch.nan)
    out = out.reshape(full)
    return out if alive is None else torch.where(alive, out, 0.0)


def by_own_kernel(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visibility: Visibility,
    scale: float,
    softcap: float | None,
) -> tuple[Tensor, Tensor] | None:
    """Output and log-sum-exp by this package's kernel, where it takes the arrays.

    Its walk skips every tile behind the window, and with it tokens that stay visible there.
    """
    if visibility.mask is not None or visibility.sink_tokens or not takes(q, k, v):
        return None
    see = visibility
    counted = see.counted and not (see.causal and see.q_len > see.kv_len)
    places = None if counted else see.positions()
    return own_kernel(
        q, k, v, places, causal=see.causal, window=see.window, scale=scale, softcap=softcap
    )


def is_long_decode(q: Tensor, k: Tensor) -> bool:
    """Return whether a lone query meets more keys than a CPU's caches hold (8 MB, as measured)."""
    fits = k.nbytes <= 2**23 or k.dtype not in (torch.float32, torch.float64)
    return q.shape[2] == 1 and k.device.type == "cpu" and not fits


def streamed(q: Tensor, k: Tensor, v: Tensor, scale: float, sinks: Tensor | None = None) -> Tensor:
    """One query over keys too many for the processor's caches: each is read once, in order."""
    group = q.shape[1] // k.shape[1]  # whose heads are the rows of one query
    rows = q.reshape(q.shape[0], k.shape[1], group, q.shape[3]) * scale
    if group == 1:
        scores = rows @ k.transpose(-1, -2)  # a row on the left: 1.4 times as fast on Intel's
    else:  # for several rows keys first: slightly slower there, faster on others
        # Turned before the softmax, which is several times faster over the last axis.
        scores = (k @ rows.transpose(-1, -2)).transpose(-1, -2).contiguous()
    out = (torch.softmax(scores, dim=-1) @ v).reshape(*q.shape[:3], v.shape[3])
    if sinks is None:
        return out
    return join(out, torch.logsumexp(scores, dim=-1).reshape(q.shape[:3]), sinks)[0]
