"""The queries are the last tokens."""

import numpy as np


def alibi(slopes, q_len, kv_len):
    # A cached step has fewer queries than keys: they are the last q_len
    # of kv_len tokens. Numbered from 0, the query would stand before
    # its keys, and the clip would hide every bias.
    places = np.arange(kv_len - q_len, kv_len)[:, None]  # of the queries
    distance = np.maximum(places - np.arange(kv_len), 0)  # (q_len, kv_len)
    return -slopes[:, None, None] * distance


REFERENCE = alibi


def _starter(slopes, q_len, kv_len):
    distance = np.arange(q_len)[:, None] - np.arange(kv_len)
    return -slopes[:, None, None] * np.maximum(distance, 0)


def _with(distance):
    def answer(slopes, q_len, kv_len):
        places = np.arange(kv_len - q_len, kv_len)[:, None]
        return -slopes[:, None, None] * distance(places, np.arange(kv_len))

    return answer


def _lone(slopes, q_len, kv_len):
    if q_len == 1:
        return alibi(slopes, q_len, kv_len)
    return _starter(slopes, q_len, kv_len)


def _bloom(slopes, q_len, kv_len):
    return slopes[:, None, None] * np.broadcast_to(np.arange(kv_len), (q_len, kv_len))


def _infinite(slopes, q_len, kv_len):
    places = np.arange(kv_len - q_len, kv_len)[:, None]
    return np.where(places < np.arange(kv_len), -np.inf, alibi(slopes, q_len, kv_len))


def _bounded(slopes, q_len, kv_len):
    return np.maximum(alibi(slopes, q_len, kv_len), -10.0)


def _first_rows(slopes, q_len, kv_len):
    return alibi(slopes, kv_len, kv_len)[:, :q_len]


def _last_for_all(slopes, q_len, kv_len):
    distance = np.broadcast_to(kv_len - 1 - np.arange(kv_len), (q_len, kv_len))
    return -slopes[:, None, None] * distance


def _past_is_free(slopes, q_len, kv_len):
    past = np.zeros((len(slopes), q_len, kv_len - q_len))
    return np.concatenate([past, alibi(slopes, q_len, q_len)], axis=2)


def _own_slopes(slopes, q_len, kv_len):
    n_heads = len(slopes)
    return alibi(2.0 ** (-8 * np.arange(1, n_heads + 1) / n_heads), q_len, kv_len)


def _twice_wrong(slopes, q_len, kv_len):
    return -_starter(slopes, q_len, kv_len)


WRONG = [
    ("starter", _starter, "property", "They're the last"),
    ("one query only", _lone, "property", "right for a single query"),
    ("one too many", _with(lambda q, k: np.maximum(q + 1 - k, 0)), "by hand", "one too large"),
    ("one too few", _with(lambda q, k: np.maximum(q - 1 - k, 0)), "by hand", "one too small"),
    ("positive", lambda slopes, q_len, kv_len: -alibi(slopes, q_len, kv_len), "by hand",
     "positive"),
    ("both sides", _with(lambda q, k: np.abs(q - k)), "by hand", "not ALiBi"),
    ("no floor", _with(lambda q, k: q - k), "by hand", "not ALiBi"),
    ("by the key alone", _bloom, "by hand", "same weights"),
    ("one slope", lambda slopes, q_len, kv_len: alibi(np.full_like(slopes, slopes[0]), q_len,
     kv_len), "random", "first head's"),
    ("slopes reversed", lambda slopes, q_len, kv_len: alibi(slopes[::-1], q_len, kv_len),
     "random", "wrong order"),
    ("minus infinity ahead", _infinite, "finite", "mask's work"),
    ("bounded", _bounded, "edges", "should be"),
    ("squared", _with(lambda q, k: np.maximum(q - k, 0) ** 2), "by hand", "should be"),
    ("first rows of the square", _first_rows, "property", "They're the last"),
    ("moved to the front", lambda slopes, q_len, kv_len: -slopes[:, None, None] * np.maximum(
        np.arange(q_len)[:, None] - np.arange(kv_len) - (kv_len - q_len), 0), "property",
     "front of the cache"),
    ("the last query for all", _last_for_all, "by hand", "one position earlier"),
    ("no bias on the past", _past_is_free, "property", "farther away"),
    ("slopes computed anew", _own_slopes, "random", "passed in"),
    ("no past, and positive", _twice_wrong, "by hand", "Two things"),
]  # fmt: skip
