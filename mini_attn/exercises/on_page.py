"""Python inside a page: what its worker asks for. The page shows what comes back.

All code of a page runs in one module ``__main__``, as in a notebook. What it prints and draws
is told while it runs; what an answer is worth comes back as data.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import linecache
import sys
import time
import traceback
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mini_attn.exercises.alone import what_lacks
from mini_attn.exercises.budget import is_learners
from mini_attn.exercises.checker import judge_answer
from mini_attn.exercises.progress_store import outcome
from mini_attn.exercises.report import Report
from mini_attn.exercises.runner import no_input
from mini_attn.exercises.spec import exercise
from mini_attn.exercises.stand_ins import install

__all__ = ["MOST_OUTPUT", "check", "run"]

MOST_OUTPUT = 20_000  # characters of one run that are told; the rest is dropped
EVERY = 0.05  # seconds between two messages, so that a flood of prints does not flood the page
LARGEST_SVG = 2_000_000  # characters; a larger drawing comes as pixels

Tell = Callable[[str, str], object]

install()
_main = types.ModuleType("__main__")
_main.__dict__["np"] = np  # what every exercise expects


class _Told(io.TextIOBase):
    """A stream whose text is told in pieces, up to a limit that both streams share."""

    def __init__(self, tell: Tell, kind: str, room: list[int]) -> None:
        self.tell_page, self.kind, self.room = tell, kind, room
        self.waiting: list[str] = []
        self.last = time.monotonic()

    def writable(self) -> bool:
        """As text streams say."""
        return True

    def write(self, text: str) -> int:
        """Take a text; tell it when the last message is some time ago."""
        kept = text[: max(self.room[0], 0)]
        self.room[0] -= len(text)
        if kept:
            self.waiting.append(kept)
            if time.monotonic() - self.last > EVERY:
                self.flush()
        return len(text)

    def flush(self) -> None:
        """Tell what waits."""
        if self.waiting:
            self.tell_page(self.kind, "".join(self.waiting))
            self.waiting.clear()
            self.last = time.monotonic()

    def close(self) -> None:
        """A reader's code may close its output; the page goes on."""


def _words(error: BaseException) -> str:
    """The error and the reader's own lines on the way to it."""
    summary = traceback.TracebackException(type(error), error, error.__traceback__)
    own = [frame for frame in summary.stack if is_learners(frame.filename)]
    lines = []
    for frame in own[-5:]:
        inside = "" if frame.name == "<module>" else f", in {frame.name}"
        lines += [f"line {frame.lineno}{inside}", f"    {frame.line}"]
    said = "".join(summary.format_exception_only())
    if isinstance(error, SyntaxError):
        said = f"line {said.split(', line ', 1)[-1]}"
    elif isinstance(error, ModuleNotFoundError):
        said = f"{type(error).__name__}: there is no {error.name} in the page's Python\n"
    return "\n".join([*lines, said.rstrip()])[:MOST_OUTPUT]


def _execute(code: str, file: str) -> Any:
    """Run a cell; gives the value of an expression that ends it."""
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    tree = ast.parse(code, file)
    last = tree.body[-1] if tree.body else None
    value = None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, file, "exec"), vars(_main))
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), file, "eval"), vars(_main))
    return None if code.rstrip().endswith(";") else value


def _tell_figures(tell: Tell) -> None:
    """Tell what matplotlib holds, each figure as the address of a picture, and close it."""
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None:
        return
    for number in plt.get_fignums():
        figure = plt.figure(number)
        for kind, name in (("svg", "svg+xml"), ("png", "png")):
            picture = io.BytesIO()
            figure.savefig(picture, format=kind, dpi=150)
            if kind == "png" or picture.tell() < LARGEST_SVG:
                text = base64.b64encode(picture.getvalue()).decode("ascii")
                tell("figure", f"data:image/{name};base64,{text}")
                break
    plt.close("all")


def run(code: str, name: str, tell: Tell) -> dict[str, Any]:
    r"""Run code as a notebook runs a cell.

    Parameters
    ----------
    code : str
        What stands in the cell.
    name : str
        What error messages may call it; another one for each cell.
    tell : callable (kind, text)
        Is told what comes while it runs: ``"stdout"``, ``"stderr"``, and ``"figure"`` with the
        address of a picture that holds its data.

    Returns
    -------
    dict
        ``value``, the text of the last expression or None; ``error``, a short traceback in the
        reader's own lines or None; ``cut``, characters that were dropped; and ``seconds``.

    Examples
    --------
    >>> run("half = 7 / 2\nhalf", "cell 1", print)["value"]
    '3.5'
    >>> run("1 / 0", "cell 2", print)["error"]
    'line 1\n    1 / 0\nZeroDivisionError: division by zero'
    """
    sys.modules["__main__"] = _main
    room = [MOST_OUTPUT]
    out, err = _Told(tell, "stdout", room), _Told(tell, "stderr", room)
    began, value, error = time.perf_counter(), None, None
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        no_input(),
    ):
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        try:
            value = _execute(code, f"<{name}>")
            value = None if value is None else repr(value)[:MOST_OUTPUT]
            _tell_figures(tell)
        except BaseException as reason:  # also SystemExit: the page's Python goes on
            error = _words(reason)
    out.flush()
    err.flush()
    seconds = time.perf_counter() - began
    return {"value": value, "error": error, "cut": max(-room[0], 0), "seconds": seconds}


def check(exercise_id: str, code: str, tell: Tell) -> dict[str, Any]:
    """Run the code of an exercise's cell, then check what it defines.

    Parameters
    ----------
    exercise_id : str
        Which exercise.
    code : str
        What stands in its cell.
    tell : callable (kind, text)
        As in `run`.

    Returns
    -------
    dict
        As `run` gives it, with ``report``, what `Report.data` gives, and ``kept``, what a
        reader's progress keeps of it.

    Raises
    ------
    ConfigError
        If there is no such exercise.

    Examples
    --------
    >>> check("half_temperature", "answer = ...", print)["report"]["state"]
    'not attempted'
    """
    task = exercise(exercise_id)
    vars(_main).pop(task.name, None)  # an earlier definition is not this cell's
    done = run(code, exercise_id, tell)
    if done["error"]:
        report = Report(task, "runs", done["error"].splitlines()[-1])
    elif task.name not in vars(_main):
        report = Report(task, "attempted", f"Define {task.name}: that is what is checked.")
    else:
        report = judge_answer(exercise_id, vars(_main)[task.name], diagnose_starter=False)
        report.notes += [] if report.failed else what_lacks(task, code)
    return {**done, "report": report.data(), "kept": outcome(task, report.failed)}
