"""FLOPs of attention for each byte of cache."""

import numpy as np


def attention_intensity(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    # Every query head meets every token: once for the scores, once for
    # the weighted sum.
    flops = 2 * 2 * n_heads * head_dim * kv_len
    # Only key/value heads are stored, so only they move. With both
    # counts over n_heads, the sharing would cancel, and that's the bug.
    moved = 2 * n_kv_heads * head_dim * kv_len * dtype_bytes
    return flops / moved


REFERENCE = attention_intensity


def _variant(*, flops=4, moved=2, read="n_kv_heads", ask="n_heads", each=True, turned=False):
    """The quotient with some of its factors changed."""

    def answer(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
        heads = {"n_kv_heads": n_kv_heads, "n_heads": n_heads + 0 * n_kv_heads, "one": 1.0}
        top = flops * heads[ask] * head_dim * kv_len
        bottom = moved * heads[read] * head_dim * kv_len * (dtype_bytes if each else 1)
        quotient = bottom / top if turned else top / bottom
        return quotient + 0 * n_kv_heads

    return answer


def _starter(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    flops = 2 * 2 * n_heads * head_dim * kv_len
    moved = 2 * n_heads * head_dim * kv_len * dtype_bytes
    return np.full(n_kv_heads.shape, flops / moved)


def _length_left(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    return attention_intensity(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes) * kv_len


def _list(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    return list(attention_intensity(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes))


def _same_heads(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    return _variant(ask="n_kv_heads")(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes)


def _first_for_all(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    first = np.full_like(n_kv_heads, n_kv_heads[0])
    return attention_intensity(first, n_heads, head_dim, kv_len, dtype_bytes)


def _mean_for_all(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    mean = np.full_like(n_kv_heads, n_kv_heads.mean())
    return attention_intensity(mean, n_heads, head_dim, kv_len, dtype_bytes)


def _group_size(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    return n_heads / n_kv_heads


def _rounded_down(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    flops = 2 * 2 * n_heads * head_dim * kv_len
    return flops // (2 * n_kv_heads * head_dim * kv_len * dtype_bytes)


def _queries_too(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    flops = 2 * 2 * n_heads * head_dim * kv_len
    numbers = 2 * n_kv_heads * head_dim * kv_len + 2 * n_heads * head_dim
    return flops / (numbers * dtype_bytes)


def _no_length(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    return attention_intensity(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes) / kv_len


def _one_shared(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    return 4 * n_heads / ((n_kv_heads + n_heads) * dtype_bytes)


WRONG = [
    ("starter: query heads read", _starter, "by hand", "looks like multi-head attention"),
    ("one head read", _variant(read="one"), "by hand", "one key/value head"),
    ("half of the FLOPs", _variant(flops=2), "by hand", "factor of 2 in the FLOPs"),
    ("half of the bytes", _variant(moved=1), "by hand", "factor of 2 in the bytes"),
    ("a number", _variant(each=False), "by hand", "per value"),
    ("upside down", _variant(turned=True), "by hand", "upside down"),
    ("one head asks", _variant(ask="one"), "by hand", "one query head"),
    ("the length left in", _length_left, "by hand", "only in the FLOPs"),
    ("a list", _list, "type", "NumPy array"),
    ("the same heads in both", _same_heads, "by hand", "same heads"),
    ("the first for all", _first_for_all, "by hand", "its own bytes"),
    ("the mean for all", _mean_for_all, "by hand", "mean number of heads"),
    ("size of a group", _group_size, "by hand", "size of a group"),
    ("rounded down", _rounded_down, "by hand", "rounded down"),
    ("queries and outputs too", _queries_too, "by hand", "in the cache"),
    ("no length in the FLOPs", _no_length, "by hand", "only in the bytes"),
    ("values of all heads", _one_shared, "by hand", "Both have n_kv_heads"),
]
