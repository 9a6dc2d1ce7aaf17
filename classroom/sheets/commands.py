"""What the commands share: the choice of sheets, and files that appear whole."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from classroom.sheets.sheet import Sheet, chosen

__all__ = ["add_choice", "choice", "replace_file"]


def add_choice(parser: argparse.ArgumentParser) -> None:
    """The options that choose sheets, the same for every command."""
    parser.add_argument("--chapter", metavar="PAGE", help="one chapter, such as kv-cache")
    parser.add_argument("--exercises", metavar="IDS", help="ids: one problem sheet")
    parser.add_argument("--name", help="the problem sheet's name")


def choice(asked: argparse.Namespace) -> list[Sheet]:
    """The sheets that those options choose, as `classroom.sheets.sheet.chosen`."""
    return chosen(chapter=asked.chapter, exercises=asked.exercises, name=asked.name)


def replace_file(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(text.encode("utf-8"))  # line ends as they are, on every system
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
