"""What each chapter holds and weighs, as a table. ``make chapters``, after ``make book``."""

import ast
import re
import sqlite3
from pathlib import Path

import nbformat

from tools import HTML, ROOT
from tools.pages import Page, weight

WORDS_A_MINUTE = 180
CELL_SECONDS = 8  # a short cell of code with its output
PREDICTION_SECONDS = 30
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
FORMULA = re.compile(r"\$\$.*?\$\$", re.DOTALL)

HEAD = "chapter minutes cells pictures predictions exercises assertions seconds kB"


def seconds_of(stem: str) -> str:
    """How long the build ran a chapter's cells."""
    database = ROOT / "_build/.jupyter_cache/global.db"
    if not database.exists():
        return "–"
    rows = sqlite3.connect(database).execute(
        "select data from nbcache where uri like ?", (f"%/{stem}.ipynb",)
    )
    found = [re.search(r'"execution_seconds": ([\d.]+)', str(row[0])) for row in rows]
    return f"{float(found[-1][1]):.1f}" if found and found[-1] else "–"


def reading_minutes(cells: list[nbformat.NotebookNode]) -> float:
    """To read a chapter; its exercises, which take as long as they take, are not in it."""
    minutes, reading = 0.0, True
    for cell in cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "markdown":
            for name in SECTION.findall(cell.source):
                reading = name != "Exercises"
            words = len(FORMULA.sub(" ", cell.source).split())
            minutes += reading * words / WORDS_A_MINUTE
        elif "remove-input" not in tags:
            minutes += reading * CELL_SECONDS / 60
        minutes += ("prediction" in tags) * PREDICTION_SECONDS / 60
    return minutes


def facts(path: Path) -> list[object]:
    """One row of the table."""
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    tags = [tag for cell in cells for tag in cell.metadata.get("tags", [])]
    asserted = sum(
        isinstance(node, ast.Assert) for cell in code for node in ast.walk(ast.parse(cell.source))
    )
    starters = [c for c in code if c.metadata.get("exercise", {}).get("role") == "starter"]
    page = HTML / f"book/{path.stem}.html"
    heavy = f"{weight(Page(page)) / 1e3:.0f}" if page.exists() else "–"
    return [
        path.stem, round(reading_minutes(cells)), len(cells), tags.count("widget"),
        tags.count("prediction"), len(starters), asserted, seconds_of(path.stem), heavy,
    ]  # fmt: skip


def main() -> None:
    """Print the table in the order of the book."""
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    stems = re.findall(r"file: book/([\w-]+)", toc)
    print("| " + " | ".join(HEAD.split()) + " |")
    print("|---" * len(HEAD.split()) + "|")
    for stem in stems:
        path = ROOT / f"book/{stem}.ipynb"
        if path.exists():
            print("| " + " | ".join(map(str, facts(path))) + " |")


if __name__ == "__main__":
    main()
