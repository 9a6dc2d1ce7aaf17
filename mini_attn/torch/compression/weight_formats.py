"""A matrix of weights in few bits: codes, and scales that neighbors share."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from mini_attn.config import POWERS_OF_TWO, SMALL_FLOATS, WeightFormat, weight_format
from mini_attn.errors import ConfigError, DTypeError, ShapeError
from mini_attn.shapes import DType, check_count, named_shapes
from mini_attn.torch._module import check_array, check_floating, dtype_of, wide
from mini_attn.torch.compression.small_floats import encode_nearest

__all__ = ["decode_weight", "encode_weight"]

Stored = dict[str, Tensor]


def encode_weight(weight: Tensor, format: str | WeightFormat) -> Stored:
    """Round a matrix to codes of few bits and the scales of its groups.

    ``code = nearest(weight / scale),  scale = max |weight of the group| / largest code's number``

    Parameters
    ----------
    weight : tensor (rows, columns)
        A matrix, each row of which makes one output.
    format : str or WeightFormat
        One of `mini_attn.config.WEIGHT_FORMATS`, or a format of one's own.

    Returns
    -------
    dict of str to tensor
        ``codes``, uint8 (rows, bytes), two of 4 bits in each; ``scales`` (rows, groups), as uint8
        codes where the format keeps them in 8 bits, (1, 1) where the matrix has one; with a zero
        point ``zeros``, packed as the codes are; with scales in e4m3 ``matrix_scale`` (1, 1).

    Raises
    ------
    ShapeError
        If there are not two axes, or one is empty.
    DTypeError
        If the weight is no floating-point tensor of the backend.
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

    PyTorch: the codes carry no gradient.

    References
    ----------
    dettmers2022int8, section 2
    rouhani2023mx, algorithm 1
    nvidia2025nvfp4

    Examples
    --------
    >>> import torch
    >>> stored = encode_weight(torch.tensor([[1.0, -0.5, 0.26]]), "int8")
    >>> stored["codes"].view(torch.int8), stored["scales"]
    (tensor([[127, -64,  33]], dtype=torch.int8), tensor([[0.0079]]))
    """
    form = weight_format(format)
    check_floating("weight", weight)
    sizes = named_shapes(weight=(weight, "rows columns"))
    if not all(sizes.values()):
        raise ShapeError(f"weight must not be empty, got shape {tuple(weight.shape)}")
    if not weight.isfinite().all():
        raise ConfigError("weight holds what is not finite: no scale fits NaN or infinity")
    return encode(weight, form)


@torch.no_grad()
def encode(weight: Tensor, form: WeightFormat, whole: Tensor | None = None) -> Stored:
    """`encode_weight` without checks of the weight; the matrix's scale may be known."""
    x = wide(weight)
    rows, columns = x.shape
    groups = _groups(x, form)  # (rows, groups, width) or, of a matrix, (1, 1, all)
    if form.zero_point:
        low, high = groups.amin(-1).clamp(max=0), groups.amax(-1).clamp(min=0)
    else:
        high = groups.abs().amax(-1)
        low = torch.zeros_like(high)
    stored, step = _scales(high / form.largest - low / form.largest, form, whole)
    dead = step == 0  # of a group of zeros, or too small for its type
    zeros = (-low / step.masked_fill(dead, 1)).round().clamp(0, form.largest)
    numbers = (groups / step.masked_fill(dead, 1)[..., None]).masked_fill(dead[..., None], 0)
    if form.whole_numbers:
        least = 0.0 if form.zero_point else -form.largest
        whole = (numbers.round() + zeros[..., None]).clamp(least, form.largest)
        codes = (whole.long() % 2**form.code_bits).to(torch.uint8)
    else:
        codes = encode_nearest(numbers, SMALL_FLOATS[form.numbers])
    codes = codes.reshape(rows, -1)[:, :columns]
    if form.zero_point:
        stored["zeros"] = _pack(zeros.to(torch.uint8), form.code_bits)
    return {"codes": _pack(codes, form.code_bits), **stored}


def decode_weight(
    stored: Mapping[str, Tensor],
    format: str | WeightFormat,
    columns: int,
    *,
    dtype: DType = "float32",
) -> Tensor:
    """The matrix that codes and scales stand for.

    ``weight = scale * (number of the code - zero)``

    Parameters
    ----------
    stored : mapping of str to tensor
        What `encode_weight` has made.
    format : str or WeightFormat
        The format that it was made with.
    columns : int
        Columns of the matrix; the bytes of an odd number of 4-bit codes do not say it.
    dtype : str or data type
        Data type, or its name, that comes out.

    Returns
    -------
    tensor (rows, columns)
        The weights, computed in float32 or wider.

    Raises
    ------
    ConfigError
        If the format is unknown, or a tensor is missing or does not belong to it.
    ShapeError
        If a tensor has not the shape that the format gives it.
    DTypeError
        If the data type is unknown, or a tensor's not the one that the format keeps.

    Notes
    -----
    ``encode_weight(decode_weight(stored))`` has the same codes, but for scales that are rounded.

    References
    ----------
    rouhani2023mx, section 3

    Examples
    --------
    >>> import torch
    >>> stored = encode_weight(torch.tensor([[6.0, -0.7, 0.2]]), "mxfp4")
    >>> decode_weight(stored, "mxfp4", 3)
    tensor([[ 6.0000, -0.5000,  0.0000]])
    """
    form, kind = weight_format(format), dtype_of(dtype)
    check_stored(stored, form, columns)
    return decode(stored, form, columns, kind)


