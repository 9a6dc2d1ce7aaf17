"""How a matrix of weights is kept in few bits: which numbers, which scales, how many bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mini_attn.config.small_float import SMALL_FLOATS
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_choice, check_count, check_flag

__all__ = ["WEIGHT_FORMATS", "Pattern", "WeightFormat", "weight_format"]

INTEGERS = {"int8": 8, "int4": 4}
NUMBERS = (*INTEGERS, *SMALL_FLOATS)
SCALE_BYTES = {"float32": 4, "float16": 2, "e4m3": 1, "e8m0": 1}
WHOLE = ("row", "matrix")  # what may share a scale instead of a group


@dataclass(frozen=True)
class WeightFormat:
    """Codes of few bits, and the scale that neighboring weights of a row share.

    Parameters
    ----------
    numbers : {"int8", "int4", "e4m3", "e2m1"}
        What a code stands for: a whole number, or a float of 8 or of 4 bits.
    group_size : int or {"row", "matrix"}
        How many neighbors of a row share a scale; or the whole row, or the whole matrix.
    scales : {"float32", "float16", "e4m3", "e8m0"}
        What a scale is kept as. With ``"e4m3"`` the matrix has one float32 scale more, and
        ``"e8m0"`` are powers of two; both go with floats only.
    zero_point : bool
        Whether codes count from the least weight of the group instead of from its middle, with
        a whole number that says which code is 0; for whole numbers only.

    Raises
    ------
    ConfigError
        If an option is none of these, or two of them do not go together.

    Notes
    -----
    Codes are packed: two of 4 bits lie in a byte, the first in its low half. A row of codes
    begins with a new byte. The last group of a row may be narrower.

    Examples
    --------
    >>> nvfp4 = WeightFormat("e2m1", 16, scales="e4m3")
    >>> nvfp4.bits, nvfp4.stored_bytes(64, 64)
    (4.5, 2308)
    >>> WeightFormat("int4", 32, scales="float16", zero_point=True).bits
    4.625
    """

    numbers: str
    group_size: int | str = "row"
    scales: str = "float32"
    zero_point: bool = False

    def __post_init__(self) -> None:
        check_choice("numbers", self.numbers, NUMBERS)
        check_choice("scales", self.scales, tuple(SCALE_BYTES))
        check_flag("zero_point", self.zero_point)
        if isinstance(self.group_size, str):
            check_choice("group_size", self.group_size, WHOLE)
        else:
            object.__setattr__(self, "group_size", check_count("group_size", self.group_size))
        if self.zero_point and not self.whole_numbers:
            raise ConfigError(f"a zero point needs whole numbers, got numbers = {self.numbers!r}")
        if self.whole_numbers and self.scales in ("e4m3", "e8m0"):
            raise ConfigError(
                f"scales in {self.scales} go with e4m3 or e2m1, got numbers = {self.numbers!r}: "
                "use float32 or float16"
            )

    @property
    def whole_numbers(self) -> bool:
        """Return whether codes stand for whole numbers."""
        return self.numbers in INTEGERS

    @property
    def code_bits(self) -> int:
        """Bits of a code."""
        return INTEGERS[self.numbers] if self.whole_numbers else SMALL_FLOATS[self.numbers].bits

    @property
    def largest(self) -> float:
        """The largest number of a code; with a zero point, the largest code."""
        if not self.whole_numbers:
            return SMALL_FLOATS[self.numbers].largest
        return float(2 ** (self.code_bits - (not self.zero_point)) - 1)

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The number that each code stands for; before the zero point is taken off."""
        if not self.whole_numbers:
            return SMALL_FLOATS[self.numbers].values
        count = 2**self.code_bits
        half = count if self.zero_point else count // 2  # two's complement
        return tuple(float(code if code < half else code - count) for code in range(count))

    @property
    def two_scales(self) -> bool:
        """Return whether the whole matrix has a scale beside those of its groups."""
        return self.scales == "e4m3"

    @property
    def bits(self) -> float:
        """Bits of a weight in a large matrix, its share of scale and zero point with them."""
        if isinstance(self.group_size, str):
            return self.code_bits
        return self.code_bits + self._group_bits / self.group_size

    @property
    def _group_bits(self) -> int:
        return 8 * SCALE_BYTES[self.scales] + self.zero_point * self.code_bits

    def width(self, columns: int) -> int:
        """Numbers of a row that share a scale."""
        return columns if isinstance(self.group_size, str) else min(self.group_size, columns)

    def shapes(self, rows: int, columns: int) -> dict[str, tuple[int, int]]:
        """The shape of each array that is kept of a matrix, by its name.

        Parameters
        ----------
        rows, columns : int
            Sizes of the matrix.

        Returns
        -------
        dict of str to (int, int)
            ``codes`` and, where there are such, ``zeros`` in bytes; ``scales``, one each;
            ``matrix_scale``.

        Examples
        --------
        >>> WeightFormat("e2m1", 16, scales="e4m3").shapes(8, 40)
        {'codes': (8, 20), 'scales': (8, 3), 'matrix_scale': (1, 1)}
        """
        groups = (rows, -(-columns // self.width(columns)))
        if self.group_size == "matrix":
            groups = (1, 1)
        found = {"codes": (rows, self._packed(columns)), "scales": groups}
        if self.zero_point:
            found["zeros"] = (groups[0], self._packed(groups[1]))
        return found | ({"matrix_scale": (1, 1)} if self.two_scales else {})

    @property
    def kinds(self) -> dict[str, str]:
        """The data type of each array that may be kept of a matrix, by its name."""
        scales = "uint8" if self.scales in ("e4m3", "e8m0") else self.scales
        return {"codes": "uint8", "zeros": "uint8", "scales": scales, "matrix_scale": "float32"}

    def _packed(self, codes: int) -> int:
        """Bytes of a row of codes."""
        return -(-codes * self.code_bits // 8)

    def stored_bytes(self, rows: int, columns: int) -> int:
        """Bytes of all that is kept of a matrix."""
        size = {"scales": SCALE_BYTES[self.scales], "matrix_scale": 4}
        shapes = self.shapes(rows, columns)
        return sum(size.get(name, 1) * math.prod(shape) for name, shape in shapes.items())


WEIGHT_FORMATS = {
    "int8": WeightFormat("int8"),
    "int4": WeightFormat("int4", 32, scales="float16"),
    "int4-zero": WeightFormat("int4", 32, scales="float16", zero_point=True),
    "fp8": WeightFormat("e4m3", "matrix"),
    "fp8-row": WeightFormat("e4m3"),
    "mxfp8": WeightFormat("e4m3", 32, scales="e8m0"),
    "nvfp4": WeightFormat("e2m1", 16, scales="e4m3"),
    "mxfp4": WeightFormat("e2m1", 32, scales="e8m0"),
}


def weight_format(format: str | WeightFormat, *, group_size: Any = None) -> WeightFormat:
    """A format by its name, with other groups where they are asked for.

    Parameters
    ----------
    format : str or WeightFormat
        One of `WEIGHT_FORMATS`, or a format of one's own.
    group_size : int, {"row", "matrix"} or None
        Replaces what the format says; None leaves it.

    Returns
    -------
    WeightFormat
        The format.

    Raises
    ------
    ConfigError
        If the name is unknown or the group size is none.

    Examples
    --------
    >>> weight_format("mxfp4").bits, weight_format("int4", group_size=128).bits
    (4.25, 4.125)
    """
    if isinstance(format, WeightFormat):
        found = format
    elif isinstance(format, str) and format in WEIGHT_FORMATS:
        found = WEIGHT_FORMATS[format]
    else:
        names = ", ".join(WEIGHT_FORMATS)
        raise ConfigError(f"format must be a WeightFormat or one of {names}, got {format!r:.60}")
    return found if group_size is None else replace(found, group_size=group_size)


@dataclass(frozen=True)
class Pattern:
    """At most n weights in every m neighbors of a row: what hardware for sparse products reads.

    Parameters
    ----------
    n, m : int
        Weights that stay, and neighbors that they are chosen from.

    Raises
    ------
    ConfigError
        If they are no whole numbers, n is below 1 or not below m.

    Notes
    -----
    Each weight that stays is kept with its place among the m, in ``ceil(log2(m))`` bits.

    Examples
    --------
    >>> Pattern(2, 4).bits(16) / 16
    0.5625
    >>> Pattern(2, 4).bits(8) / 8, Pattern(2, 4).stored_bytes(64, 64, 2)
    (0.625, 4608)
    """

    n: int = 2
    m: int = 4

    def __post_init__(self) -> None:
        for name in ("n", "m"):
            object.__setattr__(self, name, check_count(name, getattr(self, name)))
        if self.n >= self.m:
            raise ConfigError(f"n of m needs n below m, got n = {self.n} and m = {self.m}")

    def bits(self, value_bits: int) -> float:
        """Bits of a weight, of those that are gone too, where one that stays takes so many."""
        return self.n * (value_bits + (self.m - 1).bit_length()) / self.m

    def stored_bytes(self, rows: int, columns: int, value_bytes: int) -> int:
        """Bytes of a matrix: the weights that stay, and their places packed row by row."""
        kept = columns // self.m * self.n
        return rows * (kept * value_bytes + -(-kept * (self.m - 1).bit_length() // 8))
