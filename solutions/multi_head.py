"""Multi-head attention, causal, from four matrices."""

import numpy as np


def multi_head(x, W_q, W_k, W_v, W_o, n_heads):
    seq = len(x)

    def heads_of(rows):
        # (n_heads, seq, head_dim)
        return rows.reshape(seq, n_heads, -1).swapaxes(0, 1)

    q, k, v = heads_of(x @ W_q), heads_of(x @ W_k), heads_of(x @ W_v)
    # (n_heads, seq, seq)
    scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    seen = np.tril(np.ones((seq, seq), dtype=bool))
    scores = np.where(seen, scores, -np.inf)
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


def _weighed(powers):
    """The reference with another softmax, of unscaled weights."""

    def answer(x, W_q, W_k, W_v, W_o, n_heads):
        seq = len(x)
        q, k, v = ((x @ W).reshape(seq, n_heads, -1).swapaxes(0, 1) for W in (W_q, W_k, W_v))
        scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
        with np.errstate(all="ignore"):
            out = powers(scores, np.tril(np.ones((seq, seq), dtype=bool))) @ v
        return out.swapaxes(0, 1).reshape(seq, -1) @ W_o

    return answer


def _normed(powers, axis=-1):
    return powers / powers.sum(axis=axis, keepdims=True)


def _stable(scores):
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


def _overflow(scores, seen):
    return _normed(np.exp(scores) * seen)


def _itself_hidden(scores, seen):
    seen = np.tril(seen, -1)
    seen[0, 0] = True
    return _normed(_stable(np.where(seen, scores, -np.inf)))


def _late(scores, seen):
    return _normed(_stable(scores)) * seen


def _zero_scores(scores, seen):
    return _normed(_stable(np.where(seen, scores, 0)))


def _future_maximum(scores, seen):
    return _normed(_stable(scores) * seen)


def _over_queries(scores, seen):
    hidden = np.where(seen, scores, -np.inf)
    return _normed(np.exp(hidden - hidden.max(axis=-2, keepdims=True)), axis=-2)


def _dealt_out(x, W_q, W_k, W_v, W_o, n_heads):
    """Head h takes every n_heads-th column, and the heads stand side by side."""
    order = np.arange(W_q.shape[1]).reshape(-1, n_heads).T.ravel()
    return multi_head(x, W_q[:, order], W_k[:, order], W_v[:, order], W_o, n_heads)


def _starter(x, W_q, W_k, W_v, W_o, n_heads):
    raise NotImplementedError


def _batch_kept(x, W_q, W_k, W_v, W_o, n_heads):
    return multi_head(x, W_q, W_k, W_v, W_o, n_heads)[None]


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("an axis too many", _batch_kept, "shape", "shape"),
    ("no mask", _variant(causal=False), "by hand", "look ahead"),
    ("one head", _variant(heads=1), "by hand", "one softmax"),
    ("no root", _variant(scale=lambda x, W, n: n / W.shape[1]), "by hand", "by its square root"),
    ("no scale", _variant(scale=lambda x, W, n: 1.0), "by hand", "aren't scaled"),
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
        "from the width of W_q",
    ),
    (
        "cut and merged by a reshape",
        _variant(cut="reshaped", merge="reshaped"),
        "by hand",
        "cut the heads by a reshape alone",
    ),
    ("cut by a reshape", _variant(cut="reshaped"), "by hand", "cut q, k and v"),
    ("merged by a reshape", _variant(merge="reshaped"), "by hand", "mixes the tokens"),
    ("every n-th column", _variant(cut="dealt out"), "by hand", "next to each other"),
    ("averaged", _variant(last=lambda rows, W, n: rows @ W / n), "by hand", "averaged"),
    ("no output matrix", _variant(last=lambda rows, W, n: rows), "by hand", "haven't applied W_o"),
    ("overflow", _weighed(_overflow), "finite", "overflows"),
    ("maximum of later tokens", _weighed(_future_maximum), "finite", "later tokens too"),
    ("itself hidden", _weighed(_itself_hidden), "by hand", "doesn't see itself"),
    ("masked too late", _weighed(_late), "by hand", "after the softmax"),
    ("scores of 0", _weighed(_zero_scores), "by hand", "e to the 0"),
    ("over the queries", _weighed(_over_queries), "by hand", "over the queries"),
    ("every n-th column a head", _dealt_out, "by hand", "next to each other"),
    ("no mask, no scale", _variant(causal=False, scale=lambda x, W, n: 1.0), "by hand", "Two th"),
    ("no mask, merged by a reshape", _variant(causal=False, merge="reshaped"), "by hand", "Two th"),
    ("keys for values", lambda x, W_q, W_k, W_v, W_o, n_heads: multi_head(
        x, W_q, W_v, W_k, W_o, n_heads), "by hand", "changed places"),
]  # fmt: skip
