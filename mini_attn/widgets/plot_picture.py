"""A living plot as it stands in print and without JavaScript: one step, 720 pixels wide."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

__all__ = ["picture"]

WIDTH, TALL = 720, 250
LETTER = 7.6  # a generous average of the labels' letters
Scale = Callable[[float], float]


def _text(x: float, y: float, words: str, style: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}"'
    told = html.escape(words)
    return f'<text {place} class="plot-{style}" text-anchor="{anchor}">{told}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" class="{style}"/>'


def _scale(ends: tuple[float, float], low: float, high: float, log: bool) -> Scale:
    bend = math.log if log else float
    first, last = map(bend, ends)

    def place(value: float) -> float:
        if log and value <= 0:
            return low
        share = (bend(value) - first) / (last - first)
        return low + min(1.05, max(-0.05, share)) * (high - low)

    return place


def _at(values: list[Any], step: int) -> Any:
    """Those of a step; one list stands for all."""
    return values[min(step, len(values) - 1)]


def _apart(labels: list[list[Any]], low: float, high: float, gap: float = 15) -> None:
    """Push labels [y, …] apart, in their order, within two ends."""
    labels.sort(key=lambda label: label[0])
    for above, below in pairwise(labels):
        below[0] = max(below[0], above[0] + gap)
    ends = high
    for label in reversed(labels):
        label[0] = max(low, min(label[0], ends))
        ends = label[0] - gap


class _Place:
    """Where a panel is drawn."""

    def __init__(self, panel: dict[str, Any], left: float, right: float) -> None:
        named = [s["label"] for s in panel.get("series", []) if s["label"]]
        if panel["kind"] == "bars":
            named = [line["label"] for line in panel["lines"]]
        several = len(named) > (panel["kind"] != "bars")
        room = 22 + LETTER * max(map(len, named)) if several else 8
        self.top, self.bottom = 30, 30 + TALL
        self.head = left
        ticks = panel.get("rows") or [words for _, words in panel["yticks"]]
        self.left = left + 10 + LETTER * max(map(len, ticks))
        last = panel["xticks"][-1][1] if panel["kind"] == "curves" else ""
        self.right = right - max(min(room, 0.42 * (right - left)), LETTER * len(last) / 2)


def _frame(panel: dict[str, Any], at: _Place, up: Scale) -> str:
    title = " · ".join(filter(None, (panel["title"], panel["ylabel"])))
    parts = [_text(at.head, 14, title, "title")]
    for value, words in panel["yticks"]:
        parts.append(_line(at.left, up(value), at.right, up(value), "plot-grid"))
        parts.append(_text(at.left - 6, up(value) + 4, words, "quiet", "end"))
    middle = (at.left + at.right) / 2
    parts.append(_text(middle, at.bottom + 36, panel["xlabel"], "quiet", "middle"))
    return "".join(parts)


def _lines(panel: dict[str, Any], at: _Place, step: int, up: Scale, across: Scale) -> str:
    parts = []
    for line in panel["lines"]:
        value = _at(line["at"], step)
        if line["axis"] == "y":
            parts.append(_line(at.left, up(value), at.right, up(value), "plot-mark"))
            bars = panel["kind"] == "bars"
            x, y = (at.right + 6, up(value) + 4) if bars else (at.left + 4, up(value) - 5)
            parts.append(_text(x, y, line["label"], "note"))
        else:
            parts.append(_line(across(value), at.top, across(value), at.bottom, "plot-mark"))
            side, turn = (5, "start") if across(value) < (at.left + at.right) / 2 else (-5, "end")
            parts.append(_text(across(value) + side, at.top + 10, line["label"], "note", turn))
    return "".join(parts)


def _curves(panel: dict[str, Any], at: _Place, step: int) -> str:
    across = _scale(panel["xlim"], at.left, at.right, "x" in panel["log"])
    up = _scale(panel["ylim"], at.bottom, at.top, "y" in panel["log"])
    parts, labels = [_frame(panel, at, up), _lines(panel, at, step, up, across)], []
    for value, words in panel["xticks"]:
        parts.append(_text(across(value), at.bottom + 17, words, "quiet", "middle"))
    for series in panel["series"]:
        path, pen, last = "", "M", 0.0
        for x, y in zip(panel["x"], _at(series["y"], step), strict=True):
            if y is None:
                pen = "M"
                continue
            last = up(y)
            path += f"{pen}{across(x):.1f} {last:.1f}"
            pen = "L"
        style = f"plot-{series['look']} plot-{series['role']}"
        parts.append(f'<path d="{path}" class="{style}"/>')
        if series["label"] and len(panel["series"]) > 1:
            labels.append([last, series["label"], style])
    _apart(labels, at.top + 6, at.bottom - 4)
    for y, words, style in labels:
        parts.append(_line(at.right + 3, y, at.right + 13, y, style))
        parts.append(_text(at.right + 17, y + 4, words, "label"))
    for dots in panel["dots"]:
        for x, y in zip(_at(dots["x"], step), _at(dots["y"], step), strict=True):
            place = f'cx="{across(x):.1f}" cy="{up(y):.1f}"'
            parts.append(f'<circle {place} r="5" class="plot-dot plot-{dots["role"]}"/>')
    return "".join(parts)


def _bars(panel: dict[str, Any], at: _Place, step: int) -> str:
    up = _scale(panel["ylim"], at.bottom, at.top, "y" in panel["log"])
    band = (at.right - at.left) / len(panel["names"])
    parts = [_frame(panel, at, up)]
    every = math.ceil(LETTER * max(map(len, panel["names"])) / band) if band < 30 else 1
    zero = up(0) if "y" not in panel["log"] else at.bottom
    for i, value in enumerate(_at(panel["y"], step)):
        x, y = at.left + i * band, zero if value is None else up(value)
        size = f'y="{min(y, zero):.1f}" width="{0.8 * band:.1f}" height="{abs(zero - y):.1f}"'
        style = f"plot-bar plot-{panel['roles'][i]}"
        parts.append(f'<rect x="{x + 0.1 * band:.1f}" {size} class="{style}"/>')
        if i % every == 0:
            name = panel["names"][i]
            parts.append(_text(x + band / 2, at.bottom + 17, name, "quiet", "middle"))
    return "".join(parts) + _lines(panel, at, step, up, float)


def _grid(panel: dict[str, Any], at: _Place, step: int) -> str:
    width = (at.right - at.left) / len(panel["columns"])
    height = (at.bottom - at.top) / len(panel["rows"])
    parts = [_frame({**panel, "yticks": []}, at, float)]
    for i, row in enumerate(_at(panel["values"], step)):
        y = at.top + i * height
        name = panel["rows"][i]
        parts.append(_text(at.left - 6, y + height / 2 + 4, name, "quiet", "end"))
        for j, value in enumerate(row):
            share = (value - panel["low"]) / (panel["high"] - panel["low"])
            place = f'x="{at.left + j * width + 1:.1f}" y="{y + 1:.1f}"'
            size = f'width="{width - 2:.1f}" height="{height - 2:.1f}"'
            look = f'class="plot-cell plot-{panel["role"]}" fill-opacity="{share:.2f}"'
            parts.append(f"<rect {place} {size} {look}/>")
    for j, name in enumerate(panel["columns"]):
        parts.append(_text(at.left + (j + 0.5) * width, at.bottom + 17, name, "quiet", "middle"))
    return "".join(parts)


def picture(figure: dict[str, Any], step: int, label: str) -> str:
    """One step of a figure as SVG markup.

    Parameters
    ----------
    figure : dict
        What `LivingPlot` carries.
    step : int
        Which step.
    label : str
        What it shows, for who cannot see it.

    Returns
    -------
    str
        An element ``svg``; its colours follow the page.
    """
    draw = {"curves": _curves, "bars": _bars, "grid": _grid}
    each = WIDTH / len(figure["panels"])
    inside = "".join(
        draw[panel["kind"]](panel, _Place(panel, i * each, (i + 1) * each - 4), step)
        for i, panel in enumerate(figure["panels"])
    )
    size = f'viewBox="0 0 {WIDTH} {TALL + 74}" width="{WIDTH}" height="{TALL + 74}"'
    told = f'role="img" aria-label="{html.escape(label, quote=True)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot-picture" {size} {told}>{inside}</svg>'
    )
