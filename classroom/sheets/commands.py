"""What the commands share: the options that choose sheets."""

from __future__ import annotations

import argparse

from classroom.sheets.sheet import Sheet, chosen, weighted
from mini_attn.errors import ConfigError

__all__ = ["add_choice", "choice"]


def add_choice(parser: argparse.ArgumentParser) -> None:
    """The options that choose sheets, the same for every command."""
    parser.add_argument("--chapter", metavar="PAGE", help="one chapter, such as kv-cache")
    parser.add_argument("--exercises", metavar="IDS", help="ids: one problem sheet")
    parser.add_argument("--name", help="the problem sheet's name")
    parser.add_argument(
        "--points", help='other points than the book\'s: "late_mask=6 chunk_mask=2"'
    )


def choice(asked: argparse.Namespace) -> list[Sheet]:
    """Return the sheets that those options choose, as `classroom.sheets.sheet.chosen`."""
    sheets = chosen(chapter=asked.chapter, exercises=asked.exercises, name=asked.name)
    return _with_points(asked.points, sheets)


def _with_points(text: str | None, sheets: list[Sheet]) -> list[Sheet]:
    """Sheets with the points that the command was given, as in "late_mask=6 chunk_mask=2"."""
    if text is None:
        return sheets
    if len(sheets) > 1:
        raise ConfigError("points go with one chapter or one list of exercises")
    pairs = [part.partition("=") for part in text.replace(",", " ").split()]
    twice = sorted({key for key, _, _ in pairs if sum(key == k for k, _, _ in pairs) > 1})
    if twice:
        raise ConfigError(f"points given twice: {', '.join(twice)}")
    points = {key: int(n) if n.isascii() and n.isdecimal() else n for key, _, n in pairs}
    return [weighted(sheets[0], points)]
