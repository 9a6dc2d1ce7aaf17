"""Floats of eight and four bits: rounding to the nearest, to the bit."""

from __future__ import annotations

import torch
from torch import Tensor

from mini_attn.config import SMALL_FLOATS, SmallFloat
from mini_attn.errors import ConfigError, DTypeError
from mini_attn.shapes import DType, check_choice
from mini_attn.torch._module import check_array, check_floating, dtype_of, wide

__all__ = ["decode_float", "encode_float"]


def encode_float(x: Tensor, kind: str) -> Tensor:
    """Codes of the nearest numbers that a small float has.

    ``code = sign, exponent + bias, round(|x| / 2 ** (exponent - mantissa_bits))``

    Parameters
    ----------
    x : tensor (...)
        Floating-point numbers.
    kind : {"e4m3", "e2m1"}
        Which float: 8 bits up to 448, or 4 bits up to 6.

    Returns
    -------
    uint8 tensor (...)
        One code each, the sign in its highest bit.

    Raises
    ------
    ConfigError
        If the kind is unknown, or a number is NaN and the kind has none.
    DTypeError
        If ``x`` is no floating-point tensor of the backend.

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
    >>> import torch
    >>> encode_float(torch.tensor([0.0, 0.5, -6.0, 5.0]), "e2m1")
    tensor([ 0,  1, 15,  6], dtype=torch.uint8)
    """
    check_choice("kind", kind, tuple(SMALL_FLOATS))
    check_floating("x", x)
    number = SMALL_FLOATS[kind]
    if not number.has_nan and x.isnan().any():
        raise ConfigError(f"x holds NaN, for which {kind} has no code")
    return encode_nearest(x, number)


def encode_nearest(x: Tensor, number: SmallFloat) -> Tensor:
    """`encode_float` without checks.

    The codes of numbers without a sign stand in order, so the code is how many half-way points
    lie below; a number on such a point goes on where the code below is odd.
    """
    x = wide(x.detach())
    values = torch.tensor(number.values[: number.largest_code + 1], device=x.device, dtype=x.dtype)
    between = (values[1:] + values[:-1]) / 2  # exact
    size = x.abs().nan_to_num(posinf=number.largest)
    code = torch.bucketize(size, between)  # points below the number
    point = between[code.clamp(max=len(between) - 1)]
    code = code + ((size == point) & (code % 2 == 1))
    code = torch.where(x.isnan(), number.largest_code + 1, code)
    return (code | x.signbit().long() << (number.bits - 1)).to(torch.uint8)


def decode_float(codes: Tensor, kind: str, *, dtype: DType = "float32") -> Tensor:
    """The numbers that codes of a small float stand for.

    ``x = sign * 2 ** exponent * (1 + mantissa / 2 ** mantissa_bits)``

    Parameters
    ----------
    codes : uint8 tensor (...)
        Codes as `encode_float` makes them.
    kind : {"e4m3", "e2m1"}
        Which float.
    dtype : str or data type
        Data type, or its name, that comes out.

    Returns
    -------
    tensor (...)
        The numbers, without any rounding.

    Raises
    ------
    ConfigError
        If the kind is unknown, or a code is none of its.
    DTypeError
        If the codes are no uint8 tensor of the backend, or the data type is unknown.

    Notes
    -----
    The smallest numbers have no leading 1: they are multiples of the first above 0.

    References
    ----------
    micikevicius2022fp8, section 3
    rouhani2023mx, table 1

    Examples
    --------
    >>> import torch
    >>> decode_float(torch.tensor([1, 0x38, 0x7E, 0xFE], dtype=torch.uint8), "e4m3").tolist()
    [0.001953125, 1.0, 448.0, -448.0]
    """
    check_choice("kind", kind, tuple(SMALL_FLOATS))
    check_array("codes", codes)
    if codes.dtype != torch.uint8:
        raise DTypeError(f"codes must be uint8, got {codes.dtype}")
    values = SMALL_FLOATS[kind].values
    highest = int(codes.max()) if codes.numel() else 0
    if highest >= len(values):
        raise ConfigError(f"{kind} has the codes 0 … {len(values) - 1}, got {highest}")
    return torch.tensor(values, dtype=dtype_of(dtype), device=codes.device)[codes.int()]
