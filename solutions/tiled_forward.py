"""Queries outside, keys inside, up to the last key that somebody of the block sees."""

import numpy as np


def tiled_forward(q, k, v, block_q, block_k):
    out, lse = np.zeros((len(q), v.shape[1])), np.zeros(len(q))
    tiles = []
    past = len(k) - len(q)
    for i in range(0, len(q), block_q):
        rows = q[i : i + block_q] / np.sqrt(q.shape[1])
        at = past + i + np.arange(len(rows))  # where the queries stand
        top, total = np.full(len(rows), -np.inf), np.zeros(len(rows))
        found = np.zeros((len(rows), v.shape[1]))
        # no tile that begins after the last query
        for j in range(0, at[-1] + 1, block_k):
            some = slice(j, min(j + block_k, len(k)))
            scores = rows @ k[some].T
            seen = np.arange(some.start, some.stop) <= at[:, None]
            scores = np.where(seen, scores, -np.inf)
            higher = np.maximum(top, scores.max(axis=1))
            keep = np.exp(top - higher)
            weights = np.exp(scores - higher[:, None])
            total = keep * total + weights.sum(axis=1)
            found = keep[:, None] * found + weights @ v[some]
            top = higher
        out[i : i + block_q] = found / total[:, None]
        lse[i : i + block_q] = top + np.log(total)
        tiles.append(at[-1] // block_k + 1)
    return out, lse, np.array(tiles)


REFERENCE = tiled_forward


def _starter(q, k, v, block_q, block_k):
    raise NotImplementedError


def _changed(**parts):
    """The right answer, with an output exchanged."""

    def answer(q, k, v, block_q, block_k):
        found = dict(
            zip(("out", "lse", "tiles"), tiled_forward(q, k, v, block_q, block_k), strict=True)
        )
        found |= {name: make(q, k, v, block_q, block_k) for name, make in parts.items()}
        return found["out"], found["lse"], found["tiles"]

    return answer


def _scores(q, k, past=None, scaled=True, blind=0):
    past = len(k) - len(q) if past is None else past
    mask = np.tri(len(q), len(k), past - blind, dtype=bool)
    return np.where(mask, q @ k.T * (q.shape[1] ** -0.5 if scaled else 1), -np.inf)


def _out(**how):
    def make(q, k, v, block_q, block_k):
        scores = _scores(q, k, **{n: f(k) if callable(f) else f for n, f in how.items()})
        top = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - np.where(np.isneginf(top), 0, top))
        return weights @ v / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)

    return make


def _top(q, k, v, block_q, block_k):
    return _scores(q, k).max(axis=1)


def _square(q, k, v, block_q, block_k):
    scores = _scores(q, k)
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=1)
    tiles = tiled_forward(q, k, v, block_q, block_k)[2]
    return weights @ v / total[:, None], top[:, 0] + np.log(total), tiles


def _no_maximum(q, k, v, block_q, block_k):
    out, lse, tiles = tiled_forward(q, k, v, block_q, block_k)
    with np.errstate(all="ignore"):
        total = np.exp(lse)
        return out * total[:, None] / total[:, None], np.log(total), tiles


