"""Assignments for otter-grader from the same exercises: ``make otter``.

A sheet's folder holds one notebook, the teacher's, with the reference solutions, from which
``otter assign`` makes the students' copy (without them) and the archive that grades it. Otter
names both after the teacher's, so that its folder, and not its name, says whose it is. The
students' copy needs no otter: it is the same notebook as everywhere.

Otter runs a notebook and its tests in one process and gives a cell any time it wants. A loop in
an answer is ended by the check's own budget of lines; one outside an answer has to be ended from
outside, with ``timeout``. ``make grade`` reads the same notebooks and needs neither.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from shlex import quote

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

from classroom.adapters.assignment import command, graded_lines, reference_source
from classroom.adapters.graders import BIN
from classroom.atomic import replace_file
from classroom.sheets.notebook import student_notebook
from classroom.sheets.sheet import Sheet
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise

__all__ = ["assignment", "main", "write"]

FOLDER = "TEACHER-with-solutions"

# Otter leaves out a cell that begins with "# Ignore".
WARNING = """# Ignore when handing out: this is the teacher's notebook

It holds the **solutions**. Students get the copy that `otter assign` writes into `student/`, \
from which this cell and the solutions are gone.

```sh
otter assign {sheet}.ipynb ../dist
```"""

# Tests that raise, not otter's default, which compares with stored outputs. No cells of otter's
# own: the student's notebook runs without otter.
CONFIG = """# ASSIGNMENT CONFIG
name: {sheet}
init_cell: false
export_cell: false
tests:
    ok_format: false"""


def _solved(exercise_id: str) -> str:
    """A starter cell that holds the starter for the student and the reference for the teacher."""
    starter = exercise(exercise_id).starter
    if "'''" in starter:
        raise ConfigError(f"the starter of {exercise_id} holds three quotes, which otter needs")
    prompt = ["r''' # BEGIN PROMPT", starter, "''' # END PROMPT"]
    solution = ["# BEGIN SOLUTION NO PROMPT", reference_source(exercise_id), "# END SOLUTION"]
    return "\n".join([*prompt, *solution])


def _question(starter: NotebookNode, check: NotebookNode, points: int) -> list[NotebookNode]:
    """The two cells of an exercise as a question of otter's, with its solution and its test.

    Otter runs the test behind the last cell of the question, and at the very end if that cell is
    gone, when `answer` is another exercise's. So it runs behind the starter too; the last counts.
    """
    exercise_id = starter.metadata["exercise"]["id"]
    starter.metadata["otter"] = {"tests": [exercise_id]}
    test = [
        f"def test_{exercise_id}({exercise(exercise_id).name}):",
        *(f"    {line}" for line in graded_lines(exercise_id)),
    ]
    starter.source = _solved(exercise_id)
    return [
        new_raw_cell(
            f"# BEGIN QUESTION\nname: {exercise_id}\npoints: {points}\ncheck_cell: false",
            id=f"{exercise_id}-question",
        ),
        new_raw_cell("# BEGIN SOLUTION", id=f"{exercise_id}-solution"),
        starter,
        new_raw_cell("# END SOLUTION", id=f"{exercise_id}-solution-end"),
        check,
        new_raw_cell("# BEGIN TESTS", id=f"{exercise_id}-tests"),
        new_code_cell("\n".join(test), id=f"{exercise_id}-test"),
        new_raw_cell("# END TESTS", id=f"{exercise_id}-tests-end"),
        new_raw_cell("# END QUESTION", id=f"{exercise_id}-question-end"),
    ]


def _manual(starter: NotebookNode, check: NotebookNode, points: int) -> list[NotebookNode]:
    """An open question: marked by hand, with the model answer for the teacher.

    Its check stands behind the question, as otter gives a question in words no cell of code.
    """
    exercise_id = starter.metadata["exercise"]["id"]
    model = new_markdown_cell(reference_source(exercise_id), id=f"{exercise_id}-model")
    about = f"# BEGIN QUESTION\nname: {exercise_id}\nmanual: true\npoints: {points}"
    return [
        new_raw_cell(f"{about}\ncheck_cell: false", id=f"{exercise_id}-question"),
        new_raw_cell("# BEGIN PROMPT", id=f"{exercise_id}-prompt"),
        starter,
        new_raw_cell("# END PROMPT", id=f"{exercise_id}-prompt-end"),
        new_raw_cell("# BEGIN SOLUTION", id=f"{exercise_id}-solution"),
        model,
        new_raw_cell("# END SOLUTION", id=f"{exercise_id}-solution-end"),
        new_raw_cell("# END QUESTION", id=f"{exercise_id}-question-end"),
        check,
    ]


def assignment(sheet: Sheet) -> NotebookNode:
    """The teacher's notebook of a sheet, with the reference solutions.

    Parameters
    ----------
    sheet : Sheet
        Which exercises.

    Returns
    -------
    nbformat.NotebookNode
        In the format of otter assign.
    """
    notebook = student_notebook(sheet)
    cells = [
        new_markdown_cell(WARNING.format(sheet=sheet.name), id="sheet-teacher"),
        new_raw_cell(CONFIG.format(sheet=sheet.name), id="sheet-config"),
    ]
    for cell, following in pairwise([*notebook.cells, None]):
        tag = cell.metadata.get("exercise", {})
        if tag.get("role") == "starter":
            in_words = exercise(tag["id"]).kind == "open"
            cells += (_manual if in_words else _question)(cell, following, sheet.worth(tag["id"]))
        elif tag.get("role") != "check":  # it comes with its starter
            cells.append(cell)
    notebook.cells = cells
    return notebook


def write(sheets: list[Sheet], folder: Path) -> list[str]:
    """Write the teacher's notebooks.

    Parameters
    ----------
    sheets : list of Sheet
        One assignment each.
    folder : Path
        Each gets a folder in here.

    Returns
    -------
    list of str
        How to go on.
    """
    for sheet in sheets:
        text = nbformat.writes(assignment(sheet)) + "\n"
        replace_file(folder / sheet.name / FOLDER / f"{sheet.name}.ipynb", text)
    names = f"{len(sheets)} sheets" if len(sheets) > 1 else sheets[0].name
    at, otter = quote(str(folder / sheets[0].name)), quote(str(BIN / "otter"))
    return [
        f"{names} in {folder}, each with its solutions in {FOLDER}. Make the students' copy:",
        f"cd {at} && {otter} assign {FOLDER}/{sheets[0].name}.ipynb dist",
        "and grade one notebook, for five minutes at most:",
        f"cd {at} && MINI_ATTN_PROGRESS=off timeout 300 "
        f"{otter} run -a dist/autograder/*.zip NOTEBOOK",
    ]


def main(arguments: list[str] | None = None) -> int:
    """The command; its exit status."""
    return command("otter", write, arguments)


if __name__ == "__main__":
    sys.exit(main())
