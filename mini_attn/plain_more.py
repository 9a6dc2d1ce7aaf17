"""More of attention in NumPy: what later models changed, each as a formula.

This text builds on plain.py and has its axes, its names and its style.
"""

import numpy as np

from mini_attn.plain import scores_of, weighted_sum

# ---- A sink: to choose nothing ----


def attention_with_sinks(q, k, v, mask, scale, sinks):
    """Attention in which each head may also choose nothing, at a score of its own.

    The sink is one more term below the line and brings no value: 1 for a sink of 0,
    none for -inf.
    """
    scores = scores_of(q, k, mask, scale)  # (batch, n_heads, q_len, kv_len)
    sinks = sinks[:, None, None]  # (n_heads, 1, 1)
    lowest = np.finfo(scores.dtype).min  # finite: -inf - (-inf) would be NaN
    top = scores.max(axis=-1, keepdims=True, initial=lowest)
    top = np.maximum(top, sinks)  # (batch, n_heads, q_len, 1)
    parts = np.exp(scores - top)
    total = np.exp(sinks - top) + parts.sum(axis=-1, keepdims=True)  # >= 1, or 0
    return weighted_sum(parts / np.maximum(total, 1), v)
