"""Answers that try to earn, to read, to break: what the grader is tested with.

The text files beside this one hold cells. Each begins with its name, which says what it tries,
and two lines of data::

    # %% a file is written with open
    # where: cell
    # gives: runs: PermissionError

``where`` is ``cell`` (the lines stand in the cell of a number, and the right number follows
them), ``call`` (they run when the answer is called, and the right value is returned after them)
or an exercise's id (the lines are the whole cell). In the first two forms whoever gets through
has earned the points, so an attack that works cannot stay unseen. ``gives`` is the check that
must fail with words of its message, or ``full`` with words of a note. Each alternative of a
message stands behind ``|``, because systems refuse in different words.

Each source bounds itself: at most 50 processes or threads that sleep 20 seconds, 2 GB of memory,
folders and ports that the caller made. It must be harmless where every limit fails.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Template
from textwrap import indent
from types import ModuleType

from classroom import ROOT
from mini_attn.errors import ConfigError

__all__ = ["CALL", "CELL", "SHEET", "Hostile", "hostile", "right"]

SHEET = ("cached_step", "masked_attention", "chunk_mask", "half_temperature")
CELL, CALL = "half_temperature", "chunk_mask"  # what the attacks of one form are put into

_HEAD = re.compile(r"^# %% (.+)\n# where: (\w+)\n# gives: ([a-z |]+)(?:: ?(.*))?\n", re.MULTILINE)
_IN_CELL = """\
def _attack():
{attack}


answer = (_attack(), {right})[1]
"""
_IN_CALL = """\
{right}

_right = chunk_mask


def _attack(q_positions, kv_positions):
{attack}


def chunk_mask(q_positions, kv_positions):
    _attack(q_positions, kv_positions)
    return _right(q_positions, kv_positions)
"""


@dataclass(frozen=True)
class Hostile:
    """One hostile answer.

    Parameters
    ----------
    name : str
        What it tries.
    group : str
        The file that it stands in.
    exercise : str
        Id of the exercise that it answers.
    text : str
        Its cell, with ``$`` names for what the caller provides.
    failed : tuple of str
        Checks one of which must fail; empty for a harmless one, which earns its points.
    words : tuple of str
        One of them must stand in the message, or in a note where it earns its points.
    """

    name: str
    group: str
    exercise: str
    text: str
    failed: tuple[str, ...]
    words: tuple[str, ...]

    def source(self, *, scratch: Path, port: int, canary: str = "") -> str:
        """The cell.

        Parameters
        ----------
        scratch : Path
            A folder of the caller's that it may attack: the caller puts ``keep.txt`` into it.
        port : int
            A port of this machine that it may try to reach.
        canary : str
            A text in the caller's environment (as ``MINI_ATTN_CANARY``) and home.
        """
        names = {"CHECKOUT": ROOT, "SCRATCH": scratch, "PORT": port, "CANARY": canary,
                 "DEEP": "-" * 50_000 + "1"}  # fmt: skip
        return Template(self.text).safe_substitute({k: str(v) for k, v in names.items()})


def _without_wrong(module: ModuleType) -> str:
    return inspect.getsource(module).split("\nREFERENCE = ")[0].strip()


@cache
def right(exercise_id: str) -> str:
    """Source of a cell with the right answer to an exercise of the sheet.

    Parameters
    ----------
    exercise_id : str
        One of `SHEET`.
    """
    module = import_module(f"solutions.{exercise_id}")
    if exercise_id == CELL:
        return f"answer = {module.REFERENCE!r}"
    return _without_wrong(module)


def _cell(where: str, body: str) -> tuple[str, str]:
    """The exercise and the whole cell of one entry."""
    if where == "cell":
        number = right(CELL).removeprefix("answer = ")
        return CELL, _IN_CELL.format(right=number, attack=indent(body, "    "))
    if where == "call":
        return CALL, _IN_CALL.format(right=right(CALL), attack=indent(body, "    "))
    return where, body.replace("$RIGHT", right(where)) + "\n"


@cache
def hostile() -> tuple[Hostile, ...]:
    """All hostile answers, in the order of their files.

    Returns
    -------
    tuple of Hostile
        Their names differ.

    Raises
    ------
    ConfigError
        If a file holds two of one name, or lines that belong to none.
    """
    found: list[Hostile] = []
    for path in sorted(Path(__file__).parent.glob("*.txt")):
        before, *parts = _HEAD.split(path.read_text(encoding="utf-8"))
        if before.strip() or len(parts) % 5 or any("# %% " in body for body in parts[4::5]):
            raise ConfigError(f"{path.name} holds a cell without its lines of data")
        for name, where, check, words, body in zip(*[iter(parts)] * 5, strict=True):
            exercise, text = _cell(where, body.strip("\n"))
            said = tuple(w.strip() for w in (words or "").split("|"))
            failed = () if check == "full" else tuple(c.strip() for c in check.split("|"))
            found.append(Hostile(name, path.stem, exercise, text, failed, said))
    if len({h.name for h in found}) < len(found):
        raise ConfigError("two hostile answers have one name")
    return tuple(found)
