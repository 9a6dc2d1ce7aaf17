"""The whole of attention in NumPy, one text to be read from top to bottom.

Every formula stands here as code, once, with nothing around it: no checks, no
tuning, no class. Both implementations of this package are compared with it.

Axes are (batch, heads, seq, head_dim). Positions are whole numbers (seq,), or
(batch, 1, seq) where rows differ, as with padding; -1 marks a slot without a token.
W holds weights by name, each (in, out), so that tokens x (batch, seq, d_model)
become x @ W["q"].
"""

import numpy as np

# ---- A soft choice ----


def softmax(scores):
    """Shares that sum to 1 in each row; zeros in a row that sees nothing."""
    lowest = np.finfo(scores.dtype).min  # finite: -inf - (-inf) would be NaN
    top = scores.max(axis=-1, keepdims=True, initial=lowest)
    parts = np.exp(scores - top)  # the largest is e^0 = 1, so none overflows
    total = parts.sum(axis=-1, keepdims=True)  # at least that 1, or 0
    return parts / np.maximum(total, 1)  # 0 / 1 where nothing is seen


# ---- Who sees whom ----


def visible(q_positions, kv_positions, window=np.inf):
    """Mark where a query may attend: at tokens of its window, not of the future."""
    q, kv = q_positions[..., :, None], kv_positions[..., None, :]
    return (kv >= 0) & (kv <= q) & (q - kv < window)  # (q_len, kv_len)


# ---- Attention, its heads in groups ----


def group_rows(x, n_kv_heads):
    """Query heads that share a key/value head, as the rows of one matrix.

    Head h reads key/value head h // group: neighbors share, no key is repeated.
    """
    batch, n_heads, q_len, width = x.shape
    group = n_heads // n_kv_heads
    return x.reshape(batch, n_kv_heads, group * q_len, width)  # no number moves


def scores_of(q, k, mask, scale):
    """For each head scale * q @ k.T, and -inf where the query may not attend."""
    products = group_rows(q, k.shape[1]) @ k.swapaxes(-1, -2)  # over head_dim
    products = products.reshape(*q.shape[:3], -1)  # (batch, n_heads, q_len, kv_len)
    return np.where(mask, scale * products, -np.inf)


def weighted_sum(weights, v):
    """For each head weights @ v."""
    sums = group_rows(weights, v.shape[1]) @ v  # over kv_len
    return sums.reshape(*weights.shape[:3], -1)  # (…, q_len, v_head_dim)


def attention(q, k, v, mask, scale):
    """For each head softmax(scale * q @ k.T) @ v, over the keys that are seen."""
    weights = softmax(scores_of(q, k, mask, scale))
    return weighted_sum(weights, v)


# ---- The same, a few keys at a time ----


def online_attention(q, k, v, mask, scale, block):
    """Attention that never has a row of scores together, and its log-sum-exp.

    Sums are kept relative to exp(top), the largest score so far. When a larger one
    comes, what has been summed shrinks.
    """
    top = np.full((*q.shape[:3], 1), np.finfo(q.dtype).min)  # (…, q_len, 1)
    total, out = 0.0, 0.0
    for start in range(0, k.shape[2], block):
        some = slice(start, start + block)
        scores = scores_of(q, k[:, :, some], mask[..., some], scale)
        higher = np.maximum(top, scores.max(axis=-1, keepdims=True))
        parts, shrink = np.exp(scores - higher), np.exp(top - higher)
        total = shrink * total + parts.sum(axis=-1, keepdims=True)
        out = shrink * out + weighted_sum(parts, v[:, :, some])
        top = higher
    lse = np.where(total == 0, -np.inf, top + np.log(np.maximum(total, 1)))
    return out / np.maximum(total, 1), lse[..., 0]


def merge_attention(out_a, lse_a, out_b, lse_b):
    """Attention over two sets of keys, as a soft choice between the two results."""
    share = softmax(np.stack([lse_a, lse_b], axis=-1))  # (batch, n_heads, q_len, 2)
    out = share[..., :1] * out_a + share[..., 1:] * out_b
    return out, np.logaddexp(lse_a, lse_b)


# ---- Where a token stands: rotary embeddings ----


