"""A learned sink of each query head: a logit more in its softmax, which brings no value.

Attention with a sink is attention without it times the share of the keys in the larger sum,
``exp(lse) / (exp(lse) + exp(sink))``. PyTorch's kernel tells no ``lse``: it gets a key more.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mini_attn.errors import ShapeError
from mini_attn.shapes import DType
from mini_attn.torch._module import check_floating, parameter, wide
from mini_attn.torch.attention.softmax import logsumexp

STEP = 8  # numbers; kernels want widths that it divides
LARGEST = 2.0**100  # finite, and beyond every score: infinity times 0 would be NaN


def draw_sinks(n_heads: int, seed: int, dtype: DType, device: Any) -> nn.Parameter:
    """A layer's sinks before they have learned anything, of size 1 as scores are."""
    drawn = torch.randn(n_heads, generator=torch.Generator().manual_seed(seed))
    return parameter(drawn, dtype, device)


def fit_sinks(sinks: Tensor, n_heads: int) -> Tensor:
    """Refuse sinks that are not a floating-point number for each query head."""
    check_floating("sinks", sinks)
    if tuple(sinks.shape) != (n_heads,):
        raise ShapeError(
            f"sinks must be ({n_heads},), one for each query head, got shape {tuple(sinks.shape)}"
        )
    return sinks


def column(sinks: Tensor, lse: Tensor) -> Tensor:
    """Sinks (n_heads, 1) beside sums (batch, n_heads, q_len), in their type."""
    return sinks.to(lse.dtype)[:, None]


def share(a: Tensor, b: Tensor) -> Tensor:
    """``exp(a) / (exp(a) + exp(b))``; 0 where ``a`` is ``-inf``, whatever ``b`` is."""
    none = a == -torch.inf  # neutralised before the difference: its gradient would be NaN
    return torch.sigmoid(a.masked_fill(none, 0) - b).masked_fill(none, 0)


def fraction_for_keys(scores: Tensor, sinks: Tensor) -> Tensor:
    """Return the fraction that a sink leaves to the keys of each row, a factor of their weights."""
    lse = logsumexp(scores)
    return share(lse, column(sinks, lse))[..., None]


def with_sink(lse: Tensor, sinks: Tensor) -> Tensor:
    """The log-sum-exp of some scores, once it counts the sink of the head too."""
    sink, none = column(sinks, lse), lse == -torch.inf
    return torch.where(none, sink, torch.logaddexp(lse.masked_fill(none, 0), sink))


def join(out: Tensor, lse: Tensor, sinks: Tensor) -> tuple[Tensor, Tensor]:
    """Output and log-sum-exp over some keys, once their sum counts the sink of the head too."""
    return out * share(lse, column(sinks, lse))[..., None].to(out.dtype), with_sink(lse, sinks)


def fits_a_key(q: Tensor, scale: float) -> bool:
    """Return whether `as_first_key` pays, and sinks divided by the scores' factor are in range."""
    # For a single query it would copy all keys; a sink may be beyond what float16 can say.
    return q.shape[2] > 1 and q.dtype != torch.float16 and abs(scale) > 2.0**-16


def as_first_key(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor, scale: float, *, square: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values with a first key whose score is the sink and whose value is 0.

    It is 0 but for two numbers more, where each query has the sink of its head, the second time
    what rounding took from the first. `square` adds a first query, so that a causal kernel
    shows this key to all others. Values get the same width, as a fused kernel asks.
    """
    width = q.shape[3]
    wanted = (wide(sinks) / scale).clamp(-LARGEST, LARGEST)
    rounded = wanted.to(q.dtype)
    q = F.pad(q, (0, STEP, int(square), 0))
    q[..., width] = rounded[:, None]
    q[..., width + 1] = (wanted - rounded).to(q.dtype)[:, None]
    k, v = (F.pad(a, (0, STEP, 1, 0)) for a in (k, v))
    k[:, :, 0, width : width + 2] = 1
    return q, k, v
