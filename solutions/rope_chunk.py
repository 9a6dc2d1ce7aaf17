"""Scores of a chunk: each key rotated once, to its own position."""

import numpy as np


def rotate(x, positions):
    pairs = x.shape[1] // 2
    angles = positions[:, None] * 10000.0 ** (-np.arange(pairs) / pairs)
    z = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * angles)
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)


def chunk_scores(q, k, k_cache):
    # The angle is that of the token's place in the text, and the chunk
    # begins after the cache.
    here = len(k_cache) + np.arange(len(q))  # where this chunk really is
    # Cached keys were rotated when they came in. A second time would
    # turn them too far.
    keys = np.concatenate([k_cache, rotate(k, here)])
    return rotate(q, here) @ keys.T / np.sqrt(q.shape[1])


REFERENCE = chunk_scores


def _variant(q_at=None, k_at=None, again=False, scale=True):
    def answer(q, k, k_cache):
        past, new = len(k_cache), np.arange(len(q))
        old = rotate(k_cache, np.arange(past)) if again else k_cache
        keys = np.concatenate([old, rotate(k, past + new if k_at is None else k_at(past, new))])
        scores = rotate(q, past + new if q_at is None else q_at(past, new)) @ keys.T
        return scores / np.sqrt(q.shape[1]) if scale else scores

    return answer


def _starts_at_0(past, new):
    return new


def _still(past, new):
    return 0 * new


def _crash(q, k, k_cache):
    return q @ np.concatenate([k_cache, k[0]]).T


def _new_keys_only(q, k, k_cache):
    here = len(k_cache) + np.arange(len(q))
    return rotate(q, here) @ rotate(k, here).T / np.sqrt(q.shape[1])


def _doubles_for_short_texts(q, k, k_cache):
    if len(k_cache) == 3 and len(q) == 3:
        return _variant(again=True)(q, k, k_cache)
    return chunk_scores(q, k, k_cache)


def _at_most_128(q, k, k_cache):
    past = min(len(k_cache), 128)
    return _variant(lambda _, new: past + new, lambda _, new: past + new)(q, k, k_cache)


def _rotate(x, positions, sign=1):
    power = np.arange(0, x.shape[1], 2) / x.shape[1]
    angles = sign * np.asarray(positions)[:, None] * 10000.0**-power
    cos, sin, out = np.cos(angles), np.sin(angles), np.empty_like(x)
    out[:, 0::2] = x[:, 0::2] * cos - x[:, 1::2] * sin
    out[:, 1::2] = x[:, 0::2] * sin + x[:, 1::2] * cos
    return out


def _one_late(q, k, k_cache):
    at = len(k_cache) + 1 + np.arange(len(q))
    keys = np.concatenate([k_cache, _rotate(k, at)])
    return _rotate(q, at) @ keys.T / np.sqrt(q.shape[1])


def _all_at_the_end(q, k, k_cache):
    past = len(k_cache)
    q = _rotate(q, np.full(len(q), past + len(q) - 1))
    keys = np.concatenate([k_cache, _rotate(k, past + np.arange(len(k)))])
    return q @ keys.T / np.sqrt(q.shape[1])


def _masked(q, k, k_cache):
    past = len(k_cache)
    at = past + np.arange(len(q))
    keys = np.concatenate([k_cache, _rotate(k, at)])
    scores = _rotate(q, at) @ keys.T / np.sqrt(q.shape[1])
    return np.where(np.arange(len(keys)) <= at[:, None], scores, 0.0)


def _new_keys_first(q, k, k_cache):
    at = len(k_cache) + np.arange(len(q))
    keys = np.concatenate([_rotate(k, at), k_cache])
    return _rotate(q, at) @ keys.T / np.sqrt(q.shape[1])


def _backwards(q, k, k_cache):
    here = -(len(k_cache) + np.arange(len(q)))
    return rotate(q, here) @ np.concatenate([k_cache, rotate(k, here)]).T / np.sqrt(q.shape[1])


def _cache_moved(q, k, k_cache):
    past = len(k_cache)
    return chunk_scores(q, k, rotate(k_cache, np.full(past, past)))


WRONG = [
    ("starter", _variant(_starts_at_0, again=True), "by hand", "Two things"),
    ("rotated again", _variant(again=True), "by hand", "rotate them again"),
    ("queries at 0", _variant(_starts_at_0), "by hand", "You rotate the queries as if"),
    ("keys at 0", _variant(None, _starts_at_0), "by hand", "You rotate the new keys as if"),
    ("both at 0", _variant(_starts_at_0, _starts_at_0), "by hand", "queries and new keys"),
    ("one too far", _variant(lambda past, new: past + new + 1), "by hand", "one position too far"),
    ("queries still", _variant(_still), "by hand", "keys alone"),
    ("keys still", _variant(None, _still), "by hand", "rotate the new keys"),
    ("no scale", _variant(scale=False), "by hand", "square root"),
    ("wrong lengths", _crash, "runs", "ValueError"),
    ("cache left out", _new_keys_only, "shape", "shape"),
    ("some cuts", _doubles_for_short_texts, "property", "rotate them again"),
    ("a short table", _at_most_128, "edges", "should be"),
    ("chunk begins at past + 1", _one_late, "by hand", "one position too far"),
    ("all queries at the last position", _all_at_the_end, "by hand", "last position"),
    ("masked", _masked, "by hand", "before any mask"),
    ("new keys before the cache", _new_keys_first, "by hand", "the cache first"),
    ("one too near", _variant(lambda past, new: past + new - 1, lambda past, new: past + new - 1),
     "by hand", "one position too near"),
    ("backwards", _backwards, "by hand", "backwards"),
    ("keys at 0, rotated again", _variant(None, _starts_at_0, again=True), "by hand", "Two things"),
    ("queries at 0, no scale", _variant(_starts_at_0, scale=False), "by hand", "Two things"),
]  # fmt: skip
