"""What spans of tokens become: for each number a mean of its own, by gates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching import Closed

Array = NDArray[Any]


def span_means(values: Array, gates: Array, ends: Closed) -> Array:
    """Gated means (m, width) of spans whose tokens lie at ``ends.numbers``.

    Values and gates are (batch, series, seq, width); of a span that is not there nothing counts.
    """
    series = np.arange(ends.there.shape[1])[:, None]
    numbers = np.where(ends.there[..., None], ends.numbers, 0)
    at = ends.rows[:, None, None], series, numbers  # (m, series, compress)
    wide = np.promote_types(values.dtype, np.float32)
    gates = np.where(ends.there[..., None, None], gates[at].astype(wide, copy=False), -np.inf)
    shares = np.exp(gates - gates.max(axis=(1, 2), keepdims=True))  # (m, series, compress, width)
    shares /= shares.sum(axis=(1, 2), keepdims=True)
    return np.asarray((shares * values[at]).sum(axis=(1, 2)))
