"""Reads one notebook that a student sent: which cells belong to which exercise."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from classroom.files import Found
from mini_attn.exercises.spec import exercise

__all__ = ["RELEASE", "SOURCE_CHARACTERS", "Notebook", "read_notebook", "untouched"]

SOURCE_CHARACTERS = 200_000  # of one exercise
PARTS = 300_000  # brackets in a file: a large notebook has a tenth of that
# Both look at a text of any length and origin: no two neighbours in them match the same letter.
CHECK = re.compile(r"""^[ \t]*check\([ \t]*["'](\w{1,60})["']""", re.MULTILINE)
DEFINES = r"^(?:def[ \t]+{0}\b|{0}[ \t]*=(?!=))"
NAME = re.compile(r"[*_ \t]*name[*_ \t]*:[*_ \t]*(\w.{0,80})", re.IGNORECASE)
PROBLEMS = 20  # of one file
RELEASE = version("mini_attn")


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


def _parse(content: bytes) -> tuple[list[_Cell], str | None, list[str]] | str:
    """The cells of a notebook, its version and what is odd about it, or why it is none."""
    if content.count(b"{") + content.count(b"[") > PARTS or content.count(b",") > 10 * PARTS:
        return "this file has far more parts than a notebook"
    odd = []
    try:
        try:
            data = json.loads(content)
        except UnicodeDecodeError:  # an editor on Windows may have saved it
            data = json.loads(content.decode("cp1252"))
            odd.append("this file is not in UTF-8; it was read as Windows-1252")
    except (ValueError, RecursionError):
        return "this file is no notebook (broken or cut off)" if content else "this file is empty"
    if isinstance(data, dict) and isinstance(data.get("worksheets"), list):
        return "saved in notebook format 3: open it in a current Jupyter and save it again"
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        return "this file is no notebook (it has no cells)"
    return [cell for cell in map(_cell, data["cells"]) if cell is not None], _version(data), odd


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


def untouched(key: str, sources: list[str]) -> bool:
    """Whether an answer is as it was handed out."""
    return "".join(sources).strip() == exercise(key).starter.strip()


def _elsewhere(cells: list[_Cell], keys: Iterable[str]) -> dict[str, list[str]]:
    """Answers in cells of the student's own, below the check or above another check of it.

    The last cell that defines what the check asks for, and those before it.
    """
    names = {key: re.escape(exercise(key).name) for key in keys}
    defines = {k: re.compile(DEFINES.format(name), re.MULTILINE) for k, name in names.items()}
    own: dict[str, list[str]] = {key: [] for key in names}
    found: dict[str, list[str]] = {}
    current = None
    for cell in cells:
        if cell.role is not None:
            current = cell.exercise
        elif cell.kind == "markdown" and cell.source.lstrip().startswith("#"):
            current = None
        elif cell.kind == "code":
            check = CHECK.search(cell.source)
            key = check[1] if check else current
            if key in own:
                own[key].append(cell.source[: check.start()] if check else cell.source)
                if defines[key].search(own[key][-1]):
                    found[key] = list(own[key])
    return found


@dataclass(frozen=True)
class Notebook:
    """What one file holds that can be graded: small, however large the file is."""

    parts: tuple[str, ...]
    cells: dict[str, list[str]]
    problems: list[str]
    written_name: str | None = None


def _answers(cells: list[_Cell], known: set[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Sources by exercise, and what was odd about their places."""
    found, odd = _by_tags(cells), []
    untagged = {k: v for k, v in _by_checks(cells).items() if k in known and k not in found}
    if untagged:
        odd.append(f"found by the check below, as the cells lost their tags: {', '.join(untagged)}")
    open_ones = [key for key in found if key in known and untouched(key, found[key])]
    moved = _elsewhere(cells, open_ones)
    if moved:
        odd.append(f"answered in another cell than the one meant for it: {', '.join(moved)}")
    return found | moved | untagged, odd


def _name(cells: list[_Cell]) -> str | None:
    """What stands in the cell for the name, also if its tag is lost."""
    tagged = [cell for cell in cells if cell.role == "name"]
    others = [cell for cell in cells if cell.kind == "markdown" and cell.source.startswith("**")]
    names = [NAME.match(cell.source) for cell in tagged or others]
    return next((found[1].strip() for found in names if found), None)


def read_notebook(file: Found, known: set[str]) -> Notebook:
    """Read one file.

    Parameters
    ----------
    file : Found
        As it was found.
    known : set of str
        Ids of all exercises.

    Returns
    -------
    Notebook
        The cells by exercise, and what could not be used.
    """
    place = "/".join(file.parts)
    parsed = _parse(file.content) if file.content is not None else str(file.problem)
    if isinstance(parsed, str):
        return Notebook(file.parts, {}, [f"{place}: {parsed}"])
    cells, made, problems = parsed
    if made not in (None, RELEASE):
        problems.append(f"handed out by version {made}, graded by {RELEASE}")
    found, odd = _answers(cells, known)
    problems += odd
    kept: dict[str, list[str]] = {}
    for key, sources in found.items():
        if key not in known:
            problems.append(f"there is no exercise {key[:40]!r}")
        elif sum(map(len, sources)) > SOURCE_CHARACTERS:
            problems.append(f"the cells of {key} are too long")
        else:
            kept[key] = sources
    if not found:
        problems.append("no exercise in this notebook")
    said = [f"{place}: {problem}" for problem in problems[:PROBLEMS]]
    return Notebook(file.parts, kept, said, _name(cells))
