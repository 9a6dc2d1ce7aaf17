"""FLOPs of a chain of two products."""

import numpy as np


def chain_flops(m, p, q, n):
    return np.array([2 * m * p * q + 2 * m * q * n, 2 * p * q * n + 2 * m * p * n])


REFERENCE = chain_flops


def _swapped(m, p, q, n):
    return chain_flops(m, p, q, n)[::-1]


def _multiply_adds(m, p, q, n):
    return chain_flops(m, p, q, n) // 2


def _first_only(m, p, q, n):
    return np.array([2 * m * p * q, 2 * p * q * n])


def _second_only(m, p, q, n):
    return np.array([2 * m * q * n, 2 * m * p * n])


def _wrong_axis(m, p, q, n):
    return np.array([2 * m * p * q + 2 * m * q * n, 2 * p * q * n + 2 * m * q * n])


def _wrong_axis_left(m, p, q, n):
    return np.array([2 * m * p * q + 2 * m * p * n, 2 * p * q * n + 2 * m * p * n])


def _multiplied(m, p, q, n):
    return np.array([2 * m * p * q * n] * 2)


def _exact(m, p, q, n):
    return chain_flops(m, p, q, n) - np.array([m * q + m * n, p * n + m * n])


def _cheaper(m, p, q, n):
    return chain_flops(m, p, q, n).min()


def _list(m, p, q, n):
    return chain_flops(m, p, q, n).tolist()


def _floats(m, p, q, n):
    return chain_flops(m, p, q, n).astype(float)


def _int32(m, p, q, n):
    m, p, q, n = np.array([m, p, q, n], dtype=np.int32)
    with np.errstate(over="ignore"):
        return np.array([2 * m * p * q + 2 * m * q * n, 2 * p * q * n + 2 * m * p * n])


def _two_once(m, p, q, n):
    return np.array([2 * m * p * q + m * q * n, 2 * p * q * n + m * p * n])


def _two_late(m, p, q, n):
    return np.array([m * p * q + 2 * m * q * n, p * q * n + 2 * m * p * n])


def _sorted(m, p, q, n):
    return np.sort(chain_flops(m, p, q, n))


WRONG = [
    ("swapped", _swapped, "by hand", "swapped"),
    ("multiply-adds", _multiply_adds, "by hand", "2 FLOPs"),
    ("first product only", _first_only, "by hand", "multiplied once more"),
    ("second product only", _second_only, "by hand", "inside the brackets"),
    ("wrong axis", _wrong_axis, "by hand", "contracts p"),
    ("wrong axis left", _wrong_axis_left, "by hand", "contracts q"),
    ("multiplied", _multiplied, "by hand", "add up"),
    ("exact additions", _exact, "by hand", "last addition"),
    ("the cheaper one", _cheaper, "shape", "shape"),
    ("a list", _list, "type", "NumPy array"),
    ("floats", _floats, "dtype", "whole numbers"),
    ("overflow", _int32, "edges", "negative"),
    ("two once", _two_once, "by hand", "Only the first product"),
    ("two late", _two_late, "by hand", "Only the second product"),
    ("sorted", _sorted, "random", "order is fixed"),
    (
        "sorted the other way",
        lambda m, p, q, n: _sorted(m, p, q, n)[::-1],
        "by hand",
        "order is fixed",
    ),
    (
        "multiply-adds, swapped",
        lambda m, p, q, n: _swapped(m, p, q, n) // 2,
        "by hand",
        "Two things",
    ),
]
