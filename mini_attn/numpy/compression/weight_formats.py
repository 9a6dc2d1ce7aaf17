"""A matrix of weights in few bits: codes, and scales that neighbors share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import POWERS_OF_TWO, SMALL_FLOATS, WeightFormat, weight_format
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.numpy._module import check_array, check_floating, dtype_of
from mini_attn.numpy.compression.small_floats import encode_nearest
from mini_attn.shapes import DType, check_count, named_shapes

__all__ = ["decode_weight", "encode_weight"]

Array = NDArray[Any]
Stored = dict[str, Array]


def encode_weight(weight: Array, format: str | WeightFormat) -> Stored:
    """Round a matrix to codes of few bits and the scales of its groups.

    ``code = nearest(weight / scale),  scale = max |weight of the group| / largest code's number``

    Parameters
    ----------
    weight : array (rows, columns)
        A matrix, each row of which makes one output.
    format : str or WeightFormat
        One of `mini_attn.config.WEIGHT_FORMATS`, or a format of one's own.

    Returns
    -------
    dict of str to array
        ``codes``, uint8 (rows, bytes), two of 4 bits in each; ``scales`` (rows, groups), as uint8
        codes where the format keeps them in 8 bits, (1, 1) where the matrix has one; with a zero
        point ``zeros``, packed as the codes are; with scales in e4m3 ``matrix_scale`` (1, 1).

    Raises
    ------
    ShapeError
        If there are not two axes, or one is empty.
    DTypeError
        If the weight is no floating-point array of the backend.
    ConfigError
        If the format is unknown, a weight is not finite, or a scale is beyond what its type holds.

    Notes
    -----
    Half-way goes to the even code. Codes are made with the scale as it is kept. With a zero
    point, ``code = nearest(weight / scale) + zero`` and the range of a group always holds 0, so
    that 0 comes back as 0. A scale that is a power of two is the largest that is not above the
    group's largest weight, over that of the largest code's number; what then lies beyond the
    largest number becomes it. Scales in e4m3 are multiples of ``matrix_scale``, with which the
    largest of them is 448. A scale too small for its type is 0, and so are its weights.

    References
    ----------
    dettmers2022int8, section 2
    rouhani2023mx, algorithm 1
    nvidia2025nvfp4

    Examples
    --------
    >>> import numpy as np
    >>> stored = encode_weight(np.array([[1.0, -0.5, 0.26]]), "int8")
    >>> stored["codes"].view(np.int8), stored["scales"].round(4)
    (array([[127, -64,  33]], dtype=int8), array([[0.0079]], dtype=float32))
    """
    form = weight_format(format)
    check_floating("weight", weight)
    sizes = named_shapes(weight=(weight, "rows columns"))
    if not all(sizes.values()):
        raise ShapeError(f"weight must not be empty, got shape {weight.shape}")
    if not np.isfinite(weight).all():
        raise ConfigError("weight holds what is not finite: no scale fits NaN or infinity")
    return encode(weight, form)


def encode(weight: Array, form: WeightFormat, whole: Array | None = None) -> Stored:
    """`encode_weight` without checks of the weight; the matrix's scale may be known."""
    x = weight.astype(np.promote_types(weight.dtype, np.float32))
    low, high = (_edges(x, form, edge) for edge in (np.minimum, np.maximum))
    if not form.zero_point:
        high = np.maximum(high, np.abs(low))
        low = np.zeros_like(high)
    stored, step = _scales(high / form.largest - low / form.largest, form, whole)
    zeros = np.rint(np.negative(low) / np.where(step > 0, step, 1)).clip(0, form.largest)
    if form.zero_point:
        stored["zeros"] = _pack(zeros.astype(np.uint8), form.code_bits)
    zeros, step = (_spread(each, form, x.shape[1]) for each in (zeros, step))
    numbers = np.divide(x, step, out=np.zeros_like(x), where=step > 0)
    if form.whole_numbers:
        least = 0 if form.zero_point else -form.largest
        codes = (np.rint(numbers) + zeros).clip(least, form.largest)
        codes = (codes.astype(np.int64) & (2**form.code_bits - 1)).astype(np.uint8)
    else:
        codes = encode_nearest(numbers, SMALL_FLOATS[form.numbers])
    return {"codes": _pack(codes, form.code_bits), **stored}


def decode_weight(
    stored: Mapping[str, Array],
    format: str | WeightFormat,
    columns: int,
    *,
    dtype: DType = "float32",
) -> Array:
    """The matrix that codes and scales stand for.

    ``weight = scale * (number of the code - zero)``

    Parameters
    ----------
    stored : mapping of str to array
        What `encode_weight` has made.
    format : str or WeightFormat
        The format that it was made with.
    columns : int
        Columns of the matrix; the bytes of an odd number of 4-bit codes do not say it.
    dtype : str or data type
        Data type, or its name, that comes out.

    Returns
    -------
    array (rows, columns)
        The weights, computed in float32 or wider.

    Raises
    ------
    ConfigError
        If the format is unknown, or an array is missing or does not belong to it.
    ShapeError
        If an array has not the shape that the format gives it.
    DTypeError
        If the data type is unknown, or an array's not the one that the format keeps.

    Notes
    -----
    ``encode_weight(decode_weight(stored))`` has the same codes, but for scales that are rounded.

    References
    ----------
    rouhani2023mx, section 3

    Examples
    --------
    >>> import numpy as np
    >>> stored = encode_weight(np.array([[6.0, -0.7, 0.2]]), "mxfp4")
    >>> decode_weight(stored, "mxfp4", 3)
    array([[ 6. , -0.5,  0. ]], dtype=float32)
    """
    form, kind = weight_format(format), dtype_of(dtype)
    check_stored(stored, form, columns)
    return decode(stored, form, columns, kind)


