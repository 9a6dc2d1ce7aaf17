"""Floats of eight and four bits: rounding to the nearest, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import SMALL_FLOATS, SmallFloat
from mini_attn.errors import ConfigError, DTypeError
from mini_attn.numpy._module import check_array, check_floating, dtype_of
from mini_attn.shapes import DType, check_choice

__all__ = ["decode_float", "encode_float"]

Array = NDArray[Any]


def encode_float(x: Array, kind: str) -> Array:
    """Codes of the nearest numbers that a small float has.

    ``code = sign, exponent + bias, round(|x| / 2 ** (exponent - mantissa_bits))``

    Parameters
    ----------
    x : array (...)
        Floating-point numbers.
    kind : {"e4m3", "e2m1"}
        Which float: 8 bits up to 448, or 4 bits up to 6.

    Returns
    -------
    uint8 array (...)
        One code each, the sign in its highest bit.

    Raises
    ------
    ConfigError
        If the kind is unknown, or a number is NaN and the kind has none.
    DTypeError
        If ``x`` is no floating-point array of the backend.

    Notes
    -----
    What lies half-way goes to the even code, and what lies beyond the largest number, infinity
    too, to the largest: of the two conversions that the format's specification allows, the
    saturating one.

    References
    ----------
    micikevicius2022fp8, section 3
    rouhani2023mx, table 1

    Examples
    --------
    >>> import numpy as np
    >>> encode_float(np.array([0.0, 0.5, -6.0, 5.0]), "e2m1")
    array([ 0,  1, 15,  6], dtype=uint8)
    """
    check_choice("kind", kind, tuple(SMALL_FLOATS))
    check_floating("x", x)
    number = SMALL_FLOATS[kind]
    if not number.has_nan and np.isnan(x).any():
        raise ConfigError(f"x holds NaN, for which {kind} has no code")
    return encode_nearest(x, number)


def encode_nearest(x: Array, number: SmallFloat) -> Array:
    """`encode_float` without checks."""
    odd = np.isnan(x)
    size = np.where(odd, 0, np.minimum(np.abs(x), number.largest))
    exponent = np.frexp(size)[1] - 1  # size = 1.… * 2 ** exponent
    exponent = np.clip(exponent, number.least_exponent, number.greatest_exponent)
    exponent = np.where(size > 0, exponent, number.least_exponent)
    steps = np.rint(np.ldexp(size, number.mantissa_bits - exponent)).astype(np.int64)
    # A step more at the end of an exponent's numbers is the first of the next exponent.
    code = steps + ((exponent - number.least_exponent) << number.mantissa_bits)
    code = np.where(odd, number.largest_code + 1, np.minimum(code, number.largest_code))
    sign = np.signbit(x).astype(np.int64) << (number.bits - 1)
    return (code | sign).astype(np.uint8)


def decode_float(codes: Array, kind: str, *, dtype: DType = "float32") -> Array:
    """The numbers that codes of a small float stand for.

    ``x = sign * 2 ** exponent * (1 + mantissa / 2 ** mantissa_bits)``

    Parameters
    ----------
    codes : uint8 array (...)
        Codes as `encode_float` makes them.
    kind : {"e4m3", "e2m1"}
        Which float.
    dtype : str or data type
        Data type, or its name, that comes out.

    Returns
    -------
    array (...)
        The numbers, without any rounding.

    Raises
    ------
    ConfigError
        If the kind is unknown, or a code is none of its.
    DTypeError
        If the codes are no uint8 array of the backend, or the data type is unknown.

    Notes
    -----
    The smallest numbers have no leading 1: they are multiples of the first above 0.

    References
    ----------
    micikevicius2022fp8, section 3
    rouhani2023mx, table 1

    Examples
    --------
    >>> import numpy as np
    >>> decode_float(np.array([1, 0x38, 0x7E, 0xFE], np.uint8), "e4m3").tolist()
    [0.001953125, 1.0, 448.0, -448.0]
    """
    check_choice("kind", kind, tuple(SMALL_FLOATS))
    check_array("codes", codes)
    if codes.dtype != np.uint8:
        raise DTypeError(f"codes must be uint8, got {codes.dtype}")
    values = SMALL_FLOATS[kind].values
    highest = int(codes.max(initial=0))
    if highest >= len(values):
        raise ConfigError(f"{kind} has the codes 0 … {len(values) - 1}, got {highest}")
    return np.asarray(values, dtype_of(dtype))[codes]