def _walk(ends):
    def make(q, k, v, block_q, block_k):
        first = np.arange(0, len(q), block_q)
        last = np.minimum(first + block_q, len(q)) - 1
        keys = ends(len(k) - len(q), first, last)
        return np.clip(-(-keys // block_k), 0, -(-len(k) // block_k))

    return make


def _whole_tiles(q, k, v, block_q, block_k):
    last = np.minimum(np.arange(block_q, len(q) + block_q, block_q), len(q))
    return (len(k) - len(q) + last) // block_k


def _one_more(q, k, v, block_q, block_k):
    return np.minimum(_whole_tiles(q, k, v, block_q, block_k) + 1, -(-len(k) // block_k))


def _on_and_on(q, k, v, block_q, block_k):
    return np.cumsum(tiled_forward(q, k, v, block_q, block_k)[2])


def _in_all(q, k, v, block_q, block_k):
    out, lse, tiles = tiled_forward(q, k, v, block_q, block_k)
    return out, lse, tiles.sum(keepdims=True)


def _two(q, k, v, block_q, block_k):
    return tiled_forward(q, k, v, block_q, block_k)[:2]


def _float(q, k, v, block_q, block_k):
    out, lse, tiles = tiled_forward(q, k, v, block_q, block_k)
    return out, lse, tiles + 0.5


def _lse(make):
    return _changed(
        lse=lambda q, k, v, block_q, block_k: make(
            tiled_forward(q, k, v, block_q, block_k)[1], _top(q, k, v, block_q, block_k)
        )
    )


def _late(q, k, v, block_q, block_k):
    """The mask after the exponential, and a maximum over whole tiles."""
    out, lse, tiles = tiled_forward(q, k, v, block_q, block_k)
    past = len(k) - len(q)
    for i in range(len(q)):
        last = past + min(i - i % block_q + block_q, len(q)) - 1
        scores = q[i] @ k[: (last // block_k + 1) * block_k].T / np.sqrt(q.shape[1])
        weights = np.exp(scores - scores.max())
        weights[past + i + 1 :] = 0.0
        with np.errstate(all="ignore"):
            out[i] = weights @ v[: len(weights)] / weights.sum()
            lse[i] = scores.max() + np.log(weights.sum())
    return out, lse, tiles


def _late_zeros(q, k, v, block_q, block_k):
    out, lse, tiles = _late(q, k, v, block_q, block_k)
    return np.nan_to_num(out), np.where(np.isneginf(lse), 0.0, lse), tiles


def _keys_outside(q, k, v, block_q, block_k):
    """Each tile with a softmax of its own, then the mean of them."""
    _, lse, tiles = tiled_forward(q, k, v, block_q, block_k)
    out = np.zeros((len(q), v.shape[1]))
    for i in range(len(q)):
        for j in range(tiles[i // block_q]):
            some = slice(j * block_k, min((j + 1) * block_k, len(k) - len(q) + i + 1))
            if len(k[some]):
                scores = q[i] @ k[some].T / np.sqrt(q.shape[1])
                weights = np.exp(scores - scores.max())
                out[i] += weights @ v[some] / weights.sum()
        out[i] /= tiles[i // block_q]
    return out, lse, tiles


WRONG = [
    ("masked late", _late, "finite", "over hidden keys too"),
    ("masked late, zeros", _late_zeros, "edges", "over hidden keys too"),
    ("a softmax a tile", _keys_outside, "by hand", "its own softmax"),
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("two outputs", _two, "type", "Return 3 arrays"),
    ("the square", _square, "property", "at the same time"),
    ("no maximum", _no_maximum, "finite", "NaN"),
    ("no mask", _changed(out=_out(past=len)), "by hand", "attend to later keys"),
    ("from the left", _changed(out=_out(past=0)), "random", "as the first tokens"),
    ("blind", _changed(out=_out(blind=1)), "by hand", "its own key"),
    ("no scale", _changed(out=_out(scaled=False)), "random", "scale"),
    ("the maximum", _changed(lse=_top), "by hand", "largest score alone"),
    ("log of the sum", _lse(lambda lse, top: lse - top), "by hand", "Add the maximum"),
    ("the sum", _lse(lambda lse, top: np.exp(lse - top)), "by hand", "Return its logarithm"),
    ("base 2", _lse(lambda lse, top: lse / np.log(2)), "by hand", "base 2"),
    ("all tiles", _changed(tiles=_walk(lambda past, first, last: 10**9 + last)), "by hand",
     "compute all tiles"),
    ("tiles from the left", _changed(tiles=_walk(lambda past, first, last: last + 1)), "random",
     "as the first tokens"),
    ("the first query asked", _changed(tiles=_walk(lambda past, first, last: past + first + 1)),
     "random", "check that one"),
    ("no own key", _changed(tiles=_walk(lambda past, first, last: past + last)), "random",
     "own key"),
    ("whole tiles", _changed(tiles=_whole_tiles), "random", "partly masked"),
    ("one more", _changed(tiles=_one_more), "by hand", "one tile too many"),
    ("on and on", _changed(tiles=_on_and_on), "by hand", "continues"),
    ("in all", _in_all, "shape", "tiles should have shape"),
    ("half a tile", _float, "dtype", "whole number"),
]  # fmt: skip
