"""Each key/value head repeated in its place."""

import numpy as np


def expand_heads(k, n_heads):
    # Query heads that share a key/value head are neighbors, so each one
    # is repeated in place. Tiling the list gives 0 1 0 1 and not 0 0 1
    # 1: the same shape, and the wrong heads.
    return np.repeat(k, n_heads // k.shape[1], axis=1)


REFERENCE = expand_heads


def _tile(k, n_heads):
    return np.tile(k, (1, n_heads // k.shape[1], 1, 1))


def _turned(k, n_heads):
    return expand_heads(k, n_heads)[:, ::-1]


def _first(k, n_heads):
    return np.repeat(k[:, :1], n_heads, axis=1)


def _mean(k, n_heads):
    return np.repeat(k.mean(axis=1, keepdims=True), n_heads, axis=1)


def _divided(k, n_heads):
    return expand_heads(k, n_heads) / (n_heads // k.shape[1])


def _tokens(k, n_heads):
    group = n_heads // k.shape[1]
    batch, _, kv_len, head_dim = k.shape
    return np.repeat(k, group, axis=2).reshape(batch, n_heads, kv_len, head_dim)


def _swapped(k, n_heads):
    out = expand_heads(k, n_heads)
    out[:, [0, -1]] = out[:, [-1, 0]]
    return out


def _too_many(k, n_heads):
    return np.repeat(k, n_heads, axis=1)


def _list(k, n_heads):
    return [k[:, head // (n_heads // k.shape[1])] for head in range(n_heads)]


def _by_index(rule):
    """Query head h gets the key/value head that a rule says."""

    def answer(k, n_heads):
        return k[:, rule(np.arange(n_heads), k.shape[1])]

    return answer


def _first_sequence(k, n_heads):
    return np.repeat(expand_heads(k[:1], n_heads), len(k), axis=0)


WRONG = [
    ("starter: tile", _tile, "by hand", "round-robin"),
    ("turned round", _turned, "by hand", "reversed"),
    ("head 0 for all", _first, "by hand", "Every query head gets head 0"),
    ("mean of the heads", _mean, "by hand", "averaged"),
    ("shared out", _divided, "by hand", "divided each copy by 2"),
    ("tokens repeated", _tokens, "by hand", "repeated each token"),
    ("two heads swapped", _swapped, "by hand", "should get key/value head"),
    ("n_heads copies of each", _too_many, "shape", "shape"),
    ("a list of heads", _list, "type", "NumPy array"),
    ("modulo", _by_index(lambda h, kv: h % kv), "by hand", "round-robin"),
    (
        "divided by the heads",
        _by_index(lambda h, kv: h // kv % kv),
        "random",
        "number of key/value",
    ),
    (
        "divided, then cut",
        _by_index(lambda h, kv: np.minimum(h // kv, kv - 1)),
        "random",
        "number of key/value",
    ),
    ("first sequence for all", _first_sequence, "random", "Each has its own"),
    (
        "tiled and shared out",
        lambda k, n_heads: _tile(k, n_heads) / (n_heads // k.shape[1]),
        "by hand",
        "Two things",
    ),
]
