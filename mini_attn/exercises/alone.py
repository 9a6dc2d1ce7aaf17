"""An answer as a teacher's run sees it: its own cell, NumPy, and nothing else of the notebook.

A notebook keeps what any cell has defined; a grader takes the answer's cell and those between it
and its check. Here a learner sees the difference before handing in.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import symtable
from typing import Any

from mini_attn.exercises import cells
from mini_attn.exercises.budget import is_learners
from mini_attn.exercises.cells import ABSENT, WHERE
from mini_attn.exercises.runner import run
from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.statements import UNREADABLE, statements

__all__ = ["cell_of", "defined_alone", "what_lacks"]

PROVIDED = {*dir(builtins), "__name__", "np", "math", *cells.STAND_INS}


def cell_of(answer: Any) -> str | None:
    """The source of the cell that defines a function; None for what comes from elsewhere."""
    code = getattr(answer, "__code__", None)
    if code is None or not is_learners(code.co_filename):
        return None
    kept = linecache.cache.get(code.co_filename, ())
    # A file on the disk has a time; it is a module, which no cell holds.
    return "".join(kept[2]) if len(kept) > 2 and kept[1] is None else None


def _statements(source: str) -> list[ast.stmt]:
    """A cell's statements; none, if it cannot be read."""
    try:
        return statements(source)
    except UNREADABLE:
        return []


def _absent_imports(node: ast.stmt) -> set[str]:
    """Names that imports in a statement take from packages which are not there."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Import):
            names = [alias for alias in part.names if alias.name.split(".")[0] in ABSENT]
        elif isinstance(part, ast.ImportFrom) and str(part.module).split(".")[0] in ABSENT:
            names = part.names
        else:
            continue
        found |= {(alias.asname or alias.name).split(".")[0] for alias in names}
    return found


def _names(node: ast.stmt) -> tuple[set[str], set[str]]:
    """Return what a statement defines, and what of outside it needs."""
    try:
        top = symtable.symtable(ast.unparse(node), "<cell>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # as of "return" in no function
        return set(), set()
    defined = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return defined - _absent_imports(node), set()
    needed = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    inner = list(top.get_children())
    while inner:
        table = inner.pop()
        needed |= {s.get_name() for s in table.get_symbols() if s.is_global()}
        inner += table.get_children()
    return defined, needed | _absent_imports(node)


def _missing(parts: list[list[set[str]]], name: str) -> list[str]:
    """Names that a cell's answer needs and the cell does not define."""
    everything = set().union(*(defined for defined, _ in parts))
    wanted, open_names, found = {name}, [name], []
    while open_names:
        one = open_names.pop()
        needed = set().union(*(needs for defined, needs in parts if one in defined)) - wanted
        found += sorted(needed - everything - PROVIDED)
        open_names += needed & everything
        wanted |= needed
    return found


def what_lacks(task: Exercise, source: str) -> list[str]:
    """Return what a teacher's run will miss in an answer that is right here.

    Parameters
    ----------
    task : Exercise
        Which exercise.
    source : str
        The answer's cell.

    Returns
    -------
    list of str
        Sentences without a full stop; empty, if the cell has all it needs.
    """
    body = _statements(source)
    parts = [(node, *_names(node)) for node in body]
    if body and not any(task.name in defined for _, defined, _ in parts):
        return [f"your teacher's run looks for the answer as {task.name}: keep its name"]
    # Trial lines may need more.
    missing = _missing([part for node, *part in parts if not isinstance(node, ast.Expr)], task.name)
    absent = set().union({"ma", "mt", *ABSENT}, *map(_absent_imports, body))
    package = [name for name in missing if name in absent]
    others = [name for name in missing if name not in absent]
    said = {
        "not there where your teacher grades: write the answer with NumPy": package,
        "not defined in this cell: your teacher runs this cell and those between it and its check, "
        "and nothing else": others,
    }
    return [
        f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} {where}"
        for where, names in said.items()
        if names
    ]


def _import(name: str, *more: Any, **named: Any) -> Any:
    if name.split(".")[0] in ABSENT:
        raise ModuleNotFoundError(f"{name} {WHERE}", name=name)
    return builtins.__import__(name, *more, **named)


def defined_alone(task: Exercise, source: str) -> tuple[Any, list[str]]:
    """Run a cell in an empty notebook.

    Parameters
    ----------
    task : Exercise
        Which exercise.
    source : str
        The answer's cell.

    Returns
    -------
    answer : object or None
        What it defines under the exercise's name.
    notes : list of str
        What went wrong on the way.
    """
    space = cells.namespace()
    space["__builtins__"] = {**vars(builtins), "__import__": _import}
    notes = cells.run_cells(run, [source], space)
    return space.get(task.name), notes
