"""Numbers as codes of few bits and back, with a scale and a zero for each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import SMALL_FLOATS, Coding, FloatCoding
from mini_attn.errors import ConfigError
from mini_attn.numpy.compression import weight_formats
from mini_attn.numpy.compression.small_floats import encode_nearest

Array = NDArray[Any]
_ONE = np.ones((1, 1), np.float32)  # the scale of the blocks' scales: the tensor's goes before


def encode(name: str, x: Array, coding: Coding, kind: np.dtype[Any]) -> tuple[Array, Array, Array]:
    """Packed codes, scales and zeros of groups of tokens (..., group_size, width).

    The zero is rounded down and the scale up, from the zero as it is kept: so no number lies
    outside its codes, and each comes back within half a scale.
    """
    low, high = _ranges(x, coding)
    with np.errstate(over="ignore", invalid="ignore"):
        zero = _rounded(low, kind, -np.inf)
        scale = _rounded((high - zero) / coding.levels, kind, np.inf)
    bad = ~np.isfinite(scale)  # also where the zero is not
    if bad.any():
        raise ConfigError(
            f"{name} reaches from {low[bad][0]:g} to {high[bad][0]:g} in one group: not finite, or "
            f"beyond zeros and scales in {kind}; groups of such numbers cannot be sealed"
        )
    start, step = (each.astype(x.dtype, copy=False) for each in (zero, scale))
    step = np.where(step > 0, step, 1)  # of equal numbers it is 0
    start, step = (_spread(each, coding) for each in (start, step))
    codes = np.rint((x - start) / step).clip(0, coding.levels).astype(np.uint8)
    return _pack(codes, coding), scale, zero


def decode(sealed: Sequence[Array], coding: Coding, kind: np.dtype[Any]) -> Array:
    """The numbers (batch, n_kv_heads, tokens, width) of packed codes, scales and zeros."""
    codes, scale, zero = sealed
    wide = np.promote_types(kind, np.float32)
    step, start = (_spread(each, coding).astype(wide, copy=False) for each in (scale, zero))
    numbers = _unpack(codes, coding) * step + start
    if scale.dtype == kind != wide:  # a scale rounded up may reach beyond the largest number
        numbers = np.minimum(numbers, np.finfo(kind).max)
    return numbers.astype(kind, copy=False).reshape(*codes.shape[:2], -1, coding.width)


def encode_floats(name: str, x: Array, coding: FloatCoding, scale: Array) -> list[Array]:
    """Codes of tokens (..., 1, width) and, where there are blocks, their scales.

    ``scale`` (n_kv_heads, 1, 1, 1) is known beforehand. What lies beyond the largest number
    becomes it, infinity too; NaN stays NaN where a code says so and is refused where none does.
    """
    with np.errstate(over="ignore"):
        x = x / scale
    if not coding.form.two_scales:
        return [encode_nearest(x, SMALL_FLOATS[coding.form.numbers])]
    if np.isnan(x).any():
        raise ConfigError(
            f"{name} holds NaN, for which {coding.form.numbers} has no code: "
            "such tokens cannot be sealed"
        )
    stored = weight_formats.encode(x.reshape(-1, coding.width), coding.form, _ONE)
    return [stored[part].reshape(*x.shape[:-1], -1) for part in ("codes", "scales")]


def decode_floats(
    sealed: Sequence[Array], coding: FloatCoding, scale: Array, kind: np.dtype[Any]
) -> Array:
    """The numbers (batch, n_kv_heads, tokens, width) of codes, and of scales of blocks."""
    batch, n_kv_heads, tokens = sealed[0].shape[:3]
    wide = np.promote_types(kind, np.float32)
    if coding.form.two_scales:
        codes, scales = (array.reshape(-1, array.shape[-1]) for array in sealed)
        stored = {"codes": codes, "scales": scales, "matrix_scale": _ONE}
        numbers = weight_formats.decode(stored, coding.form, coding.width, wide)
    else:
        numbers = np.asarray(coding.form.values, wide)[sealed[0]]
    numbers = numbers.reshape(batch, n_kv_heads, tokens, coding.width)
    with np.errstate(over="ignore"):
        return narrow(numbers * scale[..., 0], kind)


def narrow(x: Array, kind: np.dtype[Any]) -> Array:
    """In a type that may be narrower, whose largest number takes what lies beyond."""
    largest = np.finfo(kind).max
    return x.clip(-largest, largest).astype(kind, copy=False)


def _rounded(x: Array, kind: np.dtype[Any], toward: float) -> Array:
    """In a narrower type: the nearest number that is not on the other side."""
    near = x.astype(kind, copy=False)
    if kind == x.dtype:
        return near
    other_side = near > x if toward < 0 else near < x
    return np.where(other_side, np.nextafter(near, kind.type(toward)), near)


def _ranges(x: Array, coding: Coding) -> tuple[Array, Array]:
    """Least and largest number of each group; a token's last may be narrower."""
    if coding.axis == "channel":
        return x.min(axis=-2, keepdims=True), x.max(axis=-2, keepdims=True)
    missing = -coding.width % coding.group_size
    if missing:
        x = np.concatenate([x, np.repeat(x[..., -1:], missing, axis=-1)], axis=-1)
    parts = x.reshape(*x.shape[:-1], -1, coding.group_size)
    return parts.min(axis=-1), parts.max(axis=-1)


def _spread(each: Array, coding: Coding) -> Array:
    """One number for each group, given to all of its numbers."""
    if coding.axis == "channel" or each.shape[-1] == 1:
        return each
    return np.repeat(each, coding.group_size, axis=-1)[..., : coding.width]


def _pack(codes: Array, coding: Coding) -> Array:
    """Codes (..., group_size, width) as words of whole bytes (..., group_size * bits / 8, width).

    A word holds one code of each part of the tokens, the first part in its lowest bits; its
    lowest bytes come first.
    """
    if coding.bits == 8:
        return codes
    wide = np.uint8 if coding.word_bytes == 1 else np.int32
    parts: list[Array] = np.split(codes.astype(wide), coding.word_codes, axis=-2)
    word = parts[0]
    for i, part in enumerate(parts[1:], 1):
        word = word | part << coding.bits * i
    if coding.word_bytes == 1:
        return word
    each = (word >> 8 * i & 255 for i in range(coding.word_bytes))
    return np.concatenate([byte.astype(np.uint8) for byte in each], axis=-2)


def _unpack(packed: Array, coding: Coding) -> Array:
    """Codes (..., group_size, width) from words of whole bytes."""
    if coding.bits == 8:
        return packed
    word = packed
    if coding.word_bytes > 1:
        word, *others = np.split(packed.astype(np.int32), coding.word_bytes, axis=-2)
        for i, byte in enumerate(others, 1):
            word = word | byte << 8 * i
    codes = [word >> coding.bits * i & coding.levels for i in range(coding.word_codes)]
    return np.concatenate(codes, axis=-2, dtype=np.uint8, casting="unsafe")
