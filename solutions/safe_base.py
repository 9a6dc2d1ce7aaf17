"""The fastest of the planes that have to be slow decides."""

import math

import numpy as np


def safe_base(rotary_dim, share, context):
    pairs = rotary_dim // 2
    # the fastest of the slow planes
    i = pairs - math.ceil(share * pairs)
    if i == 0:  # its wavelength is 2π whatever the base is
        return np.where(context <= 2 * np.pi, 1.0, 0.0)
    base = (context / (2 * np.pi)) ** (rotary_dim / (2 * i))
    return np.maximum(base, 1.0)


REFERENCE = safe_base


def _starter(rotary_dim, share, context):
    raise NotImplementedError


def _of(slow, *, turn=2 * np.pi, power=1.0, more=0):
    """The reference with another number of slow planes, or another formula."""

    def answer(rotary_dim, share, context):
        pairs = rotary_dim // 2
        i = pairs - slow(share, pairs) + more
        if i <= 0:
            return np.where(context <= turn, 1.0, 0.0)
        return np.maximum((context / turn) ** (power * pairs / i), 1.0)

    return answer


def _up(share, pairs):
    return math.ceil(share * pairs)


def _from_the_fast_end(rotary_dim, share, context):
    pairs = rotary_dim // 2
    return np.maximum((context / (2 * np.pi)) ** (pairs / math.ceil(share * pairs)), 1.0)


def _from_the_fast_end_no_further(rotary_dim, share, context):
    pairs = rotary_dim // 2
    plane = min(math.ceil(share * pairs), pairs - 1)
    return np.maximum((context / (2 * np.pi)) ** (pairs / plane), 1.0)


def _zero_above(most):
    """The reference that gives up above a base."""

    def answer(rotary_dim, share, context):
        base = safe_base(rotary_dim, share, context)
        return np.where(base > most, 0.0, base)

    return answer


def _always_zero(rotary_dim, share, context):
    base = safe_base(rotary_dim, share, context)
    return base * (math.ceil(share * (rotary_dim // 2)) < rotary_dim // 2)


def _no_bounds(rotary_dim, share, context):
    pairs = rotary_dim // 2
    i = pairs - math.ceil(share * pairs)
    if i == 0:
        return np.where(context <= 2 * np.pi, 1.0, 0.0)
    return (context / (2 * np.pi)) ** (pairs / i)


def _divides_late(rotary_dim, share, context):
    pairs = rotary_dim // 2
    i = pairs - math.ceil(share * pairs)
    if i == 0:
        return np.where(context <= 2 * np.pi, 1.0, 0.0)
    return context ** (pairs / i) / (2 * np.pi)


def _first_context(rotary_dim, share, context):
    return np.full(len(context), safe_base(rotary_dim, share, context)[0])


def _one_over(rotary_dim, share, context):
    base = safe_base(rotary_dim, share, context)
    return np.where(base > 0, 1 / np.maximum(base, 1), 0)


def _search(low, high, rounds):
    """By halving an interval of logarithms."""

    def answer(rotary_dim, share, context):
        pairs, found = rotary_dim // 2, []
        for tokens in context:
            lo, hi = math.log(low), math.log(high)
            for _ in range(rounds):
                middle = (lo + hi) / 2
                waves = 2 * np.pi * np.exp(middle * np.arange(pairs) / pairs)
                if (waves >= tokens).sum() >= share * pairs:
                    hi = middle
                else:
                    lo = middle
            found.append(math.exp(hi))
        return np.array(found)

    return answer


def _steps_of_ten(rotary_dim, share, context):
    pairs, found = rotary_dim // 2, []
    for tokens in context:
        base = 10.0
        while base < 1e12:
            waves = 2 * np.pi * base ** (np.arange(pairs) / pairs)
            if (waves >= tokens).sum() >= share * pairs:
                break
            base *= 10
        found.append(base)
    return np.array(found)


def _scalar(rotary_dim, share, context):
    return float(safe_base(rotary_dim, share, context)[0])


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("infinity for none", lambda **given: np.where(
        safe_base(**given), safe_base(**given), np.inf), "finite", "whatever the base"),
    ("rounded down", _of(lambda share, pairs: math.floor(share * pairs)), "property", "Round up"),
    ("parts of a plane", _of(lambda share, pairs: share * pairs), "property", "whole planes help"),
    ("one too many", _of(_up, more=-1), "by hand", "one plane too many"),
    ("one too few", _of(_up, more=1), "by hand", "one plane too few"),
    ("radians", _of(_up, turn=1.0), "by hand", "2π radians"),
    ("half a rotation", _of(_up, turn=np.pi), "by hand", "half a rotation"),
    ("degrees", _of(_up, turn=360.0), "by hand", "Angles are in radians"),
    ("half the power", _of(_up, power=0.5), "by hand", "two dimensions"),
    ("twice the power", _of(_up, power=2.0), "by hand", "two dimensions"),
    ("the slowest only", _of(lambda share, pairs: 1), "by hand", "only the slowest"),
    ("from the fast end", _from_the_fast_end, "random", "fast end"),
    ("from the fast end, no further", _from_the_fast_end_no_further, "random", "fast end"),
    ("rounded down, or one", _of(lambda share, pairs: max(1, math.floor(share * pairs))),
     "property", "Round up"),
    ("to the nearest", _of(lambda share, pairs: round(share * pairs)), "property", "round up"),
    ("none above 100,000", _zero_above(1e5), "random", "no base is large enough for"),
    ("all planes have none", _always_zero, "edges", "tokens base 1 does it"),
    ("no bounds", _no_bounds, "edges", "below 1"),
    ("divided late", _divides_late, "by hand", "before the power"),
    ("the first for all", _first_context, "random", "the first"),
    ("one over it", _one_over, "by hand", "one over the base"),
    ("up to a million", _search(1.0, 1e6, 60), "random", "too small"),
    ("few rounds", _search(1.0, 1e60, 12), "by hand", "larger than necessary"),
    ("tens", _steps_of_ten, "by hand", "larger than necessary"),
    ("one number", _scalar, "type", "array"),
    ("rounded down, radians", _of(lambda share, pairs: math.floor(share * pairs), turn=1.0),
     "by hand", "2π radians"),
]  # fmt: skip
