"""Floats of eight and four bits: every code, the nearest number, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mini_attn.numpy as ma
from mini_attn.config import POWERS_OF_TWO, SMALL_FLOATS
from mini_attn.errors import ConfigError, DTypeError

KINDS = pytest.mark.parametrize("kind", SMALL_FLOATS)


def numbers(kind):
    """All finite numbers without a sign, by the formula of the specification."""
    if kind == "e2m1":
        return [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    small = [i * 2.0**-9 for i in range(8)]
    large = [2.0**e * (1 + m / 8) for e in range(-6, 9) for m in range(8)]
    return small + large[:-1]


@KINDS
def test_the_codes_stand_for_the_numbers_of_the_specification(kind):
    half = len(SMALL_FLOATS[kind].values) // 2
    positive, negative = SMALL_FLOATS[kind].values[:half], SMALL_FLOATS[kind].values[half:]
    expected = numbers(kind)
    assert list(positive[: len(expected)]) == expected
    assert all(math.isnan(value) for value in positive[len(expected) :])
    assert [math.copysign(1, value) for value in negative[: len(expected)]] == [-1] * len(expected)
    np.testing.assert_array_equal(np.negative(positive), negative)


def test_the_sizes_that_everybody_names():
    e4m3, e2m1 = SMALL_FLOATS["e4m3"], SMALL_FLOATS["e2m1"]
    assert (e4m3.largest, e4m3.bits, e4m3.greatest_exponent, e4m3.least_exponent) == (448, 8, 8, -6)
    assert (e2m1.largest, e2m1.bits, e2m1.greatest_exponent, e2m1.least_exponent) == (6, 4, 2, 0)
    assert POWERS_OF_TWO[127] == 1
    assert POWERS_OF_TWO[0] == 2.0**-127
    assert math.isnan(POWERS_OF_TWO[255])


@KINDS
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_every_code_comes_back(lib, kind, dtype):
    codes = np.arange(len(SMALL_FLOATS[kind].values), dtype=np.uint8)
    decoded = lib.decode_float(lib.array(codes), kind, dtype=dtype)
    assert str(decoded.dtype).endswith(dtype)
    np.testing.assert_array_equal(lib.numpy(lib.encode_float(decoded, kind)), codes)


@KINDS
def test_half_way_goes_to_the_even_code(lib, kind):
    values = np.array(numbers(kind))
    between = (values[1:] + values[:-1]) / 2
    for sign in (1, -1):
        codes = lib.numpy(lib.encode_float(lib.array(sign * between), kind)).astype(int)
        codes %= 2 ** (SMALL_FLOATS[kind].bits - 1)
        lower = np.arange(len(between))
        np.testing.assert_array_equal(codes, lower + lower % 2)
    for away, expected in ((-1e-9, np.arange(len(between))), (1e-9, 1 + np.arange(len(between)))):
        codes = lib.numpy(lib.encode_float(lib.array(between * (1 + away)), kind))
        np.testing.assert_array_equal(codes, expected)


@KINDS
@given(data=st.data())
def test_the_nearest_number_and_in_order(kind, data):
    finite = st.floats(-500, 500) | st.floats(-1e-2, 1e-2) | st.floats(allow_nan=False)
    x = np.array(sorted(data.draw(st.lists(finite, min_size=1, max_size=8))))
    found = ma.decode_float(ma.encode_float(x, kind), kind, dtype="float64")
    values = np.array(numbers(kind))
    values = np.concatenate([-values, values])
    inside = np.clip(x, values.min(), values.max())
    nearest = np.abs(inside[:, None] - values).min(axis=1)
    np.testing.assert_array_equal(np.abs(inside - found), nearest)
    assert (np.diff(found) >= 0).all()


@KINDS
def test_what_lies_beyond_becomes_the_largest(lib, kind):
    largest = SMALL_FLOATS[kind].largest
    for x in (largest * 1.01, 1e30, np.inf):
        codes = lib.encode_float(lib.array(np.array([x, -x])), kind)
        assert lib.numpy(lib.decode_float(codes, kind)).tolist() == [largest, -largest]


def test_nan_has_a_code_in_eight_bits_and_none_in_four(lib):
    x = lib.array(np.array([1.0, np.nan]))
    assert np.isnan(lib.numpy(lib.decode_float(lib.encode_float(x, "e4m3"), "e4m3"))[1])
    with pytest.raises(ConfigError, match="x holds NaN, for which e2m1"):
        lib.encode_float(x, "e2m1")


def test_a_zero_keeps_its_sign(lib):
    codes = lib.numpy(lib.encode_float(lib.array(np.array([0.0, -0.0, -1e-9])), "e2m1"))
    assert codes.tolist() == [0, 8, 8]


def test_wrong_kinds_are_named(lib):
    x = lib.array(np.ones(2))
    for call in (lib.encode_float, lib.decode_float):
        with pytest.raises(ConfigError, match="kind must be one of e4m3, e2m1, got 'e5m2'"):
            call(x, "e5m2")
    with pytest.raises(DTypeError, match="x must be"):
        lib.encode_float([1.0], "e4m3")
    with pytest.raises(DTypeError, match="x must be floating point"):
        lib.encode_float(lib.array(np.ones(2, int)), "e4m3")
    with pytest.raises(DTypeError, match="codes must be uint8, got"):
        lib.decode_float(lib.array(np.ones(2, np.int64)), "e4m3")
    with pytest.raises(ConfigError, match="e2m1 has the codes 0 … 15, got 16"):
        lib.decode_float(lib.array(np.array([3, 16], np.uint8)), "e2m1")
    with pytest.raises(DTypeError, match="dtype must be"):
        lib.decode_float(lib.array(np.zeros(2, np.uint8)), "e4m3", dtype="int8")
