"""Layers that read what an earlier layer keeps, for readers of the first text.

Written as it is, and with its functions: each formula as code, no checks,
no class.
"""

import numpy as np

from mini_attn.plain import (
    append,
    append_to_ring,
    attention,
    gated_mlp,
    merge_heads,
    rms_norm,
    rope,
    split_heads,
    visible,
)


def keys_and_values(x, W, positions, cache, n_kv_heads, window, layout):
    """Make what a layer keeps: rotated keys, values and their positions."""
    k = split_heads(x @ W["k"], n_kv_heads)  # (batch, n_kv_heads, q_len, head_dim)
    v = split_heads(x @ W["v"], n_kv_heads)  # (…, v_head_dim)
    k = rope(k, positions, layout)
    if cache is None:
        return k, v, positions
    keep = append if window == np.inf else append_to_ring
    return keep(cache, k, v, positions)  # kv_len instead of q_len


def read(x, W, kept, positions, window, *, n_heads, layout):
    """Gather from what a layer keeps, this one or another."""
    k, v, kv_positions = kept
    q = split_heads(x @ W["q"], n_heads)  # (batch, n_heads, q_len, head_dim)
    q = rope(q, positions, layout)
    mask = visible(positions, kv_positions, window)
    out = attention(q, k, v, mask, scale=q.shape[-1] ** -0.5)
    return merge_heads(out) @ W["o"]  # (batch, q_len, d_model)


def logits_of_sharing(
    tokens,
    W,
    sources,
    windows,
    positions,
    caches,
    n_kv_heads,
    **sizes,
):
    """Logits of a decoder whose layer i reads what layer sources[i] keeps.

    A layer that is its own source makes keys and values, and keeps them in
    caches[i]. Any other has no W["k"] and W["v"], and no cache.
    """
    x = W["embedding"][tokens]  # (batch, seq, d_model)
    kept = {}
    for i, source in enumerate(sources):
        own, window = W["layers"][i], windows[i]
        y = rms_norm(x, own["attention_norm"])
        if source == i:
            kept[i] = keys_and_values(
                y, own, positions, caches[i], n_kv_heads, window, sizes["layout"]
            )
        x = x + read(y, own, kept[source], positions, window, **sizes)
        x = x + gated_mlp(rms_norm(x, own["mlp_norm"]), own)
    return rms_norm(x, W["norm"]) @ W["embedding"].T  # (batch, seq, vocab_size)
