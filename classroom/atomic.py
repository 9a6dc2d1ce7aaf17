"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: Path, text: str) -> None:
    """Write a text as a file, in the place of one that may be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(text.encode("utf-8"))  # line ends as they are, on every system
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
