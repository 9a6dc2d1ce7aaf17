"""A comparison that can fail."""

import numpy as np


def same_result(first, second, eps):
    # Broadcasting would make two shapes look comparable.
    if first.shape != second.shape:
        return np.bool_(False)
    # Every comparison with NaN is false, so `difference > bound` never
    # fails on it.
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return np.bool_(False)
    # Rounding grows with the numbers, so the bound does too; near 0 it
    # stays.
    bound = 8 * eps * max(1.0, np.abs(second).max())
    return np.abs(first - second).max() <= bound


REFERENCE = same_result


def _broken(first, second, eps):
    return np.bool_(not (np.abs(first - second) > 8 * eps).any())


def _signed(first, second, eps):
    if first.shape != second.shape or not np.isfinite(first + second).all():
        return np.bool_(False)
    return (first - second).max() <= 8 * eps * max(1.0, np.abs(second).max())


def _fixed_bound(first, second, eps):
    if first.shape != second.shape or not np.isfinite(first + second).all():
        return np.bool_(False)
    return np.abs(first - second).max() <= 8 * eps


def _only_relative(first, second, eps):
    if first.shape != second.shape or not np.isfinite(first + second).all():
        return np.bool_(False)
    return np.abs(first - second).max() <= 8 * eps * np.abs(second).max()


def _broadcast(first, second, eps):
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return np.bool_(False)
    return np.abs(first - second).max() <= 8 * eps * max(1.0, np.abs(second).max())


def _nan_is_nan(first, second, eps):
    if first.shape != second.shape:
        return np.bool_(False)
    return np.bool_(np.allclose(first, second, rtol=8 * eps, atol=8 * eps, equal_nan=True))


def _always(first, second, eps):
    return np.bool_(True)


def _each_number(first, second, eps):
    return np.abs(first - second) <= 8 * eps


def _number(first, second, eps):
    return np.abs(first - second).max()


def _within_asked_of_first(first, second, eps):
    """NaN in `second` is noticed, as nothing is within NaN; infinity is not."""
    if first.shape != second.shape or not np.isfinite(first).all():
        return np.bool_(False)
    with np.errstate(invalid="ignore"):
        away = np.abs(first - second)
        return np.bool_((away <= 8 * eps * max(1, np.abs(second).max())).all())


def _within(scale, finite=None, alike=True):
    """The reference with another scale, another question for finite numbers, or any shapes."""

    def answer(first, second, eps):
        if alike and first.shape != second.shape:
            return np.bool_(False)
        asked = np.isfinite(first).all() and np.isfinite(second).all()
        if not (asked if finite is None else finite(first, second)):
            return np.bool_(False)
        with np.errstate(invalid="ignore"):
            return np.bool_(not (np.abs(first - second) > 8 * eps * scale(first, second)).any())

    return answer


def _right_scale(first, second):
    return max(1.0, np.abs(second).max())


def _no_nan(first, second):
    return not (np.isnan(first).any() or np.isnan(second).any())


def _mean(first, second, eps):
    if first.shape != second.shape or not np.isfinite(first + second).all():
        return np.bool_(False)
    return np.abs(first - second).mean() <= 8 * eps * max(1.0, np.abs(second).max())


def _sum(first, second, eps):
    if first.shape != second.shape or not np.isfinite(first + second).all():
        return np.bool_(False)
    return np.abs(first - second).sum() <= 8 * eps * max(1.0, np.abs(second).max())


def _below(first, second, eps):
    if first.shape != second.shape or not np.isfinite(first + second).all():
        return np.bool_(False)
    return np.abs(first - second).max() < 8 * eps * max(1.0, np.abs(second).max())


def _allclose(first, second, eps):
    return np.bool_(
        first.shape == second.shape and np.allclose(first, second, rtol=8 * eps, atol=0)
    )


def _no_shapes(first, second, eps):
    return np.bool_((np.abs(first - second) <= 8 * eps).all())


WRONG = [
    ("starter: NaN passes", _broken, "property", "NaN or infinity pass"),
    ("signed", _signed, "by hand", "absolute value"),
    ("fixed bound", _fixed_bound, "edges", "Rounding grows"),
    ("only relative", _only_relative, "edges", "does not shrink"),
    ("shapes broadcast", _broadcast, "edges", "broadcasting"),
    ("NaN equals NaN", _nan_is_nan, "property", "NaN or infinity pass"),
    ("always the same", _always, "by hand", "always true"),
    ("number by number", _each_number, "shape", "shape"),
    ("the difference itself", _number, "dtype", "boolean"),
    (
        "no NaN in first",
        _within(_right_scale, lambda f, s: np.isfinite(f).all()),
        "property",
        "in `second` pass",
    ),
    (
        "no NaN in second",
        _within(_right_scale, lambda f, s: np.isfinite(s).all()),
        "property",
        "in `first` pass",
    ),
    ("an infinite bound", _within_asked_of_first, "property", "bound infinite"),
    ("infinity passes", _within(_right_scale, _no_nan), "property", "infinity pass."),
    ("a bound for each", _within(lambda f, s: np.maximum(1, np.abs(s))), "edges", "its own bound"),
    ("as np.allclose", _within(lambda f, s: 1 + np.abs(s)), "edges", "as in allclose"),
    ("scale of first", _within(lambda f, s: max(1, np.abs(f).max())), "edges", "under test"),
    ("scales added", _within(lambda f, s: 1 + np.abs(s).max()), "edges", "larger of the two"),
    ("largest with its sign", _within(lambda f, s: max(1, s.max())), "edges", "with its sign"),
    ("only NaN mended", _no_shapes, "edges", "Rounding grows"),
    ("the mean difference", _mean, "edges", "hides in it"),
    ("below the bound", _below, "edges", "includes it"),
    ("allclose, relative", _allclose, "random", "its own bound"),
    (
        "allclose alone",
        lambda first, second, eps: np.bool_(np.allclose(first, second, 8 * eps, 8 * eps)),
        "property",
        "As in allclose",
    ),
    ("the sum of differences", _sum, "random", "added up"),
]
