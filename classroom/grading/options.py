"""What ``make grade`` can be asked, and what of it goes together."""

from __future__ import annotations

import argparse
from pathlib import Path

from classroom.grading.late import Late, Rule
from classroom.sheets.commands import add_choice, choice
from classroom.sheets.sheet import Sheet, sheet_of_file
from mini_attn.errors import ConfigError

__all__ = ["late_of", "read_options", "sheet_of"]


def read_options(about: str | None) -> argparse.Namespace:
    """What the command was given."""
    parser = argparse.ArgumentParser(prog="make grade", description=about)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sheet", type=Path, help="the .json file of a released sheet")
    add_choice(parser)
    parser.add_argument("--seed")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--partial", action="store_true", help="groups of checks count one by one")
    parser.add_argument("--roster", type=Path, help="names, one a line, or a CSV file")
    parser.add_argument("--draw", help="seed of the numbers that each student was given")
    parser.add_argument("--due", help='"2026-10-12 23:59 Europe/Berlin"')
    parser.add_argument("--late", help='"10 %% a day, at most 50 %%, 15 minutes of grace"')
    parser.add_argument("--times", type=Path, help="a table of hand-in times")
    parser.add_argument("--extensions", type=Path, help="a table of later due dates")
    parser.add_argument("--attempts", help="which counts: best, last or first")
    parser.add_argument("--again", help="students, with semicolons between, to be graded again")
    parser.add_argument("--anonymous", action="store_true", help="also without names")
    return parser.parse_args()


def late_of(asked: argparse.Namespace) -> Late | None:
    """The due date and what goes with it."""
    if not asked.due:
        if asked.late or asked.times or asked.extensions:
            raise ConfigError("LATE, TIMES and EXTENSIONS go with DUE=, the due date")
        return None
    rule = Rule.read(asked.late) if asked.late else Rule()
    return Late(asked.due, rule, asked.times, asked.extensions)


def sheet_of(asked: argparse.Namespace) -> Sheet | None:
    """The sheet that was chosen, if one was."""
    if sum(map(bool, (asked.sheet, asked.chapter, asked.exercises))) > 1:
        raise ConfigError("choose a sheet, a chapter or a list of exercises, not several")
    if asked.sheet and asked.points:
        raise ConfigError("a sheet's file says what its exercises are worth: leave out POINTS")
    if asked.chapter or asked.exercises or asked.points:
        return choice(asked)[0]
    return sheet_of_file(asked.sheet) if asked.sheet else None
