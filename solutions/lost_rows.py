"""Heads side by side: move the axis, then reshape."""

import numpy as np


def attend_all_heads(q, k, v):
    # The last two axes are a matrix for each head, and all heads are
    # computed at once.
    scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    out = weights @ v  # (batch, n_heads, seq, head_dim)
    # A reshape never moves a number, so the axes that become one must
    # be neighbors first. Without the swap, a row would hold one head's
    # numbers for several tokens. With one head nobody notices.
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


def _across_heads(q, k, v):
    batch, n_heads, seq, head_dim = v.shape
    rows = attend_all_heads(*(x.swapaxes(1, 2) for x in (q, k, v)))  # of the tokens of each head
    return rows.reshape(batch, n_heads, seq, head_dim).swapaxes(1, 2).reshape(batch, seq, -1)


def _wide_scale(q, k, v):
    return attend_all_heads(q * q.shape[1] ** -0.5, k, v)


def _over_queries(q, k, v):
    scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    powers = np.exp(scores - scores.max(axis=-2, keepdims=True))
    out = powers / powers.sum(axis=-2, keepdims=True) @ v
    return out.swapaxes(1, 2).reshape(len(q), q.shape[2], -1)


def _reshaped_first(heads):
    batch, n_heads, seq, head_dim = heads.shape
    return heads.reshape(batch, seq, n_heads, head_dim).swapaxes(1, 2)


def _first_and_last(q, k, v):
    out = attend_all_heads(q, k, v)
    size = v.shape[-1]
    return out if v.shape[1] == 1 else np.concatenate([out[..., :size], out[..., -size:]], axis=-1)


def _no_scale_memory_order(q, k, v):
    rows = attend_all_heads(q * q.shape[-1] ** 0.5, k, v)
    heads = rows.reshape(len(q), q.shape[2], q.shape[1], -1).swapaxes(1, 2)
    return heads.reshape(rows.shape)


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
    ("no softmax", _no_softmax, "by hand", "used as weights"),
    ("batch lost", _batch_lost, "shape", "shape"),
    ("across the heads", _across_heads, "by hand", "Tokens attend to tokens"),
    ("scale of the whole width", _wide_scale, "random", "all heads together"),
    ("over the queries", _over_queries, "by hand", "over the queries"),
    ("numbers for heads", _merged(lambda h: h.swapaxes(2, 3)), "by hand", "Swap heads and tokens"),
    ("reshaped first", _merged(_reshaped_first), "by hand", "can't undo it"),
    (
        "the first text for all",
        _merged(lambda h: h[:1].repeat(len(h), axis=0).swapaxes(1, 2)),
        "property",
        "result of the first",
    ),
    ("two heads at most", _first_and_last, "shape", "shape"),
    ("no scale, a reshape alone", _no_scale_memory_order, "by hand", "Two things"),
    ("numbers before tokens", _merged(lambda h: h.transpose(0, 3, 2, 1)), "by hand",
     "You swapped heads"),
    ("one head in all places", _merged(lambda h: h[:, :1].repeat(h.shape[1], 1).swapaxes(1, 2)),
     "by hand", "head 0 in all places"),
]  # fmt: skip
