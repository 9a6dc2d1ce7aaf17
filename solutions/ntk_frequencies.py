"""NTK-aware frequencies."""

import numpy as np


def ntk_frequencies(rotary_dim, theta, factor):
    base = theta * factor ** (rotary_dim / (rotary_dim - 2))
    return base ** (-np.arange(0, rotary_dim, 2) / rotary_dim)


REFERENCE = ntk_frequencies


def _exponents(rotary_dim):
    return -np.arange(0, rotary_dim, 2) / rotary_dim


def _plain(rotary_dim, theta, factor):
    return theta ** _exponents(rotary_dim)


def _interpolated(rotary_dim, theta, factor):
    return theta ** _exponents(rotary_dim) / factor


def _times_factor(rotary_dim, theta, factor):
    return (theta * factor) ** _exponents(rotary_dim)


def _turned(rotary_dim, theta, factor):
    return (theta * factor ** ((rotary_dim - 2) / rotary_dim)) ** _exponents(rotary_dim)


def _smaller(rotary_dim, theta, factor):
    return (theta / factor ** (rotary_dim / (rotary_dim - 2))) ** _exponents(rotary_dim)


def _no_sign(rotary_dim, theta, factor):
    return 1 / ntk_frequencies(rotary_dim, theta, factor)


def _half_exponent(rotary_dim, theta, factor):
    base = theta * factor ** (rotary_dim / (rotary_dim - 2))
    return base ** (-np.arange(rotary_dim // 2) / rotary_dim)


def _backwards(rotary_dim, theta, factor):
    return ntk_frequencies(rotary_dim, theta, factor)[::-1]


def _every_number(rotary_dim, theta, factor):
    return np.repeat(ntk_frequencies(rotary_dim, theta, factor), 2)


def _squared(rotary_dim, theta, factor):
    return ntk_frequencies(rotary_dim, theta, factor**2)


def _list(rotary_dim, theta, factor):
    return ntk_frequencies(rotary_dim, theta, factor).tolist()


def _theta_too(rotary_dim, theta, factor):
    return (theta * factor) ** (rotary_dim / (rotary_dim - 2) * _exponents(rotary_dim))


def _theta_fixed(rotary_dim, theta, factor):
    return ntk_frequencies(rotary_dim, 10_000.0, factor)


def _slowest_only(rotary_dim, theta, factor):
    inv_freq = _plain(rotary_dim, theta, factor)
    inv_freq[-1] /= factor
    return inv_freq


def _all_but_the_first(rotary_dim, theta, factor):
    inv_freq = _interpolated(rotary_dim, theta, factor)
    inv_freq[0] = 1.0
    return inv_freq


def _other_power(rotary_dim, theta, factor):
    return _plain(rotary_dim, theta * factor ** ((rotary_dim + 2) / rotary_dim), factor)


WRONG = [
    ("no rule", _plain, "by hand", "without a rule"),
    ("interpolation", _interpolated, "by hand", "position interpolation"),
    ("base times factor", _times_factor, "by hand", "factor itself"),
    ("power turned round", _turned, "by hand", "turned round"),
    ("smaller base", _smaller, "by hand", "turn faster"),
    ("no sign", _no_sign, "by hand", "sign of the exponent"),
    ("half the exponent", _half_exponent, "by hand", "two numbers of a head"),
    ("backwards", _backwards, "by hand", "comes first"),
    ("factor squared", _squared, "by hand", "should be 1"),
    ("one for each number", _every_number, "shape", "inv_freq should have shape"),
    ("a list", _list, "type", "NumPy array"),
    ("theta to the power too", _theta_too, "by hand", "theta is raised"),
    ("theta fixed", _theta_fixed, "by hand", "whatever theta is"),
    ("slowest plane only", _slowest_only, "random", "Only the slowest plane"),
    ("all but the first", _all_but_the_first, "random", "All planes but the first"),
    ("another power", _other_power, "by hand", "near, but not it"),
    ("factor itself, backwards", lambda rotary_dim, theta, factor:
     _times_factor(rotary_dim, theta, factor)[::-1], "by hand", "Two things"),
]  # fmt: skip
