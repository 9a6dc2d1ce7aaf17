"""Entries that stand for several tokens, in NumPy: the formula and nothing else.

A layer has a key for each recent token and one for each complete span of tokens,
all for all heads. Each key is its own value.
"""

import numpy as np

from mini_attn.plain import (
    append_to_ring,
    merge_heads,
    rms_norm,
    rope,
    softmax,
    split_heads,
    visible,
)
from mini_attn.plain.later import attention_with_sinks
from mini_attn.plain.serving import chosen, index_scores


def rotate_last(x, positions, rotary_dim, layout, theta):
    """Rotate the last numbers of each head by its position; the others stay."""
    still, turned = np.split(x, [max(x.shape[-1] - rotary_dim, 0)], axis=-1)
    return np.concatenate([still, rope(turned, positions, layout, theta)], axis=-1)


def gated_means(values, gates, span, spans):
    """For each number its mean over a span's tokens, with shares softmax(gates)."""
    inside = span[..., None, :] == spans[:, None]  # (…, spans, tokens)
    gates = np.where(inside[..., None], gates[..., None, :, :], -np.inf)
    shares = softmax(gates.swapaxes(-1, -2))  # over the tokens
    return (shares * values.swapaxes(-1, -2)[..., None, :, :]).sum(axis=-1)


def entries_of(x, W, positions, cache, compress, turn):
    """One key for each complete span of tokens, at the position of its first token.

    A token says a value and a gate for each number of its span's entry; where it
    says twice as many, the first half is for the entry of the span behind.
    """
    values = split_heads(x @ W["values"], 1)  # (…, q_len, width or twice it)
    gates = split_heads(x @ W["gates"], 1) + W["bias"][positions % compress]
    at, spans = positions, np.arange(positions.max() // compress + 1)
    if cache is not None:  # of the last span too
        waiting, held = cache
        values, gates, at = append_to_ring(waiting, values, gates, positions)
        spans = spans[positions.min() // compress :]
    span = np.where(at < 0, -2, at // compress)  # empty slots are in none
    if values.shape[-1] > len(W["norm"]):  # spans overlap
        values = np.concatenate(np.split(values, 2, axis=-1), axis=-2)
        gates = np.concatenate(np.split(gates, 2, axis=-1), axis=-2)
        span = np.concatenate([span + 1, span], axis=-1)  # (…, 2 * tokens)
    entries = rms_norm(gated_means(values, gates, span, spans), W["norm"])
    entries = turn(entries, spans * compress)  # (batch, 1, spans, width)
    if cache is None:
        return entries
    spans = spans[: held.shape[2] - spans[0]]  # no place for one without an end
    held[:, :, spans] = entries[:, :, : len(spans)]
    return held


def grouped_output(out, W):
    """Project heads, or first each group of heads by itself to a few numbers."""
    out = merge_heads(out)
    if "o_groups" in W:  # (groups, heads * head_dim / groups, o_lora_rank)
        parts = np.stack(np.split(out, len(W["o_groups"]), axis=-1), axis=1)
        out = merge_heads(parts @ W["o_groups"])
    return out @ W["o"]  # (batch, q_len, d_model)


def compressed_attention(
    x, W, positions, cache=None, *, n_heads, window, compress, index_topk=None,
    rotary_dim=0, layout="interleaved", theta=10_000.0,
):  # fmt: skip
    """Attention to recent tokens, and to all entries or those that are chosen."""
    turn = lambda a, at: rotate_last(a, at, rotary_dim, layout, theta)  # noqa: E731
    ring, waiting, index_waiting = (None,) * 3 if cache is None else cache
    asks = rms_norm(x @ W["q_latent"], W["q_norm"]) if "q_norm" in W else x
    q = turn(rms_norm(split_heads(asks @ W["q"], n_heads), 1), positions)
    keys = turn(split_heads(rms_norm(x @ W["kv"], W["kv_norm"]), 1), positions)
    at = positions
    if cache is not None:
        keys, _, at = append_to_ring(ring, keys, keys[..., :0], positions)
    entries = entries_of(x, W["entries"], positions, waiting, compress, turn)
    ends = compress * np.arange(1, entries.shape[2] + 1) - 1  # their last tokens
    seen = visible(positions, ends)  # (q_len, entries)
    if index_topk is not None:
        own = W["index"]
        head_weights = (x @ own["heads"]).swapaxes(1, 2)  # (batch, heads, q_len)
        index_q = split_heads(asks @ own["q"], head_weights.shape[1])
        index_k = entries_of(x, own, positions, index_waiting, compress, turn)
        scores = index_scores(turn(index_q, positions), index_k, head_weights)
        scores = np.where(seen, scores[:, None], -np.inf)
        seen = seen & chosen(scores, index_topk)
    near = visible(positions, at, window) & np.ones((*seen.shape[:-1], 1), bool)
    mask = np.concatenate([near, seen], axis=-1)  # (…, q_len, tokens + entries)
    both = np.concatenate([keys, entries], axis=2)
    out = attention_with_sinks(q, both, both, mask, q.shape[-1] ** -0.5, W["sinks"])
    return grouped_output(turn(out, -positions), W)  # values turn by distance