def check_stored(stored: Mapping[str, Tensor], form: WeightFormat, columns: int) -> None:
    """Refuse tensors that are not those of such a format."""
    if not isinstance(stored, Mapping):
        raise ConfigError(f"stored must map names to arrays, got {stored!r:.60}")
    shapes = form.shapes(len(stored.get("codes", ())), check_count("columns", columns))
    if stored.keys() != shapes.keys():
        raise ConfigError(f"such weights have {', '.join(shapes)}; got {', '.join(stored)}")
    for name, shape in shapes.items():
        check_array(name, stored[name])
        if stored[name].dtype != getattr(torch, form.kinds[name]):
            raise DTypeError(f"{name} must be {form.kinds[name]}, got {stored[name].dtype}")
        if (got := tuple(stored[name].shape)) != shape:
            raise ShapeError(f"{name} must have shape {shape} for {columns} columns, got {got}")
    if form.code_bits == 4 and columns % 2 and bool((stored["codes"][:, -1] >> 4).any()):
        raise ConfigError(f"codes hold {columns + 1} columns, not {columns}: none may be left over")


def decode(
    stored: Mapping[str, Tensor], form: WeightFormat, columns: int, kind: torch.dtype
) -> Tensor:
    """`decode_weight` without checks."""
    codes = _unpack(stored["codes"], form.code_bits, columns)
    step = _step(stored["scales"], stored.get("matrix_scale"), form)
    step = step.to(torch.promote_types(kind, torch.float32))
    numbers = torch.tensor(form.values, dtype=step.dtype, device=codes.device)[codes.int()]
    if form.zero_point:
        zeros = _unpack(stored["zeros"], form.code_bits, step.shape[1])
        numbers = numbers - _spread(zeros, form, columns)
    return (numbers * _spread(step, form, columns)).to(kind)


def _groups(x: Tensor, form: WeightFormat) -> Tensor:
    """Weights that share a scale side by side; zeros fill a last group that is narrower."""
    if form.group_size == "matrix":
        return x.reshape(1, 1, -1)
    width = form.width(x.shape[1])
    x = torch.nn.functional.pad(x, (0, -x.shape[1] % width))
    return x.reshape(len(x), -1, width)


def _scales(step: Tensor, form: WeightFormat, whole: Tensor | None = None) -> tuple[Stored, Tensor]:
    """The tensors that keep the scales of groups, and the scales that these stand for."""
    stored: Stored = {}
    if form.scales == "e8m0":  # the exponent, 127 more
        largest = torch.frexp(step * form.largest).exponent - 1
        exponent = largest - SMALL_FLOATS[form.numbers].greatest_exponent
        exponent = exponent.masked_fill(step == 0, -127).clamp(-127, 127)
        stored["scales"] = (exponent + 127).to(torch.uint8)
    elif form.scales == "e4m3":
        number = SMALL_FLOATS["e4m3"]
        if whole is None:
            whole = (step.amax() / number.largest).float().reshape(1, 1)
        stored["scales"] = encode_nearest(step / whole.masked_fill(whole == 0, 1), number)
        stored["matrix_scale"] = whole
    else:
        stored["scales"] = step.to(dtype_of(form.scales))
        if not stored["scales"].isfinite().all():
            raise ConfigError(f"a scale of {float(step.max()):g} is beyond {form.scales}")
    return stored, _step(stored["scales"], stored.get("matrix_scale"), form).to(step.dtype)


def _step(scales: Tensor, whole: Tensor | None, form: WeightFormat) -> Tensor:
    """The scales as numbers, from how they are kept."""
    if form.scales == "e8m0":
        powers = torch.tensor(POWERS_OF_TWO, dtype=torch.float32, device=scales.device)
        return powers[scales.int()]
    if whole is not None:
        values = SMALL_FLOATS["e4m3"].values
        return torch.tensor(values, dtype=torch.float32, device=scales.device)[scales.int()] * whole
    return scales


def _spread(each: Tensor, form: WeightFormat, columns: int) -> Tensor:
    """One number for each group, given to all of its weights."""
    if each.shape[1] == 1:
        return each
    return each.repeat_interleave(form.width(columns), dim=1)[:, :columns]


def _pack(codes: Tensor, bits: int) -> Tensor:
    """Codes (rows, columns) as bytes, the first of two codes of 4 bits in the low half."""
    if bits == 8:
        return codes.contiguous()
    codes = torch.nn.functional.pad(codes, (0, codes.shape[1] % 2))
    return codes[:, 0::2] | codes[:, 1::2] << 4


def _unpack(packed: Tensor, bits: int, columns: int) -> Tensor:
    """Codes (rows, columns) from bytes."""
    if bits == 8:
        return packed
    return torch.stack([packed & 15, packed >> 4], dim=-1).flatten(1)[:, :columns]
