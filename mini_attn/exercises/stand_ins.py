"""What a chapter's cells import and the page's Python does not have: Jupyter's own parts.

In a page nothing shows a widget or a notebook's markup; the living pictures stand there as they
are. So that the cells run as they are written, these modules take the others' places, and only
where those are missing.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["install"]

WIDGETS = "mini_attn.widgets"


class Shown:
    r"""Markup that a notebook would show, as text.

    Parameters
    ----------
    data : str
        Markdown, or HTML.

    Examples
    --------
    >>> Shown("```python\nx = 1\n```")
    x = 1
    """

    def __init__(self, data: str) -> None:
        self.data = data

    def __repr__(self) -> str:
        return self.data.removeprefix("```python\n").removesuffix("```").rstrip()


class Picture:
    """A living picture, which the page shows and not its Python.

    Parameters
    ----------
    *values, **state : object
        What the picture itself would take.
    """

    def __init__(self, *values: Any, **state: Any) -> None:
        pass

    def __repr__(self) -> str:
        return f"{type(self).__name__}: the living picture runs on the page as it is"


class _Widgets(ModuleType):
    """The package of the pictures without Jupyter; its data modules are the real ones."""

    def __getattr__(self, name: str) -> type[Picture]:
        if name.startswith("_"):
            raise AttributeError(name)
        return type(name, (Picture,), {})


def _is_missing(name: str) -> bool:
    return name not in sys.modules and find_spec(name) is None


def install() -> None:
    """Put stand-ins where a module is missing; what is there stays."""
    if _is_missing("anywidget") and WIDGETS not in sys.modules:
        widgets = _Widgets(WIDGETS)
        widgets.__path__ = [str(Path(__file__).parents[1] / "widgets")]
        sys.modules[WIDGETS] = widgets
    if _is_missing("IPython"):
        package, display = ModuleType("IPython"), ModuleType("IPython.display")
        for name in ("HTML", "Markdown", "SVG"):
            setattr(display, name, Shown)
        # matplotlib asks a module of this name which shell it is in: none.
        package.__dict__.update(display=display, get_ipython=lambda: None)
        sys.modules.update({"IPython": package, "IPython.display": display})
