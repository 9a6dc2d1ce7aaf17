"""Reads what students sent: who, and which cells belong to which exercise."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from classroom.files import Found, find
from mini_attn.exercises.spec import exercise_ids

__all__ = ["Submission", "read"]

SOURCE_CHARACTERS = 200_000  # of one exercise
PARTS = 300_000  # brackets in a file: a large notebook has a tenth of that
# Both look at a text of any length and origin: no two neighbours in them match the same letter.
CHECK = re.compile(r"""^[ \t]*check\([ \t]*["'](\w{1,60})["']""", re.MULTILINE)
NAME = re.compile(r"[*_ \t]*name[*_ \t]*:[*_ \t]*(\w.{0,80})", re.IGNORECASE)
PROBLEMS = 20  # of one file
RELEASE = version("mini_attn")


@dataclass
class Submission:
    """All that one student sent.

    Parameters
    ----------
    student : str
        The first part of the files' place: a folder's or a file's name without its ending.
    written_name : str or None
        What stands in the cell for the name.
    files : list of str
        The notebooks that were read.
    problems : list of str
        Files and cells that could not be used, in words.
    cells : dict of str to list of str
        Sources by exercise, in the order of the notebook.
    """

    student: str
    written_name: str | None = None
    files: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    cells: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Cell:
    kind: str
    source: str
    role: str | None
    exercise: str | None


def _text(value: Any) -> str:
    """A source as nbformat allows it: a text, or a list of lines."""
    if isinstance(value, list):
        value = "".join(line for line in value if isinstance(line, str))
    # One more than allowed, so that it is still seen to be too long.
    return value[: SOURCE_CHARACTERS + 1] if isinstance(value, str) else ""


def _cell(data: Any) -> _Cell | None:
    """A cell, if this is one."""
    if not isinstance(data, dict):
        return None
    metadata = data.get("metadata")
    tag = metadata.get("exercise") if isinstance(metadata, dict) else None
    tag = tag if isinstance(tag, dict) else {}
    role, key = tag.get("role"), tag.get("id")
    return _Cell(
        kind=str(data.get("cell_type")),
        source=_text(data.get("source")),
        role=role if isinstance(role, str) else None,
        exercise=key if isinstance(key, str) else None,
    )


def _version(data: dict[str, Any]) -> str | None:
    """The version of the project that a notebook was handed out by, if it says so."""
    metadata = data.get("metadata")
    own = metadata.get("mini_attn") if isinstance(metadata, dict) else None
    made = own.get("version") if isinstance(own, dict) else None
    return made[:20] if isinstance(made, str) else None


def _parse(content: bytes) -> tuple[list[_Cell], str | None] | str:
    """The cells of a notebook and its version, or why it is none."""
    if content.count(b"{") + content.count(b"[") > PARTS or content.count(b",") > 10 * PARTS:
        return "this file has far more parts than a notebook"
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return "this file is no notebook (broken or cut off)" if content else "this file is empty"
    if isinstance(data, dict) and isinstance(data.get("worksheets"), list):
        return "saved in notebook format 3: open it in a current Jupyter and save it again"
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        return "this file is no notebook (it has no cells)"
    return [cell for cell in map(_cell, data["cells"]) if cell is not None], _version(data)


def _by_tags(cells: list[_Cell]) -> dict[str, list[str]]:
    """Tagged starter cells, with untagged code between a starter and its check.

    A cell that a student put between the two is taken for a helper of that answer.
    """
    found: dict[str, list[str]] = {}
    current = None
    for cell in cells:
        if cell.role == "starter" and cell.exercise and cell.kind == "code":
            current = cell.exercise
            found.setdefault(current, []).append(cell.source)
        elif cell.role is not None or (cell.kind == "markdown" and cell.source.startswith("#")):
            current = None
        elif cell.kind == "code" and current and not CHECK.search(cell.source):
            found[current].append(cell.source)
        elif cell.kind == "code":
            current = None
    return found


def _by_checks(cells: list[_Cell]) -> dict[str, list[str]]:
    """Without tags: the code above each check, up to the heading or check before it."""
    found: dict[str, list[str]] = {}
    above: list[str] = []
    for cell in cells:
        if cell.kind == "markdown" and cell.source.lstrip().startswith("#"):
            above = []
        elif cell.kind == "code":
            check = CHECK.search(cell.source)
            own = cell.source[: check.start()] if check else cell.source
            above += [own] if own.strip() else []
            if check:
                if above:
                    found.setdefault(check[1], []).extend(above)
                above = []
    return found


@dataclass(frozen=True)
class _Notebook:
    """What one file holds that can be graded: small, however large the file is."""

    parts: tuple[str, ...]
    cells: dict[str, list[str]]
    problems: list[str]
    written_name: str | None = None


def _read_file(file: Found, known: set[str]) -> _Notebook:
    """One file: the cells by exercise, and what could not be used."""
    place = "/".join(file.parts)
    parsed = _parse(file.content) if file.content is not None else str(file.problem)
    if isinstance(parsed, str):
        return _Notebook(file.parts, {}, [f"{place}: {parsed}"])
    cells, made = parsed
    problems = []
    if made not in (None, RELEASE):
        problems.append(f"{place}: handed out by version {made}, graded by {RELEASE}")
    found = _by_tags(cells)
    lost = {k: v for k, v in _by_checks(cells).items() if k in known and k not in found}
    if lost:
        words = f"the marks of {', '.join(lost)} are lost; found by the check cells"
        problems.append(f"{place}: {words}")
    kept: dict[str, list[str]] = {}
    for key, sources in (found | lost).items():
        if key not in known:
            problems.append(f"{place}: there is no exercise {key[:40]!r}")
        elif sum(map(len, sources)) > SOURCE_CHARACTERS:
            problems.append(f"{place}: the cells of {key} are too long")
        else:
            kept[key] = sources
    if not found and not lost:
        problems.append(f"{place}: no exercise in this notebook")
    names = [NAME.match(cell.source) for cell in cells if cell.role == "name"]
    written = next((found[1].strip() for found in names if found), None)
    return _Notebook(file.parts, kept, problems[:PROBLEMS], written)


def _students(notebooks: list[_Notebook]) -> list[tuple[str, _Notebook]]:
    """Whose each notebook is."""
    first = {notebook.parts[0] for notebook in notebooks}
    depth = 0
    if len(first) == 1 and first.pop().lower().endswith(".zip"):
        # The whole class in one archive, perhaps in a folder of its own.
        depth = 1
        below = [n.parts[1:] for n in notebooks]
        shared = len({parts[:1] for parts in below}) == 1 and all(len(p) > 1 for p in below)
        if shared and len({parts[1] for parts in below}) > 1:
            depth = 2
    named = []
    for notebook in notebooks:
        entry = notebook.parts[min(depth, len(notebook.parts) - 1)]
        ending = entry.lower().endswith((".ipynb", ".zip"))
        named.append((entry.rsplit(".", 1)[0] if ending else entry, notebook))
    return named


def read(folder: Path) -> list[Submission]:
    """Read a folder of submissions.

    Parameters
    ----------
    folder : Path
        As in `classroom.files.find`. Each entry is a student's: a notebook, a folder or a zip
        file. If the only entry is a zip file, its entries are.

    Returns
    -------
    list of Submission
        By student, sorted.

    Raises
    ------
    ConfigError
        If there is no such folder.
    """
    known = set(exercise_ids())
    notebooks = [_read_file(file, known) for file in find(folder)]
    students: dict[str, Submission] = {}
    for student, notebook in _students(notebooks):
        place = "/".join(notebook.parts)
        sent = students.setdefault(student, Submission(student))
        sent.problems += notebook.problems
        if notebook.cells:
            sent.files.append(place)
        for key, sources in notebook.cells.items():
            if key in sent.cells:
                words = f"{key} was handed in more than once; this one counts"
                sent.problems.append(f"{place}: {words}")
            sent.cells[key] = sources
        sent.written_name = sent.written_name or notebook.written_name
    return [students[name] for name in sorted(students)]
