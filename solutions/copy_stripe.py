"""The stripe that copying draws."""

import numpy as np


def copy_stripe(weights, period):
    # A word of the second copy sits `period` rows below its first copy.
    # What followed it then is one column further on, so the diagonal is
    # period - 1 below the main one.
    stripe = np.diagonal(weights, 1 - period, axis1=-2, axis2=-1)
    return stripe[..., 2:].mean(axis=-1)  # rows period - 1 and period lie in the first copy


REFERENCE = copy_stripe


def _stripe(offset, skip=0):
    """The mean along another diagonal, or from another entry on."""

    def answer(weights, period):
        stripe = np.diagonal(weights, offset(period), axis1=-2, axis2=-1)
        return stripe[..., skip:].mean(axis=-1)

    return answer


def _sum(weights, period):
    return np.diagonal(weights, 1 - period, axis1=-2, axis2=-1)[..., 2:].sum(axis=-1)


def _all_heads(weights, period):
    return copy_stripe(weights, period).mean()


def _list(weights, period):
    return copy_stripe(weights, period).tolist()


def _half(weights, period):
    return copy_stripe(weights, period) / 2


def _one_mean(weights, period):
    return np.full(len(weights), copy_stripe(weights, period).mean())


def _largest(weights, period):
    return np.diagonal(weights, 1 - period, axis1=-2, axis2=-1)[..., 2:].max(axis=-1)


def _hits(weights, period):
    rows = np.arange(period + 1, 2 * period + 1)
    return (weights[:, rows].argmax(axis=-1) == rows - period + 1).mean(axis=-1)


def _before(weights, period):
    return np.diagonal(weights, -1, axis1=-2, axis2=-1)[..., period:].mean(axis=-1)


def _whole_sum(weights, period):
    return np.diagonal(weights, 1 - period, axis1=-2, axis2=-1).sum(axis=-1)


def _last_left_out(weights, period):
    stripe = np.diagonal(weights, 1 - period, axis1=-2, axis2=-1)[..., 2:-1]
    return stripe.sum(axis=-1) / max(period - 1, 1)


WRONG = [
    ("starter: the copy itself", _stripe(lambda n: -n), "by hand", "As given"),
    ("the copy itself, trimmed", _stripe(lambda n: -n, 1), "by hand", "something else"),
    ("the other side", _stripe(lambda n: -n - 1), "by hand", "other side of the copy"),
    ("half repaired", _stripe(lambda n: 1 - n), "by hand", "begins too early"),
    ("nearly repaired", _stripe(lambda n: 1 - n, 1), "by hand", "begins too early"),
    ("one row too few", _stripe(lambda n: 1 - n, 3), "by hand", "one row too few"),
    ("the future", _stripe(lambda n: n - 1), "by hand", "above the diagonal"),
    ("a sum", _sum, "by hand", "sum along the stripe"),
    ("one number for all", _all_heads, "shape", "should have shape"),
    ("a list", _list, "type", "NumPy array"),
    ("half", _half, "by hand", "should be"),
    ("one mean", _one_mean, "random", "Each head has its own"),
    ("the largest", _largest, "by hand", "largest weight along the stripe"),
    ("hits", _hits, "by hand", "how often"),
    ("the word before", _before, "random", "word before"),
    ("the word before, in both copies", _stripe(lambda n: -1), "by hand", "word before"),
    ("a sum from the beginning", _whole_sum, "by hand", "Two things"),
    ("the last word left out", _last_left_out, "by hand", "last word of the second copy"),
]
