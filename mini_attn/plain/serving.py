"""What serving adds to attention in NumPy, for readers of the first text.

Written as it is, and with its functions: each formula as code, no checks, no class.
"""

import numpy as np

from mini_attn.plain import (
    append,
    attention,
    merge_attention,
    merge_heads,
    online_attention,
    rope,
    scores_of,
    softmax,
    split_heads,
    visible,
    weighted_sum,
)
from mini_attn.plain.later import layer_norm

# ---- Which keys stay ----


def gathered(weights, n_kv_heads):
    """Weights of the query heads that share a key/value head, added up."""
    batch, _, q_len, kv_len = weights.shape
    groups = weights.reshape(batch, n_kv_heads, -1, q_len, kv_len)
    return groups.sum(axis=2)  # (batch, n_kv_heads, q_len, kv_len)


def heavy_hitters(weights, before):
    """Sum what each key has received from all queries; the new keys come last."""
    totals = weights.sum(axis=2)  # (batch, n_kv_heads, kv_len)
    totals[..., : before.shape[-1]] += before
    return totals


def observed(weights, observe, kernel):
    """Pool what the last queries see before them, keys with their neighbors."""
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
    """Score keys for a token: small heads, weighted, which share one key."""
    products = np.maximum(q @ k.swapaxes(-1, -2), 0)  # (…, heads, q_len, kv_len)
    products = head_weights[..., None] * products
    return products.sum(axis=1)  # (batch, q_len, kv_len)


def chosen(scores, count):
    """Mark the largest numbers of each row; of equal ones the earlier."""
    order = np.argsort(-scores, axis=-1, kind="stable")[..., :count]
    found = np.zeros(scores.shape, bool)
    np.put_along_axis(found, order, True, axis=-1)
    return found


def indexed_key_attention(
    x, W, positions, cache=None, *, n_heads, n_kv_heads, index_topk, layout=None
):
    """Grouped-query attention to the keys that an indexer chooses."""
    q = split_heads(x @ W["q"], n_heads)  # (batch, n_heads, q_len, head_dim)
    k = split_heads(x @ W["k"], n_kv_heads)  # (batch, n_kv_heads, q_len, head_dim)
    v = split_heads(x @ W["v"], n_kv_heads)  # (…, v_head_dim)
    index_q = split_heads(x @ W["index_q"], W["heads"].shape[1])  # (…, q_len, dim)
    index_k = layer_norm(x @ W["index_k"], W["norm"], W["bias"])  # for all heads
    index_k = split_heads(index_k, 1)  # (batch, 1, q_len, dim)
    if layout is not None:
        q, k = rope(q, positions, layout), rope(k, positions, layout)
        index_q, index_k = (rope(a, positions, layout) for a in (index_q, index_k))
    kv_positions = positions
    if cache is not None:
        k, v, kv_positions = append(cache[:3], k, v, positions)
        cache[3][:, :, positions] = index_k
        index_k = cache[3]  # kv_len instead of q_len
    mask = visible(positions, kv_positions)
    head_weights = (x @ W["heads"]).swapaxes(1, 2)  # (batch, index_n_heads, q_len)
    scores = index_scores(index_q, index_k, head_weights)[:, None]  # (batch, 1, …)
    mask = mask & chosen(np.where(mask, scores, -np.inf), index_topk)
    out = attention(q, k, v, mask, scale=q.shape[-1] ** -0.5)
    return merge_heads(out) @ W["o"]  # (batch, q_len, d_model)


def in_blocks(kv_positions, block_size):
    """Mark which tokens lie in which block; an empty slot lies in none."""
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


# ---- Fewer bits ----
# groups (…, size) are rows of weights that share a scale: W.reshape(-1, size).
# W is (out, in) here: a row makes one output.

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])  # the sizes of a float of 4 bits
EXPONENTS = np.arange(-6, 9)[:, None]  # of a float of 8 bits, with 8 mantissas each
ABOVE = 2.0**EXPONENTS * (1 + np.arange(8) / 8)  # all numbers with a leading 1
E4M3 = np.concatenate([2.0**-9 * np.arange(8), ABOVE.ravel()])[:-1]  # up to 448


def whole_numbers(groups, levels):
    """Multiples of a scale, from -levels to levels: 7 for 4 bits, 127 for 8."""
    scale = np.abs(groups).max(axis=1, keepdims=True) / levels  # (…, 1)
    return scale * np.rint(groups / np.where(scale > 0, scale, 1))


def whole_numbers_from_zero(groups, levels):
    """Codes 0 to levels, one of which means 0: for groups that lean to a side."""
    low = np.minimum(groups.min(axis=1, keepdims=True), 0)
    high = np.maximum(groups.max(axis=1, keepdims=True), 0)
    scale = np.where(high > low, (high - low) / levels, 1)  # (…, 1)
    zero = np.rint(-low / scale)
    codes = np.clip(np.rint(groups / scale) + zero, 0, levels)
    return scale * (codes - zero)


def nearest(x, sizes):
    """The nearest number of such a size; half-way, that of the even code."""
    between = (sizes[1:] + sizes[:-1]) / 2
    low = np.searchsorted(between, abs(x))
    high = np.searchsorted(between, abs(x), side="right")
    return np.copysign(sizes[np.where(low % 2, high, low)], x)


def mxfp4(groups):
    """Floats of 4 bits, 32 with a power of two: 4.25 bits a weight."""
    largest = np.abs(groups).max(axis=1, keepdims=True)
    power = np.floor(np.log2(np.where(largest > 0, largest, 1)))
    scale = 2.0 ** (power - 2)  # 6 is 1.5 * 2 ** 2
    return scale * nearest(groups / scale, E2M1)


def nvfp4(groups):
    """Floats of 4 bits, 16 with a float of 8, all with one more scale: 4.5 bits."""
    largest = np.abs(groups).max(axis=1, keepdims=True)
    whole = largest.max() / (6 * 448)  # the largest scale becomes 448
    scale = whole * nearest(largest / 6 / whole, E4M3)
    return scale * nearest(groups / np.where(scale > 0, scale, np.inf), E2M1)
