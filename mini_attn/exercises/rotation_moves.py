"""Whether a move along one coordinate takes back one along the other, read off rotations."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

__all__ = ["Speeds", "undone"]

WIDEST = 20_000  # columns of a sheet that is read row by row
AS_ONE = "you count the two coordinates as one."
ALIKE = 0.99  # cosine of the speeds of rows and columns, at most
SHORT = 12  # cells of the shorter of two moves that are told
NEARLY = 0.2  # radians left of a move that is nearly undone
Array = np.ndarray


class Speeds(NamedTuple):
    """What one step down and one step to the right do to each plane, as numbers on the circle."""

    down: Array
    right: Array


def _as_many(one: Array, other: Array, rounding: float) -> int:
    """Return how many of the other steps are one step in all planes, 0 if no number of them is."""
    wide = np.arange(2, min(WIDEST, int(0.05 / rounding)))
    for sign, step in ((1, other), (-1, other.conj())):
        off = np.abs(step[0] ** wide - one[0])  # the other planes for those alone that fit
        fitting = wide[off < rounding * wide]
        powers = step ** fitting[:, None]  # (candidates, planes)
        agree = fitting[np.abs(one - powers).max(axis=1, initial=0.0) < rounding * fitting]
        if len(agree):
            return sign * int(agree[0])
    return 0


def _times(one: Array, other: Array, rounding: float) -> float:
    """Return how many times as fast as the other's all planes are, 0 if they are not all.

    A fast plane may have gone round within a step: the slower ones say how often.
    """
    slow, fast = np.angle(other), np.angle(one)
    moving = np.flatnonzero(np.maximum(np.abs(slow), np.abs(fast)) > rounding)
    order = moving[np.argsort(np.abs(slow[moving]))]
    if len(order) < 2 or min(abs(slow[order[0]]), abs(fast[order[0]])) <= rounding:
        return 0.0
    times = fast[order[0]] / slow[order[0]]
    for plane in order:
        angle = times * slow[plane]
        off = (fast[plane] - angle + math.pi) % (2 * math.pi) - math.pi
        if abs(off) > min(0.05, 0.01 * abs(angle)):
            return 0.0
        times = (angle + off) / slow[plane]
    return float(times)


def _whole_moves(speeds: Speeds, rounding: float) -> float:
    """Return how many columns undo a row, as a ratio of integers, where fast planes wrap."""
    down, right = (np.angle(step) for step in speeds)
    if np.minimum(np.abs(down), np.abs(right)).min() <= rounding:
        return 0.0
    slowest = np.abs(down).argmin()
    ratio = Fraction(float(down[slowest] / right[slowest])).limit_denominator(SHORT)
    rows, columns = ratio.denominator, ratio.numerator
    left = np.abs(speeds.down**rows * speeds.right ** float(-columns) - 1).max()
    return float(ratio) if left < rounding * 10 * (rows + abs(columns)) else 0.0


def _move(times: float, speeds: Speeds, alike: float, rounding: float) -> str:
    """A move along the columns that takes back one down the rows, or nearly."""
    few = Fraction(times if abs(times) > 1 else 1 / times).limit_denominator(SHORT)
    columns, rows = (few.numerator, few.denominator)[:: 1 if abs(times) > 1 else -1]
    if rows < 0:
        rows, columns = -rows, -columns
    left = np.abs(speeds.down**rows * speeds.right ** float(-columns) - 1).max()
    if left > NEARLY:
        return (
            "In all planes that rotate much, the frequencies of rows and columns have nearly one "
            f"ratio (their cosine is {alike:.3f}): {AS_ONE}"
        )
    if left < rounding * 10 * (rows + abs(columns)):
        undone, why = "undone", ""
    else:
        undone, why = "nearly undone", f"The cosine of their frequencies is {alike:.3f}: "
    down = "One row down is" if rows == 1 else f"{rows} rows down are"
    along = "one column" if abs(columns) == 1 else f"{abs(columns)} columns"
    side = "left" if columns > 0 else "right"
    return f"{down} {undone} by {along} to the {side}{'. ' + why if why else ': '}{AS_ONE}"


def undone(speeds: Speeds, rounding: float) -> str | None:
    """Say which move along the columns undoes one down the rows, in all planes.

    Parameters
    ----------
    speeds : Speeds
        Of all planes, as they were measured.
    rounding : float
        What a number on the circle may be off by.

    Returns
    -------
    str or None
        None where there is no such move, and none that comes near.
    """
    down, right = speeds

    def same(one: Array, other: Array) -> bool:
        return bool(np.abs(one - other).max() < rounding)

    if same(down, right):
        return (
            "One row down and one column to the left cancel: rows and columns have equal "
            "frequencies in every plane. A plane can add the two angles, but not all planes at "
            "equal frequencies."
        )
    if same(down, right.conj()):
        return (
            "One row down and one column to the right cancel: rows and columns have opposite "
            "frequencies in every plane. A plane can subtract the angles, but not all planes at "
            "equal frequencies."
        )
    if n := _as_many(down, right, rounding):
        side = "right" if n > 0 else "left"
        return f"One row down is the same as {abs(n)} columns to the {side}: {AS_ONE}"
    if n := _as_many(right, down, rounding):
        side = "down" if n > 0 else "up"
        return f"One column to the right is the same as {abs(n)} rows {side}: {AS_ONE}"
    if times := _times(down, right, rounding):
        return _move(times, speeds, math.copysign(1.0, times), rounding)
    if times := _times(right, down, rounding):
        return _move(1 / times, speeds, math.copysign(1.0, times), rounding)
    if times := _whole_moves(speeds, rounding):
        return _move(times, speeds, math.copysign(1.0, times), rounding)
    rows, columns = np.angle(down), np.angle(right)
    alike = float(rows @ columns / np.sqrt((rows @ rows) * (columns @ columns)))
    if abs(alike) > ALIKE:
        return _move(float(rows @ columns / (columns @ columns)), speeds, alike, rounding)
    return None
