"""Reads one notebook that a student sent: which cells belong to which exercise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from classroom.submissions.archives import Found
from classroom.submissions.cells import SOURCE_CHARACTERS, Cell, read_cells
from classroom.submissions.names import defined, given_to_check
from classroom.submissions.progress import answers_in_progress, is_progress
from classroom.submissions.prose import CHECK, answers_in_words, shortened_prose
from mini_attn import __version__
from mini_attn.exercises.spec import exercise

__all__ = ["Notebook", "gist", "read_notebook", "same_text", "untouched"]

DEFINES = r"^(?:def[ \t]+{0}\b|{0}[ \t]*=(?!=))"
# It looks at a text of any length and origin: no two neighbors match the same letter.
NAME = re.compile(r"[*_ \t]*name[*_ \t]*:[*_ \t]*(\w.{0,80})", re.IGNORECASE)
DEFINITION = re.compile(r"^(?:def[ \t]|[A-Za-z_]\w{0,60}[ \t]{0,9}=(?!=))", re.MULTILINE)
PROBLEMS = 20  # of one file
CELLS = 1_000  # of one exercise
CHECKS = 100  # in one cell


def _by_tags(cells: list[Cell]) -> dict[str, list[str]]:
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


def _checks(source: str) -> dict[str, int]:
    """Return where each check of a cell stands, by exercise; of two checks of one the later counts.

    The code above it is its answer, and a check in that code does nothing where answers are
    graded. Places, not code: a copy for each check would be quadratic.
    """
    places: dict[str, int] = {}
    for check in CHECK.finditer(source):
        if check[1] in places or len(places) < CHECKS:
            places[check[1]] = check.start()
    return places


def _below(source: str, places: Iterable[int]) -> list[str]:
    """Return a cell again, if it defines something below its last check."""
    rest = source[max(places, default=0) :]
    return [source] if DEFINITION.search(rest) else []


def _add(found: dict[str, list[str]], key: str, sources: list[str]) -> None:
    """More code of an answer, as long as it is not too long already: what is over is told later."""
    own = found.setdefault(key, [])
    if len(own) <= CELLS and sum(map(len, own)) <= SOURCE_CHARACTERS:
        own.extend(sources[: CELLS + 1])


def _by_checks(cells: list[Cell], known: set[str]) -> dict[str, list[str]]:
    """Without tags: the code above each check, up to the heading or check before it.

    A check right below another one is about the same code.
    """
    found: dict[str, list[str]] = {}
    above: list[str] = []
    last: list[str] = []
    for cell in cells:
        if cell.kind == "markdown" and cell.source.lstrip().startswith("#"):
            above, last = [], []
        elif cell.kind == "code":
            places = _checks(cell.source)
            for key in [key for key in places if key in known] or list(places)[-1:]:
                own = cell.source[: places[key]]
                code = above + [own] * bool(own.strip())
                last = code or last
                if key in known and (code or key not in found):
                    _add(found, key, last)
            if places:
                above = _below(cell.source, places.values())
            elif cell.source.strip():
                above.append(cell.source)
    return {key: sources for key, sources in found.items() if sources}


def gist(sources: list[str]) -> str:
    """Return an answer without what editors change: line ends, blanks behind, empty lines."""
    lines = "\n".join(sources).splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip())


def same_text(first: list[str], second: list[str]) -> bool:
    """Return whether two answers say the same."""
    return gist(first) == gist(second)


def _meaning(text: str) -> str | None:
    """Return what Python reads in it, without comments and layout."""
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def untouched(key: str, sources: list[str]) -> bool:
    """Return whether an answer is as it was handed out: nothing that Python reads was changed."""
    text, given = gist(sources), gist([exercise(key).starter])
    if exercise(key).kind == "open":
        return text in ("", given)
    if text == given:
        return True
    if len(text) > 2 * len(given) + 200:  # of any length: most answers need no parser
        return False
    return _meaning(text) == _meaning(given)


def _elsewhere(cells: list[Cell], keys: Iterable[str]) -> dict[str, list[str]]:
    """Answers in cells of the student's own, below the check or above another check of it.

    The last cell that defines what the check asks for, and those before it.
    """
    names = {key: re.escape(exercise(key).name) for key in keys}
    defines = {k: re.compile(DEFINES.format(name), re.MULTILINE) for k, name in names.items()}
    own: dict[str, list[str]] = {key: [] for key in names}
    last: dict[str, int] = {}  # how many of them count: a copy for each would be quadratic
    current = None
    for cell in cells:
        if cell.role is not None:
            current = cell.exercise
        elif cell.kind == "markdown" and cell.source.lstrip().startswith("#"):
            current = None
        if cell.kind != "code":
            continue
        places = _checks(cell.source)
        if not places and cell.role is None and current is not None:
            places = {current: len(cell.source)}
        for key in places.keys() & own.keys():
            code = cell.source[: places[key]]
            _add(own, key, [code] * bool(code.strip()))
            if defines[key].search(code):
                last[key] = len(own[key])
    return {key: own[key][:count] for key, count in last.items()}


@dataclass(frozen=True)
class Notebook:
    """What one file holds that can be graded: small, however large the file is."""

    parts: tuple[str, ...]
    cells: dict[str, list[str]]
    problems: list[str]
    written_name: str | None = None
    defined: dict[str, int] = field(default_factory=dict)
    checked: dict[str, str] = field(default_factory=dict)
    time: datetime | None = None
    key: str = ""


def _answers(cells: list[Cell], known: set[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Sources by exercise, and what was odd about their places."""
    (words, lost), odd = answers_in_words(cells, known), []
    found = {**_by_tags(cells), **words}
    untagged = {k: v for k, v in _by_checks(cells, known).items() if k not in found}
    if without := [*untagged, *lost]:
        odd.append(f"found by the check below, as the cells lost their tags: {', '.join(without)}")
    code = [key for key in found if key in known and exercise(key).name]
    moved = _elsewhere(cells, [key for key in code if untouched(key, found[key])])
    if moved:
        odd.append(f"answered in another cell than the one meant for it: {', '.join(moved)}")
    return found | moved | untagged, odd


