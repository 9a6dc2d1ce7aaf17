"""A chunk after a cache that forgets: positions count the tokens that were seen."""

import numpy as np


def _rotated(x, positions):
    half = x.shape[1] // 2
    angles = positions[:, None] * 10_000.0 ** (-np.arange(half) / half)
    cos, sin, a, b = np.cos(angles), np.sin(angles), x[:, :half], x[:, half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=1)


def _attend(q, k, v, k_held, v_held, at, *, q_at=None, k_at=None, sees=None, scaled=True):
    held, new = len(k_held), len(q)
    q = _rotated(q, at if q_at is None else q_at)
    k = _rotated(k, at if k_at is None else k_at)
    keys = np.concatenate([k_held, k])
    scores = q @ keys.T / (np.sqrt(q.shape[1]) if scaled else 1)
    last = held if sees is None else sees
    scores[~np.tri(new, held + new, last, dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ np.concatenate([v_held, v]) / weights.sum(axis=1, keepdims=True)


def after_forgetting(q, k, v, k_held, v_held, held_positions, seen):
    # The cache has forgotten tokens, so its length isn't how many were
    # seen. The new tokens go on where the text stands; kept keys are
    # rotated to their old places already.
    return _attend(q, k, v, k_held, v_held, seen + np.arange(len(q)))


REFERENCE = after_forgetting


def _placed(place, **options):
    def answer(q, k, v, k_held, v_held, held_positions, seen):
        at = place(held_positions, seen) + np.arange(len(q))
        return _attend(q, k, v, k_held, v_held, at, **options)

    return answer


def _seen(held_positions, seen):
    return seen


def _rows(held_positions, seen):
    return len(held_positions)


def _starter(q, k, v, k_held, v_held, held_positions, seen, start=None):
    held, new = len(k_held), len(q)
    positions = (held if start is None else start) + np.arange(new)
    q, k = _rotated(q, positions), _rotated(k, positions)
    keys = np.concatenate([k_held, k])
    scores = q @ keys.T / np.sqrt(q.shape[1])
    scores[np.arange(held + new) > positions[:, None]] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ np.concatenate([v_held, v]) / weights.sum(axis=1, keepdims=True)


def _one_word(q, k, v, k_held, v_held, held_positions, seen):
    return _starter(q, k, v, k_held, v_held, held_positions, seen, start=seen)


def _apart(which, rows=False):
    def answer(q, k, v, k_held, v_held, held_positions, seen):
        new = np.arange(len(q))
        other = len(k_held) + new if rows else 0 * new
        return _attend(q, k, v, k_held, v_held, seen + new, **{which: other})

    return answer


def _seeing(last):
    def answer(q, k, v, k_held, v_held, held_positions, seen):
        at = seen + np.arange(len(q))
        return _attend(q, k, v, k_held, v_held, at, sees=last(len(k_held), len(q)))

    return answer


def _values(q, k, v, k_held, v_held, held_positions, seen):
    turned = _rotated(v, seen + np.arange(len(q)))
    return after_forgetting(q, k, turned, k_held, v_held, held_positions, seen)


def _shuffled(q, k, v, k_held, v_held, held_positions, seen):
    return after_forgetting(q, k, v, k_held, v_held[::-1], held_positions, seen)


def _again(q, k, v, k_held, v_held, held_positions, seen):
    return after_forgetting(q, k, v, _rotated(k_held, held_positions), v_held, held_positions, seen)


def _closed_up(q, k, v, k_held, v_held, held_positions, seen):
    rows = np.arange(len(k_held))
    moved = _rotated(k_held, rows - held_positions)
    return _attend(q, k, v, moved, v_held, len(k_held) + np.arange(len(q)))


def _numbered(q, k, v, k_held, v_held, held_positions, seen):
    turned = _rotated(k_held, np.arange(len(k_held)))
    return after_forgetting(q, k, v, turned, v_held, held_positions, seen)


def _one_place(q, k, v, k_held, v_held, held_positions, seen):
    return _attend(q, k, v, k_held, v_held, np.full(len(q), seen))


def _last(q, k, v, k_held, v_held, held_positions, seen):
    return after_forgetting(q, k, v, k_held, v_held, held_positions, seen)[-1]


WRONG = [
    ("starter", _starter, "by hand", "as many tokens as rows"),
    ("one word", _one_word, "by hand", "row numbers with positions"),
    ("after the newest", _placed(lambda at, seen: at.max() + 1), "property", "newest key"),
    ("one too far", _placed(lambda at, seen: seen + 1), "by hand", "one position too far"),
    ("one too near", _placed(lambda at, seen: seen - 1), "by hand", "the one before it"),
    ("one place", _one_place, "by hand", "position of the first"),
    ("rows and tokens", _placed(lambda at, seen: seen + len(at)), "by hand", "count once"),
    ("query as it was", _apart("q_at"), "by hand", "rotate the queries."),
    ("key as it was", _apart("k_at"), "by hand", "rotate the keys of the chunk."),
    ("query by rows", _apart("q_at", rows=True), "by hand", "queries by row "),
    ("key by rows", _apart("k_at", rows=True), "by hand", "chunk by row "),
    ("not itself", _seeing(lambda held, new: held - 1), "by hand", "attend to itself"),
    ("a square mask", _seeing(lambda held, new: 0), "by hand", "held keys come first"),
    ("values too", _values, "by hand", "rotate the values"),
    ("values of others", _shuffled, "by hand", "three things separately"),
    ("rotated again", _again, "by hand", "once more"),
    ("rotated by rows", _numbered, "by hand", "by their rows"),
    ("closed up", _closed_up, "by hand", "move the kept keys"),
    ("the future", _seeing(lambda held, new: held + new), "by hand", "attend to later ones"),
    ("no scale", _placed(_seen, scaled=False), "by hand", "square root"),
    ("rows, no scale", _placed(_rows, scaled=False), "by hand", "Two things"),
    ("last row", _last, "shape", "shape"),
]
