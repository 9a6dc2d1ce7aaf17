"""Heads side by side: move the axis, then reshape."""

import numpy as np


def attend_all_heads(q, k, v):
    scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    out = weights @ v  # (batch, n_heads, seq, head_dim)
    batch, n_heads, seq, head_dim = out.shape
    return out.swapaxes(1, 2).reshape(batch, seq, n_heads * head_dim)


REFERENCE = attend_all_heads


def _merged(arrange):
    """The reference with its heads arranged in another way before the reshape."""

    def answer(q, k, v):
        batch, n_heads, seq, head_dim = v.shape
        rows = attend_all_heads(q, k, v).reshape(batch, seq, n_heads, head_dim)
        heads = rows.swapaxes(1, 2)  # (batch, n_heads, seq, head_dim)
        return arrange(heads).reshape(batch, seq, n_heads * head_dim)

    return answer


def _average(heads):
    mean = heads.mean(axis=1, keepdims=True).repeat(heads.shape[1], axis=1)
    return mean.swapaxes(1, 2)


def _batch_lost(q, k, v):
    return attend_all_heads(q, k, v)[0]


def _no_softmax(q, k, v):
    out = (q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5) @ v
    batch, n_heads, seq, head_dim = out.shape
    return out.swapaxes(1, 2).reshape(batch, seq, n_heads * head_dim)


WRONG = [
    ("starter: a reshape alone", _merged(lambda heads: heads), "by hand", "memory order"),
    (
        "number by number",
        _merged(lambda heads: heads.transpose(0, 2, 3, 1)),
        "by hand",
        "number by number",
    ),
    (
        "last head first",
        _merged(lambda heads: heads[:, ::-1].swapaxes(1, 2)),
        "by hand",
        "reverse order",
    ),
    (
        "batch and tokens swapped",
        _merged(lambda heads: heads.transpose(2, 0, 1, 3)),
        "property",
        "Batch and tokens",
    ),
    ("averaged", _merged(_average), "by hand", "averaged"),
    ("no softmax", _no_softmax, "by hand", "should be"),
    ("batch lost", _batch_lost, "shape", "shape"),
]
