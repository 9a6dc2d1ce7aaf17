"""A learned sink of each query head: a logit more in its softmax, which brings no value.

Attention with a sink is attention without it times the share of the keys in the larger sum,
``exp(lse) / (exp(lse) + exp(sink))``, however it was computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ShapeError
from mini_attn.numpy._module import check_floating, dtype_of
from mini_attn.numpy.attention._products import quietly
from mini_attn.numpy.attention.softmax import logsumexp
from mini_attn.shapes import DType

Array = NDArray[Any]


def draw_sinks(n_heads: int, seed: int, dtype: DType) -> Array:
    """A layer's sinks before they have learned anything, of size 1 as scores are."""
    return np.random.default_rng(seed).standard_normal(n_heads).astype(dtype_of(dtype))


def fit_sinks(sinks: Array, n_heads: int) -> Array:
    """Refuse sinks that are not a floating-point number for each query head."""
    check_floating("sinks", sinks)
    if sinks.shape != (n_heads,):
        raise ShapeError(
            f"sinks must be ({n_heads},), one for each query head, got shape {sinks.shape}"
        )
    return sinks


def column(sinks: Array, lse: Array) -> Array:
    """Sinks (n_heads, 1) beside sums (batch, n_heads, q_len), in their type."""
    return sinks.astype(lse.dtype, copy=False)[:, None]


def share(a: Array, b: Array) -> Array:
    """``exp(a) / (exp(a) + exp(b))``; 0 where ``a`` is ``-inf``, whatever ``b`` is."""
    with np.errstate(over="ignore", invalid="ignore"):  # 1 / inf is the 0 that is meant
        return np.where(np.isneginf(a), 0, 1 / (1 + np.exp(b - a))).astype(a.dtype)


def fraction_for_keys(scores: Array, sinks: Array) -> Array:
    """Return the fraction that a sink leaves to the keys of each row, a factor of their weights."""
    lse = logsumexp(scores)
    return share(lse, column(sinks, lse))[..., None]


@quietly
def with_sink(lse: Array, sinks: Array) -> Array:
    """The log-sum-exp of some scores, once it counts the sink of the head too."""
    return np.logaddexp(lse, column(sinks, lse))


def join(out: Array, lse: Array, sinks: Array) -> tuple[Array, Array]:
    """Output and log-sum-exp over some keys, once their sum counts the sink of the head too."""
    return out * share(lse, column(sinks, lse))[..., None], with_sink(lse, sinks)
