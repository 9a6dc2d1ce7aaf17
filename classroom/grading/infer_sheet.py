"""What a class was asked, where nobody said so: what nearly everybody handed in.

A student decides what stands in a notebook, so one alone never changes what all are asked.
"""

from __future__ import annotations

import sys
from collections import Counter

from classroom.sheets.sheet import Sheet, chapters, tasks_of
from classroom.submissions.collect import Submission
from mini_attn import __version__
from mini_attn.errors import ConfigError

__all__ = ["sheet_of_all"]

SHOWN = 6  # exercises in a message


def _few(keys: list[str]) -> str:
    more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    return ", ".join(keys[:SHOWN]) + more


def sheet_of_all(sent: list[Submission]) -> Sheet:
    """Return the exercises that more than half of the class handed in, in the order of the book.

    Parameters
    ----------
    sent : list of Submission
        What came in. Whoever handed in an exercise that a quarter or fewer have is told, among
        the problems, that it does not count.

    Returns
    -------
    Sheet
        With at least one exercise.

    Raises
    ------
    ConfigError
        If an exercise was handed in by more than a quarter and not by more than half, or none by
        more than half.
    """
    # Of several attempts the last: who tries more often asks nobody for more.
    students = [one for one in {one.student: one for one in sent}.values() if one.cells]
    count = Counter(key for one in students for key in one.cells)
    n = len(students)
    seen = [key for page in chapters() for key in tasks_of(page) if count[key]]
    unclear = [key for key in seen if n < 4 * count[key] <= 2 * n]
    if unclear:
        raise ConfigError(
            f"what was asked? {_few(unclear)}: handed in by some of {n} students and not by "
            "others; name the sheet with SHEET=, CH= or EX="
        )
    asked = tuple(key for key in seen if 2 * count[key] > n)
    if not asked:
        raise ConfigError(
            f"what was asked? No exercise was handed in by more than half of {n} students with an "
            "answer. Is this the folder of the submissions? If it is, name the sheet with SHEET=, "
            "CH= or EX="
        )
    for one in students:
        extra = [key for key in seen if key in one.cells and key not in asked]
        if extra:
            words = f"not counted, as few handed it in: {_few(extra)}"
            one.problems.append(words)
            print(f"[grade] {one.student}: {words}", file=sys.stderr)
    return Sheet("All that was handed in", asked, __version__)