def check_stored(stored: Mapping[str, Array], form: WeightFormat, columns: int) -> None:
    """Refuse arrays that are not those of such a format."""
    if not isinstance(stored, Mapping):
        raise ConfigError(f"stored must map names to arrays, got {stored!r:.60}")
    shapes = form.shapes(len(stored.get("codes", ())), check_count("columns", columns))
    if stored.keys() != shapes.keys():
        raise ConfigError(f"such weights have {', '.join(shapes)}; got {', '.join(stored)}")
    for name, shape in shapes.items():
        check_array(name, stored[name])
        if stored[name].dtype != form.kinds[name]:
            raise DTypeError(f"{name} must be {form.kinds[name]}, got {stored[name].dtype}")
        if stored[name].shape != shape:
            raise ShapeError(
                f"{name} must have shape {shape} for {columns} columns, got {stored[name].shape}"
            )
    if form.code_bits == 4 and columns % 2 and bool((stored["codes"][:, -1] >> 4).any()):
        raise ConfigError(f"codes hold {columns + 1} columns, not {columns}: none may be left over")


def decode(
    stored: Mapping[str, Array], form: WeightFormat, columns: int, kind: np.dtype[Any]
) -> Array:
    """`decode_weight` without checks."""
    wide = np.promote_types(kind, np.float32)
    step = _step(stored["scales"], stored.get("matrix_scale"), form).astype(wide, copy=False)
    numbers = np.asarray(form.values, wide)[_unpack(stored["codes"], form.code_bits, columns)]
    if form.zero_point:
        zeros = _unpack(stored["zeros"], form.code_bits, step.shape[1])
        numbers = numbers - _spread(zeros.astype(wide), form, columns)
    return np.asarray(numbers * _spread(step, form, columns)).astype(kind, copy=False)


def _edges(x: Array, form: WeightFormat, edge: np.ufunc) -> Array:
    """Of each group the least or the largest number, or 0 if that is beyond it."""
    starts = np.arange(0, x.shape[1], form.width(x.shape[1]))
    found = edge.reduceat(x, starts, axis=1)  # (rows, groups)
    if form.group_size == "matrix":
        found = edge.reduce(found, axis=None, keepdims=True)
    return np.asarray(edge(found, 0))


def _scales(step: Array, form: WeightFormat, whole: Array | None = None) -> tuple[Stored, Array]:
    """The arrays that keep the scales of groups, and the scales that these stand for."""
    stored: Stored = {}
    if form.scales == "e8m0":  # the exponent, 127 more
        largest = np.frexp(step * form.largest)[1] - 1
        exponent = largest - SMALL_FLOATS[form.numbers].greatest_exponent
        exponent = np.where(step > 0, exponent, -127).clip(-127, 127)
        stored["scales"] = (exponent + 127).astype(np.uint8)
    elif form.scales == "e4m3":
        number = SMALL_FLOATS["e4m3"]
        if whole is None:
            whole = (step.max(keepdims=True) / number.largest).astype(np.float32)
        stored["scales"] = encode_nearest(step / np.where(whole > 0, whole, 1), number)
        stored["matrix_scale"] = whole
    else:
        with np.errstate(over="ignore"):
            stored["scales"] = step.astype(form.scales)
        if not np.isfinite(stored["scales"]).all():
            raise ConfigError(f"a scale of {step.max():g} is beyond {form.scales}")
    kept = _step(stored["scales"], stored.get("matrix_scale"), form)
    return stored, kept.astype(step.dtype, copy=False)


def _step(scales: Array, whole: Array | None, form: WeightFormat) -> Array:
    """The scales as numbers, from how they are kept."""
    if form.scales == "e8m0":
        return np.asarray(POWERS_OF_TWO, np.float32)[scales]
    if whole is not None:
        return np.asarray(SMALL_FLOATS["e4m3"].values, np.float32)[scales] * whole
    return scales


def _spread(each: Array, form: WeightFormat, columns: int) -> Array:
    """One number for each group, given to all of its weights."""
    if each.shape[1] == 1:
        return each
    return np.repeat(each, form.width(columns), axis=1)[:, :columns]


def _pack(codes: Array, bits: int) -> Array:
    """Codes (rows, columns) as bytes, the first of two codes of 4 bits in the low half."""
    if bits == 8:
        return codes
    codes = np.pad(codes, ((0, 0), (0, codes.shape[1] % 2)))
    return codes[:, 0::2] | codes[:, 1::2] << 4


def _unpack(packed: Array, bits: int, columns: int) -> Array:
    """Codes (rows, columns) from bytes."""
    if bits == 8:
        return packed
    codes = np.stack([packed & 15, packed >> 4], axis=-1)  # (rows, bytes, 2)
    return codes.reshape(len(packed), -1)[:, :columns]
