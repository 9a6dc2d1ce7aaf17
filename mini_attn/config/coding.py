"""How keys or values become codes of few bits: which numbers, which groups, which bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mini_attn.config.weight_format import WEIGHT_FORMATS, WeightFormat
from mini_attn.errors import ConfigError
from mini_attn.shapes import DType, check_choice, check_count, check_number, dtype_name

__all__ = [
    "CACHE_FORMATS",
    "Coding",
    "FloatCoding",
    "codings",
    "fixed_scales",
    "newest",
    "scale_type",
]

BITS = (8, 4, 3, 2)
AXES = ("channel", "token")
SCALES = ("float32", "float16")
GROUP = RESIDUAL = 32  # numbers of a group, and newest tokens, unless others are asked for
CACHE_FORMATS = {name: WEIGHT_FORMATS[name] for name in ("fp8", "nvfp4")}
SMALLEST, GREATEST = 2.0**-126, 2.0**127  # what a float32 scale may be

Layout = list[tuple[tuple[int, int], str]]  # the shape of each array of a group, and its type


@dataclass(frozen=True)
class Coding:
    """The integers of codes of the keys, or of the values, of tokens that are sealed together.

    Parameters
    ----------
    bits : {8, 4, 3, 2}
        Bits of a code.
    axis : {"channel", "token"}
        What a group lies in: one channel, of so many tokens, or one token, so many channels.
    group_size : int
        Numbers of a group, and tokens that are sealed together.
    width : int
        Channels of a token.

    Examples
    --------
    >>> keys = Coding(3, "channel", 32, 128)
    >>> keys.levels, keys.code_shape, keys.scale_shape, keys.group_bytes(2)
    (7, (12, 128), (1, 128), 2048)
    """

    bits: int
    axis: str
    group_size: int
    width: int

    @property
    def levels(self) -> int:
        """The largest code."""
        return int(2**self.bits - 1)

    @property
    def word_codes(self) -> int:
        """Codes of a word, the fewest that fill whole bytes (8 where they have 3 bits)."""
        return 8 // math.gcd(8, self.bits)

    @property
    def word_bytes(self) -> int:
        """Bytes of a word, 3 where codes have 3 bits and else 1."""
        return self.bits // math.gcd(8, self.bits)

    @property
    def code_shape(self) -> tuple[int, int]:
        """Bytes of the codes; no bit is left over, as tokens pair up to words."""
        return self.group_size * self.bits // 8, self.width

    @property
    def scale_shape(self) -> tuple[int, int]:
        """Scales, and as many zeros; a token's last group of channels may be narrower."""
        if self.axis == "channel":
            return 1, self.width
        return self.group_size, -(-self.width // self.group_size)

    def layout(self, scale_dtype: str) -> Layout:
        """Return shape and type of the codes, the scales and the zeros of a group."""
        return [(self.code_shape, "uint8"), *[(self.scale_shape, scale_dtype)] * 2]

    def group_bytes(self, scale_bytes: int) -> int:
        """Bytes of the tokens that are sealed together: codes, scales and zeros."""
        return math.prod(self.code_shape) + 2 * scale_bytes * math.prod(self.scale_shape)


@dataclass(frozen=True)
class FloatCoding:
    """The integers of small floats that keys, or values, are kept as: each token by itself.

    Parameters
    ----------
    form : WeightFormat
        Which floats, and which neighbors along the head share a scale.
    width : int
        Channels of a token.

    Examples
    --------
    >>> keys = FloatCoding(CACHE_FORMATS["nvfp4"], 128)
    >>> keys.group_bytes(), keys.largest
    (72, 2688.0)
    """

    form: WeightFormat
    width: int

    axis = "token"
    group_size = 1

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return self.form.code_bits

    @property
    def largest(self) -> float:
        """The largest number, where the scale of the tensor or head is 1."""
        if not self.form.two_scales:
            return self.form.largest
        return self.form.largest * CACHE_FORMATS["fp8"].largest  # a block's scale is E4M3

    def layout(self, scale_dtype: str) -> Layout:
        """Return shape and type of the codes and, where there are blocks, of their scales."""
        shapes = self.form.shapes(1, self.width)
        names = ("codes", "scales") if self.form.two_scales else ("codes",)
        return [(shapes[name], self.form.kinds[name]) for name in names]

    def group_bytes(self, scale_bytes: int = 1) -> int:
        """Bytes of a token: codes, and scales of blocks; the tensor's scale is no token's."""
        return sum(math.prod(shape) for shape, _ in self.layout(""))


def codings(
    widths: tuple[int, int],
    *,
    bits: int | None,
    k_bits: int | None,
    v_bits: int | None,
    group_size: int | None,
    key_axis: str,
    format: str | None = None,
) -> tuple[Coding, Coding] | tuple[FloatCoding, FloatCoding]:
    """Describe how keys and how values become codes; check all options.

    Parameters
    ----------
    widths : tuple of int
        Channels of a key and of a value.
    bits, k_bits, v_bits : {8, 4, 3, 2} or None
        Bits of both codes, or of the one and the other; None means 8.
    group_size : int or None
        Numbers of a group, and tokens that are sealed together; None means 32.
    key_axis : {"channel", "token"}
        What a group of keys lies in; values go by token.
    format : {"fp8", "nvfp4"} or None
        Small floats instead of whole numbers, with bits and groups of their own.

    Returns
    -------
    tuple of Coding or of FloatCoding
        That of keys, that of values.

    Raises
    ------
    ConfigError
        If a size is below 1, an option is none of these, both forms of bits are given, codes
        do not fill bytes, or a format comes with bits or groups.

    Examples
    --------
    >>> keys, values = codings(
    ...     (64, 64), bits=None, k_bits=2, v_bits=4, group_size=32, key_axis="channel")
    >>> keys.bits, values.bits, values.axis
    (2, 4, 'token')
    """
    sizes = {"head_dim": widths[0], "v_head_dim": widths[1]}
    k_width, v_width = (check_count(name, value) for name, value in sizes.items())
    given = {"k_bits": k_bits, "v_bits": v_bits}
    check_choice("key_axis", key_axis, AXES)
    if format is not None:
        _check_format(format, bits=bits, group_size=group_size, **given)
        form = CACHE_FORMATS[format]
        return FloatCoding(form, k_width), FloatCoding(form, v_width)
    size = check_count("group_size", GROUP if group_size is None else group_size)
    if bits is not None:
        also = [f"{name} = {value!r:.60}" for name, value in given.items() if value is not None]
        if also:
            raise ConfigError(
                "bits sets k_bits and v_bits: give it or them, got "
                f"bits = {bits!r:.60} and {' and '.join(also)}"
            )
        _check_bits("bits", bits, size)
        given = dict.fromkeys(given, bits)
    k, v = (_check_bits(name, 8 if value is None else value, size) for name, value in given.items())
    return Coding(k, key_axis, size, k_width), Coding(v, "token", size, v_width)


def _check_bits(name: str, bits: int, size: int) -> int:
    """Refuse bits that are not provided, and groups whose codes would not fill bytes."""
    bits = check_count(name, bits)
    if bits not in BITS:
        raise ConfigError(f"{name} must be 8, 4, 3 or 2, got {bits}")
    word = Coding(bits, "token", size, 1)
    if size % word.word_codes:
        codes = {2: "two", 4: "four", 8: "eight"}[word.word_codes]
        room = "a byte" if word.word_bytes == 1 else f"{word.word_bytes} bytes"
        rule = "even" if word.word_codes == 2 else f"a multiple of {word.word_codes}"
        raise ConfigError(
            f"{bits} bits put {codes} tokens into {room}: group_size {size} must be {rule}"
        )
    return bits


def _check_format(format: str, **others: Any) -> None:
    """Refuse floats that are not provided, and options that whole numbers alone have."""
    check_choice("format", format, tuple(CACHE_FORMATS))
    also = [f"{name} = {value!r:.60}" for name, value in others.items() if value is not None]
    if also:
        raise ConfigError(
            f"{format} has bits, groups and scales of its own: leave out {' and '.join(also)}"
        )


def newest(residual: int | None, format: str | None) -> int:
    """Return how many of the newest tokens stay as they came, at the least.

    Parameters
    ----------
    residual : int or None
        What is asked for; None means 32, or 0 with a format.
    format : {"fp8", "nvfp4"} or None
        Small floats, for which no token has to wait.

    Returns
    -------
    int
        Tokens.

    Raises
    ------
    ConfigError
        If it is no whole number or below 0.

    Examples
    --------
    >>> newest(None, None), newest(None, "fp8"), newest(8, "fp8")
    (32, 0, 8)
    """
    if residual is None:
        return 0 if format else RESIDUAL
    return check_count("residual", residual, least=0)


def fixed_scales(name: str, given: Any, n_kv_heads: int) -> tuple[float, ...]:
    """Return the scale of a whole tensor, or of each of its heads, that is known beforehand.

    Parameters
    ----------
    name : str
        Whose scale it is, for the message.
    given : float or array (n_kv_heads,), or None
        One for all heads, or one for each; None means 1.
    n_kv_heads : int
        Heads.

    Returns
    -------
    tuple of float
        One, or one for each head.

    Raises
    ------
    ConfigError
        If they are not so many, or one is no number that float32 holds in full precision, or
        not above 0.

    Examples
    --------
    >>> fixed_scales("k_scale", None, 2), fixed_scales("k_scale", [0.5, 2], 2)
    ((1.0,), (0.5, 2.0))
    """
    if given is None:
        return (1.0,)
    listed = given.tolist() if hasattr(given, "tolist") else given
    each = listed if isinstance(listed, list | tuple) else [listed]
    if len(each) not in (1, n_kv_heads):
        raise ConfigError(f"{name} must be one scale or {n_kv_heads}, one a head, got {len(each)}")
    scales = tuple(check_number(name, scale, above=0) for scale in each)
    for scale in scales:
        if not SMALLEST <= scale <= GREATEST:
            raise ConfigError(f"{name} = {scale:g} is beyond float32: 2**-126 to 2**127")
    return scales


def scale_type(name: DType | None, dtype: DType, format: str | None = None) -> str:
    """Return the name of the data type of scales and zeros.

    Parameters
    ----------
    name : {"float32", "float16"} or None
        What is asked for; None means float32, or float64 where the numbers are.
    dtype : str or data type
        Type of the numbers.
    format : {"fp8", "nvfp4"} or None
        Small floats, whose scales have a type of their own.

    Returns
    -------
    str
        Its name.

    Raises
    ------
    ConfigError
        If it is none of these, or a format has its own.

    Examples
    --------
    >>> scale_type(None, "float16"), scale_type(None, "float64"), scale_type("float16", "float32")
    ('float32', 'float64', 'float16')
    """
    if format is not None:
        _check_format(format, scale_dtype=name)
        return CACHE_FORMATS[format].scales
    if name is None:
        return "float64" if dtype_name(dtype) == "float64" else "float32"
    known = dtype_name(name)
    check_choice("scale_dtype", known or name, SCALES)
    return known
