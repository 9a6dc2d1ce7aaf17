"""What serving does with a model, in NumPy, for who has read plain.py.

Written as it is: each formula as code, no checks, no class. A matrix W is
(out, in): a row makes one output.
"""

import numpy as np

# ---- Fewer bits ----
# groups (…, size) are rows of weights that share a scale: W.reshape(-1, size).

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])  # the sizes of a float of 4 bits
EXPONENTS = np.arange(-6, 9)[:, None]  # of a float of 8 bits, with 8 mantissas each
ABOVE = 2.0**EXPONENTS * (1 + np.arange(8) / 8)  # all numbers with a leading 1
E4M3 = np.concatenate([2.0**-9 * np.arange(8), ABOVE.ravel()])[:-1]  # up to 448


def whole_numbers(groups, levels):
    """Multiples of a scale, from -levels to levels: 7 for 4 bits, 127 for 8."""
    scale = np.abs(groups).max(axis=1, keepdims=True) / levels  # (…, 1)
    return scale * np.rint(groups / np.where(scale > 0, scale, 1))


def whole_numbers_from_zero(groups, levels):
    """Codes 0 to levels, one of which means 0: for groups that lean to a side."""
    low = np.minimum(groups.min(axis=1, keepdims=True), 0)
    high = np.maximum(groups.max(axis=1, keepdims=True), 0)
    scale = np.where(high > low, (high - low) / levels, 1)  # (…, 1)
    zero = np.rint(-low / scale)
    codes = np.clip(np.rint(groups / scale) + zero, 0, levels)
    return scale * (codes - zero)


def nearest(x, sizes):
    """The nearest number of such a size; half-way, that of the even code."""
    between = (sizes[1:] + sizes[:-1]) / 2
    low = np.searchsorted(between, abs(x))
    high = np.searchsorted(between, abs(x), side="right")
    return np.copysign(sizes[np.where(low % 2, high, low)], x)


def mxfp4(groups):
    """Floats of 4 bits, 32 with a power of two: 4.25 bits a weight."""
    largest = np.abs(groups).max(axis=1, keepdims=True)
    power = np.floor(np.log2(np.where(largest > 0, largest, 1)))
    scale = 2.0 ** (power - 2)  # 6 is 1.5 * 2 ** 2
    return scale * nearest(groups / scale, E2M1)


def nvfp4(groups):
    """Floats of 4 bits, 16 with a float of 8, all with one more scale: 4.5 bits."""
    largest = np.abs(groups).max(axis=1, keepdims=True)
    whole = largest.max() / (6 * 448)  # the largest scale becomes 448
    scale = whole * nearest(largest / 6 / whole, E4M3)
    return scale * nearest(groups / np.where(scale > 0, scale, np.inf), E2M1)


def wanda_scores(W, x):
    """How much a weight counts: what the output loses without it alone."""
    return np.abs(W) * np.sqrt((x * x).sum(axis=0))  # x is (tokens, in)


def keep_highest(W, scores, kept):
    """So many weights of each row stay; 2 of 4 if W and scores have rows of 4."""
    order = scores.argsort(axis=1, kind="stable").argsort(axis=1)  # 0 is the lowest
    return np.where(order >= W.shape[1] - kept, W, 0)
