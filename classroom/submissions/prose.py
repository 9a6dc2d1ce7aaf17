"""Answers in words: the cells of text that belong to the open questions of a sheet."""

from __future__ import annotations

import re
from collections.abc import Iterable

from classroom.submissions.cells import Cell
from mini_attn.exercises.spec import WORDS, exercise

__all__ = ["CHECK", "PROSE", "answers_in_words", "shortened_prose"]

PROSE = 20_000  # characters of one answer; an essay of a page has 3,000
TASK = re.compile(r"#{1,6}[ \t]+Exercise[ \t]+\d")  # how a sheet begins the next task
# No two neighbors in it match the same letter: it looks at a text of any length and origin.
CHECK = re.compile(r"""^[ \t]*check\([ \t]*["'](\w{1,60})["']""", re.MULTILINE)
CELLS = 200  # of one answer


def _tagged(cells: list[Cell], known: set[str]) -> dict[str, list[str]]:
    """Return the tagged cell of each question, and what was put between it and its check."""
    found: dict[str, list[str]] = {}
    current = None
    for cell in cells:
        checks = cell.kind == "code" and CHECK.search(cell.source)
        if cell.role == "starter" and cell.exercise in known:
            current = cell.exercise
        elif cell.role is not None or checks or TASK.match(cell.source):
            current = None
        if current is not None and len(found.setdefault(current, [])) < CELLS:
            found[current].append(cell.source)
    return found


def _untagged(cells: list[Cell], known: set[str]) -> dict[str, list[str]]:
    """Return where the tags are lost: what stands between the task and the check."""
    found: dict[str, list[str]] = {}
    above: list[str] = []
    for cell in cells:
        checked = CHECK.findall(cell.source) if cell.kind == "code" else []
        if checked or cell.role is not None or TASK.match(cell.source):
            found |= {key: above for key in checked if key in known and above}
            above = []
        elif len(above) < CELLS:
            above.append(cell.source)
    return found


def answers_in_words(
    cells: list[Cell], known: Iterable[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Return what a student wrote to open questions.

    Parameters
    ----------
    cells : list of Cell
        Of one notebook.
    known : iterable of str
        Ids of all exercises.

    Returns
    -------
    dict of str to list of str
        Sources by question, without the line that the sheet had there.
    list of str
        Questions that were found without their tags.
    """
    open_ones = {key for key in known if exercise(key).kind == "open"}
    tagged = _tagged(cells, open_ones)
    lost = {k: v for k, v in _untagged(cells, open_ones).items() if k not in tagged}
    found = {
        key: [source.replace(WORDS, "").strip() for source in sources]
        for key, sources in (tagged | lost).items()
    }
    return found, list(lost)


def shortened_prose(sources: list[str]) -> tuple[list[str], bool]:
    """Return an answer in one text of at most `PROSE` characters, and whether more was there."""
    whole = "\n\n".join(source for source in sources if source)
    return [whole[:PROSE]], len(whole) > PROSE
