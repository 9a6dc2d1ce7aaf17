"""What a living plot is made of: curves, bars and grids of numbers that a cell computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError
from mini_attn.widgets.plot_axes import limits, ticks, written
from mini_attn.widgets.plot_checks import (
    FREE,
    check_known,
    check_numbers,
    over_steps,
    role_of,
    rounded,
)

__all__ = ["Bars", "Curves", "Grid"]

Values = Any  # an array, or a function that makes one for each step
Lines = Mapping[str, Any]


def _axis(given: Any, low_high: tuple[float, float], log: bool) -> list[list[Any]]:
    """Places and words of the ticks: the author's, or even ones."""
    if isinstance(given, Mapping):
        return [[float(at), str(words)] for at, words in given.items()]
    places = ticks(*low_high, log=log) if given is None else given
    return [[float(at), written(at)] for at in places]


@dataclass(frozen=True, kw_only=True)
class _Panel:
    title: str = ""
    xlabel: str = ""
    ylabel: str = ""
    log: str = ""
    unit: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    ylim: tuple[float, float] | None = None
    yticks: Any = None
    across: Lines = field(default_factory=dict)

    def _lines(self, given: Lines, axis: str, steps: Sequence[Any]) -> list[dict[str, Any]]:
        found = []
        for label, at in given.items():
            array = over_steps(label, at, steps, ())
            check_numbers(label, array, log=axis in self.log, gaps=False)
            found.append({"label": label, "axis": axis, "at": rounded(array)})
        return found

    def _shared(self) -> dict[str, Any]:
        if set(self.log) - {"x", "y"}:
            raise ConfigError(f'log is "", "x", "y" or "xy", not {self.log!r}')
        keys = ("title", "xlabel", "ylabel", "log", "unit")
        return {key: getattr(self, key) for key in keys}

    def _up(self, arrays: Sequence[NDArray[Any]], lines: list[dict[str, Any]]) -> dict[str, Any]:
        """The upright axis: it holds every step, so that it stands still."""
        more = [np.array(line["at"]) for line in lines if line["axis"] == "y"]
        log = "y" in self.log
        ends = self.ylim or limits([*arrays, *more], log=log, zero=not log)
        return {"ylim": ends, "yticks": _axis(self.yticks, ends, log)}


@dataclass(frozen=True)
class Curves(_Panel):
    """Curves over one axis, each with its label beside it.

    Parameters
    ----------
    x : sequence of float
        Where the numbers stand, ascending; the reader's line stops there.
    series : mapping of str to array or callable
        Under each label the numbers (points,), or (steps, points), or a function that makes
        (points,) of a step's value.
    dots : mapping of str to pair
        Points without a line: their x and y, each like a series, of any length.
    upright, across : mapping of str to float, sequence or callable
        Thin lines at an x and at a y, the same in all steps or one for each.
    dashed : sequence of str
        Series that are drawn thin and dashed, for comparison.
    gaps : bool
        Whether a NaN is a gap.
    log : {"", "x", "y", "xy"}
        Logarithmic axes.
    roles : mapping of str to str
        Part of a series: ``"query"``, ``"key"``, ``"value"``, ``"weight"``, ``"output"``,
        ``"cache"``, ``"new"``, ``"dropped"`` or ``"quiet"``; the others differ and mean nothing.
    title, xlabel, ylabel, unit : str
        Words; ``unit`` stands behind a value that is read.
    xlim, ylim : tuple of float, optional
        Ends of an axis.
    xticks, yticks : sequence or mapping, optional
        Places of ticks, or words for each place.
    """

    x: Any
    series: Mapping[str, Values]
    dots: Mapping[str, tuple[Values, Values]] = field(default_factory=dict, kw_only=True)
    upright: Lines = field(default_factory=dict, kw_only=True)
    dashed: Sequence[str] = field(default=(), kw_only=True)
    gaps: bool = field(default=False, kw_only=True)
    xlim: tuple[float, float] | None = field(default=None, kw_only=True)
    xticks: Any = field(default=None, kw_only=True)

    def spec(self, steps: Sequence[Any]) -> dict[str, Any]:
        """The panel as the picture needs it, checked and rounded."""
        x = np.asarray(self.x, dtype=np.float64)
        if x.ndim != 1 or len(x) < 2 or not (np.diff(x) > 0).all():
            raise ConfigError(f"x is at least two ascending numbers, not {x.tolist()[:6]}")
        labels = [*self.series, *self.dots]
        if len(set(labels)) < len(labels):
            raise ConfigError(f"a label stands twice in {', '.join(labels)}")
        check_known("roles", list(self.roles), labels)
        check_known("dashed", self.dashed, list(self.series))
        check_numbers("x", x, log="x" in self.log, gaps=False)
        arrays = {label: over_steps(label, y, steps, x.shape) for label, y in self.series.items()}
        free = iter(FREE * 4)
        drawn = []
        for label, y in arrays.items():
            check_numbers(label, y, log="y" in self.log, gaps=self.gaps)
            look = "dash" if label in self.dashed else "line"
            role = role_of(self.roles, label, "quiet" if look == "dash" else next(free))
            entry = {"label": label, "role": role, "look": look}
            drawn.append({**entry, "y": [rounded(row) for row in y]})
        points = self._points(steps, free)
        lines = self._lines(self.across, "y", steps) + self._lines(self.upright, "x", steps)
        many = [np.array(p["y"], dtype=float) for p in points]
        across = [x, *(np.array(p["x"], dtype=float) for p in points)]
        xlim = self.xlim or limits(across, log="x" in self.log, zero=False, room=bool(points))
        axis = {"xlim": xlim, "xticks": _axis(self.xticks, xlim, "x" in self.log)}
        drawing = {"kind": "curves", "x": rounded(x), "series": drawn, "dots": points}
        up = self._up([*arrays.values(), *many], lines)
        return {**self._shared(), **drawing, "lines": lines, **axis, **up}

    def _points(self, steps: Sequence[Any], free: Any) -> list[dict[str, Any]]:
        found = []
        for label, pair in self.dots.items():
            first = [part(steps[0]) if callable(part) else part for part in pair]
            shape = np.shape(first[0])[-1:]
            entry = {"label": label, "role": role_of(self.roles, label, next(free))}
            for key, values in zip("xy", pair, strict=True):
                array = over_steps(label, values, steps, shape)
                check_numbers(label, array, log=key in self.log, gaps=False)
                entry[key] = [rounded(row) for row in array]  # type: ignore[assignment]
            found.append(entry)
        return found


