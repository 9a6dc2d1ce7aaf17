"""Attention over blocks of keys."""

import numpy as np


def block_attention(q, k, v, block):
    # Three things are carried from block to block: the largest score so
    # far, and both sums relative to it. No more than one block of
    # scores exists at a time.
    top = np.full(len(q), -np.inf)
    total, out = np.zeros(len(q)), np.zeros((len(q), v.shape[1]))
    for start in range(0, len(k), block):
        scores = q @ k[start : start + block].T / np.sqrt(q.shape[1])
        new_top = np.maximum(top, scores.max(axis=1))
        # The old sums were taken relative to the old maximum. One
        # factor brings them to the new.
        keep = np.exp(top - new_top)
        weights = np.exp(scores - new_top[:, None])
        total = total * keep + weights.sum(axis=1)
        out = out * keep[:, None] + weights @ v[start : start + block]
        top = new_top
    # Only the last block knows the whole sum, so the division waits for
    # it.
    return out / total[:, None]


REFERENCE = block_attention


def _blocked(keep_total=True, keep_out=True):
    def answer(q, k, v, block):
        top = np.full(len(q), -np.inf)
        total, out = np.zeros(len(q)), np.zeros((len(q), v.shape[1]))
        for start in range(0, len(k), block):
            scores = q @ k[start : start + block].T / np.sqrt(q.shape[1])
            new_top = np.maximum(top, scores.max(axis=1))
            keep = np.exp(top - new_top)
            weights = np.exp(scores - new_top[:, None])
            total = total * (keep if keep_total else 1) + weights.sum(axis=1)
            out = out * (keep if keep_out else np.ones(len(q)))[:, None]
            out = out + weights @ v[start : start + block]
            top = new_top
        return out / total[:, None]

    return answer


def _softmax(scores):
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _averaged(q, k, v, block):
    parts = [
        _softmax(q @ k[s : s + block].T / np.sqrt(q.shape[1])) @ v[s : s + block]
        for s in range(0, len(k), block)
    ]
    return np.mean(parts, axis=0)


def _last_only(q, k, v, block):
    start = (len(k) - 1) // block * block
    return block_attention(q, k[start:], v[start:], block)


def _full_blocks(q, k, v, block):
    whole = max(block, len(k) // block * block)
    return block_attention(q, k[:whole], v[:whole], block)


def _at_once(q, k, v, block):
    return _softmax(q @ k.T / np.sqrt(q.shape[1])) @ v


def _no_maximum(q, k, v, block):
    weights = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    return weights @ v / weights.sum(axis=1, keepdims=True)


def _no_scale(q, k, v, block):
    return block_attention(q * np.sqrt(q.shape[1]), k, v, block)


def _half(q, k, v, block):
    return 0.5 * block_attention(q, k, v, block)


def _transposed(q, k, v, block):
    return block_attention(q, k, v, block).T


def _list(q, k, v, block):
    return block_attention(q, k, v, block).tolist()


def _with_top(new_top, factor=lambda old, new: np.exp(old - new), begin=-np.inf):
    """The reference with another maximum, or another factor for the old sums."""

    def answer(q, k, v, block):
        top = np.full(len(q), begin)
        total, out = np.zeros(len(q)), np.zeros((len(q), v.shape[1]))
        for start in range(0, len(k), block):
            scores = q @ k[start : start + block].T / np.sqrt(q.shape[1])
            new = new_top(top, scores)
            keep = factor(top, new)
            weights = np.exp(scores - new[:, None])
            total = total * keep + weights.sum(axis=1)
            out = out * keep[:, None] + weights @ v[start : start + block]
            top = new
        return out / total[:, None]

    return answer


def _so_far(top, scores):
    return np.maximum(top, scores.max(axis=1))


def _block_only(top, scores):
    return scores.max(axis=1)


def _shared(top, scores):
    return np.full(len(top), max(top.max(), scores.max()))


def _first(top, scores):
    return np.where(np.isfinite(top), top, scores.max(axis=1))


def _grown(old, new):
    return np.where(np.isfinite(old), np.exp(new - old), 0.0)


WRONG = [
    (
        "starter: nothing brought up to date",
        _blocked(False, False),
        "by hand",
        "rescale the old sums",
    ),
    ("the total forgotten", _blocked(keep_total=False), "by hand", "but not the total"),
    ("out forgotten", _blocked(keep_out=False), "by hand", "but not out"),
    ("blocks averaged", _averaged, "by hand", "average the blocks"),
    ("only the last block", _last_only, "by hand", "Only the last block"),
    ("full blocks only", _full_blocks, "edges", "left out the last keys"),
    ("no maximum", _no_maximum, "finite", "subtract a maximum"),
    ("no scale", _no_scale, "by hand", "scale"),
    ("half", _half, "by hand", "should be"),
    ("transposed", _transposed, "shape", "shape"),
    ("a list", _list, "type", "NumPy array"),
    ("factor upside down", _with_top(_so_far, _grown), "by hand", "upside down"),
    ("all keys at once", _at_once, "property", "one block of 8"),
    ("the block's own maximum", _with_top(_block_only), "finite", "largest score so far"),
    ("one maximum for all queries", _with_top(_shared), "finite", "share one maximum"),
    ("the first block's maximum", _with_top(_first), "finite", "first block's maximum"),
    ("from −1e4", _with_top(_so_far, begin=-1e4), "finite", "starts at a finite number"),
]
