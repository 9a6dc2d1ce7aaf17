"""The middles between neighbours decide; at a middle, the even code."""

import numpy as np

SIZES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def to_e2m1(x):
    sizes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    middles = (sizes[1:] + sizes[:-1]) / 2
    low = np.searchsorted(middles, np.abs(x))  # at a middle: the smaller
    high = np.searchsorted(middles, np.abs(x), side="right")  # the larger
    code = np.where(low % 2 == 0, low, high)
    return np.copysign(sizes[code], x)


REFERENCE = to_e2m1


def _starter(x):
    raise NotImplementedError


def _nearest(x, sizes=SIZES, side="left"):
    middles = (sizes[1:] + sizes[:-1]) / 2
    return np.sign(x) * sizes[np.searchsorted(middles, np.abs(x), side=side)]


def _up(x):
    return _nearest(x, side="right")


def _half_steps(x):
    return np.clip(np.rint(2 * x) / 2, -6, 6)


def _unsigned(x):
    return np.abs(to_e2m1(x))


def _positive(x):
    return to_e2m1(np.maximum(x, 0))


def _floor(x):
    return np.sign(x) * SIZES[np.searchsorted(SIZES, np.abs(x), side="right") - 1]


def _whole(x):
    return np.clip(np.rint(x), -6, 6)


def _open_end(x):
    return np.where(np.abs(x) > 6, x, to_e2m1(x))


def _codes(x):
    return np.searchsorted(SIZES, np.abs(to_e2m1(x))).astype(float)


def _no_half(x):
    return _ties_even(x, SIZES[SIZES != 0.5])


def _ties_even(x, sizes):
    middles = (sizes[1:] + sizes[:-1]) / 2
    low, high = (np.searchsorted(middles, np.abs(x), side=side) for side in ("left", "right"))
    return np.sign(x) * sizes[np.where(low % 2, high, low)]


def _flat(x):
    return to_e2m1(x).ravel()


def _thirds(x):
    return 0.9 * to_e2m1(x)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("up", _up, "property", "the larger one is taken"),
    ("down", _nearest, "property", "the smaller one is taken"),
    ("steps of a half", _half_steps, "by hand", "throughout"),
    ("sign lost", _unsigned, "by hand", "sign is lost"),
    ("below zero", _positive, "by hand", "below 0 become 0"),
    ("floor", _floor, "by hand", "next smaller"),
    ("whole numbers", _whole, "by hand", "whole numbers"),
    ("open end", _open_end, "by hand", "stays as it is"),
    ("codes", _codes, "by hand", "Those are codes"),
    ("no half", _no_half, "by hand", "½ is missing"),
    ("up, sign lost", lambda x: np.abs(_up(x)), "by hand", "sign is lost"),
    ("flat", _flat, "shape", "shape"),
    ("shrunk", _thirds, "by hand", "should become"),
]
