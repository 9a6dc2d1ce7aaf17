"""What later models changed of attention, in NumPy, for readers of the first text.

Written as it is, and with its functions: each formula as code, no checks, no class.
"""

import numpy as np

from mini_attn.plain import (
    attention,
    gated_mlp,
    merge_heads,
    rms_norm,
    rope,
    scores_of,
    softmax,
    split_heads,
    visible,
    weighted_sum,
)

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


# ---- A window that keeps the first tokens too ----


def append_behind_sinks(cache, k_new, v_new, positions, sink_tokens):
    """Write each first token into a slot of its own, the others into a ring behind.

    A chunk gets what was held and itself, as from a ring alone.
    """
    k, v, kv_positions = cache
    k_all = np.concatenate([k, k_new], axis=2)  # (…, slots + q_len, head_dim)
    v_all = np.concatenate([v, v_new], axis=2)
    all_positions = np.concatenate([kv_positions, positions])
    window = len(kv_positions) - sink_tokens
    in_ring = sink_tokens + (positions - sink_tokens) % window
    slots = np.where(positions < sink_tokens, positions, in_ring)
    stay = (positions < sink_tokens) | (positions > positions[-1] - window)
    slots = slots[stay]
    k[:, :, slots], v[:, :, slots] = k_new[:, :, stay], v_new[:, :, stay]
    kv_positions[slots] = positions[stay]
    return k_all, v_all, all_positions


def sink_window_attention(
    x, W, positions, cache=None, *, n_heads, n_kv_heads, window, sink_tokens, layout
):
    """Grouped-query attention to the last tokens, and to the first of the text."""
    q = split_heads(x @ W["q"], n_heads)  # (batch, n_heads, q_len, head_dim)
    k = split_heads(x @ W["k"], n_kv_heads)  # (batch, n_kv_heads, q_len, head_dim)
    v = split_heads(x @ W["v"], n_kv_heads)  # (…, v_head_dim)
    if layout is not None:
        q, k = rope(q, positions, layout), rope(k, positions, layout)
    kv_positions = positions
    if cache is not None:
        held = append_behind_sinks(cache, k, v, positions, sink_tokens)
        k, v, kv_positions = held  # kv_len instead of q_len
    first = (kv_positions < sink_tokens)[..., None, :]  # of every query
    near = visible(positions, kv_positions, window)
    mask = near | (visible(positions, kv_positions) & first)
    out = attention(q, k, v, mask, scale=q.shape[-1] ** -0.5)
    return merge_heads(out) @ W["o"]  # (batch, q_len, d_model)


# ---- What stands around the attention ----


def normed_as_one(x, W, n_heads, n_kv_heads):
    """Queries and keys, each with one root mean square for all heads: OLMo 2."""
    q = rms_norm(x @ W["q"], W["q_norm"])  # (batch, q_len, n_heads * head_dim)
    k = rms_norm(x @ W["k"], W["k_norm"])  # (batch, q_len, n_kv_heads * head_dim)
    return split_heads(q, n_heads), split_heads(k, n_kv_heads)


def layer_with_norms_after(x, W, attend, positions, cache=None):
    """Normalize what a block adds to the stream, not what it reads: OLMo 2."""
    x = x + rms_norm(attend(x, W, positions, cache), W["attention_norm_after"])
    return x + rms_norm(gated_mlp(x, W), W["mlp_norm_after"])


def layer_with_norms_around(x, W, attend, positions, cache=None):
    """Both are normalized: Gemma 2 and 3."""
    y = attend(rms_norm(x, W["attention_norm"]), W, positions, cache)
    x = x + rms_norm(y, W["attention_norm_after"])
    y = gated_mlp(rms_norm(x, W["mlp_norm"]), W)
    return x + rms_norm(y, W["mlp_norm_after"])


def bounded(x, bound):
    """Small numbers stay nearly as they are, large ones stay below the bound."""
    return bound * np.tanh(x / bound)


def bounded_logits(tokens, W, layer_of, attend, positions, caches, bound):
    """Logits of a decoder with scaled embeddings and bounded logits: Gemma 2."""
    x = W["embedding"][tokens]  # (batch, seq, d_model)
    x = x * np.sqrt(x.shape[-1])
    for layer, cache in zip(W["layers"], caches, strict=True):
        x = layer_of(x, layer, attend, positions, cache)
    logits = rms_norm(x, W["norm"]) @ W["embedding"].T  # (batch, seq, vocab_size)
    return bounded(logits, bound)


def layer_norm(x, weight, bias, eps=1e-6):
    """Each row less its mean, divided by its standard deviation."""
    x = x - x.mean(axis=-1, keepdims=True)
    return weight * x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) + bias


# ---- Experts ----


def route(x, W, experts_per_token):
    """Choose the experts each token takes, and its share of each: they sum to 1.

    The largest logits are chosen, of equal ones the first, and only then made
    shares. The softmax of all, cut to the chosen and divided by its sum, is the
    same.
    """
    logits = x @ W["router"] + W["router_bias"]  # (batch, seq, n_experts)
    order = np.argsort(-logits, axis=-1, kind="stable")
    chosen = order[..., :experts_per_token]  # (batch, seq, experts_per_token)
    return softmax(np.take_along_axis(logits, chosen, axis=-1)), chosen


def route_by_sigmoid(x, W, experts_per_token):
    """Choose by a bias, share without it: DeepSeek-V3 and MiniMax-M2.

    The bias of an expert rises while it has too few tokens. What it adds to the
    choice, the shares don't see.
    """
    scores = 1 / (1 + np.exp(-x @ W["router"]))  # (batch, seq, n_experts)
    order = np.argsort(-(scores + W["router_bias"]), axis=-1, kind="stable")
    chosen = order[..., :experts_per_token]  # (batch, seq, experts_per_token)
    shares = np.take_along_axis(scores, chosen, axis=-1)
    return shares / shares.sum(axis=-1, keepdims=True), chosen


def silu_unit(gate, up):
    """The gated unit of most: silu(gate) * up."""
    return gate / (1 + np.exp(-gate)) * up


def clamped_unit(gate, up, alpha=1.702, limit=7.0):
    """The gated unit of gpt-oss: bounded, and up is a change of 1."""
    gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    return gate / (1 + np.exp(-alpha * gate)) * (up + 1)


def mixture_of_experts(x, W, experts_per_token, unit, router=route):
    """Each token through the few MLPs that it takes, added with its shares.

    W["gate"] and W["up"] are (n_experts, d_model, d_ff), W["down"] the way back.
    """
    shares, chosen = router(x, W, experts_per_token)
    out = np.zeros_like(x)  # (batch, seq, d_model)
    for place in np.ndindex(chosen.shape):
        token, expert = place[:2], chosen[place]
        gate = x[token] @ W["gate"][expert] + W["gate_bias"][expert]  # (d_ff,)
        up = x[token] @ W["up"][expert] + W["up_bias"][expert]
        down = unit(gate, up) @ W["down"][expert] + W["down_bias"][expert]
        out[token] += shares[place] * down
    return out


# ---- Fewer weights: a row of W makes one output ----


def wanda_scores(W, x):
    """Score each weight by what the output loses without it alone."""
    return np.abs(W) * np.sqrt((x * x).sum(axis=0))  # x is (tokens, in)


def keep_highest(W, scores, kept):
    """So many weights of each row stay; 2 of 4 if W and scores have rows of 4."""
    order = scores.argsort(axis=1, kind="stable").argsort(axis=1)  # 0 is the lowest
    return np.where(order >= W.shape[1] - kept, W, 0)
