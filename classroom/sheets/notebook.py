"""The student's notebook: one sheet of exercises that runs in plain Jupyter."""

from __future__ import annotations

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from classroom.sheets.chapter import chapter_title
from classroom.sheets.sheet import Sheet, chapters, tasks_of
from classroom.sheets.standalone import source_line, standalone
from classroom.sheets.students import Student
from mini_attn.exercises.spec import exercise

__all__ = ["student_notebook", "title"]

HOW = """Each exercise has two code cells. Write your answer into the first and run it; then run \
the second, the check, which says whether the answer is right or which idea is missing. Run \
checks as often as you like. In a cell of your own, `hint("{first}")` gives a hint to an \
exercise, and `progress()` shows where you are.

Write your name below (a double click opens the line). To hand in, save this file and send it as \
it is; exercises that you leave out cost their own points only. Each is graded on its own: what an \
answer needs stands in its first cell, or between that cell and the check. Keep the cells that are \
here.

*{points} points · made from mini_attn {version}*"""
SETUP = "import numpy as np\n\nfrom mini_attn.exercises import check, hint, progress"
IN_WORDS = """

Some questions are answered in words: in the cell of text below them. A person reads and marks \
them; their check shows what for."""
OWN = """

*The numbers of some exercises were drawn for you alone: those of others are no answer here. Their \
line in the first code cell stays as it is.*"""


def title(sheet: Sheet) -> str:
    """Return the heading of a sheet: its chapter's title, or its name."""
    if sheet.name in chapters() and sheet.exercises == tasks_of(sheet.name):
        return f"{chapter_title(sheet.name)} · exercises"
    return f"Problem sheet: {sheet.name}"


def _cells(number: int, exercise_id: str, points: int, key: str) -> list[nbformat.NotebookNode]:
    """Return the three cells of an exercise."""
    found = exercise(exercise_id)
    heading = f"### Exercise {number}: {found.title}"
    line = f"*{found.label.rpartition(' · ')[0]} · {points} points*"
    text = f"{heading}\n\n{line}\n\n{source_line(exercise_id)}\n\n"
    text += standalone(exercise_id, key)
    cells = [new_markdown_cell(text, id=f"{exercise_id}-text")]
    for role, source in (("starter", found.starter), ("check", found.check)):
        metadata = {"exercise": {"id": exercise_id, "role": role}}
        about = {"id": f"{exercise_id}-{role}", "metadata": metadata}
        in_words = found.kind == "open" and role == "starter"
        cells.append(
            new_markdown_cell(source, **about) if in_words else new_code_cell(source, **about)
        )
    return cells


def student_notebook(sheet: Sheet, student: Student | None = None) -> nbformat.NotebookNode:
    """Return the notebook of a sheet, as a student gets it.

    Parameters
    ----------
    sheet : Sheet
        Which exercises, in which order.
    student : Student or None
        Whose it is, if numbers are drawn.

    Returns
    -------
    nbformat.NotebookNode
        Without outputs; the same sheet gives the same notebook, cell ids included.
    """
    how = HOW.format(first=sheet.exercises[0], points=sheet.points, version=sheet.version)
    name = {"exercise": {"role": "name"}}
    key = student.key if student else ""
    own = {"student": key} if student else {}
    asks_for_words = any(exercise(i).kind == "open" for i in sheet.exercises)
    about = f"{how}{IN_WORDS if asks_for_words else ''}{OWN if student else ''}"
    cells = [
        new_markdown_cell(f"# {title(sheet)}\n\n{about}", id="sheet-title"),
        new_markdown_cell(
            f"**Name:** {student.name if student else ''}", id="sheet-name", metadata=name
        ),
        new_code_cell(
            f'{SETUP}, variant\n\nvariant("{key}")' if student else SETUP, id="sheet-setup"
        ),
    ]
    for number, exercise_id in enumerate(sheet.exercises, 1):
        cells += _cells(number, exercise_id, sheet.worth(exercise_id), key)
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
        "mini_attn": {**sheet.as_data(), **own},
    }
    return new_notebook(cells=cells, metadata=metadata)
