"""What serving long texts adds to attention, in NumPy, for who has read plain.py.

Written as it is, and with its functions: each formula as code, no checks, no class.
"""

import numpy as np

# ---- Which keys stay ----


def gathered(weights, n_kv_heads):
    """Weights of the query heads that share a key/value head, added up."""
    batch, _, q_len, kv_len = weights.shape
    groups = weights.reshape(batch, n_kv_heads, -1, q_len, kv_len)
    return groups.sum(axis=2)  # (batch, n_kv_heads, q_len, kv_len)


def heavy_hitters(weights, before):
    """What each key has got from all queries so far; the new keys come last."""
    totals = weights.sum(axis=2)  # (batch, n_kv_heads, kv_len)
    totals[..., : before.shape[-1]] += before
    return totals


def observed(weights, observe, kernel):
    """What the last queries look at before them, each key with its neighbours."""
    looks = weights[:, :, -observe:, :-observe].sum(axis=2)
    side = kernel // 2
    padded = np.pad(looks, ((0, 0), (0, 0), (side, side)))
    near = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=-1)
    return near.max(axis=-1)  # (batch, n_kv_heads, kv_len - observe)


def stay(scores, kv_positions, budget, recent, sink_tokens=0):
    """For each head the slots of the keys that stay, in their order.

    The first tokens and the most recent do; of the others those with the largest
    scores, and of equal ones the earlier.
    """
    newest = kv_positions.max(axis=-1, keepdims=True)
    safe = (kv_positions < sink_tokens) | (kv_positions > newest - recent)
    ranked = np.where(safe, np.inf, scores)
    order = np.argsort(-ranked, axis=-1, kind="stable")
    return np.sort(order[..., :budget], axis=-1)  # (batch, n_kv_heads, budget)


def evict(k, v, kv_positions, slots):
    """Only those slots: keys as they were rotated, at the positions they had."""
    k = np.take_along_axis(k, slots[..., None], axis=2)
    v = np.take_along_axis(v, slots[..., None], axis=2)
    return k, v, np.take_along_axis(kv_positions, slots, axis=2)
