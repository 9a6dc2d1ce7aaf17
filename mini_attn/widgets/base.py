"""What all living pictures share: checked state, and a picture where nothing can run."""

from __future__ import annotations

import base64
import html
import json
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from mini_attn.errors import WidgetStateError
from mini_attn.widgets.schema import load_schema

__all__ = ["Checked", "LivingWidget", "carried", "load_schema"]

STILL = ""
try:
    from anywidget import AnyWidget
except ModuleNotFoundError:
    STILL = "<p>This picture stands still: anywidget isn't installed.</p>"

    class AnyWidget(traitlets.HasTraits):  # type: ignore[no-redef]
        """A living picture where anywidget is missing: it stands still, and a chapter runs on."""

        def hold_sync(self) -> AbstractContextManager[None]:
            """Wait for nothing: there's no view to tell."""
            return nullcontext()

        def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
            return {}


HERE = Path(__file__).parent
STATIC = HERE / "static"
_numbers = count(1)


def fault(entry: dict[str, Any], value: Any) -> str | None:
    """Why a value is refused, or None; the same rules as in JavaScript."""
    kind = entry["type"]
    if kind == "bool":
        return None if isinstance(value, bool) else "is True or False"
    if kind == "enum":
        # 1 == True in Python, but no switch is a number.
        same = any(type(v) is type(value) and v == value for v in entry["values"])
        return None if same else f"is one of {', '.join(map(str, entry['values']))}"
    if kind == "string":
        fits = isinstance(value, str) and len(value) <= entry["max"]
        return None if fits else f"is a text of at most {entry['max']} characters"
    number = isinstance(value, Real) and not isinstance(value, bool)
    whole = isinstance(value, Integral) or (number and float(value).is_integer())
    words = f"is a {'whole ' if kind == 'int' else ''}number from {entry['min']} to {entry['max']}"
    if not number or (kind == "int" and not whole):
        return words
    return None if entry["min"] <= value <= entry["max"] else words


def carried(data: Any, mark: str = "") -> str:
    """Return a page's data for its script, in an element that an inner "</script>" can't end."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json"{mark}>{text}</script>'


class Checked(traitlets.TraitType[Any, Any]):
    """One key of a widget's state; refuses what the schema refuses, and keeps the old value.

    Parameters
    ----------
    widget, key : str
        Name of the widget and of the key in its schema.

    Examples
    --------
    >>> Checked("decode_stepper", "step").default_value
    0
    """

    def __init__(self, widget: str, key: str) -> None:
        self.entry = load_schema(widget)[key]
        super().__init__(default_value=self.entry["default"])
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> Any:
        """The value, as a whole number where the schema has one; WidgetStateError otherwise."""
        reason = fault(self.entry, value)
        if reason:
            raise WidgetStateError(f"{self.name} {reason}, got {repr(value)[:60]}")
        kind = self.entry["type"]
        return int(value) if kind == "int" else float(value) if kind == "number" else value


class LivingWidget(AnyWidget):
    """A living picture: in Jupyter a widget with synced traits, elsewhere what the page can run.

    A subclass sets ``_widget``, its name; the schema of that name gives it its traits, one
    `Checked` for each key.

    Raises
    ------
    WidgetStateError
        If a state is given that the schema does not allow, or a key that it does not have.
    """

    _esm = STATIC / "living.jupyter.js"
    _css = STATIC / "living.css"
    _widget = traitlets.Unicode().tag(sync=True)
    caption = ""

    if TYPE_CHECKING:  # the traits of a subclass come from its schema, which no checker reads

        def __getattr__(self, key: str) -> Any: ...

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name = cls.__dict__.get("_widget")
        if name is None:  # a widget with more methods: the traits are those of its base
            return
        traits = {key: Checked(name, key) for key in load_schema(name)}
        for key, trait in {"_widget": traitlets.Unicode(name).tag(sync=True), **traits}.items():
            setattr(cls, key, trait)
            trait.class_init(cls, key)  # as traitlets does for what stands in the class itself

    def __init__(self, **state: Any) -> None:
        unknown = sorted(state.keys() - self.state_keys().keys())
        if unknown:
            keys = ", ".join(self.state_keys())
            raise WidgetStateError(f"{type(self).__name__} has {keys}, not {', '.join(unknown)}")
        super().__init__(**state)

    @classmethod
    def state_keys(cls) -> dict[str, Checked]:
        """The traits that make up the state, in the schema's order."""
        traits = cls.class_traits()
        return {key: traits[key] for key in load_schema(traits["_widget"].default_value)}

    @property
    def state(self) -> dict[str, Any]:
        """The present state under its keys."""
        return {key: getattr(self, key) for key in self.state_keys()}

    def __repr__(self) -> str:
        values = ", ".join(f"{key}={value!r}" for key, value in self.state.items())
        return f"{type(self).__name__}({values})"

    def _picture(self) -> str:
        """Markup for a reader without JavaScript, and for print: the committed picture."""
        svg = (STATIC / f"{self._widget}.svg").read_text(encoding="utf-8")
        entries = {key: trait.entry for key, trait in self.state_keys().items()}
        drawn = {key: entry.get("still", entry["default"]) for key, entry in entries.items()}
        other = ' <span class="living-other">The living view opens in another state.</span>'
        note = "" if self.state == drawn else other
        return f"{svg}<figcaption>{html.escape(self.caption)}{note}</figcaption>"

    def _data(self) -> str:
        """Return what the view needs besides the state; nothing if the package's data will do."""
        return ""

    def _html(self) -> str:
        """The picture, the state, and the place where the page's script mounts the widget."""
        view = f"{self._widget}-{next(_numbers)}"
        picture = self._picture().replace(f"{self._widget}-", f"{view}-")  # its ids are its own
        return (
            f'<div class="living" data-widget="{self._widget}" id="living-{view}">'
            f"{carried(self.state)}{self._data()}"
            f'<figure class="living-picture">{picture}</figure>{STILL}</div>'
        )

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        data = {**data, "text/plain": repr(self), "text/html": self._html()}
        png = STATIC / f"{self._widget}.png"
        if png.exists():  # in a checkout: the wheel leaves out what only a notebook's PDF shows
            data["image/png"] = base64.b64encode(png.read_bytes()).decode()
        return data, metadata
