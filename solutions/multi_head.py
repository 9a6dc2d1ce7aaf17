"""Multi-head attention, causal, from four matrices."""

import numpy as np


def multi_head(x, W_q, W_k, W_v, W_o, n_heads):
    seq = len(x)

    def heads_of(rows):
        return rows.reshape(seq, n_heads, -1).swapaxes(0, 1)  # (n_heads, seq, head_dim)

    q, k, v = heads_of(x @ W_q), heads_of(x @ W_k), heads_of(x @ W_v)
    scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5  # (n_heads, seq, seq)
    scores = np.where(np.tril(np.ones((seq, seq), dtype=bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    out = weights @ v  # (n_heads, seq, head_dim)
    return out.swapaxes(0, 1).reshape(seq, -1) @ W_o


REFERENCE = multi_head


def _variant(*, cut="right", merge="right", scale=None, causal=True, heads=None, last=None):
    """The reference with one thing changed."""

    def answer(x, W_q, W_k, W_v, W_o, n_heads):
        seq, count = len(x), heads or n_heads

        def heads_of(rows):
            if cut == "reshaped":
                return rows.reshape(count, seq, -1)
            if cut == "dealt out":
                return rows.reshape(seq, -1, count).transpose(2, 0, 1)
            return rows.reshape(seq, count, -1).swapaxes(0, 1)

        q, k, v = heads_of(x @ W_q), heads_of(x @ W_k), heads_of(x @ W_v)
        factor = q.shape[-1] ** -0.5 if scale is None else scale(x, W_q, n_heads)
        scores = q @ k.swapaxes(-1, -2) * factor
        if causal:
            scores = np.where(np.tril(np.ones((seq, seq), dtype=bool)), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        out = (weights / weights.sum(axis=-1, keepdims=True)) @ v
        if cut == "dealt out":
            rows = out.transpose(1, 2, 0).reshape(seq, -1)
        elif merge == "reshaped":
            rows = out.reshape(seq, -1)
        else:
            rows = out.swapaxes(0, 1).reshape(seq, -1)
        return rows @ W_o if last is None else last(rows, W_o, n_heads)

    return answer


def _overflow(x, W_q, W_k, W_v, W_o, n_heads):
    seq = len(x)
    q, k, v = ((x @ W).reshape(seq, n_heads, -1).swapaxes(0, 1) for W in (W_q, W_k, W_v))
    scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    with np.errstate(all="ignore"):
        weights = np.exp(scores) * np.tril(np.ones((seq, seq)))
        out = (weights / weights.sum(axis=-1, keepdims=True)) @ v
    return out.swapaxes(0, 1).reshape(seq, -1) @ W_o


def _starter(x, W_q, W_k, W_v, W_o, n_heads):
    raise NotImplementedError


def _batch_kept(x, W_q, W_k, W_v, W_o, n_heads):
    return multi_head(x, W_q, W_k, W_v, W_o, n_heads)[None]


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("an axis too many", _batch_kept, "shape", "shape"),
    ("no mask", _variant(causal=False), "by hand", "look ahead"),
    ("one head", _variant(heads=1), "by hand", "one softmax"),
    ("no scale", _variant(scale=lambda x, W, n: 1.0), "by hand", "not scaled"),
    (
        "scale of the whole width",
        _variant(scale=lambda x, W, n: W.shape[1] ** -0.5),
        "by hand",
        "all heads together",
    ),
    (
        "scale from d_model",
        _variant(scale=lambda x, W, n: (x.shape[1] // n) ** -0.5),
        "property",
        "number of its own",
    ),
    (
        "cut and merged by a reshape",
        _variant(cut="reshaped", merge="reshaped"),
        "by hand",
        "reshape alone cut",
    ),
    ("cut by a reshape", _variant(cut="reshaped"), "by hand", "put together well"),
    ("merged by a reshape", _variant(merge="reshaped"), "by hand", "mixes the tokens"),
    ("every n-th column", _variant(cut="dealt out"), "by hand", "stand together"),
    ("averaged", _variant(last=lambda rows, W, n: rows @ W / n), "by hand", "averaged"),
    ("no output matrix", _variant(last=lambda rows, W, n: rows), "by hand", "W_o has not"),
    ("overflow", _overflow, "finite", "NaN"),
]
