"""A soft lookup: each query shares itself out over the keys."""

import numpy as np


def soft_lookup(queries, keys, values):
    # A row for each query. It shares one unit of weight among the keys,
    # so largest score and sum run along the keys, the last axis.
    scores = queries @ keys.T  # (q_len, kv_len)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ values


REFERENCE = soft_lookup


def _starter(queries, keys, values):
    scores = queries @ keys.T
    powers = np.exp(scores - scores.max(axis=0))
    return powers / powers.sum(axis=0) @ values


def _whole(queries, keys, values):
    powers = np.exp(queries @ keys.T)
    return powers / powers.sum() @ values


def _no_softmax(queries, keys, values):
    return queries @ keys.T @ values


def _hard(queries, keys, values):
    return values[(queries @ keys.T).argmax(axis=1)]


def _mean(queries, keys, values):
    return np.repeat(values.mean(axis=0, keepdims=True), len(queries), axis=0)


def _scaled(queries, keys, values):
    return soft_lookup(queries * queries.shape[1] ** -0.5, keys, values)


def _mean_of_queries(queries, keys, values):
    mixed = soft_lookup(queries, keys, values)
    return np.repeat(mixed.mean(axis=0, keepdims=True), len(queries), axis=0)


def _times(queries, keys, values):
    return soft_lookup(queries, keys, values) * len(keys)


def _transposed(queries, keys, values):
    return soft_lookup(queries, keys, values).T


def _axes(top, total):
    """One of the two axes mended."""

    def answer(queries, keys, values):
        scores = queries @ keys.T
        powers = np.exp(scores - scores.max(axis=top, keepdims=True))
        return powers / powers.sum(axis=total, keepdims=True) @ values

    return answer


def _unlike(queries, keys, values):
    return soft_lookup(-queries, keys, values)


def _list(queries, keys, values):
    return soft_lookup(queries, keys, values).tolist()


def _no_largest(queries, keys, values):
    with np.errstate(all="ignore"):
        powers = np.exp(queries @ keys.T)
        return powers / powers.sum(axis=1, keepdims=True) @ values


def _whole_stable(queries, keys, values):
    scores = queries @ keys.T
    powers = np.exp(scores - scores.max())
    return powers / powers.sum() @ values


def _undivided(queries, keys, values):
    scores = queries @ keys.T
    return np.exp(scores - scores.max(axis=1, keepdims=True)) @ values


def _first_for_all(queries, keys, values):
    return np.repeat(soft_lookup(queries[:1], keys, values), len(queries), axis=0)


WRONG = [
    ("starter: over the queries", _starter, "by hand", "axis 0"),
    ("one whole for all", _whole, "random", "All your weights together"),
    ("no softmax", _no_softmax, "by hand", "softmax is missing"),
    ("hard lookup", _hard, "by hand", "hard lookup"),
    ("the mean", _mean, "by hand", "same weight"),
    ("scaled", _scaled, "by hand", "next chapter"),
    ("queries mixed up", _mean_of_queries, "random", "same mixture"),
    ("too much", _times, "by hand", "number of keys"),
    ("the sum mended", _axes(0, -1), "by hand", "largest score still over"),
    ("the largest mended", _axes(-1, 0), "by hand", "sum still over"),
    ("least similar", _unlike, "by hand", "reversed"),
    ("half", lambda **inputs: soft_lookup(**inputs) / 2, "by hand", "should be"),
    ("transposed", _transposed, "shape", "shape"),
    ("a list", _list, "type", "NumPy array"),
    ("no largest score", _no_largest, "finite", "no longer subtract"),
    ("one whole, stable", _whole_stable, "random", "All your weights together"),
    ("undivided", _undivided, "by hand", "have to sum to 1"),
    ("the first query's for all", _first_for_all, "random", "the first one"),
    (
        "averaged queries",
        lambda queries, keys, values: soft_lookup(
            np.repeat(queries.mean(axis=0, keepdims=True), len(queries), axis=0), keys, values
        ),
        "random",
        "averaged the queries",
    ),
    (
        "cosines",
        lambda queries, keys, values: soft_lookup(
            queries, keys / np.linalg.norm(keys, axis=1, keepdims=True), values
        ),
        "by hand",
        "cosines",
    ),
    (
        "distances",
        lambda queries, keys, values: soft_lookup(
            np.c_[queries, np.ones(len(queries))],
            np.c_[2 * keys, -np.square(keys).sum(axis=1)],
            values,
        ),
        "by hand",
        "compare distances",
    ),
    (
        "base 2",
        lambda queries, keys, values: soft_lookup(queries * np.log(2.0), keys, values),
        "by hand",
        "base of the exponentials",
    ),
]