def rope(x, positions, layout, theta=10_000.0):
    """Rotate each pair of numbers (a, b) by an angle that grows with the position.

    Pair i rotates by theta ** (-2 i / head_dim) radians a position.
    """
    pairs = x.shape[-1] // 2
    angles = positions[..., None] * theta ** (-np.arange(pairs) / pairs)
    cos, sin = np.cos(angles), np.sin(angles)  # (seq, pairs) each
    if layout == "half":  # number i with number i + pairs
        first, second = slice(0, pairs), slice(pairs, None)
    else:  # "interleaved": each number with its neighbor
        first, second = slice(0, None, 2), slice(1, None, 2)
    a, b = x[..., first], x[..., second]  # (batch, heads, seq, pairs) each
    rotated = np.empty_like(x)
    rotated[..., first], rotated[..., second] = a * cos - b * sin, a * sin + b * cos
    return rotated


# ---- What is kept of the past ----


def new_cache(batch, n_kv_heads, slots, head_dim, v_head_dim):
    """Slots for keys, values and positions, allocated once and all empty."""
    k = np.zeros((batch, n_kv_heads, slots, head_dim))
    v = np.zeros((batch, n_kv_heads, slots, v_head_dim))
    return k, v, np.full(slots, -1)


def append(cache, k_new, v_new, positions):
    """Write each new token into the slot of its position; the past stays."""
    k, v, kv_positions = cache
    k[:, :, positions], v[:, :, positions] = k_new, v_new
    kv_positions[positions] = positions
    return k, v, kv_positions  # all slots: those still empty are never seen


def append_to_ring(ring, k_new, v_new, positions):
    """Write each new token over the one that has just left the window.

    The first tokens of a chunk may still see what its last ones write over. So they
    get what was held and the chunk itself, put together before anything is written.
    """
    k, v, kv_positions = ring
    k_all = np.concatenate([k, k_new], axis=2)  # (…, window + q_len, head_dim)
    v_all = np.concatenate([v, v_new], axis=2)
    all_positions = np.concatenate([kv_positions, positions])
    window = len(kv_positions)
    last = slice(-window, None)  # of a longer chunk no more can stay
    slots = positions[last] % window
    k[:, :, slots], v[:, :, slots] = k_new[:, :, last], v_new[:, :, last]
    kv_positions[slots] = positions[last]
    return k_all, v_all, all_positions


# ---- Multi-head, grouped-query, multi-query and sliding-window attention ----


def split_heads(x, n_heads):
    """Cut the last axis into heads."""
    batch, seq, _ = x.shape
    x = x.reshape(batch, seq, n_heads, -1)  # (batch, seq, n_heads, head_dim)
    return x.swapaxes(1, 2)  # (batch, n_heads, seq, head_dim)


def merge_heads(x):
    """Put the heads side by side again."""
    batch, n_heads, seq, head_dim = x.shape
    x = x.swapaxes(1, 2)  # (batch, seq, n_heads, head_dim)
    return x.reshape(batch, seq, n_heads * head_dim)


def grouped_query_attention(
    x, W, positions, cache=None, *, n_heads, n_kv_heads, window=np.inf, layout=None
):
    """MHA with n_kv_heads = n_heads, MQA with 1, GQA between; or with a window."""
    q = split_heads(x @ W["q"], n_heads)  # (batch, n_heads, q_len, head_dim)
    k = split_heads(x @ W["k"], n_kv_heads)  # (batch, n_kv_heads, q_len, head_dim)
    v = split_heads(x @ W["v"], n_kv_heads)  # (…, v_head_dim)
    if layout is not None:
        q, k = rope(q, positions, layout), rope(k, positions, layout)
    kv_positions = positions
    if cache is not None:
        keep = append if window == np.inf else append_to_ring
        k, v, kv_positions = keep(cache, k, v, positions)  # kv_len instead of q_len
    mask = visible(positions, kv_positions, window)
    out = attention(q, k, v, mask, scale=q.shape[-1] ** -0.5)
    return merge_heads(out) @ W["o"]  # (batch, q_len, d_model)


# ---- Latent attention ----


def rms_norm(x, weight, eps=1e-6):
    """Each row divided by its root mean square."""
    return weight * x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)


