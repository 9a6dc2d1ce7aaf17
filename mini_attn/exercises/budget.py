"""Ends an answer that does not end by itself, also where no other thread or signal can."""

from __future__ import annotations

import contextlib
import dis
import os
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

__all__ = ["LINE_BUDGET", "BudgetSpent", "is_learners", "line_budget"]

LINE_BUDGET = 200_000  # lines of the learner's own code in one call

_FOLDERS = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
# `os` may be frozen and name a folder that isn't there; `dis` was read from where the others are.
_FOLDERS += [str(Path(module).parent) for module in (os.__file__, dis.__file__, np.__file__)]
_INSTALLED = tuple(folder + os.sep for folder in (*_FOLDERS, str(Path(__file__).parents[1])))


class BudgetSpent(BaseException):
    """The answer has run more lines than any right answer needs."""


@cache
def is_learners(file: str) -> bool:
    """Return whether a code object's file is a cell or script, and not an installed library.

    Parameters
    ----------
    file : str
        Its ``co_filename``.

    Returns
    -------
    bool
        True for notebook cells, each of which counts as a file, and for scripts.
    """
    return not file.startswith((*_INSTALLED, "<frozen "))


@cache
def _protected(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Return where an exception would be caught: ranges of instructions."""
    entries = getattr(dis.Bytecode(code), "exception_entries", ())
    return tuple((entry.start, entry.end) for entry in entries)


@cache
def _jumps_to_itself(code: CodeType) -> bool:
    """Return whether it has a one-line ``while True: pass``, which raises no line events."""
    return any(step.argval == step.offset for step in dis.get_instructions(code) if step.arg)


def _would_be_caught(frame: FrameType | None) -> bool:
    """Return whether a learner's ``try`` surrounds this line or a call that led here."""
    while frame is not None:
        code, at = frame.f_code, frame.f_lasti
        if is_learners(code.co_filename) and any(a <= at < b for a, b in _protected(code)):
            return True
        if code.co_name == "run" and code.co_filename == str(Path(__file__).with_name("runner.py")):
            return False
        frame = frame.f_back
    return False


@contextlib.contextmanager
def line_budget(lines: int = LINE_BUDGET) -> Iterator[None]:
    """Raise `BudgetSpent` after so many lines of the learner's; libraries run at full speed.

    Parameters
    ----------
    lines : int
        The budget.

    Notes
    -----
    Python stops tracing once a trace function has raised. A bare ``except`` round the line would
    then let the loop go on for ever, so the budget waits for a line outside every ``try``; if there
    is none, it ends the answer at twice the budget.
    """
    left = lines

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if event in ("line", "opcode"):
            left -= 1
            if left < 0 and (left < -lines or not _would_be_caught(frame)):
                raise BudgetSpent
        return local

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        if not is_learners(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes = _jumps_to_itself(frame.f_code)
        return local

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)
