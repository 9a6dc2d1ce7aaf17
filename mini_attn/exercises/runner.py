"""Calls an answer once, safely enough for a notebook: nothing it does escapes from here.

This protects a learner from an accident, not a grade from an attack: for that the answer
has to run in a process of its own.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

__all__ = ["LINE_BUDGET", "Run", "run"]

LINE_BUDGET = 200_000  # lines of the answer's own file in one call
MAX_OUTPUT = 2_000  # characters of printed text that are kept


class _BudgetSpent(BaseException):
    """The answer has run more lines than any right answer needs."""


class _Capped(io.StringIO):
    """Keeps the beginning of what is written and drops the rest."""

    def write(self, text: str) -> int:
        room = MAX_OUTPUT - self.tell()
        if room > 0:
            super().write(text[:room])
        return len(text)


@dataclass
class Run:
    """What one call did.

    Parameters
    ----------
    value : object
        What the answer returned, if ``problem`` is None.
    problem : str or None
        Why there is no value, in words for a learner.
    attempted : bool
        False if the answer raised NotImplementedError.
    printed, complaints : str
        What it wrote to stdout, and to stderr or as warnings.
    mutated : list of str
        Names of the inputs that it changed.
    """

    value: Any = None
    problem: str | None = None
    attempted: bool = True
    printed: str = ""
    complaints: str = ""
    mutated: list[str] = field(default_factory=list)


@contextlib.contextmanager
def _line_budget(answer: Callable[..., Any], lines: int) -> Iterator[None]:
    """Stop the answer after so many lines of its own file; other files run at full speed."""
    own_file = getattr(getattr(answer, "__code__", None), "co_filename", None)
    left = lines

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if event == "line":
            left -= 1
            if left < 0:
                raise _BudgetSpent
        return local

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return local if frame.f_code.co_filename == own_file else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


@contextlib.contextmanager
def _no_input() -> Iterator[None]:
    """Nobody sits at the keyboard while an answer is checked."""

    def refuse(*_: Any) -> str:
        raise EOFError("input() waits for a keyboard that nobody sits at")

    before, builtins.input = builtins.input, refuse
    try:
        yield
    finally:
        builtins.input = before


def _where(error: BaseException, own_file: str | None) -> str:
    """The last line of the answer's own file on the way to the error."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == own_file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line} of the cell)" if line else ""


def _words(error: BaseException, own_file: str | None) -> str:
    """An exception in words for a learner."""
    if isinstance(error, _BudgetSpent):
        return f"It ran more than {LINE_BUDGET:,} lines without coming to an end: does a loop stop?"
    if isinstance(error, RecursionError):
        return "It calls itself without an end: every recursion needs a case that stops."
    if isinstance(error, SystemExit):
        return "It calls sys.exit(), which would end the notebook: return the answer instead."
    if isinstance(error, MemoryError):
        return "It asks for more memory than there is: an array became far too large."
    text = f"It raised {type(error).__name__}: {str(error)[:200]}"
    return text + _where(error, own_file)


def run(answer: Callable[..., Any], inputs: dict[str, Any]) -> Run:
    """Call an answer with copies of the inputs.

    Parameters
    ----------
    answer : callable
        The learner's function.
    inputs : dict
        Its arguments by name; arrays are copied.

    Returns
    -------
    Run
        What it returned and did.
    """
    given = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in inputs.items()}
    own_file = getattr(getattr(answer, "__code__", None), "co_filename", None)
    out, err, result = _Capped(), _Capped(), Run()
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        _no_input(),
    ):
        warnings.simplefilter("always")
        try:
            with _line_budget(answer, LINE_BUDGET):
                result.value = answer(**given)
        except NotImplementedError:
            result.attempted, result.problem = False, "not attempted yet"
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also SystemExit: nothing may escape
            result.problem = _words(error, own_file)
    result.printed = out.getvalue()
    seen = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught)
    result.complaints = "\n".join([*seen, err.getvalue()]).strip()[:MAX_OUTPUT]
    result.mutated = [
        name
        for name, value in inputs.items()
        if isinstance(value, np.ndarray) and not np.array_equal(value, given[name], equal_nan=True)
    ]
    return result
