"""Attention whose query heads share key/value heads."""

import numpy as np


def grouped_attention(q, k, v):
    batch, n_heads, q_len, head_dim = q.shape
    n_kv_heads = k.shape[1]
    group = n_heads // n_kv_heads
    groups = q.reshape(batch, n_kv_heads, group, q_len, head_dim)
    scores = groups @ k[:, :, None].swapaxes(-1, -2) / np.sqrt(head_dim)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return (weights @ v[:, :, None]).reshape(q.shape)


REFERENCE = grouped_attention


def _variant(*, keys=None, values=None, scale=None, axis=-1, soft=True, pooled=False):
    """Attention after copying heads by a rule, with one thing changed."""

    def answer(q, k, v):
        n_heads, n_kv_heads = q.shape[1], k.shape[1]
        if pooled:
            k, v = k.mean(axis=1, keepdims=True), v.mean(axis=1, keepdims=True)
            n_kv_heads = 1
        group = n_heads // n_kv_heads
        own = np.arange(n_heads) // group
        k = k[:, own if keys is None else keys(np.arange(n_heads), n_kv_heads)]
        v = v[:, own if values is None else values(np.arange(n_heads), n_kv_heads)]
        scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale(q))
        weights = np.exp(scores)
        weights = weights / weights.sum(axis=axis, keepdims=True) if soft else scores
        return weights @ v

    return answer


def _dealt(heads, n_kv_heads):
    return heads % n_kv_heads


def _first(heads, n_kv_heads):
    return heads * 0


def _divided(heads, n_kv_heads):
    return heads // n_kv_heads % n_kv_heads


def _starter(q, k, v):
    raise NotImplementedError


def _no_groups(q, k, v):
    return q @ k.swapaxes(-1, -2) @ v


def _groups_left(q, k, v):
    batch, _, q_len, head_dim = q.shape
    return grouped_attention(q, k, v).reshape(batch, k.shape[1], -1, q_len, head_dim)


def _reversed(heads, n_kv_heads):
    return n_kv_heads - 1 - heads // (len(heads) // n_kv_heads)


def _softmax(scores, axis=-1):
    weights = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return weights / weights.sum(axis=axis, keepdims=True)


def _grouped(q, k):
    batch, n_heads, q_len, head_dim = q.shape
    return q.reshape(batch, k.shape[1], n_heads // k.shape[1], q_len, head_dim)


def _ends_only(q, k, v):
    first = _variant(keys=_first, values=_first)
    return (grouped_attention if k.shape[1] == q.shape[1] else first)(q, k, v)


def _averaged_queries(q, k, v):
    out = grouped_attention(_grouped(q, k).mean(axis=2), k, v)
    return np.repeat(out, q.shape[1] // k.shape[1], axis=1)


def _one_softmax(q, k, v):
    scores = _grouped(q, k) @ k[:, :, None].swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return (_softmax(scores, axis=(2, 4)) @ v[:, :, None]).reshape(q.shape)


def _axes_left(q, k, v):
    return grouped_attention(q, k, v).swapaxes(1, 2).reshape(q.shape)


def _causal(offset):
    def answer(q, k, v):
        copies = q.shape[1] // k.shape[1]
        k, v = np.repeat(k, copies, axis=1), np.repeat(v, copies, axis=1)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        q_len, kv_len = scores.shape[-2:]
        seen = np.tril(np.ones((q_len, kv_len), bool), (kv_len - q_len) * offset)
        return _softmax(np.where(seen, scores, -np.inf)) @ v

    return answer


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("heads that do not fit", _no_groups, "runs", "ValueError"),
    ("groups left", _groups_left, "shape", "out"),
    ("dealt", _variant(keys=_dealt, values=_dealt), "by hand", "round-robin"),
    ("values dealt", _variant(values=_dealt), "by hand", "but not the values"),
    ("keys dealt", _variant(keys=_dealt), "by hand", "but not the keys"),
    ("one for all", _variant(keys=_first, values=_first), "by hand", "one head for all"),
    ("pooled", _variant(pooled=True), "by hand", "averaged"),
    ("divided by the heads", _variant(keys=_divided, values=_divided), "random", "Divide by the"),
    ("no scale", _variant(scale=lambda q: 1.0), "by hand", "didn't scale"),
    (
        "scale of all heads",
        _variant(scale=lambda q: (q.shape[-1] * q.shape[1]) ** -0.5),
        "by hand",
        "one head's",
    ),
    ("softmax over queries", _variant(axis=-2), "by hand", "last axis"),
    ("no softmax", _variant(soft=False), "by hand", "softmax is missing"),
    ("last first", _variant(keys=_reversed, values=_reversed), "by hand", "these are wrong"),
    ("the two ends only", _ends_only, "by hand", "Each group of"),
    ("queries averaged", _averaged_queries, "by hand", "averaged the queries"),
    ("one softmax for a group", _one_softmax, "by hand", "its own softmax"),
    ("axes not moved back", _axes_left, "random", "before the last reshape"),
    ("causal, to the end", _causal(1), "random", "causal mask"),
    ("causal, from the start", _causal(0), "by hand", "causal mask"),
    ("softmax over heads", _variant(axis=1), "by hand", "over the heads"),
    (
        "dealt, and no scale",
        _variant(keys=_dealt, values=_dealt, scale=lambda q: 1.0),
        "by hand",
        "Two things",
    ),
]
