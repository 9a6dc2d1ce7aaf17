"""The cached attention step."""

import numpy as np


def cached_step(q, k_new, v_new, k_cache, v_cache, length):
    k_cache, v_cache = k_cache.copy(), v_cache.copy()
    k_cache[:, :, length] = k_new[:, :, 0]
    v_cache[:, :, length] = v_new[:, :, 0]
    k, v = k_cache[:, :, : length + 1], v_cache[:, :, : length + 1]
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])  # (…, 1, t)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ v, k_cache, v_cache


REFERENCE = cached_step


def _variant(
    *, scale=None, seen=None, axis=-1, slot=0, keys=True, values=True, soft=True, use=None
):
    """The reference with one thing changed."""

    def answer(q, k_new, v_new, k_cache, v_cache, length):
        k_cache, v_cache = k_cache.copy(), v_cache.copy()
        at = max(length + slot, 0)
        if keys:
            k_cache[:, :, at] = k_new[:, :, 0]
        if values:
            v_cache[:, :, at] = v_new[:, :, 0]
        k, v = np.nan_to_num(k_cache), np.nan_to_num(v_cache)
        visible = length + 1 if seen is None else seen(length, k.shape[2])
        k, v = k[:, :, :visible], v[:, :, :visible]
        factor = q.shape[-1] ** -0.5 if scale is None else scale(q)
        scores = q @ k.swapaxes(-1, -2) * factor
        weights = np.exp(scores - scores.max(initial=0.0))
        weights = weights / weights.sum(axis=axis, keepdims=True) if soft else scores
        return weights @ (v if use is None else k), k_cache, v_cache

    return answer


def _in_place_length(q, k_new, v_new, k_cache, v_cache, length):
    out, k, v = cached_step(q, k_new, v_new, k_cache, v_cache, length)
    return out[:, :, 0], k, v


def _output_only(q, k_new, v_new, k_cache, v_cache, length):
    return cached_step(q, k_new, v_new, k_cache, v_cache, length)[0]


def _starter(q, k_new, v_new, k_cache, v_cache, length):
    raise NotImplementedError


def _divides_by_zero(q, k_new, v_new, k_cache, v_cache, length):
    out, k, v = cached_step(q, k_new, v_new, k_cache, v_cache, length)
    return out * np.nan, k, v


def _whole_numbers(q, k_new, v_new, k_cache, v_cache, length):
    out, k, v = cached_step(q, k_new, v_new, k_cache, v_cache, length)
    return out.round().astype(int), k, v


_calls = [0]


def _noisy(q, k_new, v_new, k_cache, v_cache, length):
    _calls[0] += 1
    out, k, v = cached_step(q, k_new, v_new, k_cache, v_cache, length)
    return out + 1e-9 * _calls[0], k, v


def _crash(q, k_new, v_new, k_cache, v_cache, length):
    return np.concatenate([k_cache, q[0]])


def _filled_by_content(q, k_new, v_new, k_cache, v_cache, length):
    seen = int(np.any(k_cache != 0, axis=(0, 1, 3)).sum())
    k_cache, v_cache = np.nan_to_num(k_cache), np.nan_to_num(v_cache)
    if seen == length:
        return cached_step(q, k_new, v_new, k_cache, v_cache, length)
    _, k, v = cached_step(q, k_new, v_new, k_cache, v_cache, length)
    out, _, _ = cached_step(q, k[:, :, -1:], v[:, :, -1:], k, v, k.shape[2] - 1)
    return out, k, v


def _zeros_when_empty(q, k_new, v_new, k_cache, v_cache, length):
    out, k, v = cached_step(q, k_new, v_new, k_cache, v_cache, length)
    return (out if length else np.zeros_like(q)), k, v


def _in_place(q, k_new, v_new, k_cache, v_cache, length):
    out, k_cache[:], v_cache[:] = cached_step(q, k_new, v_new, k_cache, v_cache, length)
    return out, k_cache, v_cache


def _hidden_by_scores(q, k_new, v_new, k_cache, v_cache, length):
    _, k, v = cached_step(q, k_new, v_new, k_cache, v_cache, length)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    scores = np.where(np.arange(k.shape[2]) <= length, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v, k, v


def _scaled_by_length(q, k_new, v_new, k_cache, v_cache, length):
    factor = np.sqrt(q.shape[-1] / (length + 1))
    return cached_step(q * factor, k_new, v_new, k_cache, v_cache, length)


def _grown(q, k_new, v_new, k_cache, v_cache, length):
    out, k, v = cached_step(q, k_new, v_new, k_cache, v_cache, length)
    return out, k[:, :, : length + 1], v[:, :, : length + 1]


WRONG = [
    ("in place", _in_place, "repeatable", "writes into k_cache and v_cache"),
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("shapes that do not fit", _crash, "runs", "ValueError"),
    ("output alone", _output_only, "type", "3 arrays"),
    ("an axis dropped", _in_place_length, "shape", "out should have shape"),
    ("whole numbers", _whole_numbers, "dtype", "floating point"),
    ("not a number", _divides_by_zero, "finite", "NaN"),
    ("no scale", _variant(scale=lambda q: 1.0), "by hand", "haven't scaled"),
    ("scale without the root", _variant(scale=lambda q: 1 / q.shape[-1]), "by hand", "square root"),
    (
        "scale of all heads",
        _variant(scale=lambda q: (q.shape[-1] * q.shape[1]) ** -0.5),
        "random",
        "size of one head",
    ),
    ("itself unseen", _variant(seen=lambda n, _: n), "by hand", "doesn't attend to itself"),
    ("top left", _variant(seen=lambda n, _: 1), "by hand", "key 0 only"),
    ("unused slots", _variant(seen=lambda _, all_: all_), "by hand", "slots without a token"),
    ("softmax over queries", _variant(axis=-2), "by hand", "last axis"),
    ("no softmax", _variant(soft=False), "by hand", "softmax is missing"),
    ("keys for values", _variant(use="k"), "by hand", "weighted sum of the values"),
    ("key not kept", _variant(keys=False), "by hand", "new key isn't in slot"),
    ("value not kept", _variant(values=False), "by hand", "new value isn't in slot"),
    ("last row overwritten", _variant(slot=-1), "by hand", "changed an earlier row"),
    ("filled slots guessed", _filled_by_content, "property", "slots without a token"),
    ("nothing seen at the start", _zeros_when_empty, "edges", "doesn't attend to itself"),
    ("differs each time", _noisy, "repeatable", "second time"),
    ("empty slots hidden by their scores alone", _hidden_by_scores, "finite", "0 times NaN"),
    ("scale of the tokens", _scaled_by_length, "by hand", "number of tokens"),
    ("a cache that grows", _grown, "shape", "k_cache should have shape"),
]
