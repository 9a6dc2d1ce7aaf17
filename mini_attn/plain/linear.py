"""Layers that keep a state, in NumPy: what stands around the four rules.

A cache is a list: the state, the last tokens of the convolution, and how many
tokens there were. W holds weights by name, each (in, out); "conv" is (channels,
width).
"""

import numpy as np

from mini_attn.plain import merge_heads, rms_norm, split_heads
from mini_attn.plain.state import short_convolution


def sigmoid(x):
    """Open a gate: from 0 to 1."""
    return 1 / (1 + np.exp(-x))


def silu(x):
    """Pass what is positive, smoothly."""
    return x * sigmoid(x)


def softplus(x):
    """Make a number positive: log(1 + e^x)."""
    return np.logaddexp(0, x)


def unit(x):
    """Give each vector the length 1."""
    return x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + 1e-6)


def queries_keys_values(x, W, seen, n_heads, cache):
    """Project, sum the last few tokens of each channel, and cut into heads."""
    mixed = np.concatenate([x @ W[name] for name in "qkv"], axis=2) * seen
    if "conv" in W:
        tail = np.zeros((len(x), W["conv"].shape[1] - 1, mixed.shape[2]))
        tail = tail if cache is None or cache[1] is None else cache[1]
        mixed, tail = short_convolution(mixed, W["conv"], tail)
        if cache is not None:
            cache[1] = tail
    mixed = silu(mixed) * seen
    keys = W["q"].shape[1]
    q, k, v = np.split(mixed, [keys, 2 * keys], axis=2)
    width = W["head_dim"]  # one query and key may serve several heads
    q, k = (split_heads(a, keys // width) for a in (q, k))
    q, k = (np.repeat(a, n_heads // (keys // width), axis=1) for a in (q, k))
    return q, k, split_heads(v, n_heads)


def remember(rule, seen, q, k, v, log_decay, beta, cache):
    """Run the tokens through the state; a padded one leaves it as it was."""
    kept = seen[:, None]  # (batch, 1, seq, 1)
    decay = np.exp(log_decay * kept)
    beta = None if beta is None else beta * kept[..., 0]
    state = np.zeros((*k.shape[:2], k.shape[3], v.shape[3]))
    state = state if cache is None or cache[0] is None else cache[0]
    out, state = rule(q, k, v, decay, beta, state)
    if cache is not None:
        cache[0], cache[2] = state, cache[2] + q.shape[2]
    return out


def normed_then_gated(out, gate, W, opens):
    """Norm each head, open its gate, and leave."""
    normed = merge_heads(rms_norm(out, W["norm"]))
    return (normed * opens(gate)) @ W["o"]


def seen_of(x, positions):
    """Mark real tokens with 1, (batch, seq, 1)."""
    return np.broadcast_to((positions >= 0)[..., None], (*x.shape[:2], 1)) * 1.0


def lightning_layer(x, W, positions, cache=None, *, n_heads, rule):
    """Forget at one rate for each head, whatever the tokens say."""
    seen = seen_of(x, positions.reshape(-1, x.shape[1]))
    q, k, v = queries_keys_values(x, W, seen, n_heads, cache)
    log_decay = -np.ones_like(q[..., :1]) * W["rates"][:, None, None]
    out = remember(rule, seen, q, k, v, log_decay, None, cache)
    return normed_then_gated(out, x @ W["g"], W, sigmoid)


def gated_delta_layer(x, W, positions, cache=None, *, n_heads, rule):
    """Forget as the token says, and replace what stands under its key."""
    seen = seen_of(x, positions.reshape(-1, x.shape[1]))
    q, k, v = queries_keys_values(x, W, seen, n_heads, cache)
    steps = softplus(x @ W["a"] + W["dt_bias"]).swapaxes(1, 2)  # (…, heads, seq)
    log_decay = (-np.exp(W["A_log"])[:, None] * steps)[..., None]
    beta = W["most"] * sigmoid(x @ W["b"]).swapaxes(1, 2)
    q = unit(q) * W["scale"]
    out = remember(rule, seen, q, unit(k), v, log_decay, beta, cache)
    return normed_then_gated(out, x @ W["g"], W, silu)


def kimi_delta_layer(x, W, positions, cache=None, *, n_heads, rule):
    """Forget each channel of the keys at its own rate, made by a narrow product."""
    seen = seen_of(x, positions.reshape(-1, x.shape[1]))
    q, k, v = queries_keys_values(x, W, seen, n_heads, cache)
    steps = split_heads(softplus(x @ W["f_a"] @ W["f_b"] + W["dt_bias"]), n_heads)
    log_decay = -np.exp(W["A_log"])[:, None, None] * steps
    beta = W["most"] * sigmoid(x @ W["b"]).swapaxes(1, 2)
    q = unit(q) * W["scale"]
    out = remember(rule, seen, q, unit(k), v, log_decay, beta, cache)
    return normed_then_gated(out, x @ W["g_a"] @ W["g_b"], W, sigmoid)


def mamba2_layer(x, W, positions, cache=None, *, n_heads, rule):
    """Let one step say how much is forgotten and how much a value counts."""
    seen = seen_of(x, positions.reshape(-1, x.shape[1]))
    q, k, v = queries_keys_values(x, W, seen, n_heads, cache)
    steps = softplus(x @ W["a"] + W["dt_bias"]).swapaxes(1, 2)[..., None]
    log_decay = -np.exp(W["A_log"])[:, None, None] * steps
    steps = steps * seen[:, None]
    out = remember(rule, seen, q, k, steps * v, log_decay, None, cache)
    out = merge_heads(out + W["D"][:, None, None] * v) * silu(x @ W["g"])
    groups = W["q"].shape[1] // W["head_dim"]
    each = out.reshape(*out.shape[:2], groups, -1)  # heads that share a key
    normed = rms_norm(each, np.ones(each.shape[3])).reshape(out.shape)
    return (normed * W["norm"]) @ W["o"]
