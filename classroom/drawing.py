"""Who gets which numbers: everybody on a roster, by name and a seed of the teacher's.

Nothing is stored. Whoever has the roster and the seed finds the same numbers again, so that the
grader believes no notebook.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from classroom.grading.people import read_roster
from classroom.reports.sanitize import clean, file_names, folded
from classroom.sheets.students import Student
from mini_attn.errors import ConfigError
from mini_attn.exercises.variants import key_of

__all__ = ["add_drawing", "asked_students", "forms", "seal", "students_of"]

NAME = 300  # characters of a name that count


def seal(seed: str) -> str:
    """Tells two seeds apart, and is no seed."""
    return hashlib.sha256(f"sheet {seed}".encode()).hexdigest()[:8]


def forms(names: Iterable[str]) -> set[str]:
    """Return names as they are compared: one line, small and capital letters alike."""
    return {folded(clean(name, NAME)) for name in names}


def students_of(roster: Sequence[str], seed: str) -> list[Student]:
    """Return everybody who gets numbers.

    Parameters
    ----------
    roster : sequence of str
        As `read_roster` gives it.
    seed : str
        The teacher's, for the class.

    Returns
    -------
    list of Student
        In the order of the roster.

    Raises
    ------
    ConfigError
        If nobody stands there, or two names cannot be told apart.
    """
    if not seed.strip():
        raise ConfigError("the seed of the numbers is empty: choose any word")
    names = [clean(name, NAME) for name in roster]
    if not names:
        raise ConfigError("nobody stands on the roster")
    files = file_names(names)
    # A notebook named after one student must not be taken for another's.
    count = Counter(form for name in names for form in forms({name, files[name]}))
    twice = [name for name in names if any(count[f] > 1 for f in forms({name, files[name]}))]
    if twice:
        both = " and ".join(map(repr, twice[:2]))
        raise ConfigError(f"the roster has {both}: names that cannot be told apart")
    return [Student(n, files[n], key_of(seed, *forms({n}))) for n in names]


def add_drawing(parser: argparse.ArgumentParser) -> None:
    """The options by which numbers are drawn."""
    parser.add_argument("--roster", type=Path, help="names, one a line, or a CSV file")
    parser.add_argument("--draw", help="seed of the numbers that each student gets")


def asked_students(asked: argparse.Namespace) -> list[Student]:
    """Those whom the options name; nobody without them.

    Raises
    ------
    ConfigError
        If one of the two is missing, or the roster cannot be used.
    """
    if (asked.roster is None) != (asked.draw is None):
        raise ConfigError("numbers are drawn from names and a seed: give both ROSTER= and DRAW=")
    return students_of(read_roster(asked.roster), asked.draw) if asked.roster else []
