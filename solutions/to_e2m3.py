"""A step for each size, whole steps, and the sign at the end."""

import numpy as np


def to_e2m3(x):
    size = np.minimum(np.abs(x), 7.5)
    step = np.where(size < 2, 1 / 8, np.where(size < 4, 1 / 4, 1 / 2))
    return np.copysign(step * np.rint(size / step), x)


REFERENCE = to_e2m3

EIGHTHS = np.arange(8) / 8
SIZES = np.concatenate([EIGHTHS, 1 + EIGHTHS, 2 + 2 * EIGHTHS, 4 + 4 * EIGHTHS])


def _starter(x):
    raise NotImplementedError


def _nearest(x, sizes=SIZES, side="left"):
    middles = (sizes[1:] + sizes[:-1]) / 2
    return np.sign(x) * sizes[np.searchsorted(middles, np.abs(x), side=side)]


def _even(x, sizes=SIZES, odd=0):
    middles = (sizes[1:] + sizes[:-1]) / 2
    low, high = (np.searchsorted(middles, np.abs(x), side=side) for side in ("left", "right"))
    return np.sign(x) * sizes[np.where((low + odd) % 2, high, low)]


def _up(x):
    return _nearest(x, side="right")


def _eighths(x):
    return np.clip(np.rint(8 * x) / 8, -7.5, 7.5)


def _unsigned(x):
    return np.abs(to_e2m3(x))


def _positive(x):
    return to_e2m3(np.maximum(x, 0))


def _floor(x):
    return np.sign(x) * SIZES[np.searchsorted(SIZES, np.abs(x), side="right") - 1]


def _whole(x):
    return np.clip(np.rint(x), -7, 7)


def _beyond(other):
    return lambda x: np.where(np.abs(x) > 7.5, other(x), to_e2m3(x))


def _codes(x):
    return np.searchsorted(SIZES, np.abs(to_e2m3(x))).astype(float)


def _leading_one(x):
    return _even(x, np.concatenate([0.5 + EIGHTHS / 2, SIZES[8:]]))


def _scaled(x):
    most = np.abs(x).max(initial=0)
    step = most / 7.5 if 0 < most < np.inf else 1
    return step * to_e2m3(x / step)


def _clamped_late(low, bits=3):
    """By the exponent of each number, however small, or down to a least one."""

    def answer(x):
        size = np.minimum(np.abs(x), 7.5)
        e = np.maximum(np.floor(np.log2(np.maximum(size, 1e-300))), low)
        return np.copysign(np.rint(size / 2.0 ** (e - bits)) * 2.0 ** (e - bits), x)

    return answer


def _without_end(x):
    size = np.abs(x)
    step = np.where(size < 2, 1 / 8, np.where(size < 4, 1 / 4, 1 / 2))
    return np.copysign(np.minimum(step * np.rint(size / step), 11.5), x)


def _to_the_right(x):
    size = np.minimum(np.abs(x), 7.5)
    step = np.where(size < 2, 1 / 8, np.where(size < 4, 1 / 4, 1 / 2))
    return np.floor(np.clip(x, -7.5, 7.5) / step + 0.5) * step


def _to_the_left(x):
    return -_to_the_right(-x)


def _four_bits(x):
    return _even(x, np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6]))


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("up", _up, "property", "round ties up"),
    ("down", _nearest, "property", "round ties down"),
    ("odd", lambda x: _even(x, odd=1), "property", "an odd m"),
    ("steps of an eighth", _eighths, "by hand", "throughout"),
    ("sign lost", _unsigned, "by hand", "lose the sign"),
    ("below zero", _positive, "by hand", "below 0 become 0"),
    ("toward plus infinity", _to_the_right, "property", "toward +"),
    ("toward minus infinity", _to_the_left, "property", "toward −"),
    ("ceiling", lambda x: np.sign(x) * SIZES[np.searchsorted(SIZES, np.minimum(np.abs(x), 7.5))],
     "by hand", "next larger"),
    ("finer below 1", _clamped_late(-12), "by hand", "keep halving"),
    ("coarser from 1", lambda x: _even(x, np.array(
        [*EIGHTHS, *(1 + EIGHTHS[::2]), *(2 + 2 * EIGHTHS[::2]), *(4 + 4 * EIGHTHS[::2]), 7.5])),
     "by hand", "double at 1"),
    ("two to e", lambda x: _even(x, np.array(
        [*EIGHTHS, *(2 + 2 * EIGHTHS), *(4 + 4 * EIGHTHS), *(8 + 8 * EIGHTHS)])),
     "by hand", "take 2^e"),
    ("a larger e", lambda x: _even(x, np.array([*SIZES, *(8 + 8 * EIGHTHS)])), "by hand", "go on"),
    ("halves beyond", _without_end, "by hand", "round to halves"),
    ("m of two bits", lambda x: _even(x, np.array(
        [*EIGHTHS[::2], *(1 + EIGHTHS[::2]), *(2 + 2 * EIGHTHS[::2]), *(4 + 4 * EIGHTHS[::2])])),
     "by hand", "with two bits"),
    ("flushed", lambda x: np.where(np.abs(x) < 1, 0, to_e2m3(x)), "by hand", "everything below 1"),
    ("floor", _floor, "by hand", "next smaller"),
    ("whole numbers", _whole, "by hand", "round to integers"),
    ("a leading 1", _leading_one, "by hand", "a leading 1"),
    ("0 below 1", lambda x: _even(x, np.array([0, *SIZES[8:]])), "by hand", "between 0 and 1"),
    ("four bits", _four_bits, "by hand", "numbers of E2M1"),
    ("ends at 7", lambda x: _even(x, SIZES[:-1]), "by hand", "stop at 7,"),
    ("ends at 3.75", lambda x: _even(x, SIZES[:24]), "by hand", "stop at 3.75"),
    ("open end", _beyond(lambda x: x), "by hand", "unchanged"),
    ("infinite end", _beyond(lambda x: np.inf * x), "finite", "become infinite"),
    ("infinity lost", lambda x: np.where(np.isinf(x), 0, to_e2m3(x)), "edges", "infinity, or"),
    ("scaled", _scaled, "by hand", "scale the numbers first"),
    ("codes", _codes, "by hand", "returned codes"),
    ("up, sign lost", lambda x: np.abs(_up(x)), "by hand", "lose the sign"),
    ("flat", lambda x: to_e2m3(x).ravel(), "shape", "shape"),
    ("shrunk", lambda x: 0.9 * to_e2m3(x), "by hand", "should become"),
]  # fmt: skip
