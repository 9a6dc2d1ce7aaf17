"""The backward pass of attention."""

import numpy as np


def attention_gradient(q, k, v, d_out):
    scale = 1 / np.sqrt(q.shape[1])
    scores = scale * q @ k.T  # (q_len, kv_len)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    d_v = weights.T @ d_out
    d_weights = d_out @ v.T  # (q_len, kv_len)
    mean = (d_weights * weights).sum(axis=1, keepdims=True)
    d_scores = weights * (d_weights - mean)
    return scale * d_scores @ k, scale * d_scores.T @ q, d_v


REFERENCE = attention_gradient


def _variant(*, d_scores=None, scale_q=1.0, scale_k=1.0, by_size=False, values=None, keys=None):
    """The reference with one thing changed."""

    def answer(q, k, v, d_out):
        scale = 1 / np.sqrt(q.shape[1])
        scores = scale * q @ k.T
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights = weights / weights.sum(axis=1, keepdims=True)
        d_weights = d_out @ v.T
        right = weights * (d_weights - (d_weights * weights).sum(axis=1, keepdims=True))
        back = d_scores(weights, d_weights) if d_scores else right
        factor_q, factor_k = scale**scale_q, scale**scale_k
        d_v = values(weights, v, d_out) if values else weights.T @ d_out
        d_k = keys(weights, q, scale) if keys else factor_k * back.T @ q
        return factor_q * back @ k, d_k, d_v

    return answer


def _transposed(q, k, v, d_out):
    d_q, d_k, d_v = attention_gradient(q, k, v, d_out)
    return d_q, d_k.T, d_v


def _swapped(q, k, v, d_out):
    d_q, d_k, d_v = attention_gradient(q, k, v, d_out)
    return d_v, d_q, d_k


def _one(q, k, v, d_out):
    return attention_gradient(q, k, v, d_out)[0]


def _overflows(q, k, v, d_out):
    scale = 1 / np.sqrt(q.shape[1])
    weights = np.exp(scale * q @ k.T)
    weights = weights / weights.sum(axis=1, keepdims=True)
    return (*attention_gradient(q, k, v, d_out)[:2], weights.T @ d_out)


def _minus(q, k, v, d_out):
    d_q, d_k, d_v = attention_gradient(q, k, v, d_out)
    return -d_q, -d_k, d_v


def _plain_mean(w, d):
    return w * (d - d.mean(axis=1, keepdims=True))


def _turned(w, d):
    return w * ((w * d).sum(axis=1, keepdims=True) - d)


WRONG = [
    ("no scale", _variant(scale_q=0, scale_k=0), "by hand", "scale is missing"),
    ("scale twice", _variant(scale_q=2, scale_k=2), "by hand", "twice"),
    ("no scale in d_k", _variant(scale_k=0), "by hand", "in d_k: The scale"),
    ("diagonal", _variant(d_scores=lambda w, d: w * (1 - w) * d), "by hand", "own weight only"),
    ("no mean", _variant(d_scores=lambda w, d: w * d), "by hand", "own weight only"),
    ("no softmax", _variant(d_scores=lambda w, d: d), "by hand", "softmax lies between"),
    (
        "all of d_out",
        _variant(values=lambda w, v, d: np.broadcast_to(d.sum(axis=0), v.shape).copy()),
        "by hand",
        "whole of d_out",
    ),
    (
        "weights in d_k",
        _variant(keys=lambda w, q, scale: scale * w.T @ q),
        "by hand",
        "gradient of the scores",
    ),
    ("sign", _minus, "by hand", "sign is turned round"),
    ("transposed", _transposed, "shape", "d_k should have shape"),
    ("order", _swapped, "shape", "d_q should have shape"),
    ("one of three", _one, "type", "3 arrays"),
    ("overflow", _overflows, "finite", "NaN"),
    ("plain mean", _variant(d_scores=_plain_mean), "random", "plain mean"),
    ("turned", _variant(d_scores=_turned), "by hand", "sign is turned"),
    ("weights as given", _variant(d_scores=lambda w, d: 0 * d), "by hand", "come from q and k"),
    (
        "no scale, no mean",
        _variant(d_scores=lambda w, d: w * d, scale_q=0, scale_k=0),
        "by hand",
        "Two things",
    ),
    (
        "no scale, diagonal",
        _variant(d_scores=lambda w, d: w * (1 - w) * d, scale_q=0, scale_k=0),
        "by hand",
        "Two things",
    ),
    ("times the root", _variant(scale_q=-1, scale_k=-1), "by hand", "divides by it"),
]
