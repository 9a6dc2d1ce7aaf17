"""Compare the exercises' cells of the chapters with the bank; ``--write`` writes them anew.

An exercise is three cells of its chapter: the text, the starter and the check, the last two tagged.
The starter of an open question is text too; the page has a field in its place, and leaves it out.
Their order is the chapter's own. One that its chapter does not have yet goes behind the others.
"""

import sys
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from mini_attn.exercises.spec import Exercise, exercise, exercise_ids
from tools import ROOT

Cell = nbformat.NotebookNode


def sources(task: Exercise, number: int) -> list[str]:
    """Return the sources of an exercise's three cells, given its number on the page."""
    assessed = " · assessed" if task.assessed else ""
    text = f"### Exercise {number}: {task.title}\n\n*{task.label}{assessed}*\n\n{task.text}"
    return [text, task.starter, task.check]


def tagged(task: Exercise, role: str) -> Cell:
    """An empty starter or check."""
    about: dict[str, Any] = {"exercise": {"id": task.id, "role": role}}
    if task.kind == "open" and role == "starter":
        about |= {"tags": ["remove-cell"]}
        return new_markdown_cell(id=f"{task.id}-{role}", metadata=about)
    return new_code_cell(id=f"{task.id}-{role}", metadata=about)


def added(cells: list[Cell], page: str) -> list[str]:
    """Add empty cells for exercises that the chapter does not have yet; their ids."""
    tags = [cell.metadata.get("exercise", {}) for cell in cells]
    last = max(
        (at for at, tag in enumerate(tags) if tag.get("role") == "check"), default=len(tags) - 1
    )
    known = {tag["id"] for tag in tags if tag}
    new = [i for i in exercise_ids() if exercise(i).page == page and i not in known]
    for key in reversed(new):
        cells[last + 1 : last + 1] = [
            new_markdown_cell(id=f"{key}-text"),
            *(tagged(exercise(key), role) for role in ("starter", "check")),
        ]
    return new


def update(cells: list[Cell], page: str) -> list[str]:
    """Bring a chapter's cells in line with the bank; the ids of exercises that were not.

    Raises
    ------
    ConfigError
        If a cell is tagged with an exercise that the bank does not have.
    ValueError
        If an exercise's three cells do not stand together, or it belongs to another page.
    """
    differing, number = added(cells, page), 0
    for at, cell in enumerate(cells):
        tag = cell.metadata.get("exercise", {})
        if tag.get("role") != "starter":
            continue
        task, three = exercise(tag["id"]), cells[at - 1 : at + 2]
        check = three[-1].metadata.get("exercise")
        if three[0].cell_type != "markdown" or check != {"id": task.id, "role": "check"}:
            raise ValueError(f"{page}: text, starter and check of {task.id} do not stand together")
        if task.page != page:
            raise ValueError(f"{task.id} stands on {page}, its bank says {task.page}")
        number += 1
        wanted = sources(task, number)
        if [c.source for c in three] != wanted:
            differing.append(task.id)
        for c, source in zip(three, wanted, strict=True):
            c.source = source
    return list(dict.fromkeys(differing))


def main(*, write: bool) -> int:
    """Go through all chapters with exercises; 1 if something differs and is not written."""
    found = []
    for page in sorted({exercise(key).page for key in exercise_ids()}):
        path = ROOT / f"book/{page}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        differing = update(notebook.cells, page)
        if differing and write:
            path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
        found += [f"{page}: {key}" for key in differing]
    word = "written" if write else "differs from the bank; --write writes it"
    for place in found:
        print(f"[exercises] {place} {word}")
    return int(bool(found) and not write)


if __name__ == "__main__":
    sys.exit(main(write="--write" in sys.argv[1:]))
