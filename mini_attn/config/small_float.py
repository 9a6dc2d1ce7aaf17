"""Floats of eight and four bits: what each code stands for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

__all__ = ["POWERS_OF_TWO", "SMALL_FLOATS", "SmallFloat"]


@dataclass(frozen=True)
class SmallFloat:
    """A float of few bits: a sign, an exponent and a mantissa; no infinity.

    Parameters
    ----------
    exponent_bits, mantissa_bits : int
        Bits of the two parts.
    has_nan : bool
        Whether the largest code of each sign is no number.

    Notes
    -----
    ``value = 2 ** exponent * (1 + mantissa / 2 ** mantissa_bits)``, or without the 1 and with
    the least exponent where the exponent's bits are all 0. Codes of numbers without a sign stand
    in the order of the numbers, a step of 1 from each to the next. ``"e4m3"`` and ``"e2m1"`` of
    `SMALL_FLOATS` are those of the Open Compute Project.

    Examples
    --------
    >>> SMALL_FLOATS["e2m1"].values[:8], SMALL_FLOATS["e4m3"].largest
    ((0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0), 448.0)
    """

    exponent_bits: int
    mantissa_bits: int
    has_nan: bool

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def least_exponent(self) -> int:
        """That of the smallest numbers."""
        return int(2 - 2 ** (self.exponent_bits - 1))

    @property
    def greatest_exponent(self) -> int:
        """That of the largest number."""
        return (self.largest_code >> self.mantissa_bits) + self.least_exponent - 1

    @property
    def largest_code(self) -> int:
        """Code of the largest number."""
        return int(2 ** (self.bits - 1) - 1 - self.has_nan)

    @property
    def largest(self) -> float:
        """The largest number."""
        return self.values[self.largest_code]

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The number of each code, first those without a sign."""
        codes = range(2 ** (self.bits - 1))
        found = [self._value(code) if code <= self.largest_code else math.nan for code in codes]
        return (*found, *(-value for value in found))

    def _value(self, code: int) -> float:
        """The number of a code without a sign."""
        field, mantissa = divmod(code, 2**self.mantissa_bits)
        exponent = max(field - 1, 0) + self.least_exponent
        steps = mantissa + (2**self.mantissa_bits if field else 0)
        return math.ldexp(steps, exponent - self.mantissa_bits)


SMALL_FLOATS = {"e4m3": SmallFloat(4, 3, True), "e2m1": SmallFloat(2, 1, False)}

# What the codes of E8M0 stand for, a scale that is an exponent alone; the last is no number.
POWERS_OF_TWO = (*(2.0 ** (code - 127) for code in range(255)), math.nan)
