"""Schemas of the widgets' states; reading them takes no widget, so no anywidget."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["load_schema"]

ROOMS = Path(__file__).parent / "js"


@cache
def load_schema(name: str) -> dict[str, dict[str, Any]]:
    """The schema of a widget's state, from the file that its JavaScript reads too.

    Parameters
    ----------
    name : str
        Name of the widget.

    Returns
    -------
    dict
        Per key its type, bounds or values, and default.
    """
    text = (ROOMS / name / "schema.json").read_text(encoding="utf-8")
    schema: dict[str, dict[str, Any]] = json.loads(text)
    return schema
