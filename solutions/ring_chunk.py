"""A chunk looks first at what the ring held, put together with itself."""

import numpy as np


def chunk_attention(q, k, v, k_ring, v_ring, ring_positions, start):
    # A chunk that's written first overwrites keys that its own first
    # tokens still need. So it attends to the old ring and itself, side
    # by side.
    window, here = len(k_ring), start + np.arange(len(q))
    at = np.concatenate([ring_positions, here])  # ring and chunk side by side
    keys, values = np.concatenate([k_ring, k]), np.concatenate([v_ring, v])
    # Positions decide: not an empty slot, not the future, not outside
    # the window. The order of the keys doesn't matter.
    behind = here[:, None] - at
    visible = (at >= 0) & (behind >= 0) & (behind < window)
    scores = np.where(visible, q @ keys.T / np.sqrt(q.shape[1]), -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ values


REFERENCE = chunk_attention


def _masked(q, keys, values, visible):
    scores = np.where(visible, q @ keys.T / np.sqrt(q.shape[1]), -1e30)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True)) * visible
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-30) @ values


def _starter(q, k, v, k_ring, v_ring, ring_positions, start):
    window = len(k_ring)
    k_ring, v_ring, at = k_ring.copy(), v_ring.copy(), ring_positions.copy()
    for i in range(len(q)):
        slot = (start + i) % window
        k_ring[slot], v_ring[slot], at[slot] = k[i], v[i], start + i
    behind = (start + np.arange(len(q)))[:, None] - at
    return _masked(q, k_ring, v_ring, (at >= 0) & (behind >= 0) & (behind < window))


def _variant(window_of=lambda w: w, causal=True, held=True, limit=10**9):
    def answer(q, k, v, k_ring, v_ring, ring_positions, start):
        window, here = window_of(len(k_ring)), start + np.arange(len(q))
        at = np.concatenate([ring_positions if held else ring_positions * 0 - 1, here])
        keys, values = np.concatenate([k_ring, k]), np.concatenate([v_ring, v])
        behind = here[:, None] - at
        visible = (at >= 0) & (behind < window) & ((behind >= 0) | (not causal))
        if len(q) > limit:
            visible &= behind < limit
        return _masked(q, keys, values, visible)

    return answer


def _nan(q, k, v, k_ring, v_ring, ring_positions, start):
    out = chunk_attention(q, k, v, k_ring, v_ring, ring_positions, start)
    return out * np.nan


def _one_row(q, k, v, k_ring, v_ring, ring_positions, start):
    return chunk_attention(q, k, v, k_ring, v_ring, ring_positions, start)[-1]


def _empty_slots(q, k, v, k_ring, v_ring, ring_positions, start):
    if start:
        return chunk_attention(q, k, v, k_ring, v_ring, ring_positions, start)
    visible = np.tril(np.ones((len(q), len(q))), 0).astype(bool)
    return _masked(q, k, v, visible)


def _joined(q, k, v, k_ring, v_ring, at, here, least=0, empty=-1):
    """Ring and chunk side by side, for keys at least so far behind."""
    at = np.concatenate([at, here])
    behind = here[:, None] - at
    visible = (at > empty) & (behind >= least) & (behind < len(k_ring))
    return _masked(q, np.concatenate([k_ring, k]), np.concatenate([v_ring, v]), visible)


def _empty_seen(q, k, v, k_ring, v_ring, ring_positions, start):
    return _joined(q, k, v, k_ring, v_ring, ring_positions, start + np.arange(len(q)), empty=-2)


def _itself_unseen(q, k, v, k_ring, v_ring, ring_positions, start):
    return _joined(q, k, v, k_ring, v_ring, ring_positions, start + np.arange(len(q)), least=1)


def _from_0(q, k, v, k_ring, v_ring, ring_positions, start):
    return _joined(q, k, v, k_ring, v_ring, ring_positions, np.arange(len(q)))


def _in_order(q, k, v, k_ring, v_ring, ring_positions, start):
    at = np.arange(start - len(k_ring), start)
    return _joined(q, k, v, k_ring, v_ring, at, start + np.arange(len(q)))


def _write(k, v, k_ring, v_ring, ring_positions, start):
    k_ring, v_ring, at = k_ring.copy(), v_ring.copy(), ring_positions.copy()
    for i in range(len(k)):
        slot = (start + i) % len(k_ring)
        k_ring[slot], v_ring[slot], at[slot] = k[i], v[i], start + i
    return k_ring, v_ring, at


def _twice(q, k, v, k_ring, v_ring, ring_positions, start):
    ring = _write(k, v, k_ring, v_ring, ring_positions, start)
    return _joined(q, k, v, *ring, start + np.arange(len(q)))


def _in_pieces(q, k, v, k_ring, v_ring, ring_positions, start):
    ring, rows = (k_ring, v_ring, ring_positions), []
    for first in range(0, len(q), len(k_ring)):
        piece = slice(first, first + len(k_ring))
        rows.append(_starter(q[piece], k[piece], v[piece], *ring, start + first))
        ring = _write(k[piece], v[piece], *ring, start + first)
    return np.concatenate(rows)


def _no_scale(q, k, v, k_ring, v_ring, ring_positions, start):
    return chunk_attention(q * np.sqrt(q.shape[1]), k, v, k_ring, v_ring, ring_positions, start)


WRONG = [
    ("starter", _starter, "by hand", "into the ring before"),
    ("itself only", _variant(held=False), "by hand", "attends to itself only"),
    ("one too many", _variant(lambda w: w + 1), "by hand", "One key too many"),
    ("no window", _variant(lambda w: 10**6), "by hand", "window is missing"),
    ("the future", _variant(causal=False), "by hand", "attend to later ones"),
    ("long chunks cut", _variant(limit=3), "property", "One key too few"),
    ("no window at the start", _empty_slots, "edges", "window is missing"),
    ("not a number", _nan, "finite", "NaN"),
    ("last row only", _one_row, "shape", "shape"),
    ("empty slots seen", _empty_seen, "edges", "holds nothing"),
    ("the chunk from 0", _from_0, "by hand", "the chunk from 0"),
    ("written and beside it", _twice, "by hand", "there twice"),
    ("itself unseen", _itself_unseen, "by hand", "its own token"),
    ("written in pieces", _in_pieces, "by hand", "a piece of the chunk"),
    ("slots in order of the text", _in_order, "random", "order of the text"),
    ("no window, the future", _variant(lambda w: 10**6, causal=False), "by hand", "Two things"),
    ("itself only, no window", _variant(lambda w: 10**6, held=False), "by hand", "Two things"),
    ("no scale", _no_scale, "by hand", "square root"),
]
