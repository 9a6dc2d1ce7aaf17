"""A living plot: numbers that a cell computed, for each step of what the reader can vary."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import traitlets

from mini_attn.errors import ConfigError, ShapeError, WidgetStateError
from mini_attn.widgets.base import LivingWidget, carried
from mini_attn.widgets.panels import Bars, Curves, Grid
from mini_attn.widgets.plot_axes import written
from mini_attn.widgets.plot_picture import picture

__all__ = ["LivingPlot"]

MOST_STEPS = 40
MOST_PANELS = 3
MOST_POINTS = 8000


def _steps_of(steps: Any) -> tuple[list[Any], list[str]]:
    """Values of the steps and their words; no steps are one without a word."""
    if isinstance(steps, Mapping):
        values, labels = list(steps.values()), [str(label) for label in steps]
    else:
        values = list(steps) or [None]
        labels = [v if isinstance(v, str) else "" if v is None else written(v) for v in values]
    if len(set(labels)) < len(labels):
        raise ConfigError(f"two steps have the same words: {', '.join(labels)}")
    if len(labels) > MOST_STEPS:
        raise ConfigError(f"a plot has at most {MOST_STEPS} steps, not {len(labels)}")
    return values, labels


def _sentences(say: Any, values: list[Any]) -> list[str]:
    if callable(say):
        say = [say(value) for value in values]
    told = [say] if isinstance(say, str) else [str(sentence) for sentence in say]
    if len(told) not in (1, len(values)):
        raise ShapeError(f"say has {len(told)} sentences for {len(values)} steps")
    if not all(sentence.strip() for sentence in told):
        raise ConfigError("a plot says something at each step: a sentence is empty")
    return told


def _count(value: Any) -> int:
    """Return how many numbers a figure holds."""
    if isinstance(value, (list, tuple)):
        return sum(map(_count, value))
    if isinstance(value, dict):
        return sum(map(_count, value.values()))
    return not isinstance(value, str)


class LivingPlot(LivingWidget):
    """Curves, bars or a matrix, for each step of what the reader can vary.

    Parameters
    ----------
    name : str
        In links to it, ``#plot-<name>:step=2``; small letters, digits and hyphens.
    *panels : Curves, Bars or Grid
        One to three, of `mini_attn.widgets.panels`.
    say : str, sequence of str or callable
        The sentence below: one, one for each step, or a function of a step's value.
    steps : sequence or mapping, optional
        What can be varied: values, or values under the words that stand for them. Up to five
        are buttons, more are a slider.
    control : str
        What the steps are values of.
    step : int
        0 to 39: the step that is shown.
    reader : int
        -1 to 7,999: the point at which values are read; -1 is none.

    Raises
    ------
    ConfigError
        If a name, role or number cannot be shown.
    ShapeError
        If numbers and steps do not fit.
    WidgetStateError
        If there is no such step or point.

    Examples
    --------
    >>> from mini_attn.widgets.panels import Curves
    >>> powers = {"squared": [1, 4, 16], "to the power": lambda p: [1, 2**p, 4**p]}
    >>> growth = Curves([1, 2, 4], powers, log="xy")
    >>> LivingPlot("growth", growth, steps=(1, 3), control="power", say=lambda p: f"To the {p}.")
    LivingPlot('growth', step=0, reader=-1)
    """

    _widget = "living_plot"
    _figure = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        name: str,
        *panels: Curves | Bars | Grid,
        say: str | Sequence[str] | Callable[[Any], str],
        steps: Any = (),
        control: str = "",
        **state: Any,
    ) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]{1,39}", name):
            raise ConfigError(f"a plot's name is small letters, digits and hyphens, not {name!r}")
        if not 1 <= len(panels) <= MOST_PANELS:
            raise ConfigError(f"a plot has 1 to {MOST_PANELS} panels, not {len(panels)}")
        values, labels = _steps_of(steps)
        if len(values) > 1 and not control:
            raise ConfigError("steps need a word for what they are values of: control=")
        specs = [panel.spec(values) for panel in panels]
        if (many := _count(specs)) > MOST_POINTS:
            raise ConfigError(f"a plot carries at most {MOST_POINTS:,} numbers, not {many:,}")
        told = _sentences(say, values)
        figure = {"name": name, "control": control, "steps": labels, "say": told, "panels": specs}
        super().__init__(**state)
        self._figure = figure
        self._check(self.step, self.reader)

    def _check(self, step: int, reader: int) -> None:
        last, points = len(self._figure["steps"]) - 1, self._points()
        if step > last:
            raise WidgetStateError(f"step is a whole number from 0 to {last}, got {step}")
        if reader >= points:
            raise WidgetStateError(
                f"reader is a whole number from -1 to {points - 1}, got {reader}"
            )

    def _points(self) -> int:
        first = self._figure["panels"][0]
        if first["kind"] == "grid":
            return len(first["rows"]) * len(first["columns"])
        return len(first["x" if first["kind"] == "curves" else "names"])

    @traitlets.validate("step", "reader")
    def _one(self, proposal: Any) -> Any:
        """Refuse what this figure has not, once it is known."""
        if self._figure:
            now = {**self.state, proposal["trait"].name: proposal["value"]}
            self._check(now["step"], now["reader"])
        return proposal["value"]

    def __repr__(self) -> str:
        return f"LivingPlot({self._figure['name']!r}, step={self.step}, reader={self.reader})"

    def _picture(self) -> str:
        """The step that is shown, for a reader without JavaScript and for print."""
        told = self._figure["say"]
        sentence = told[min(self.step, len(told) - 1)]
        words = self._figure["steps"][self.step]
        where = f"{self._figure['control']}: {words}. " if words else ""
        svg = picture(self._figure, self.step, sentence)
        return f"{svg}<figcaption>{html.escape(where + sentence)}</figcaption>"

    def _data(self) -> str:
        return carried(self._figure, " data-figure")
