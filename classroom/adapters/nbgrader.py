"""Assignments for nbgrader from the same exercises: ``make nbgrader``.

The folder is a course: nbgrader's own commands run in it. Nothing in it is a solution, so that
the teacher's source and the students' release differ in nbgrader's checksums only. nbgrader
runs a notebook and the test that grades it in one process: who means to cheat can do so from
inside, which ``make grade`` rules out. It reads the same notebooks.
"""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell

from classroom.adapters.assignment import command, graded_lines
from classroom.adapters.graders import BIN
from classroom.atomic import replace_file
from classroom.sheets.notebook import student_notebook
from classroom.sheets.sheet import Sheet
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise

__all__ = ["assignment", "main", "write"]

CONFIG = Path(__file__).with_name("nbgrader_config.py")
NOTE = "# Graded: full points if this raises nothing. Changed or deleted, it comes back."


def _mark(grade_id: str, **values: Any) -> dict[str, Any]:
    """The metadata by which nbgrader knows a cell."""
    plain = {"grade": False, "solution": False, "locked": False, "task": False}
    return {**plain, "schema_version": 3, "cell_type": "code", "grade_id": grade_id, **values}


def assignment(sheet: Sheet) -> nbformat.NotebookNode:
    """The source notebook of a sheet: the student's, marked, with a graded cell for each exercise.

    An open question has none: its own cell is marked by hand.

    Parameters
    ----------
    sheet : Sheet
        Which exercises.

    Returns
    -------
    nbformat.NotebookNode
        Without outputs and without solutions.
    """
    notebook = student_notebook(sheet)
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        tag = cell.metadata.get("exercise", {})
        key, role = tag.get("id"), tag.get("role")
        if role == "starter" and cell.cell_type == "markdown":  # people mark it
            cell.metadata["nbgrader"] = _mark(
                key, cell_type="markdown", solution=True, grade=True, points=sheet.worth(key)
            )
        elif role == "starter":
            cell.metadata["nbgrader"] = _mark(key, solution=True)
        if role == "check" and exercise(key).kind != "open":
            graded = new_code_cell("\n".join([NOTE, *graded_lines(key)]), id=f"{key}-graded")
            graded.metadata["exercise"] = {"id": key, "role": "graded"}
            graded.metadata["nbgrader"] = _mark(
                f"{key}-graded", grade=True, locked=True, points=sheet.worth(key)
            )
            cells.append(graded)
    notebook.cells = cells
    return notebook


def write(sheets: list[Sheet], folder: Path) -> list[str]:
    """Write sheets into a course; the teacher's other files there stay.

    Parameters
    ----------
    sheets : list of Sheet
        One assignment each.
    folder : Path
        The course.

    Returns
    -------
    list of str
        How to go on.

    Raises
    ------
    ConfigError
        If the folder has an nbgrader_config.py that is not ours; then nothing is written.
    """
    config = CONFIG.read_text(encoding="utf-8")
    own = folder / CONFIG.name
    if own.exists() and own.read_text(encoding="utf-8").split("\n")[0] != config.split("\n")[0]:
        raise ConfigError(f"{own} is another course's: choose an empty folder with OUT=…")
    for sheet in sheets:
        text = nbformat.writes(assignment(sheet)) + "\n"
        replace_file(folder / "source" / sheet.name / f"{sheet.name}.ipynb", text)
    replace_file(own, config)
    names = f"{len(sheets)} sheets" if len(sheets) > 1 else sheets[0].name
    tool = quote(str(BIN / "nbgrader"))
    return [
        f"{names} in {folder}; its nbgrader_config.py says how to go on, and begins with",
        f"cd {quote(str(folder))} && {tool} generate_assignment {sheets[0].name}",
    ]


def main(arguments: list[str] | None = None) -> int:
    """The command; its exit status."""
    return command("nbgrader", write, arguments)


if __name__ == "__main__":
    sys.exit(main())
