"""What the commands share: the options that choose sheets."""

from __future__ import annotations

import argparse

from classroom.sheets.sheet import Sheet, chosen

__all__ = ["add_choice", "choice"]


def add_choice(parser: argparse.ArgumentParser) -> None:
    """The options that choose sheets, the same for every command."""
    parser.add_argument("--chapter", metavar="PAGE", help="one chapter, such as kv-cache")
    parser.add_argument("--exercises", metavar="IDS", help="ids: one problem sheet")
    parser.add_argument("--name", help="the problem sheet's name")


def choice(asked: argparse.Namespace) -> list[Sheet]:
    """The sheets that those options choose, as `classroom.sheets.sheet.chosen`."""
    return chosen(chapter=asked.chapter, exercises=asked.exercises, name=asked.name)
