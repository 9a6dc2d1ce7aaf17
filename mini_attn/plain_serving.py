"""What serving long texts adds to attention, in NumPy, for who has read plain.py.

Written as it is, and with its functions: each formula as code, no checks, no class.
"""

import numpy as np

from mini_attn.plain import (
    append,
    attention,
    merge_heads,
    rope,
    split_heads,
    visible,
)

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


# ---- Which keys are read ----


def index_scores(q, k, head_weights):
    """How much a token wants a key: small heads, weighted, which share one key."""
    products = np.maximum(q @ k.swapaxes(-1, -2), 0)  # (…, heads, q_len, kv_len)
    products = head_weights[..., None] * products
    return products.sum(axis=1)  # (batch, q_len, kv_len)


def chosen(scores, count):
    """Where the largest numbers of each row stand; of equal ones the earlier."""
    order = np.argsort(-scores, axis=-1, kind="stable")[..., :count]
    found = np.zeros(scores.shape, bool)
    np.put_along_axis(found, order, True, axis=-1)
    return found


def layer_norm(x, weight, bias, eps=1e-6):
    """Each row less its mean, divided by its standard deviation."""
    x = x - x.mean(axis=-1, keepdims=True)
    return weight * x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) + bias


def indexed_key_attention(
    x, W, positions, cache=None, *, n_heads, n_kv_heads, index_topk, layout=None
):
    """Grouped-query attention to the keys that an indexer chooses."""
    q = split_heads(x @ W["q"], n_heads)  # (batch, n_heads, q_len, head_dim)
    k = split_heads(x @ W["k"], n_kv_heads)  # (batch, n_kv_heads, q_len, head_dim)
    v = split_heads(x @ W["v"], n_kv_heads)  # (…, v_head_dim)
    ask = split_heads(x @ W["ask"], W["heads"].shape[1])  # (…, index_head_dim)
    sign = layer_norm(x @ W["sign"], W["norm"], W["bias"])  # for all heads
    sign = split_heads(sign, 1)  # (batch, 1, q_len, index_head_dim)
    if layout is not None:
        q, k, ask, sign = (rope(a, positions, layout) for a in (q, k, ask, sign))
    kv_positions = positions
    if cache is not None:
        k, v, kv_positions = append(cache[:3], k, v, positions)
        cache[3][:, :, positions] = sign
        sign = cache[3]  # kv_len instead of q_len
    mask = visible(positions, kv_positions)
    head_weights = (x @ W["heads"]).swapaxes(1, 2)  # (batch, index_n_heads, q_len)
    scores = index_scores(ask, sign, head_weights)[:, None]  # (batch, 1, …)
    mask = mask & chosen(np.where(mask, scores, -np.inf), index_topk)
    out = attention(q, k, v, mask, scale=q.shape[-1] ** -0.5)
    return merge_heads(out) @ W["o"]  # (batch, q_len, d_model)
