"""Few sets of codes can occur; each has its best scale."""

import numpy as np


def least_error(W, levels):
    # With fixed codes the error is a parabola in the scale, and its
    # lowest point is known. So only the few sets of codes that can
    # occur have to be tried.
    errors = []
    for w in np.abs(W):
        # Codes change where w / scale passes a half: between two such
        # scales they stay.
        changes = np.unique(w[w > 0][:, None] / (np.arange(levels) + 0.5))
        ends = np.concatenate([[0], changes])
        best = w @ w  # the scale is so large that all codes are 0
        # Any scale between two changes stands for all of them: it gives
        # the same codes.
        for scale in (ends[1:] + ends[:-1]) / 2:
            codes = np.rint(w / scale).clip(0, levels)
            fitted = (w @ codes) / (codes @ codes)
            best = min(best, ((w - fitted * codes) ** 2).sum())
        errors.append(best)
    return np.array(errors)


REFERENCE = least_error


def _starter(W, levels):
    raise NotImplementedError


def _codes(w, scale, levels):
    return np.rint(w / scale).clip(-levels, levels)


def _error(w, scale, levels):
    return ((w - scale * _codes(w, scale, levels)) ** 2).sum()


def _fitted(w, scale, levels):
    codes = _codes(w, scale, levels)
    return w @ codes / (codes @ codes) if codes.any() else scale


def _for_rows(find):
    def answer(W, levels):
        return np.array([find(w, levels) if w.any() else 0.0 for w in W])

    return answer


def _tried(scales, fitted=False):
    """The least error of the scales that ``scales(w, levels)`` gives, each fitted or not."""

    def least(w, levels):
        tried = scales(w, levels)
        if fitted:
            tried = [_fitted(w, scale, levels) for scale in tried]
        return min(_error(w, scale, levels) for scale in tried)

    return _for_rows(least)


def _usual(w, levels):
    return [np.abs(w).max() / levels]


def _turns(w, levels):
    scale = np.abs(w).max() / levels
    for _ in range(50):
        scale = _fitted(w, scale, levels)
    return [scale]


def _many_turns(w, levels):
    found = []
    for scale in np.linspace(0.5 / levels, 1.5, 12) * np.abs(w).max():
        for _ in range(30):
            scale = _fitted(w, scale, levels)
        found.append(scale)
    return found


def _grid(w, levels, n=400):
    return np.abs(w).max() * np.linspace(0, 2, n + 1)[1:]


def _fine(w, levels):
    """Of four thousand scales, each unfitted."""
    scales = _grid(w, levels, 4000)[:, None]
    return ((w - scales * np.rint(w / scales).clip(-levels, levels)) ** 2).sum(axis=1).min()


def _changes(w, levels, half=0.5):
    return np.unique(np.abs(w[w != 0])[:, None] / (np.arange(levels) + half))


def _middles(w, levels, half=0.5):
    at = _changes(w, levels, half)
    at = np.concatenate([[at[0] / 2], at, [3 * np.abs(w).max()]])
    return (at[1:] + at[:-1]) / 2


def _exact_hits(w, levels):
    return (np.abs(w[w != 0])[:, None] / np.arange(1, levels + 1)).ravel()


def _best(w, levels):
    fitted = [_fitted(w, scale, levels) for scale in _middles(w, levels)]
    return min(fitted, key=lambda scale: _error(w, scale, levels))


def _valley(w, levels):
    """As if there were one valley."""
    low, high = 1e-6 * np.abs(w).max(), 1.2 * np.abs(w).max()
    for _ in range(80):
        one, other = low + 0.382 * (high - low), low + 0.618 * (high - low)
        if _error(w, one, levels) < _error(w, other, levels):
            high = other
        else:
            low = one
    return [(low + high) / 2]


def _uncut(w, levels):
    usual = _usual(w, levels)[0]
    return [max(_fitted(w, scale, levels), usual) for scale in _middles(w, levels)]


def _no_larger(w, levels):
    usual = _usual(w, levels)[0]
    return [min(_fitted(w, scale, levels), usual) for scale in _middles(w, levels)]


def _not_below(W, levels):
    return least_error(np.maximum(W, 0), levels) + (np.minimum(W, 0) ** 2).sum(axis=1)


def _sizes(w, levels):
    scale = _best(w, levels)
    return np.abs(w - scale * _codes(w, scale, levels)).sum()


def _one_scale(W, levels):
    scale = _best(W.ravel(), levels) if W.any() else 1.0
    return np.array([_error(w, scale, levels) for w in W])


def _divided(W, levels):
    return np.where((W == 0).all(axis=1), np.nan, least_error(W, levels))


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("usual", _tried(_usual), "by hand", "the usual scale"),
    ("fitted once", _tried(_usual, fitted=True), "random", "fitted the scale once"),
    ("in turns", _tried(_turns), "random", "in turns"),
    ("in turns from many", _tried(_many_turns), "random", "in one range of scales"),
    ("grid", _tried(_grid), "by hand", "but the scale"),
    ("fine grid", _for_rows(_fine), "random", "is near, but"),
    ("grid, fitted", _tried(_grid, fitted=True), "property", "in one range of scales"),
    ("one valley", _tried(_valley), "random", "in one range of scales"),
    ("hits", _tried(_exact_hits), "by hand", "hit one weight exactly"),
    ("changes alone", _tried(_changes), "by hand", "between two of"),
    ("middles", _tried(_middles), "by hand", "from a derivative"),
    ("whole places", _tried(lambda w, n: _middles(w, n, 1), fitted=True), "property", "halfway"),
    ("nothing cut off", _for_rows(lambda w, n: 0.0), "by hand", "don't clip"),
    ("no weight cut off", _tried(_uncut), "by hand", "never clip"),
    ("no larger scale", _tried(_no_larger), "random", "above the usual one"),
    ("none below 0", _not_below, "by hand", "come back as 0"),
    ("sizes", _for_rows(_sizes), "by hand", "summed the sizes"),
    ("the scale", _for_rows(_best), "by hand", "the best scale"),
    ("one scale", _one_scale, "by hand", "one scale for all"),
    ("rows of zeros", _divided, "finite", "0/0"),
    ("mean", lambda W, levels: least_error(W, levels) / W.shape[1], "by hand", "the mean"),
    ("root", lambda W, levels: np.sqrt(least_error(W, levels)), "by hand", "a root"),
    ("one for all", lambda W, levels: np.full(len(W), least_error(W, levels).min()), "by hand",
     "the same error for all"),
    ("all rows together", lambda W, levels: least_error(W, levels).sum(), "shape", "shape"),
    ("too good", lambda W, levels: least_error(W, levels) * 0.9, "by hand", "less than any"),
]  # fmt: skip
