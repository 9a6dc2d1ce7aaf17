"""What the assignments of nbgrader and otter share: the graded call, the reference, the command."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from classroom import ROOT
from classroom.sheets.commands import add_choice, choice
from classroom.sheets.sheet import Sheet
from mini_attn.errors import MiniAttnError
from mini_attn.exercises.spec import exercise

__all__ = ["command", "graded_lines", "reference_source"]


def graded_lines(exercise_id: str) -> list[str]:
    """The lines that raise unless the answer is right.

    ``grade`` is imported anew each time, so that a notebook that gives the name to something
    else gains nothing. A notebook that changes the imported module itself is another matter:
    both graders run in the student's own process, and cannot be made safe from inside.
    """
    return [
        "from mini_attn.exercises.checker import grade",
        f'grade("{exercise_id}", {exercise(exercise_id).name})',
    ]


def reference_source(exercise_id: str) -> str:
    """The reference solution or model answer as a starter cell's source. For the teacher alone."""
    if exercise(exercise_id).kind == "open":
        model: str = import_module(f"solutions.{exercise_id}").MODEL
        return model.strip()
    source = (ROOT / f"solutions/{exercise_id}.py").read_text(encoding="utf-8")
    lines = source.splitlines()
    body = ast.parse(source).body
    at, value = next(
        (i, node.value)
        for i, node in enumerate(body)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "REFERENCE"
    )
    above = lines[body[0].end_lineno : body[at].lineno - 1]  # without the docstring
    own = exercise(exercise_id).name
    last = [] if ast.unparse(value) == own else [f"{own} = {ast.get_source_segment(source, value)}"]
    return "\n".join([*above, *last]).strip()


def command(
    program: str,
    write: Callable[[list[Sheet], Path], list[str]],
    arguments: list[str] | None,
) -> int:
    """Write assignments as the command line asks.

    Parameters
    ----------
    program : str
        Name of the grader.
    write : callable (sheets, folder) -> list of str
        Writes the assignments; gives the lines that say how to go on.
    arguments : list of str or None
        The command line.

    Returns
    -------
    int
        Exit status: 0, or 2 with one line on stderr and nothing written.
    """
    parser = argparse.ArgumentParser(prog=program, description=f"assignments for {program}")
    add_choice(parser)
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / program, help="folder")
    options = parser.parse_args(arguments)
    try:
        sheets = choice(options)
        lines = write(sheets, options.out)
    except (MiniAttnError, OSError) as problem:
        print(f"[{program}] {problem}", file=sys.stderr)
        return 2
    for line in lines:
        print(f"[{program}] {line}")
    return 0
