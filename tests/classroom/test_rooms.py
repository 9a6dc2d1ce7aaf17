"""Each room imports the rooms above it, and the sandbox nothing that it could not lock."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("sheets", "submissions", "sandbox", "reports", "grading", "adapters")
ALL = {p.relative_to(ROOT).as_posix(): p.read_text() for p in (ROOT / "classroom").rglob("*.py")}


def imported(source: str) -> set[str]:
    """Dotted names of all modules that a source imports, wherever it does."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def violations(sources: dict[str, str]) -> list[str]:
    """Sentences, one for each import that is not allowed."""
    found = []
    for path, source in sources.items():
        room = path.split("/")[1]
        # What stands beside the rooms is nobody's, and may be imported by all of them.
        lower = ROOMS[ROOMS.index(room) + 1 :] if room in ROOMS else ()
        for name in imported(source):
            first, second = [*name.split("."), ""][:2]
            refused = first == "classroom" and second in lower
            if room == "sandbox":
                refused = first not in {*sys.stdlib_module_names, "numpy", "classroom"}
                refused = refused or (first == "classroom" and second != "sandbox")
            if refused:
                found.append(f"{path} imports {name}")
    return found


def test_every_folder_is_a_room() -> None:
    folders = {path.split("/")[1] for path in ALL if path.count("/") > 1}
    assert folders == set(ROOMS)


def test_no_import_leads_down() -> None:
    assert violations(ALL) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("classroom/sheets/a.py", "from classroom.grading.judge import judge"),
        ("classroom/reports/a.py", "def f():\n    from classroom.adapters import hub"),
        ("classroom/submissions/a.py", "import classroom.reports.report"),
        ("classroom/sandbox/a.py", "from classroom.sheets.sheet import chosen"),
        ("classroom/sandbox/a.py", "from mini_attn.exercises import runner"),
        ("classroom/sandbox/a.py", "import yaml"),
    ],
)
def test_the_rule_can_be_broken(path: str, source: str) -> None:
    assert len(violations({path: source})) == 1
