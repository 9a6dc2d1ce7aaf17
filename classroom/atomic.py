"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from itertools import chain, count
from pathlib import Path

__all__ = ["free_name", "replace_file", "said_of"]

BINARY = getattr(os, "O_BINARY", 0)  # on Windows alone, where line ends would be changed


def replace_file(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file, in the place of one that may be there; a text is written as UTF-8.

    A private one, and folders that are made for it, can be read by their owner alone.
    """
    for folder in (*reversed(path.parent.parents), path.parent):
        folder.mkdir(mode=0o700 if private else 0o777, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        # With its rights from the start: there is no moment in which others can open it.
        place = os.open(
            part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600 if private else 0o666
        )
        with open(place, "wb") as file:
            # Line ends as they are, on every system.
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def free_name(path: Path) -> Path:
    """Return the place itself, or the first one like it ("x-2.csv") where nothing lies yet."""
    others = (path.with_name(f"{path.stem}-{n}{path.suffix}") for n in count(2))
    return next(one for one in chain([path], others) if not os.path.lexists(one))


def said_of(error: OSError, place: Path) -> str:
    """Return where the disk refused something, and why; an error may name no place."""
    return f"{str(error.filename or place)!r}: {error.strerror or error}"
