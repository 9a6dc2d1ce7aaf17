"""Cells of an answer, run where nothing but NumPy is there.

In a learner's notebook for ``check(..., alone=True)``, and in the process of an answer that is
graded, which loads this file and `statements` without the package around them.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mini_attn.exercises.statements import UNREADABLE, statements, unread

__all__ = ["ABSENT", "STAND_INS", "WHERE", "Absent", "namespace", "run_cells"]

STAND_INS = ("check", "grade", "hint", "progress")
ABSENT = ("mini_attn", "solutions", "torch")
WHERE = "is not there where answers are graded: write the answer with NumPy"
TEXT = 2_000  # characters of a note
NOTES = 3


class Absent:
    """Stands for the package in the names of a cell."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"mini_attn {WHERE}")


def _quiet(*_: Any, **__: Any) -> None:
    """In the place of check, grade, hint and progress, which cells may call."""


def namespace() -> dict[str, Any]:
    """The names that a cell finds.

    Returns
    -------
    dict of str to object
        NumPy and ``math``; what speaks in a notebook is quiet, what is the package's is absent.
    """
    return {
        "__name__": "__main__", "np": np, "math": math, **dict.fromkeys(STAND_INS, _quiet),
        **dict.fromkeys(("ma", "mt", "mini_attn"), Absent()),
    }  # fmt: skip


def run_cells(run: Callable[..., Any], cells: Iterable[str], space: dict[str, Any]) -> list[str]:
    """Run cells as a notebook would, and say what went wrong on the way.

    An error in a trial line does not lose the lines after it, nor does one that only a notebook
    understands.

    Parameters
    ----------
    run : callable
        `mini_attn.exercises.runner.run`.
    cells : iterable of str
        Their sources.
    space : dict
        The names that they share, and leave there.

    Returns
    -------
    list of str
        The first notes, each once, none with a full stop of its own.
    """
    notes = []
    for number, source in enumerate(cells, 1):
        try:
            parts = statements(source)
        except UNREADABLE as error:
            notes.append(f"the cell cannot be read: {unread(error)}")
            continue
        for part in parts:
            try:
                code = compile(ast.Module([part], []), f"<cell {number}>", "exec")
            except UNREADABLE as error:  # as of "await" or "return" in no function
                notes.append(f"a part of the cell cannot be read: {unread(error)}")
                continue
            done = run(functools.partial(exec, code, space), {})
            if done.problem and done.attempted:
                notes.append(f"while its cell ran: {done.problem}")
    return [note[:TEXT] for note in dict.fromkeys(notes)][:NOTES]
