"""What ``make grade`` can be asked, and what of it goes together."""

from __future__ import annotations

import argparse
from pathlib import Path

from classroom import BOOK, ROOT
from classroom.grading.late import Late, Rule
from classroom.sheets.commands import add_choice, choice
from classroom.sheets.sheet import Sheet, sheet_of_file
from mini_attn.errors import ConfigError

__all__ = ["late_of", "read_options", "refuse_folder", "sheet_of"]

# Of this checkout, with notebooks that no class has handed in.
OURS = (BOOK, *(ROOT / name for name in ("_build/release", "benchmarks", "classroom", "mini_attn",
                                         "solutions", "tests", "tools", "training")))  # fmt: skip


def refuse_folder(folder: Path, out: Path) -> None:
    """Refuse folders that hold no submissions, or that would get the grades among them.

    Only what the teacher decides counts here: no student's file can stop the class.

    Raises
    ------
    ConfigError
        If it's a folder of this project or one of grades, or the grades would lie in it.
    """
    here = folder.resolve()
    if here == ROOT or any(here.is_relative_to(one) for one in OURS):
        words = "belongs to the book, and no class has handed it in"
    elif (here / "seed.json").exists() and (here / "work").is_dir():
        words = "holds the grades of a run"
    elif out.resolve().is_relative_to(here):
        raise ConfigError("the grades would lie among the submissions: choose another OUT")
    else:
        return
    raise ConfigError(f"{str(folder)!r} {words}: DIR= is the folder of the submissions")


def read_options(about: str | None) -> argparse.Namespace:
    """Return what the command was given."""
    parser = argparse.ArgumentParser(prog="grade", description=about)
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
    parser.add_argument("--late", help='"10%% a day, at most 50%%, 15 minutes of grace"')
    parser.add_argument("--times", type=Path, help="a table of hand-in times")
    parser.add_argument("--extensions", type=Path, help="a table of later due dates")
    parser.add_argument("--attempts", help="which counts: best, last or first")
    parser.add_argument("--again", help="students, with semicolons between, to be graded again")
    parser.add_argument("--anonymous", action="store_true", help="also without names")
    parser.add_argument("--unisolated", action="store_true", help="also where nothing locks them")
    return parser.parse_args()


def late_of(asked: argparse.Namespace) -> Late | None:
    """Return the due date and what goes with it."""
    if not asked.due:
        if asked.late or asked.times or asked.extensions:
            raise ConfigError("LATE, TIMES and EXTENSIONS go with DUE=, the due date")
        return None
    rule = Rule.read(asked.late) if asked.late else Rule()
    return Late(asked.due, rule, asked.times, asked.extensions)


def sheet_of(asked: argparse.Namespace) -> Sheet | None:
    """Return the sheet that was chosen, if one was."""
    if sum(map(bool, (asked.sheet, asked.chapter, asked.exercises))) > 1:
        raise ConfigError("choose a sheet, a chapter or a list of exercises, not several")
    if asked.sheet and asked.points:
        raise ConfigError("a sheet's file says what its exercises are worth: leave out POINTS")
    if asked.chapter or asked.exercises or asked.points:
        return choice(asked)[0]
    return sheet_of_file(asked.sheet) if asked.sheet else None
