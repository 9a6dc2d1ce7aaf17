"""Blocks that are chosen by their means, for who has read plain_serving.py.

Written as it is, and with its functions: each formula as code, no checks, no class.
"""

import numpy as np

from mini_attn.plain import (
    append,
    attention,
    merge_heads,
    rope,
    scores_of,
    softmax,
    split_heads,
    visible,
    weighted_sum,
)
from mini_attn.plain_serving import chosen, gathered


def in_blocks(kv_positions, block_size):
    """Which tokens lie in which block; an empty slot lies in none."""
    blocks = np.arange(kv_positions.shape[-1] // block_size + 1)
    block = kv_positions[..., None, :] // block_size  # -1 where there is no token
    return (block == blocks[:, None]).astype(float)  # (…, blocks, kv_len)


def worth_of_blocks(weights, seen, positions, block_size, n_kv_heads):
    """Weights of the means, added up in each group; the own block comes first."""
    worth = gathered(weights, n_kv_heads)  # (batch, n_kv_heads, q_len, blocks)
    own = positions[..., None] // block_size == np.arange(worth.shape[-1])
    return np.where(own, np.inf, np.where(seen > 0, worth, -np.inf))


def native_sparse_attention(
    x, W, positions, cache=None, *, n_heads, n_kv_heads, block_size, n_blocks,
    window, layout=None,
):  # fmt: skip
    """Means of all blocks, the blocks that they choose, and a window, by gates."""
    q = split_heads(x @ W["q"], n_heads)  # (batch, n_heads, q_len, head_dim)
    k = split_heads(x @ W["k"], n_kv_heads)  # (batch, n_kv_heads, q_len, head_dim)
    v = split_heads(x @ W["v"], n_kv_heads)  # (…, v_head_dim)
    if layout is not None:
        q, k = rope(q, positions, layout), rope(k, positions, layout)
    kv_positions, scale = positions, q.shape[-1] ** -0.5
    if cache is not None:
        k, v, kv_positions = append(cache, k, v, positions)  # (…, kv_len, …)
    mask = visible(positions, kv_positions)  # (q_len, kv_len)
    inside = in_blocks(kv_positions, block_size)

    mean_k = inside @ k / block_size  # (batch, n_kv_heads, blocks, head_dim)
    mean_v = inside @ v / block_size  # (…, v_head_dim)
    seen = mask @ inside.swapaxes(-1, -2)  # tokens of each block, (q_len, blocks)
    weights = softmax(scores_of(q, mean_k, seen == block_size, scale))
    compressed = weighted_sum(weights, mean_v)  # (…, q_len, v_head_dim)

    worth = worth_of_blocks(weights, seen, positions, block_size, n_kv_heads)
    read = chosen(worth, n_blocks) @ inside > 0  # (…, q_len, kv_len)
    read = np.repeat(read, n_heads // n_kv_heads, axis=1)
    selected = attention(q, k, v, mask & read, scale)

    near = attention(q, k, v, visible(positions, kv_positions, window), scale)
    gates = split_heads(1 / (1 + np.exp(-x @ W["gates"])), n_heads)  # (…, 3)
    branches = np.stack([compressed, selected, near], axis=-1)
    out = (gates[..., None, :] * branches).sum(axis=-1)
    return merge_heads(out) @ W["o"]  # (batch, q_len, d_model)
