"""The guard stands in the exponent alone; the maximum of no keys stays minus infinity."""

import numpy as np


def block_attention(q, k, v, seen, block):
    top = np.full(len(q), -np.inf)
    total, out = np.zeros(len(q)), np.zeros((len(q), v.shape[1]))
    for start in reversed(range(0, len(k), block)):
        some = slice(start, start + block)
        scores = np.where(seen[:, some], q @ k[some].T / np.sqrt(q.shape[1]), -np.inf)
        higher = np.maximum(top, scores.max(axis=1))
        shift = np.where(np.isneginf(higher), 0.0, higher)  # for the exponents
        keep, weights = np.exp(top - shift), np.exp(scores - shift[:, None])
        total = keep * total + weights.sum(axis=1)
        out = keep[:, None] * out + weights @ v[some]
        top = higher
    return out / np.where(total == 0, 1.0, total)[:, None]


REFERENCE = block_attention


def _loop(guard=True, begin=-np.inf, hidden=-np.inf, scale=True, own=True, last=False, old=True,
          both=True):  # fmt: skip
    """The loop with something done otherwise."""

    def answer(q, k, v, seen, block):
        top = np.full(len(q), begin)
        total, out = np.zeros(len(q)), np.zeros((len(q), v.shape[1]))
        for start in reversed(range(0, len(k), block)):
            some = slice(start, start + block)
            scores = q @ k[some].T / (np.sqrt(q.shape[1]) if scale else 1)
            if hidden is not None:
                scores = np.where(seen[:, some], scores, hidden)
            higher = np.maximum(top, scores.max(axis=1))
            shift = np.where(np.isneginf(higher), 0.0, higher) if guard else higher
            shift = shift if own else np.full_like(shift, shift.max())
            with np.errstate(all="ignore"):
                keep, weights = np.exp(top - shift), np.exp(scores - shift[:, None])
                if last or not old:
                    keep = np.zeros_like(keep) if last else np.ones_like(keep)
                total = keep * total + weights.sum(axis=1)
                out = keep[:, None] * out + weights @ v[some]
            top = higher if guard == "exponent" else shift
        return out / np.where(total == 0, 1.0, total)[:, None]

    return answer


def _mean_of_none(q, k, v, seen, block):
    out = block_attention(q, k, v, seen, block)
    return np.where(seen.any(axis=1)[:, None], out, v.mean(axis=0))


def _not_started(q, k, v, seen, block):
    raise NotImplementedError


def _rows_of_one(q, k, v, seen, block):
    return block_attention(q, k, v, seen, block)[0]


WRONG = [
    ("not started", _not_started, "attempted", "NotImplementedError"),
    ("starter", _loop(), "by hand", "has 0 as its largest score"),
    ("no guard", _loop(guard=False), "finite", "NaN"),
    ("begins low", _loop(guard="exponent", begin=-1e4), "edges", "begins at −10,000"),
    ("begins at -500", _loop(guard="exponent", begin=-500.0), "property", "begins at a number"),
    ("one maximum", _loop(own=False), "by hand", "share one maximum"),
    ("no mask", _loop("exponent", hidden=None), "by hand", "the mask is lost"),
    ("hidden at 0", _loop("exponent", hidden=0.0), "by hand", "the score 0"),
    ("hidden at -1e9", _loop("exponent", hidden=-1e9), "edges", "a low score in place"),
    ("mean of none", _mean_of_none, "edges", "gets zeros"),
    ("old sums as they are", _loop("exponent", old=False), "by hand", "have to shrink"),
    ("the last tile", _loop("exponent", last=True), "by hand", "thrown away"),
    ("no scale", _loop("exponent", scale=False), "random", "scale"),
    ("one row", _rows_of_one, "shape", "shape"),
    ("half repaired: no scale", _loop(scale=False), "by hand", "has 0 as its largest"),
]  # fmt: skip
