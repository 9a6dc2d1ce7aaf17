"""Numbers as codes of few bits and back, with a scale and a zero for each group."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mini_attn.config import SMALL_FLOATS, Coding, FloatCoding
from mini_attn.errors import ConfigError
from mini_attn.torch.compression import weight_formats
from mini_attn.torch.compression.small_floats import encode_nearest

_WHOLE = {torch.float16: torch.int16, torch.float32: torch.int32}  # as many bits


def encode(
    name: str, x: Tensor, coding: Coding, kind: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """Packed codes, scales and zeros of groups of tokens (..., group_size, width).

    The zero is rounded down and the scale up, from the zero as it is kept: so no number lies
    outside its codes, and each comes back within half a scale.
    """
    low, high = _ranges(x, coding)
    zero = _rounded(low, kind, up=False)
    scale = _rounded((high - zero) / coding.levels, kind, up=True)
    bad = ~scale.isfinite()  # also where the zero is not: then nothing of the group comes back
    if _at_hand(x) and bad.any():
        raise ConfigError(
            f"{name} reaches from {low[bad][0]:g} to {high[bad][0]:g} in one group: not finite, or "
            f"beyond zeros and scales in {str(kind).removeprefix('torch.')}; groups of such "
            "numbers cannot be sealed"
        )
    start, step = zero.to(x.dtype), scale.to(x.dtype)
    step = torch.where(step > 0, step, 1)  # of equal numbers it is 0
    start, step = _spread(start, coding), _spread(step, coding)
    codes = ((x - start) / step).round().clamp(0, coding.levels).to(torch.uint8)
    return _pack(codes, coding), scale, zero


def decode(sealed: Sequence[Tensor], coding: Coding, kind: torch.dtype) -> Tensor:
    """The numbers (batch, n_kv_heads, tokens, width) of packed codes, scales and zeros."""
    codes, scale, zero = sealed
    wide = torch.promote_types(kind, torch.float32)
    step, start = (_spread(each, coding).to(wide) for each in (scale, zero))
    numbers = _unpack(codes, coding) * step + start
    if scale.dtype == kind != wide:  # a scale rounded up may reach beyond the largest number
        numbers = numbers.clamp(max=torch.finfo(kind).max)
    return numbers.to(kind).reshape(*codes.shape[:2], -1, coding.width)


def encode_floats(name: str, x: Tensor, coding: FloatCoding, scale: Tensor) -> list[Tensor]:
    """Codes of tokens (..., 1, width) and, where there are blocks, their scales.

    ``scale`` (n_kv_heads, 1, 1, 1) is known beforehand. What lies beyond the largest number
    becomes it, infinity too; NaN stays NaN where a code says so and is refused where none does.
    """
    x = x / scale
    if not coding.form.two_scales:
        return [encode_nearest(x, SMALL_FLOATS[coding.form.numbers])]
    if _at_hand(x) and x.isnan().any():
        raise ConfigError(
            f"{name} holds NaN, for which {coding.form.numbers} has no code: "
            "such tokens cannot be sealed"
        )
    stored = weight_formats.encode(x.reshape(-1, coding.width), coding.form, _one(x))
    return [stored[part].reshape(*x.shape[:-1], -1) for part in ("codes", "scales")]


def decode_floats(
    sealed: Sequence[Tensor], coding: FloatCoding, scale: Tensor, kind: torch.dtype
) -> Tensor:
    """The numbers (batch, n_kv_heads, tokens, width) of codes, and of scales of blocks."""
    batch, n_kv_heads, tokens = sealed[0].shape[:3]
    wide = torch.promote_types(kind, torch.float32)
    if coding.form.two_scales:
        codes, scales = (array.reshape(-1, array.shape[-1]) for array in sealed)
        stored = {"codes": codes, "scales": scales, "matrix_scale": _one(scales)}
        numbers = weight_formats.decode(stored, coding.form, coding.width, wide)
    else:
        values = torch.tensor(coding.form.values, dtype=wide, device=sealed[0].device)
        numbers = values[sealed[0].int()]
    numbers = numbers.reshape(batch, n_kv_heads, tokens, coding.width)
    return narrow(numbers * scale[..., 0], kind)


def narrow(x: Tensor, kind: torch.dtype) -> Tensor:
    """In a type that may be narrower, whose largest number takes what lies beyond."""
    largest = torch.finfo(kind).max
    return x.clamp(-largest, largest).to(kind)


def _one(beside: Tensor) -> Tensor:
    """The scale of the blocks' scales: the tensor's goes before."""
    return torch.ones((1, 1), device=beside.device)


def _at_hand(x: Tensor) -> bool:
    """Return whether a number can be looked at without waiting for a device."""
    return x.device.type == "cpu"


def _rounded(x: Tensor, kind: torch.dtype, *, up: bool) -> Tensor:
    """In a narrower type: the nearest number that is not on the other side."""
    near = x.to(kind)
    if kind == x.dtype:
        return near
    # Read as whole numbers, those next to each other differ by 1, and grow away from 0.
    bits = near.view(_WHOLE[kind])
    if up:  # a scale, which is not below 0
        return torch.where(near < x, bits + 1, bits).view(kind)
    below = torch.where(near > 0, bits - 1, bits + 1)
    return torch.where(near > x, below, bits).view(kind)


def _ranges(x: Tensor, coding: Coding) -> tuple[Tensor, Tensor]:
    """Least and largest number of each group; a token's last may be narrower."""
    if coding.axis == "channel":
        return x.amin(dim=-2, keepdim=True), x.amax(dim=-2, keepdim=True)
    missing = -coding.width % coding.group_size
    if missing:
        x = torch.cat([x, x[..., -1:].expand(*x.shape[:-1], missing)], dim=-1)
    parts = x.reshape(*x.shape[:-1], -1, coding.group_size)
    return parts.amin(dim=-1), parts.amax(dim=-1)


def _spread(each: Tensor, coding: Coding) -> Tensor:
    """One number for each group, given to all of its numbers."""
    if coding.axis == "channel" or each.shape[-1] == 1:
        return each
    return each.repeat_interleave(coding.group_size, dim=-1)[..., : coding.width]


def _pack(codes: Tensor, coding: Coding) -> Tensor:
    """Codes (..., group_size, width) as words of whole bytes (..., group_size * bits / 8, width).

    A word holds one code of each part of the tokens, the first part in its lowest bits; its
    lowest bytes come first.
    """
    if coding.bits == 8:
        return codes
    wide = torch.uint8 if coding.word_bytes == 1 else torch.int32
    word, *others = codes.to(wide).chunk(coding.word_codes, dim=-2)
    for i, part in enumerate(others, 1):
        word = word | part << coding.bits * i
    if coding.word_bytes == 1:
        return word
    each = (word >> 8 * i & 255 for i in range(coding.word_bytes))
    return torch.cat([byte.to(torch.uint8) for byte in each], dim=-2)


def _unpack(packed: Tensor, coding: Coding) -> Tensor:
    """Codes (..., group_size, width) from words of whole bytes."""
    if coding.bits == 8:
        return packed
    word = packed
    if coding.word_bytes > 1:
        word, *others = packed.to(torch.int32).chunk(coding.word_bytes, dim=-2)
        for i, byte in enumerate(others, 1):
            word = word | byte << 8 * i
    codes = [word >> coding.bits * i & coding.levels for i in range(coding.word_codes)]
    return torch.cat(codes, dim=-2)
