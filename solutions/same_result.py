"""A comparison that can fail."""

import numpy as np


def same_result(first, second, eps):
    if first.shape != second.shape:
        return np.bool_(False)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return np.bool_(False)
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


WRONG = [
    ("starter: NaN passes", _broken, "property", "NaN or infinity passed"),
    ("signed", _signed, "by hand", "absolute value"),
    ("fixed bound", _fixed_bound, "edges", "Rounding grows"),
    ("only relative", _only_relative, "edges", "does not shrink"),
    ("shapes broadcast", _broadcast, "edges", "broadcasting"),
    ("NaN equals NaN", _nan_is_nan, "property", "NaN or infinity passed"),
    ("always the same", _always, "by hand", "always true"),
    ("number by number", _each_number, "shape", "shape"),
    ("the difference itself", _number, "dtype", "boolean"),
]
