"""How keys or values become codes of few bits: how many bits, which groups, which bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mini_attn.errors import ConfigError
from mini_attn.shapes import DType, check_choice, check_count, dtype_name

__all__ = ["Coding", "codings", "scale_type"]

BITS = (8, 4, 3, 2)
AXES = ("channel", "token")
SCALES = ("float32", "float16")


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

    def group_bytes(self, scale_bytes: int) -> int:
        """Bytes of the tokens that are sealed together: codes, scales and zeros."""
        return math.prod(self.code_shape) + 2 * scale_bytes * math.prod(self.scale_shape)


def codings(
    widths: tuple[int, int],
    *,
    bits: int | None,
    k_bits: int | None,
    v_bits: int | None,
    group_size: int,
    key_axis: str,
) -> tuple[Coding, Coding]:
    """Describe how keys and how values become codes; check all options.

    Parameters
    ----------
    widths : tuple of int
        Channels of a key and of a value.
    bits, k_bits, v_bits : {8, 4, 3, 2} or None
        Bits of both codes, or of the one and the other; None means 8.
    group_size : int
        Numbers of a group, and tokens that are sealed together.
    key_axis : {"channel", "token"}
        What a group of keys lies in; values go by token.

    Returns
    -------
    tuple of Coding
        That of keys, that of values.

    Raises
    ------
    ConfigError
        If a size is below 1, an option is none of these, both forms of bits are given, or codes
        do not fill bytes.

    Examples
    --------
    >>> keys, values = codings(
    ...     (64, 64), bits=None, k_bits=2, v_bits=4, group_size=32, key_axis="channel")
    >>> keys.bits, values.bits, values.axis
    (2, 4, 'token')
    """
    sizes = {"head_dim": widths[0], "v_head_dim": widths[1], "group_size": group_size}
    k_width, v_width, size = (check_count(name, value) for name, value in sizes.items())
    given = {"k_bits": k_bits, "v_bits": v_bits}
    if bits is not None:
        also = [f"{name} = {value!r:.60}" for name, value in given.items() if value is not None]
        if also:
            raise ConfigError(
                "bits sets k_bits and v_bits: give it or them, got "
                f"bits = {bits!r:.60} and {' and '.join(also)}"
            )
        _check_bits("bits", bits, size)
        given = dict.fromkeys(given, bits)
    check_choice("key_axis", key_axis, AXES)
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


def scale_type(name: DType | None, dtype: DType) -> str:
    """Return the name of the data type of scales and zeros.

    Parameters
    ----------
    name : {"float32", "float16"} or None
        What is asked for; None means float32, or float64 where the numbers are.
    dtype : str or data type
        Type of the numbers.

    Returns
    -------
    str
        Its name.

    Raises
    ------
    ConfigError
        If it is none of these.

    Examples
    --------
    >>> scale_type(None, "float16"), scale_type(None, "float64"), scale_type("float16", "float32")
    ('float32', 'float64', 'float16')
    """
    if name is None:
        return "float64" if dtype_name(dtype) == "float64" else "float32"
    known = dtype_name(name)
    check_choice("scale_dtype", known or name, SCALES)
    return known
