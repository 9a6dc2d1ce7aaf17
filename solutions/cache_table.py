"""Bytes of the caches of many layouts."""

import numpy as np


def cache_table(
    numbers,
    windows,
    n_layers,
    context,
    batch,
    dtype_bytes,
):
    kept = np.where(windows > 0, np.minimum(windows, context), context)
    entries = kept * n_layers * batch
    return numbers.astype(np.int64) * entries * dtype_bytes


REFERENCE = cache_table


def _factor(name):
    """The reference without one of its factors."""

    def answer(numbers, windows, n_layers, context, batch, dtype_bytes):
        factors = {"n_layers": n_layers, "batch": batch, "dtype_bytes": dtype_bytes}
        factors[name] = 1
        return cache_table(numbers, windows, context=context, **factors)

    return answer


def _no_window(numbers, windows, n_layers, context, batch, dtype_bytes):
    return numbers * context * n_layers * batch * dtype_bytes


def _always_full(numbers, windows, n_layers, context, batch, dtype_bytes):
    kept = np.where(windows > 0, windows, context)
    return numbers * kept * n_layers * batch * dtype_bytes


def _zero_is_nothing(numbers, windows, n_layers, context, batch, dtype_bytes):
    return numbers * np.minimum(windows, context) * n_layers * batch * dtype_bytes


def _twice(numbers, windows, n_layers, context, batch, dtype_bytes):
    return 2 * cache_table(numbers, windows, n_layers, context, batch, dtype_bytes)


def _one_token(numbers, windows, n_layers, context, batch, dtype_bytes):
    return numbers * n_layers * batch * dtype_bytes


def _narrow(numbers, windows, n_layers, context, batch, dtype_bytes):
    total = cache_table(numbers, windows, n_layers, context, batch, dtype_bytes)
    return total.astype(np.int32)


def _floats(numbers, windows, n_layers, context, batch, dtype_bytes):
    return 1.0 * cache_table(numbers, windows, n_layers, context, batch, dtype_bytes)


def _added(numbers, windows, n_layers, context, batch, dtype_bytes):
    return cache_table(numbers, windows, n_layers, context, batch, dtype_bytes) + 1


def _starter(numbers, windows, n_layers, context, batch, dtype_bytes):
    raise NotImplementedError


def _bits(numbers, windows, n_layers, context, batch, dtype_bytes):
    return 8 * cache_table(numbers, windows, n_layers, context, batch, dtype_bytes)


def _larger(numbers, windows, n_layers, context, batch, dtype_bytes):
    kept = np.where(windows > 0, np.maximum(windows, context), context)
    return numbers * kept * n_layers * batch * dtype_bytes


def _any_window(numbers, windows, n_layers, context, batch, dtype_bytes):
    kept = np.minimum(windows, context) if windows.any() else context
    return numbers * kept * n_layers * batch * dtype_bytes


def _outside(numbers, windows, n_layers, context, batch, dtype_bytes):
    kept = np.where(windows > 0, np.maximum(context - windows, 0), context)
    return numbers * kept * n_layers * batch * dtype_bytes


def _zero_and_twice(numbers, windows, n_layers, context, batch, dtype_bytes):
    return 2 * _zero_is_nothing(numbers, windows, n_layers, context, batch, dtype_bytes)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("no window", _no_window, "property", "no effect"),
    ("a window is always full", _always_full, "property", "not there"),
    ("zero keeps nothing", _zero_is_nothing, "by hand", "there is none"),
    ("twice", _twice, "by hand", "keys and values together"),
    ("layers forgotten", _factor("n_layers"), "by hand", "n_layers = 3 is missing"),
    ("batch forgotten", _factor("batch"), "by hand", "batch = 5 is missing"),
    ("bytes forgotten", _factor("dtype_bytes"), "by hand", "dtype_bytes = 2 is missing"),
    ("one token", _one_token, "by hand", "one token"),
    ("32 bits", _narrow, "edges", "32 bits"),
    ("floats", _floats, "dtype", "whole numbers"),
    ("one byte more", _added, "by hand", "should be"),
    ("bits", _bits, "by hand", "Those are bits"),
    ("the larger of the two", _larger, "property", "smaller of the two"),
    ("windows for all or none", _any_window, "property", "stands alone"),
    ("outside the window", _outside, "property", "outside the window"),
    ("zero keeps nothing, twice", _zero_and_twice, "by hand", "Two things"),
]
