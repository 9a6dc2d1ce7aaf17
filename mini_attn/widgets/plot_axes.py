"""Axes of a living plot: where they end, and where their ticks are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["limits", "ticks", "written"]


def limits(
    arrays: Sequence[NDArray[Any]], *, log: bool, zero: bool, room: bool = True
) -> tuple[float, float]:
    """Ends of an axis that holds all numbers; with ``zero`` it begins there, if none is below."""
    numbers = np.concatenate([np.ravel(array) for array in arrays]).astype(float)
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    if log:
        factor = (high / low) ** 0.06 * 1.02 if room else 1.0
        return float(f"{low / factor:.4g}"), float(f"{high * factor:.4g}")
    low = min(0.0, low) if zero else low
    edge = 0.06 * ((high - low) or abs(high) or 1.0) * room
    return float(f"{low - edge * (low != 0):.4g}"), float(f"{high + edge:.4g}")


def ticks(low: float, high: float, *, log: bool, few: int = 5) -> list[float]:
    """Round numbers between two ends, about ``few`` of them."""
    if not log:
        rough = (high - low) / few
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * 0.99)
        count = math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) + 1
        return [round((math.ceil(low / step - 1e-9) + i) * step, 12) for i in range(count)]
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    for parts in ((1, 2, 5), (1, 3), (1,)):
        found = [m * 10.0**p for p in powers for m in parts if low <= m * 10.0**p <= high]
        if len(found) <= few + 2:
            return found
    return found[:: math.ceil(len(found) / (few + 2))]


def written(value: float) -> str:
    """A tick's number: 1,000 and 2M, 0.01 and −3."""
    size = abs(value)
    if size >= 1e6:
        text = f"{value / 1e9:g}G" if size >= 1e9 else f"{value / 1e6:g}M"
    elif 0 < size < 1e-3:
        mantissa, power = f"{value:.0e}".split("e")
        raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        text = f"{'' if mantissa == '1' else mantissa + '·'}10{raised}"
    else:
        text = f"{value:,.4g}" if size < 1000 else f"{value:,.0f}"
    return text.replace("-", "−")
