"""Rank by the squares of singular values."""

import numpy as np


def latent_rank(k, v, shares):
    rows = np.concatenate([k, v]).swapaxes(0, 1).reshape(k.shape[1], -1)
    squares = np.linalg.svd(rows, compute_uv=False) ** 2
    kept = np.cumsum(squares) / squares.sum()
    return 1 + np.searchsorted(kept[:-1], shares)


REFERENCE = latent_rank


def _of(rows, shares, power=2):
    parts = np.linalg.svd(rows, compute_uv=False) ** power
    return 1 + np.searchsorted((np.cumsum(parts) / parts.sum())[:-1], shares)


def _flat(x):
    return x.swapaxes(0, 1).reshape(x.shape[1], -1)


def _both(k, v):
    return np.concatenate([_flat(k), _flat(v)], axis=1)


def _unsquared(k, v, shares):
    return _of(_both(k, v), shares, 1)


def _centred(k, v, shares):
    rows = _both(k, v)
    return _of(rows - rows.mean(axis=0), shares)


def _stacked(k, v, shares):
    return _of(np.concatenate([_flat(k), _flat(v)]), shares)


def _two(k, v, shares):
    return _of(_flat(k), shares) + _of(_flat(v), shares)


def _by_head(k, v, shares):
    return sum(_of(np.concatenate([a, b], axis=1), shares) for a, b in zip(k, v, strict=True))


def _largest_head(k, v, shares):
    found = [_of(np.concatenate([a, b], axis=1), shares) for a, b in zip(k, v, strict=True)]
    return np.max(found, axis=0)


def _all_tokens(k, v, shares):
    return _of(np.concatenate([k, v]).reshape(-1, k.shape[-1]), shares)


def _starter(k, v, shares):
    raise NotImplementedError


def _lr_rank(m, shares):
    part = np.linalg.svd(m, compute_uv=False) ** 2
    kept = np.concatenate([[0.0], np.cumsum(part)])
    if kept[-1] == 0:
        return np.zeros(len(shares), dtype=int)
    kept /= kept[-1]
    return np.searchsorted(kept, np.asarray(shares) - 1e-12)


def _scrambled(k, v, shares):
    tokens = k.shape[1]
    m = np.concatenate([k.reshape(tokens, -1), v.reshape(tokens, -1)], axis=1)
    return _lr_rank(m, shares)


def _lr_rows(x):
    return x.swapaxes(0, 1).reshape(x.shape[1], -1)


def _against_largest(k, v, shares):
    m = np.concatenate([_lr_rows(k), _lr_rows(v)], axis=1)
    s = np.linalg.svd(m, compute_uv=False) ** 2
    return np.array([int((s >= (1 - share) * s[0]).sum()) for share in shares])


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("a list", lambda **given: latent_rank(**given).tolist(), "type", "NumPy array"),
    ("one rank", lambda k, v, shares: latent_rank(k, v, shares)[0], "shape", "shape"),
    ("floats", lambda **given: latent_rank(**given) * 1.0, "dtype", "whole numbers"),
    ("one too few", lambda **given: latent_rank(**given) - 1, "by hand", "one too few"),
    ("one too many", lambda **given: latent_rank(**given) + 1, "by hand", "one too many"),
    ("unsquared", _unsquared, "by hand", "squares"),
    ("keys", lambda k, v, shares: _of(_flat(k), shares), "by hand", "for the keys"),
    ("values", lambda k, v, shares: _of(_flat(v), shares), "by hand", "for the values"),
    ("a latent each", _two, "by hand", "a latent each"),
    ("by head", _by_head, "by hand", "latent of its own"),
    ("largest head", _largest_head, "by hand", "each head alone"),
    ("below each other", _stacked, "by hand", "more tokens"),
    ("mean taken away", _centred, "by hand", "mean"),
    ("every head a token", _all_tokens, "by hand", "row of its own"),
    ("reshaped without moving the token axis", _scrambled, "by hand", "mixes the tokens"),
    ("each against the largest", _against_largest, "by hand", "compared with the largest"),
    ("not squared, one too few", lambda k, v, shares: _unsquared(k, v, shares) - 1, "by hand",
     "Two things"),
    ("larger of both", lambda k, v, shares: np.maximum(
        _of(_flat(k), shares), _of(_flat(v), shares)), "by hand", "each alone"),
    ("keys and values added", lambda k, v, shares: _of(_flat(k) + _flat(v), shares), "by hand",
     "values are added"),
]  # fmt: skip
