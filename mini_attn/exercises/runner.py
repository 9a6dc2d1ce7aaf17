"""Calls an answer once, safely enough for a notebook: nothing it does escapes from here.

This protects a learner from an accident, not a grade from an attack: for that the answer
has to run in its own process.
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import io
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mini_attn.exercises.budget import LINE_BUDGET, BudgetSpent, is_learners, line_budget

__all__ = ["Run", "no_input", "run"]

MAX_OUTPUT = 2_000  # characters of printed text that are kept


class _Capped(io.StringIO):
    """Keeps the beginning of what is written and drops the rest."""

    def write(self, text: str) -> int:
        room = MAX_OUTPUT - self.tell()
        if room > 0:
            super().write(text[:room])
        return len(text)

    def close(self) -> None:
        """An answer may close its output; what it wrote is still read."""


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
    peak : int
        Bytes that it held at most, next to the inputs; 0 where that was not measured.
    """

    value: Any = None
    problem: str | None = None
    attempted: bool = True
    printed: str = ""
    complaints: str = ""
    mutated: list[str] = field(default_factory=list)
    peak: int = 0


@contextlib.contextmanager
def no_input() -> Iterator[None]:
    """Nobody sits at the keyboard while an answer is checked."""

    def refuse(*_: Any) -> str:
        raise EOFError("input() waits for a keyboard that nobody sits at")

    before, builtins.input = builtins.input, refuse
    try:
        yield
    finally:
        builtins.input = before


@contextlib.contextmanager
def _measured(result: Run) -> Iterator[None]:
    """Yield how many bytes are held at most: slow, so for those tasks alone that ask for it.

    Who traces memory already goes on doing so.
    """
    traced = tracemalloc.is_tracing()
    if not traced:
        tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    try:
        yield
    finally:
        result.peak = max(tracemalloc.get_traced_memory()[1] - before, 0)
        if not traced:
            tracemalloc.stop()


def _where(error: BaseException) -> str:
    """The last line of the learner's own code on the way to the error."""
    place, trace = "", error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if is_learners(code.co_filename):
            place = f" (line {trace.tb_lineno} of the cell, in {code.co_name})"
        trace = trace.tb_next
    return place


def _words(error: BaseException) -> str:
    """An exception in words for a learner."""
    if isinstance(error, BudgetSpent):
        ran = f"It ran more than {LINE_BUDGET:,} lines without coming to an end."
        return f"{ran} It is too slow, or a loop never stops."
    if isinstance(error, RecursionError):
        return "It calls itself without an end: every recursion needs a case that stops."
    if isinstance(error, SystemExit):
        return "It calls sys.exit(), which would end the notebook: return the answer instead."
    if isinstance(error, MemoryError):
        return "It asks for more memory than there is: an array became far too large."
    try:
        said = str(error)[:200]
    except Exception:  # an exception of the learner's own may fail to describe itself
        said = "without a readable message"
    return f"It raised {type(error).__name__}: {said}{_where(error)}"


def _misfit(answer: Callable[..., Any], given: dict[str, Any]) -> str | None:
    """Why the answer cannot be called with these names, or None."""
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):  # some built-in functions have none
        return None
    try:
        signature.bind(**given)
    except TypeError:
        names = ", ".join(given)
        return f"It should take {names}, by these names; it takes {signature}."
    return None


def run(answer: Callable[..., Any], inputs: dict[str, Any], *, measured: bool = False) -> Run:
    """Call an answer with copies of the inputs.

    Parameters
    ----------
    answer : callable
        The learner's function.
    inputs : dict
        Its arguments by name; arrays are copied.
    measured : bool
        Whether it is measured how many bytes it holds.

    Returns
    -------
    Run
        What it returned and did.
    """
    given = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in inputs.items()}
    misfit = _misfit(answer, given)
    if misfit:
        return Run(problem=misfit)
    out, err, result = _Capped(), _Capped(), Run()
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        np.errstate(),
        no_input(),
    ):
        warnings.simplefilter("always")
        try:
            with _measured(result) if measured else contextlib.nullcontext(), line_budget():
                result.value = answer(**given)
        except NotImplementedError:
            result.attempted, result.problem = False, "not attempted yet"
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also SystemExit: nothing may escape
            result.problem = _words(error)
    result.printed = out.getvalue()
    seen = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught)
    result.complaints = "\n".join([*seen, err.getvalue()]).strip()[:MAX_OUTPUT]
    result.mutated = [
        name
        for name, value in inputs.items()
        if isinstance(value, np.ndarray) and not np.array_equal(value, given[name], equal_nan=True)
    ]
    return result
