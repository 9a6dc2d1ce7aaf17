"""Print each chapter's contents and weight as a table. ``make chapters``, after ``make book``."""

import ast
import re
import runpy
import sqlite3
from pathlib import Path

import nbformat

from tools import HTML, ROOT
from tools.pages import Page, weight

HEAD = "chapter minutes cells pictures predictions exercises assertions seconds kB"
FACTS = runpy.run_path(str(ROOT / "book/_ext/chapter_facts.py"), run_name="chapter_facts")


def seconds_of(stem: str) -> str:
    """Return how long the build ran a chapter's cells."""
    database = ROOT / "_build/.jupyter_cache/global.db"
    if not database.exists():
        return "–"
    rows = sqlite3.connect(database).execute(
        "select data from nbcache where uri like ?", (f"%/{stem}.ipynb",)
    )
    found = [re.search(r'"execution_seconds": ([\d.]+)', str(row[0])) for row in rows]
    return f"{float(found[-1][1]):.1f}" if found and found[-1] else "–"


def facts(path: Path) -> list[object]:
    """One row of the table."""
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    tags = [tag for cell in cells for tag in cell.metadata.get("tags", [])]
    asserted = sum(
        isinstance(node, ast.Assert) for cell in code for node in ast.walk(ast.parse(cell.source))
    )
    starters = [c for c in cells if c.metadata.get("exercise", {}).get("role") == "starter"]
    page = HTML / f"book/{path.stem}.html"
    heavy = f"{weight(Page(page)) / 1e3:.0f}" if page.exists() else "–"
    return [
        path.stem, FACTS["Chapter"](path.stem, "", 0).reading, len(cells),
        tags.count("widget") + tags.count("living-plot"),
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
