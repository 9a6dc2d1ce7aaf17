"""Takes the cells out of a file that should be a notebook, whatever it is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["SOURCE_CHARACTERS", "Cell", "read_cells"]

SOURCE_CHARACTERS = 200_000  # of one exercise
PARTS = 300_000  # brackets in a file: a large notebook has a tenth of that


@dataclass(frozen=True)
class Cell:
    """A cell of a student's; role and exercise as its tag says, if it has one."""

    kind: str
    source: str
    role: str | None
    exercise: str | None


def _text(value: Any) -> str:
    """Return a source as nbformat allows it: a text, or a list of lines."""
    if isinstance(value, list):
        value = "".join(line for line in value if isinstance(line, str))
    # One more than allowed, so that it is still seen to be too long.
    return value[: SOURCE_CHARACTERS + 1] if isinstance(value, str) else ""


def _cell(data: Any) -> Cell | None:
    """Return a cell, if this is one."""
    if not isinstance(data, dict):
        return None
    metadata = data.get("metadata")
    tag = metadata.get("exercise") if isinstance(metadata, dict) else None
    tag = tag if isinstance(tag, dict) else {}
    role, key = tag.get("role"), tag.get("id")
    return Cell(
        kind=str(data.get("cell_type")),
        source=_text(data.get("source")),
        role=role if isinstance(role, str) else None,
        exercise=key if isinstance(key, str) else None,
    )


def _said(data: dict[str, Any]) -> dict[str, str]:
    """Return the version that a notebook was handed out by, and the key to its numbers."""
    metadata = data.get("metadata")
    own = metadata.get("mini_attn") if isinstance(metadata, dict) else None
    own = own if isinstance(own, dict) else {}
    texts = {name: own.get(name) for name in ("version", "student")}
    return {name: text[:20] for name, text in texts.items() if isinstance(text, str)}


def read_cells(content: bytes) -> tuple[list[Cell], dict[str, str], list[str]] | str:
    """Return the cells of a notebook, what it says of itself and what is odd, or why it is none."""
    if content.count(b"{") + content.count(b"[") > PARTS or content.count(b",") > 10 * PARTS:
        return "this file has far more parts than a notebook"
    odd = []
    try:
        # No number of a notebook counts, and a whole one of 4,000 digits takes long to be exact.
        try:
            data = json.loads(content, parse_int=float)
        except UnicodeDecodeError:  # an editor on Windows may have saved it
            data = json.loads(content.decode("cp1252"), parse_int=float)
            odd.append("this file is not in UTF-8; it was read as Windows-1252")
    except (ValueError, RecursionError, MemoryError):
        return "this file is no notebook (broken or cut off)" if content else "this file is empty"
    if isinstance(data, dict) and isinstance(data.get("worksheets"), list):
        return "saved in notebook format 3: open it in a current Jupyter and save it again"
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        return "this file is no notebook (it has no cells)"
    given = [cell for cell in data["cells"] if isinstance(cell, dict)]
    if lost := sum(not isinstance(cell.get("source", ""), str | list) for cell in given):
        odd.append(f"the source of {lost} cell{'s' if lost > 1 else ''} is no text")
    return [cell for cell in map(_cell, given) if cell is not None], _said(data), odd
