"""Few sets of codes can occur; each has its best scale."""

import numpy as np


def least_error(W, levels):
    errors = []
    for w in np.abs(W):
        # Codes change where w / scale passes a half: between two such scales they stay.
        changes = np.unique(w[w > 0][:, None] / (np.arange(levels) + 0.5))
        ends = np.concatenate([[0], changes])
        best = w @ w  # the scale is so large that all codes are 0
        for scale in (ends[1:] + ends[:-1]) / 2:
            codes = np.rint(w / scale).clip(0, levels)
            fitted = (w @ codes) / (codes @ codes)
            best = min(best, ((w - fitted * codes) ** 2).sum())
        errors.append(best)
    return np.array(errors)


REFERENCE = least_error


def _starter(W, levels):
    raise NotImplementedError


def _error(w, scale, levels):
    return ((w - scale * np.rint(w / scale).clip(-levels, levels)) ** 2).sum()


def _for_rows(find):
    def answer(W, levels):
        return np.array([find(w, levels) if w.any() else 0.0 for w in W])

    return answer


def _fitted(w, scale, levels):
    codes = np.rint(w / scale).clip(-levels, levels)
    return w @ codes / (codes @ codes) if codes.any() else scale


def _usual(w, levels):
    return _error(w, np.abs(w).max() / levels, levels)


def _once(w, levels):
    return _error(w, _fitted(w, np.abs(w).max() / levels, levels), levels)


def _turns(w, levels):
    scale = np.abs(w).max() / levels
    for _ in range(50):
        scale = _fitted(w, scale, levels)
    return _error(w, scale, levels)


def _grid(w, levels):
    top = np.abs(w).max() / levels
    return min(_error(w, part * top, levels) for part in np.linspace(0.2, 1.2, 101))


def _exact_hits(w, levels):
    size = np.abs(w[w != 0])
    return min(_error(w, s, levels) for s in (size[:, None] / np.arange(1, levels + 1)).ravel())


def _uncut(w, levels):
    return 0.0


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("usual", _for_rows(_usual), "by hand", "the usual scale"),
    ("fitted once", _for_rows(_once), "random", "fitted once"),
    ("in turns", _for_rows(_turns), "random", "in turns"),
    ("grid", _for_rows(_grid), "by hand", "there is a scale with"),
    ("hits", _for_rows(_exact_hits), "by hand", "hit one weight exactly"),
    ("nothing cut off", _for_rows(_uncut), "by hand", "Nothing is cut off"),
    ("mean", lambda W, levels: least_error(W, levels) / W.shape[1], "by hand", "the mean"),
    ("root", lambda W, levels: np.sqrt(least_error(W, levels)), "by hand", "a root"),
    ("one for all", lambda W, levels: np.full(len(W), least_error(W, levels).min()), "random",
     "All rows get the same"),
    ("all rows together", lambda W, levels: least_error(W, levels).sum(), "shape", "shape"),
    ("too good", lambda W, levels: least_error(W, levels) * 0.9, "by hand", "less than any"),
]  # fmt: skip
