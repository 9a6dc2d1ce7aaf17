"""What a mask hides counts nothing even if it is NaN: 0 * NaN would carry it into a sum."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from mini_attn.torch.attention._visibility import Visibility

Compute = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, ...]]


def without_hidden(
    q: Tensor, k: Tensor, v: Tensor, visibility: Visibility, compute: Compute
) -> tuple[Tensor, ...]:
    """Return what `compute` makes of queries, keys and values, whatever lies under the mask.

    On the host the results are looked at, or the arguments where a gradient will be asked for,
    and only NaN or infinity costs anything. On a device that would mean waiting for it: arrays
    that come with a mask or with positions are cleaned there unless they are a decode step's.
    """
    if not visibility.hides:
        return compute(q, k, v)
    graded = torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)
    if visibility.on_host:
        results = None if graded else compute(q, k, v)
        odd = not (q.sum() + k.sum() + v.sum() if results is None else results[0].sum()).isfinite()
        if not odd:
            return compute(q, k, v) if results is None else results
    elif (visibility.counted and visibility.mask is None) or not (graded or q.shape[2] > 1):
        return compute(q, k, v)
    return _cleaned(q, k, v, visibility, compute)


def _cleaned(
    q: Tensor, k: Tensor, v: Tensor, visibility: Visibility, compute: Compute
) -> tuple[Tensor, ...]:
    """The same of arrays with zeros for what is not finite; who may see such a one gets NaN."""
    mask = visibility.whole()
    assert mask is not None
    odd_q = ~q.isfinite().all(dim=-1, keepdim=True)
    odd = ~(k.isfinite().all(dim=-1, keepdim=True) & v.isfinite().all(dim=-1, keepdim=True))
    met = (mask & odd.any(dim=1, keepdim=True).transpose(-1, -2)).any(dim=-1, keepdim=True)
    met = met | (odd_q & mask.any(dim=-1, keepdim=True))  # (batch, n_heads, q_len, 1)
    results = compute(q.masked_fill(odd_q, 0), k.masked_fill(odd, 0), v.masked_fill(odd, 0))
    fill = torch.nan
    return tuple(r.masked_fill(met if r.ndim == 4 else met[..., 0], fill) for r in results)


def visible_product(rows: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """``rows @ values``, where those that are hidden count nothing even if they are NaN."""
    odd = ~values.isfinite()
    met = mask.to(rows.dtype) @ odd.to(rows.dtype)  # how many of them a row may see
    return (rows @ values.masked_fill(odd, 0)).masked_fill(met > 0, torch.nan)
