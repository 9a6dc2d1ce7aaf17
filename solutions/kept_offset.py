"""A chunk after a cache that forgets: positions count the tokens that were seen."""

import numpy as np


def _rotated(x, positions):
    half = x.shape[1] // 2
    angles = positions[:, None] * 10_000.0 ** (-np.arange(half) / half)
    cos, sin, a, b = np.cos(angles), np.sin(angles), x[:, :half], x[:, half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=1)


def _attend(q, k, v, k_held, v_held, at, *, query=True, key=True, future=False, scaled=True):
    held, new = len(k_held), len(q)
    q = _rotated(q, at) if query else q
    k = _rotated(k, at) if key else k
    keys = np.concatenate([k_held, k])
    scores = q @ keys.T / (np.sqrt(q.shape[1]) if scaled else 1)
    if not future:
        scores[~np.tri(new, held + new, held, dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ np.concatenate([v_held, v]) / weights.sum(axis=1, keepdims=True)


def after_forgetting(q, k, v, k_held, v_held, held_positions, seen):
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
    ("starter", _placed(_rows), "by hand", "as many tokens as rows"),
    ("after the newest", _placed(lambda at, seen: at.max() + 1), "property", "newest key"),
    ("one too far", _placed(lambda at, seen: seen + 1), "by hand", "One position too far"),
    ("one too near", _placed(lambda at, seen: seen - 1), "by hand", "last one before"),
    ("one place", _one_place, "random", "position of the first"),
    ("query as it was", _placed(_seen, query=False), "by hand", "queries are not rotated"),
    ("key as it was", _placed(_seen, key=False), "by hand", "chunk are not rotated"),
    ("rotated again", _again, "by hand", "once more"),
    ("rotated by rows", _numbered, "by hand", "by their rows"),
    ("closed up", _closed_up, "by hand", "moved together"),
    ("the future", _placed(_seen, future=True), "random", "later ones"),
    ("no scale", _placed(_seen, scaled=False), "by hand", "square root"),
    ("rows, no scale", _placed(_rows, scaled=False), "by hand", "Two things"),
    ("last row", _last, "shape", "shape"),
]
