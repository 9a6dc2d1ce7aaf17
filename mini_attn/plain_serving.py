"""What serving adds to attention in NumPy, for who has read plain.py.

Written as it is, and with its functions: each formula as code, no checks, no class.
"""

import numpy as np

from mini_attn.plain import softmax

# ---- Experts ----


def route(x, W, experts_per_token):
    """Which experts each token takes, and its share of each: they sum to 1.

    The largest logits are chosen, of equal ones the first, and only then made
    shares. The softmax of all, cut to the chosen and divided by its sum, is the
    same.
    """
    logits = x @ W["router"] + W["router_bias"]  # (batch, seq, n_experts)
    order = np.argsort(-logits, axis=-1, kind="stable")
    chosen = order[..., :experts_per_token]  # (batch, seq, experts_per_token)
    return softmax(np.take_along_axis(logits, chosen, axis=-1)), chosen


def silu_unit(gate, up):
    """The gated unit of most: silu(gate) * up."""
    return gate / (1 + np.exp(-gate)) * up


def clamped_unit(gate, up, alpha=1.702, limit=7.0):
    """The gated unit of gpt-oss: bounded, and up is a change of 1."""
    gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    return gate / (1 + np.exp(-alpha * gate)) * (up + 1)


def mixture_of_experts(x, W, experts_per_token, unit):
    """Each token through the few MLPs that it takes, added with its shares.

    W["gate"] and W["up"] are (n_experts, d_model, d_ff), W["down"] the way back.
    """
    shares, chosen = route(x, W, experts_per_token)
    out = np.zeros_like(x)  # (batch, seq, d_model)
    for place in np.ndindex(chosen.shape):
        token, expert = place[:2], chosen[place]
        gate = x[token] @ W["gate"][expert] + W["gate_bias"][expert]  # (d_ff,)
        up = x[token] @ W["up"][expert] + W["up_bias"][expert]
        down = unit(gate, up) @ W["down"][expert] + W["down_bias"][expert]
        out[token] += shares[place] * down
    return out
