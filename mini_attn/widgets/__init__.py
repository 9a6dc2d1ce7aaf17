"""The living pictures: views of what the package computes, never a second model.

The widgets need the extra ``widgets``: without anywidget they stand still, and without traitlets
there are none. Their data and questions need neither, so widgets are imported only when they are
asked for.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

# Every room with a schema is a widget's: decode_stepper/ is that of DecodeStepper.
_STEMS = {
    re.sub(r"(?:^|_)([a-z])", lambda first: first[1].upper(), room.parent.name): room.parent.name
    for room in sorted(Path(__file__).with_name("js").glob("*/schema.json"))
}
__all__ = list(_STEMS)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_STEMS[name]}")
    except ModuleNotFoundError as error:
        if error.name == "traitlets":
            raise ImportError(
                f"{name} needs traitlets: install the extra, pip install 'mini_attn[widgets]'"
            ) from error
        raise
    return getattr(module, name)