def _name(cells: list[Cell]) -> str | None:
    """Return what stands in the cell for the name, also if its tag is lost."""
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
    try:
        return _read(file, known)
    except Exception as error:  # no reader foresees every file: it is its author's problem alone
        words = f"this cannot be read ({type(error).__name__})"
        return Notebook(file.parts, {}, [f"{'/'.join(file.parts)}: {words}"])


def _read(file: Found, known: set[str]) -> Notebook:
    """As `read_notebook`, if nothing unforeseen happens."""
    place = "/".join(file.parts)
    if file.content is not None and is_progress(file.content):
        found, problems = answers_in_progress(file.content, known)
        said = [f"{place}: {problem}" for problem in problems[:PROBLEMS]]
        return Notebook(file.parts, found, said, time=file.time)
    parsed = read_cells(file.content) if file.content is not None else str(file.problem)
    if isinstance(parsed, str):
        return Notebook(file.parts, {}, [f"{place}: {parsed}"])
    cells, own, problems = parsed
    if (made := own.get("version", __version__)) != __version__:
        problems.append(f"handed out by version {made}, graded by {__version__}")
    found, odd = _answers(cells, known)
    problems += odd
    kept: dict[str, list[str]] = {}
    for key, sources in found.items():
        if key not in known:
            problems.append(f"there is no exercise {key[:40]!r}")
        elif not exercise(key).name:
            kept[key], is_long = shortened_prose(sources)
            problems += [f"the text of {key} is too long: the rest is left out"] * is_long
        elif sum(map(len, sources)) > SOURCE_CHARACTERS or len(sources) > CELLS:
            problems.append(f"the cells of {key} are too long")
        else:
            kept[key] = sources
    if not found:
        problems.append("no exercise in this notebook")
    said = [f"{place}: {problem}" for problem in problems[:PROBLEMS]]
    names = _name(cells), defined(cells), given_to_check(cells)
    return Notebook(file.parts, kept, said, *names, file.time, own.get("student", ""))
