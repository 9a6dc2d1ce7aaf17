"""What serving adds to attention in NumPy, for who has read plain.py.

Written as it is, and with its functions: each formula as code, no checks, no class.
"""

import numpy as np

from mini_attn.plain import merge_attention, online_attention, visible

# ---- Pages ----


def paged_attention(q, k_blocks, v_blocks, table, length, scale):
    """One text's last queries over its blocks, wherever they lie; none is moved.

    k_blocks is (n_blocks, n_kv_heads, block_size, head_dim), v_blocks likewise.
    """
    block_size = k_blocks.shape[2]
    q_positions = np.arange(length - q.shape[2], length)
    out = np.zeros((*q.shape[:3], v_blocks.shape[3]))
    lse = np.full(q.shape[:3], -np.inf)
    for i, block in enumerate(table):
        k, v = k_blocks[block][None], v_blocks[block][None]  # (1, …, head_dim)
        positions = i * block_size + np.arange(block_size)
        mask = visible(q_positions, positions)  # (q_len, block_size)
        part = online_attention(q, k, v, mask, scale, block_size)
        out, lse = merge_attention(out, lse, *part)
    return out, lse


def full_blocks(tokens, block_size):
    """A key for each full block: its tokens and all before them."""
    ends = range(block_size, len(tokens) + 1, block_size)
    return [tuple(tokens[:end]) for end in ends]


def learn_prefix(tokens, table, found, block_size):
    """Remember where the full blocks of a text lie; of two the first stays."""
    for key, block in zip(full_blocks(tokens, block_size), table, strict=False):
        found.setdefault(key, block)


def known_prefix(tokens, found, block_size):
    """The blocks that a text shares with earlier ones; one token is left to run."""
    blocks = []
    for key in full_blocks(tokens[:-1], block_size):
        if key not in found:
            break
        blocks.append(found[key])
    return blocks
