"""One picture of a result file: how far each measured figure is from its goal."""

from __future__ import annotations

import io
import math
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Drawn in these colours, then replaced by the names of colours that follow the reader's mode.
INK, GROUND, MET, MISSED = "#1c2430", "#fffffe", "#00664b", "#a3260b"
LIGHT = {INK: "#1c2430", GROUND: "#ffffff", MET: "#00664b", MISSED: "#a3260b"}
DARK = {INK: "#e6edf3", GROUND: "#14181d", MET: "#4fc3a1", MISSED: "#ff9580"}
NAMES = {INK: "--ink", GROUND: "--ground", MET: "--met", MISSED: "--unmet"}
SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "mini_attn",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.8,
}
SHORTEST = 0.1  # of a goal: what is further away is drawn here, its number says the rest


def figures(results: dict[str, dict[str, Any]]) -> list[tuple[str, str, float]]:
    """Name, words and ratio to its goal (1 = just met, more is better) of every judged figure."""
    found = []
    for name, row in results.items():
        for key, (sign, goal) in row.get("goals", {}).items():
            value = float(row[key])
            if goal:
                ratio = value / goal if sign == ">=" else goal / max(value, 1e-9)
            else:
                ratio = 1.0 if value <= goal else 0.0  # nothing is allowed
            words = f"{value:.3g} {'≥' if value >= goal else '<'} {goal:g}"
            if sign == "<=":
                words = f"{value:.3g} {'≤' if value <= goal else '>'} {goal:g}"
            found.append((f"{name}: {key.replace('_', ' ')}", words, ratio))
    return found


def themed(svg: str, title: str) -> str:
    """The drawing with named colours, both modes of them, and a name for those who cannot see."""
    for colour, name in NAMES.items():
        svg = svg.replace(colour, f"var({name})")
    light, dark = (
        "svg{" + ";".join(f"{NAMES[key]}:{value}" for key, value in mode.items()) + "}"
        for mode in (LIGHT, DARK)
    )
    style = f"<style>{light}@media(prefers-color-scheme:dark){{{dark}}}</style>"
    start = svg.index("<svg")
    end = svg.index(">", start)
    named = f' role="img" aria-label="{escape(title, quote=True)}"'
    return svg[start:end] + named + f"><title>{escape(title)}</title>{style}" + svg[end + 1 :]


def bars(axes: Axes, judged: list[tuple[str, str, float]]) -> None:
    """One bar for each figure, from the goal to the ratio, with its numbers."""
    for place, (_, words, ratio) in enumerate(judged):
        length, good = logarithm(ratio), ratio >= 1
        look = {"color": MET} if good else {"color": GROUND, "hatch": "////"}
        axes.barh(place, length, height=0.62, edgecolor=MET if good else MISSED, **look)
        axes.annotate(
            f"{words}{'' if good else '  missed'}",
            (max(length, 0.0), place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
        )
    axes.set_yticks(range(len(judged)), [name for name, *_ in judged])
    axes.invert_yaxis()


def scale(axes: Axes, judged: list[tuple[str, str, float]]) -> None:
    """A logarithmic axis of ratios that holds every bar and the goal."""
    lengths = [logarithm(ratio) for *_, ratio in judged]
    low, high = min([-0.15, *lengths]) - 0.05, max([0.3, *lengths]) + 0.05
    axes.set_xlim(low, high)
    ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low < math.log10(t) < high]
    names = ["goal" if t == 1 else f"{t:g} ×" for t in ticks]
    axes.set_xticks([math.log10(t) for t in ticks], names)
    axes.set_xlabel("ratio to the goal, logarithmic; to the right is better")


def logarithm(ratio: float) -> float:
    """Length of a bar."""
    return math.log10(max(ratio, SHORTEST))


def draw(record: dict[str, Any]) -> str:
    """Bars that start at the goal: to the right it is met, to the left, hatched, it is not."""
    judged = figures(record["results"])
    met = sum(ratio >= 1 for *_, ratio in judged)
    where = record["gpu"] or record["machine"]
    title = f"{met} of {len(judged)} goals met, {record['date']}, {where}"
    with mpl.rc_context(SETTINGS):
        height = 1.3 + 0.3 * len(judged)
        figure = Figure(figsize=(10, height), facecolor=GROUND)
        axes = figure.add_axes((0.48, 0.7 / height, 0.37, 1 - 1.2 / height), facecolor=GROUND)
        bars(axes, judged)
        scale(axes, judged)
        axes.axvline(0, color=INK, linewidth=1.2)
        axes.set_title(title, fontsize=10, loc="right")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(left=False)
        target = io.StringIO()
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    return themed(target.getvalue(), title)
