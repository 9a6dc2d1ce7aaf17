"""A state instead of a cache, in NumPy: a matrix per head that each token rewrites.

Each formula as code, no checks, no class. A decay is what is left of the state at a
token, (…, 1) for all of a head or (…, key_dim) for each channel of its keys.
"""

import numpy as np

# ---- One token ----


def write(state, k, v):
    """Add a pair of key and value: what stands under other keys is not asked."""
    return state + k[..., :, None] * v[..., None, :]  # (…, key_dim, v_head_dim)


def read(state, q):
    """Ask the state: each value counts by its key's product with q."""
    return (q[..., None, :] @ state)[..., 0, :]  # (…, v_head_dim)


def step(state, q, k, v, decay, beta=None):
    """Forget, write, read. The delta rule (beta) writes what the state lacks."""
    state = decay[..., :, None] * state
    if beta is not None:
        v = beta[..., None] * (v - read(state, k))
    state = write(state, k, v)
    return read(state, q), state


def recurrent_attention(q, k, v, decay, beta=None, state=0.0):
    """Take all tokens, one after the other."""
    out = np.empty_like(v)
    for t in range(q.shape[2]):
        now = None if beta is None else beta[:, :, t]
        token = q[:, :, t], k[:, :, t], v[:, :, t], decay[:, :, t]
        out[:, :, t], state = step(state, *token, now)
    return out, state


# ---- All tokens at once ----


def decays_between(decay):
    """Multiply for i and j the decays after j up to i; 0 for a later j."""
    seq = decay.shape[2]
    i, j, t = np.ogrid[:seq, :seq, :seq]
    inside = ((j < t) & (t <= i))[..., None]  # (i, j, t, 1)
    between = np.where(inside, decay[:, :, None, None], 1).prod(axis=4)
    return between * (j <= i)  # (batch, heads, i, j, 1 or key_dim)


def parallel_attention(q, k, v, decay, beta=None, state=None):
    """Attend without a softmax, and read what is left of an earlier state.

    What the state lacks at a token depends on the tokens before: one triangular
    system has it all.
    """
    between = decays_between(decay)
    weights = (q[:, :, :, None] * k[:, :, None] * between).sum(axis=-1)
    left = np.cumprod(decay, axis=2)  # of the state, at each token
    if state is None:
        state = np.zeros((*k.shape[:2], k.shape[3], v.shape[3]))
    if beta is not None:
        seeks = (k[:, :, :, None] * k[:, :, None] * between).sum(axis=-1)
        seeks = beta[..., None] * np.tril(seeks, -1)
        lacks = beta[..., None] * (v - (k * left) @ state)
        v = np.linalg.solve(np.eye(q.shape[2]) + seeks, lacks)
    out = weights @ v + (q * left) @ state  # (batch, heads, seq, v_head_dim)
    at_end = (k * between[:, :, -1]).swapaxes(2, 3)
    return out, left[:, :, -1, :, None] * state + at_end @ v


def chunked_attention(q, k, v, decay, beta=None, state=None, *, chunk):
    """Attend within a chunk, and hand the state from chunk to chunk."""
    parts = []
    for start in range(0, q.shape[2], chunk):
        now = np.s_[:, :, start : start + chunk]
        part = None if beta is None else beta[now]
        tokens = q[now], k[now], v[now], decay[now]
        out, state = parallel_attention(*tokens, part, state)
        parts.append(out)
    return np.concatenate(parts, axis=2), state


# ---- What stands around it ----


def feature_map(x):
    """Make every number positive: elu(x) + 1."""
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def linear_attention(q, k, v):
    """Weight values by products of features instead of exponentials of products.

    A column of ones among the values sums the weights.
    """
    ones = np.ones_like(v[..., :1])
    columns = np.concatenate([v, ones], axis=-1)
    q, k = feature_map(q), feature_map(k)
    out, _ = recurrent_attention(q, k, columns, np.ones_like(ones))
    return out[..., :-1] / out[..., -1:]


def short_convolution(x, weight, held):
    """Sum the last few tokens of each channel, weighted; they are what it keeps."""
    seq, width = x.shape[1], weight.shape[1]
    x = np.concatenate([held, x], axis=1)  # (batch, width - 1 + seq, channels)
    out = sum(weight[:, i] * x[:, i : i + seq] for i in range(width))
    return out, x[:, seq:]
