"""What a fault is, and where the list of them comes from.

Each ``.toml`` file beside this one lists faults: ``what`` is wrong, the file's ``path``, the
``old`` text that stands there exactly once, the ``new`` text, and the ``tests`` that should
notice (stems, or ``stem::test`` where the others take long; likely ones first). A path with
``{backend}`` in it is two faults. A fault that no test can notice says why in ``argued``.
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LISTS = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    """One change of one file that makes the package wrong."""

    what: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]
    argued: str = ""

    @property
    def name(self) -> str:
        return f"{self.path.removeprefix('mini_attn/')}: {self.what}"


def _file_of(stem: str) -> str:
    """Where the tests of a stem lie: in one of the rooms."""
    (found,) = (ROOT / "tests").glob(f"*/test_{stem}.py")
    return found.relative_to(ROOT).as_posix()


def expand(entry: dict[str, Any]) -> list[Fault]:
    """An entry of a list as one fault, or one for each backend."""
    named = (test.partition("::") for test in entry["tests"])
    tests = tuple(f"{_file_of(stem)}{colons}{name}" for stem, colons, name in named)
    paths = {entry["path"].replace("{backend}", backend): None for backend in ("numpy", "torch")}
    return [Fault(**{**entry, "path": path, "tests": tests}) for path in paths]


def all_faults(folder: Path = LISTS) -> list[Fault]:
    """Every fault of every list."""
    entries = [
        entry
        for path in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
    ]
    return [fault for entry in entries for fault in expand(entry)]


def changed(source: str, fault: Fault) -> str:
    """The source with the fault in it; refuses a fault that no longer fits."""
    found = source.count(fault.old)
    if found != 1:
        raise ValueError(f"{fault.name}: the old text stands there {found} times, not once")
    wrong = source.replace(fault.old, fault.new)
    if fault.path.endswith(".py") and ast.dump(ast.parse(source)) == ast.dump(ast.parse(wrong)):
        raise ValueError(f"{fault.name}: the program stays the same")
    return wrong
