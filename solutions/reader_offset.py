"""A layer that reads another's cache: the new tokens are in it already."""

import numpy as np


def _rotated(x, positions):
    half = x.shape[1] // 2
    angles = positions[:, None] * 10_000.0 ** (-np.arange(half) / half)
    cos, sin, a, b = np.cos(angles), np.sin(angles), x[:, :half], x[:, half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=1)


def _attend(q, k, v, at, last, *, scaled=True):
    scores = _rotated(q, at) @ k.T / (np.sqrt(q.shape[1]) if scaled else 1)
    scores[~np.tri(len(q), len(k), last, dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ v / weights.sum(axis=1, keepdims=True)


def read_kept(q, k_kept, v_kept):
    # The layer that keeps has run already, so the keys of the new
    # tokens are the last of k_kept. The first new token comes after
    # what was there before them.
    before = len(k_kept) - len(q)
    return _attend(q, k_kept, v_kept, before + np.arange(len(q)), before)


REFERENCE = read_kept


def _placed(start, last, steps=1, **options):
    """Answer with other positions and another last key, both by tokens before and kept."""

    def answer(q, k_kept, v_kept):
        kept, before = len(k_kept), len(k_kept) - len(q)
        at = start(before, kept) + steps * np.arange(len(q))
        return _attend(q, k_kept, v_kept, at, last(before, kept), **options)

    return answer


def _before(before, kept):
    return before


def _kept(before, kept):
    return kept


def _again(q, k_kept, v_kept):
    return read_kept(q, _rotated(k_kept, np.arange(len(k_kept))), v_kept)


def _values(q, k_kept, v_kept):
    return read_kept(q, k_kept, _rotated(v_kept, np.arange(len(v_kept))))


def _shuffled(q, k_kept, v_kept):
    return read_kept(q, k_kept, v_kept[::-1])


WRONG = [
    ("starter", _placed(_kept, _kept), "by hand", "which tokens' keys are among them"),
    ("mask alone", _placed(_kept, _before), "by hand", "Your mask is right"),
    ("rotation alone", _placed(_before, _kept), "by hand", "Your rotations are right"),
    ("minus one", _placed(lambda b, k: k - 1, _kept), "by hand", "right for a single token"),
    ("minus one, masked", _placed(lambda b, k: k - 1, _before), "by hand",
     "right for a single token"),
    ("from zero", _placed(lambda b, k: 0, _before), "by hand", "as if the text began"),
    ("from zero, masked", _placed(lambda b, k: 0, lambda b, k: 0), "by hand", "they come first"),
    ("one too far", _placed(lambda b, k: b + 1, _before), "by hand", "one position too far"),
    ("one too far, masked", _placed(lambda b, k: b + 1, lambda b, k: b + 1), "by hand",
     "the one after it"),
    ("one too near", _placed(lambda b, k: b - 1, _before), "by hand", "the one before it"),
    ("queries as they are", _placed(lambda b, k: 0, _before, steps=0), "by hand",
     "rotate the queries."),
    ("one place", _placed(_before, _before, steps=0), "by hand", "position of the first"),
    ("not itself", _placed(_before, lambda b, k: b - 1), "by hand", "attend to itself"),
    ("a square mask", _placed(_before, lambda b, k: 0), "by hand", "forgets the tokens before"),
    ("keys again", _again, "by hand", "once more"),
    ("values too", _values, "by hand", "rotate the values"),
    ("values of others", _shuffled, "by hand", "two things separately"),
    ("no scale", _placed(_before, _before, scaled=False), "by hand", "square root"),
    ("starter, no scale", _placed(_kept, _kept, scaled=False), "by hand", "Two things"),
    ("last row", lambda **given: read_kept(**given)[-1], "shape", "shape"),
]  # fmt: skip