@dataclass(frozen=True)
class Bars(_Panel):
    """One bar for each name.

    Parameters
    ----------
    names : sequence of str
        What each bar is.
    values : array or callable
        Numbers (bars,) or (steps, bars), or a function that makes (bars,) of a step's value.
    log : {"", "y"}
        Whether the bars' axis is logarithmic; a bar of 0 has no height there.
    roles : mapping of str to str
        Part of a bar, by its name.
    across : mapping of str to float, sequence or callable
        Thin lines at a value.
    title, xlabel, ylabel, unit, ylim, yticks
        As in `Curves`.
    """

    names: Sequence[str]
    values: Values

    def spec(self, steps: Sequence[Any]) -> dict[str, Any]:
        """The panel as the picture needs it, checked and rounded."""
        names = [str(name) for name in self.names]
        if len(set(names)) < len(names) or not names:
            raise ConfigError(f"names of bars differ, and there is one: not {names}")
        check_known("roles", list(self.roles), names)
        array = over_steps("values", self.values, steps, (len(names),))
        shown = np.where(array == 0, np.nan, array) if "y" in self.log else array
        check_numbers("values", shown, log="y" in self.log, gaps="y" in self.log)
        lines = self._lines(self.across, "y", steps)
        roles = [role_of(self.roles, name, "one") for name in names]
        drawing = {"kind": "bars", "names": names, "roles": roles, "lines": lines}
        rows = [rounded(row) for row in shown]
        return {**self._shared(), **drawing, "y": rows, **self._up([shown], lines)}


@dataclass(frozen=True)
class Grid(_Panel):
    """A matrix of numbers, darker where they are larger.

    Parameters
    ----------
    rows, columns : sequence of str
        Names of both.
    values : array or callable
        Numbers (rows, columns) or (steps, rows, columns), or a function that makes them of a
        step's value.
    role : str
        Part of the cells, as in `Curves`.
    words : mapping of float to str
        What a value means, where it is no quantity.
    title, xlabel, ylabel, unit
        As in `Curves`.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    values: Values
    role: str = field(default="one", kw_only=True)
    words: Mapping[float, str] = field(default_factory=dict, kw_only=True)

    def spec(self, steps: Sequence[Any]) -> dict[str, Any]:
        """The panel as the picture needs it, checked and rounded."""
        shape = (len(self.rows), len(self.columns))
        array = over_steps("values", self.values, steps, shape)
        check_numbers("values", array, log=False, gaps=False)
        names = {"rows": [str(n) for n in self.rows], "columns": [str(n) for n in self.columns]}
        role = role_of({"cells": self.role}, "cells", "one")
        ends = {"low": min(0.0, float(array.min())), "high": float(array.max()) or 1.0}
        words = [[float(value), text] for value, text in self.words.items()]
        drawing = {"kind": "grid", **names, "role": role, **ends, "words": words, "lines": []}
        values = [[rounded(row) for row in step] for step in array]
        return {**self._shared(), **drawing, "values": values}