def expanded(q_nope, q_rope, latent, k_rope, W, mask, scale):
    """Every latent (batch, 1, kv_len, rank) becomes each head's key and value."""
    k_nope = latent @ W["uk"]  # (batch, n_heads, kv_len, nope)
    v = latent @ W["uv"]  # (batch, n_heads, kv_len, v_head_dim)
    k_rope = np.repeat(k_rope, v.shape[1], axis=1)  # (batch, n_heads, kv_len, rope)
    q = np.concatenate([q_nope, q_rope], axis=-1)  # (…, q_len, nope + rope)
    k = np.concatenate([k_nope, k_rope], axis=-1)  # (…, kv_len, nope + rope)
    return attention(q, k, v, mask, scale)


def absorbed(q_nope, q_rope, latent, k_rope, W, mask, scale):
    """Each query goes to the latents, the keys and values of one head for all."""
    q_latent = q_nope @ W["uk"].swapaxes(-1, -2)  # (batch, n_heads, q_len, rank)
    q = np.concatenate([q_latent, q_rope], axis=-1)  # (…, q_len, rank + rope)
    k = np.concatenate([latent, k_rope], axis=-1)  # (batch, 1, kv_len, rank + rope)
    return attention(q, k, latent, mask, scale) @ W["uv"]  # rank becomes v_head_dim


def latent_attention(x, W, positions, cache=None, *, form, layout):
    """MLA: a token leaves one latent and one rotated key for all heads.

    form is expanded or absorbed: the same matrices, multiplied in another order.
    W["uk"] is (n_heads, rank, nope), W["uv"] (n_heads, rank, v_head_dim).
    """
    n_heads, nope = W["uk"].shape[0], W["uk"].shape[2]
    asks = x
    if "q_latent" in W:  # queries come from a latent too, which is not kept
        asks = rms_norm(x @ W["q_latent"], W["q_norm"])  # (batch, q_len, q_rank)
    q = split_heads(asks @ W["q"], n_heads)  # (batch, n_heads, q_len, nope + rope)
    q_nope, q_rope = q[..., :nope], rope(q[..., nope:], positions, layout)
    latent = rms_norm(x @ W["latent"], W["latent_norm"])  # normed before it is kept
    latent = split_heads(latent, 1)  # (batch, 1, q_len, rank): one head for all
    k_rope = split_heads(x @ W["k_rope"], 1)  # (batch, 1, q_len, rope)
    k_rope = rope(k_rope, positions, layout)  # rotated before it is kept
    kv_positions = positions
    if cache is not None:
        latent, k_rope, kv_positions = append(cache, latent, k_rope, positions)
    mask = visible(positions, kv_positions)
    scale = q.shape[-1] ** -0.5  # in both forms: the scores are the same numbers
    out = form(q_nope, q_rope, latent, k_rope, W, mask, scale)
    return merge_heads(out) @ W["o"]  # (batch, q_len, d_model)


# ---- A decoder ----


def gated_mlp(x, W):
    """Each token by itself: (silu(x @ gate) * (x @ up)) @ down."""
    gate = x @ W["gate"]  # (batch, seq, d_ff)
    silu = gate / (1 + np.exp(-gate))
    return (silu * (x @ W["up"])) @ W["down"]  # (batch, seq, d_model)


def decoder_layer(x, W, attend, positions, cache=None):
    """Attention and MLP, each behind a norm and added to the stream."""
    x = x + attend(rms_norm(x, W["attention_norm"]), W, positions, cache)
    return x + gated_mlp(rms_norm(x, W["mlp_norm"]), W)


def logits_of(tokens, W, attend, positions, caches):
    """Score how well each word of the vocabulary would follow each token."""
    x = W["embedding"][tokens]  # (batch, seq, d_model)
    for layer, cache in zip(W["layers"], caches, strict=True):
        x = decoder_layer(x, layer, attend, positions, cache)
    return rms_norm(x, W["norm"]) @ W["embedding"].T  # (batch, seq, vocab_size)


def generate(tokens, n_new, W, attend, caches):
    """The likeliest word again and again: first the prompt, then token by token."""
    known = 0
    for _ in range(n_new):
        positions = np.arange(known, tokens.shape[1])  # not yet in the caches
        logits = logits_of(tokens[:, known:], W, attend, positions, caches)
        likeliest = logits[:, -1:].argmax(axis=-1)  # (batch, 1)
        known = tokens.shape[1]
        tokens = np.concatenate([tokens, likeliest], axis=1)
    return tokens
