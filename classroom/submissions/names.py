"""Where a notebook defines which name: for whoever left a helper outside an answer's cells."""

from __future__ import annotations

import re

from classroom.submissions.cells import Cell

__all__ = ["defined", "given_to_check"]

# Each looks at lines of any length and origin: no two neighbors match the same letter.
BINDS = re.compile(
    r"^(?:(?:def|class)[ \t]+(\w{1,60})|(\w{1,60})[ \t]{0,9}=(?!=)"
    r"|(?:from[ \t]+[\w.]{1,80}[ \t]+)?import[ \t]([\w., \t]{1,300})$)",
    re.MULTILINE,
)
CHECKED = re.compile(
    r"""^[ \t]*check\([ \t]*["'](\w{1,60})["'][ \t]*,[ \t]*([A-Za-z_]\w{0,60})[ \t]*[,)]""",
    re.MULTILINE,
)
NAMES = 300  # of one notebook
CELLS, CHARACTERS = 500, 20_000  # that are looked at: a notebook has a tenth of that


def _sources(cells: list[Cell]) -> list[tuple[int, str]]:
    """Return the code cells, by their places in the notebook, which begin with 1."""
    numbered = enumerate(cells[:CELLS], 1)
    return [(number, c.source[:CHARACTERS]) for number, c in numbered if c.kind == "code"]


def defined(cells: list[Cell]) -> dict[str, int]:
    """Return the first cell that defines each name, counted from 1."""
    found: dict[str, int] = {}
    for number, source in _sources(cells):
        for function, variable, imported in BINDS.findall(source):
            names = [part.split()[-1] for part in imported.split(",") if part.split()]
            for name in filter(None, (*names, function, variable)):
                if len(found) < NAMES:
                    found.setdefault(name, number)
    return found


def given_to_check(cells: list[Cell]) -> dict[str, str]:
    """Return what each exercise's check was given, by name."""
    pairs = [pair for _, source in _sources(cells) for pair in CHECKED.findall(source)]
    return dict(pairs[:NAMES])
