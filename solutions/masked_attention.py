"""Attention with a mask."""

import numpy as np


def masked_attention(q, k, v, mask):
    scores = q @ k.T / np.sqrt(q.shape[1])  # (q_len, kv_len)
    scores = np.where(mask, scores, -np.inf)
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = weights.sum(axis=1, keepdims=True)
    # (q_len, v_head_dim)
    return weights / np.where(total == 0, 1, total) @ v


REFERENCE = masked_attention


def _stable(scores, axis=1):
    top = scores.max(axis=axis, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = weights.sum(axis=axis, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def _scaled(scale):
    def answer(q, k, v, mask):
        scores = q @ k.T * scale(q, k)
        return _stable(np.where(mask, scores, -np.inf)) @ v

    return answer


def _scores(q, k):
    return q @ k.T / np.sqrt(q.shape[1])


def _no_mask(q, k, v, mask):
    return _stable(_scores(q, k)) @ v


def _upside_down(q, k, v, mask):
    return masked_attention(q, k, v, ~mask)


def _late(q, k, v, mask):
    return (_stable(_scores(q, k)) * mask) @ v


def _zero_scores(q, k, v, mask):
    return _stable(np.where(mask, _scores(q, k), 0)) @ v


def _over_queries(q, k, v, mask):
    return _stable(np.where(mask, _scores(q, k), -np.inf), axis=0) @ v


def _no_softmax(q, k, v, mask):
    return np.where(mask, _scores(q, k), 0) @ v


def _minus_billion(q, k, v, mask):
    return _stable(np.where(mask, _scores(q, k), -1e9)) @ v


def _renormalised(q, k, v, mask):
    weights = _stable(_scores(q, k)) * mask
    return weights / weights.sum(axis=1, keepdims=True) @ v


def _overflows(q, k, v, mask):
    weights = np.exp(np.where(mask, _scores(q, k), -np.inf))
    return weights / weights.sum(axis=1, keepdims=True) @ v


def _empty_nan(q, k, v, mask):
    scores = np.where(mask, _scores(q, k), -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v


def _guarded(q, k, v, mask):
    weights = _stable(_scores(q, k)) * mask
    total = weights.sum(axis=1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


def _top_of_all(q, k, v, mask):
    scores = _scores(q, k)
    weights = np.exp(np.where(mask, scores, -np.inf) - scores.max(axis=1, keepdims=True))
    total = weights.sum(axis=1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


def _two(q, k, v, mask):
    return (_stable(q @ k.T) * mask) @ v


def _transposed(q, k, v, mask):
    return masked_attention(q, k, v, mask).T


def _list(q, k, v, mask):
    return masked_attention(q, k, v, mask).tolist()


def _half_of_it(q, k, v, mask):
    return 0.5 * masked_attention(q, k, v, mask)


def _lowered(q, k, v, mask):
    return _stable(_scores(q, k) - 1e4 * ~mask) @ v * mask.any(axis=1, keepdims=True)


def _lowered_by_a_billion(q, k, v, mask):
    return _stable(_scores(q, k) - 1e9 * ~mask) @ v


def _hidden_from_all(q, k, v, mask):
    out = masked_attention(q, k, v, mask.any(axis=0) & np.ones_like(mask))
    return out * mask.any(axis=1, keepdims=True)


def _zero_scores_and_rows(q, k, v, mask):
    return _zero_scores(q, k, v, mask) * mask.any(axis=1, keepdims=True)


WRONG = [
    ("no scale", _scaled(lambda q, k: 1.0), "by hand", "aren't scaled"),
    ("no root", _scaled(lambda q, k: 1 / q.shape[1]), "by hand", "square root"),
    ("number of keys", _scaled(lambda q, k: len(k) ** -0.5), "random", "number of keys"),
    ("no mask", _no_mask, "by hand", "no effect"),
    ("upside down", _upside_down, "by hand", "upside down"),
    ("masked too late", _late, "by hand", "after the softmax"),
    ("scores of 0", _zero_scores, "by hand", "minus infinity"),
    ("over the queries", _over_queries, "by hand", "over the queries"),
    ("no softmax", _no_softmax, "by hand", "softmax is missing"),
    ("minus a billion", _minus_billion, "edges", "average of all values"),
    ("renormalised", _renormalised, "finite", "hidden ones too"),
    ("renormalised, with a guard", _guarded, "property", "hidden ones too"),
    ("the largest of all", _top_of_all, "property", "hidden ones too"),
    ("overflow", _overflows, "finite", "exponential overflows"),
    ("an empty row", _empty_nan, "finite", "comes out as NaN"),
    ("no scale, masked too late", _two, "by hand", "Two things. Your scores aren't scaled"),
    ("half", _half_of_it, "by hand", "should be"),
    ("transposed", _transposed, "shape", "shape"),
    ("a list", _list, "type", "NumPy array"),
    ("10,000 less", _lowered, "property", "may be larger still"),
    ("a billion less", _lowered_by_a_billion, "property", "may be larger still"),
    ("hidden from all", _hidden_from_all, "by hand", "its own row of the mask"),
    ("scores of 0, empty rows of 0", _zero_scores_and_rows, "by hand", "minus infinity"),
    ("output scaled", lambda q, k, v, mask: _scaled(lambda q, k: 1.0)(q, k, v, mask)
     / np.sqrt(q.shape[1]), "by hand", "in place of the scores"),
    ("scale of v", lambda q, k, v, mask: _scaled(lambda q, k: v.shape[1] ** -0.5)(q, k, v, mask),
     "by hand", "taken from v"),
]  # fmt: skip
