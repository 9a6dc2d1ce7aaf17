"""What a fault is, and where the list of them comes from.

Each ``.toml`` file beside this one lists faults: ``what`` is wrong, ``at`` which definition, the
``old`` code in it, the ``new`` code, and the ``tests`` that should notice (stems, or
``stem::test`` where the others take long; likely ones first). A fault that no test can notice
says why in ``argued``.

``at`` is a folder or a file, ``::`` and the name of a function, a class or a constant:
``mini_attn/{backend}::KVCache.append`` is that method in whatever file of the folder has it, and
two faults, one for each backend. Without a name the whole file is meant. ``old`` is code that
occurs there exactly once, however its lines are broken, quoted or commented, so neither
a formatter nor a move to another file of the folder breaks a fault.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LISTS = Path(__file__).parent
STRING = r"""(?P<text>\w{0,2}(?:"{3}(?s:.)*?"{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))"""
TOKENS = {
    ".py": re.compile(rf"(?P<space>\s+|\#.*)|{STRING}|\w+|."),
    ".js": re.compile(rf"(?P<space>\s+|//.*|/\*(?s:.)*?\*/)|{STRING}|\w+|."),
}
JS_NAME = re.compile(
    r"^(?:export )?(?:default )?(?:async )?(?:function\*?|const|let|class) (\w+)", re.M
)


@dataclass(frozen=True)
class Fault:
    """One change of one file that makes the package wrong."""

    what: str
    at: str
    old: str
    new: str
    tests: tuple[str, ...]
    argued: str = ""

    @property
    def name(self) -> str:
        return f"{self.at.removeprefix('mini_attn/')}: {self.what}"


def _file_of(stem: str) -> str:
    """Where the tests of a stem lie: in one of the rooms."""
    (found,) = (ROOT / "tests").glob(f"*/test_{stem}.py")
    return found.relative_to(ROOT).as_posix()


def expand(entry: dict[str, Any]) -> list[Fault]:
    """Return an entry of a list as one fault, or one for each backend."""
    if "path" in entry:
        raise ValueError(f"{entry['what']}: a fault has no path; `at` says room and definition")
    named = (test.partition("::") for test in entry["tests"])
    tests = tuple(f"{_file_of(stem)}{colons}{name}" for stem, colons, name in named)
    places = {entry["at"].replace("{backend}", backend): None for backend in ("numpy", "torch")}
    return [Fault(**{**entry, "at": at, "tests": tests}) for at in places]


def all_faults(folder: Path = LISTS) -> list[Fault]:
    """Return every fault of every list."""
    entries = [
        entry
        for path in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
    ]
    return [fault for entry in entries for fault in expand(entry)]


def tokens(code: str, suffix: str) -> list[tuple[str, int, int]]:
    """Return each token with where it begins and ends; layout, quotes and last commas don't count.

    Examples
    --------
    >>> [text for text, _, _ in tokens("f(a,  'b',\\n)  # why", ".py")]
    ['f', '(', 'a', ',', '"b"', ')']
    """
    found: list[tuple[str, int, int]] = []
    for match in TOKENS[suffix].finditer(code):
        text = match[0]
        if match["space"]:
            continue
        if match["text"] and text[-1] == "'" and '"' not in text:
            text = text.replace("'", '"')
        if text in ")]}" and found and found[-1][0] == ",":
            found.pop()
        found.append((text, match.start(), match.end()))
    return found


def _definitions(
    nodes: list[ast.stmt], prefix: str = "", *, local: bool = False
) -> Iterator[tuple[str, int, int]]:
    """Yield each qualified name with its first and last line; local variables have none."""
    for node in nodes:
        names = []
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not local:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        for name in names:
            yield prefix + name, first, node.end_lineno or first
        inner = prefix + names[0] + "." if names else prefix
        for block in ("body", "orelse", "finalbody"):
            inside = getattr(node, block, [])
            if isinstance(inside, list):
                yield from _definitions(inside, inner, local=function or (local and not names))


@cache
def definitions(source: str, suffix: str) -> dict[str, list[tuple[int, int]]]:
    """Return where each name is defined in a file, as spans of characters."""
    found: dict[str, list[tuple[int, int]]] = {}
    if suffix == ".js":
        starts = [(match[1], match.start()) for match in JS_NAME.finditer(source)]
        ends = [start for _, start in starts[1:]] + [len(source)]
        for (name, start), end in zip(starts, ends, strict=True):
            found.setdefault(name, []).append((start, end))
        return found
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    for name, first, last in _definitions(ast.parse(source).body):
        found.setdefault(name, []).append((lines[first - 1], lines[last]))
    return found


@cache
def files(top: Path) -> tuple[Path, ...]:
    """Return the files of a folder that a fault may change, or the one file."""
    if top.is_dir():
        return tuple(path for path in sorted(top.rglob("*.*")) if path.suffix in TOKENS)
    return (top,)


def occurrences(at: str, old: str, root: Path) -> Iterator[tuple[Path, int, int]]:
    """Yield where the old code stands in a place."""
    where, _, name = at.partition("::")
    for path in files(root / where):
        source = path.read_text(encoding="utf-8")
        whole = [] if name else [(0, len(source))]
        for start, end in whole or definitions(source, path.suffix).get(name, ()):
            wanted = [text for text, _, _ in tokens(old, path.suffix)]
            code = tokens(source[start:end], path.suffix)
            texts = [text for text, _, _ in code]
            for first in range(len(texts) - len(wanted) + 1):
                if texts[first : first + len(wanted)] == wanted:
                    yield path, start + code[first][1], start + code[first + len(wanted) - 1][2]


@cache
def _program(source: str) -> str:
    return ast.dump(ast.parse(source))


def changed(fault: Fault, root: Path = ROOT) -> tuple[str, str]:
    """Return a file's path and its source with the fault in it.

    Raises
    ------
    ValueError
        If the fault no longer fits or changes nothing.
    SyntaxError
        If what comes out is no Python.
    """
    found = set(occurrences(fault.at, fault.old, root))
    if len(found) != 1:
        raise ValueError(f"{fault.name}: the old code stands there {len(found)} times, not once")
    ((path, start, end),) = found
    source = path.read_text(encoding="utf-8")
    line = source[source.rfind("\n", 0, start) + 1 : start]
    indent = line[: len(line) - len(line.lstrip())]
    wrong = source[:start] + fault.new.replace("\n", "\n" + indent) + source[end:]
    if path.suffix == ".py" and _program(source) == ast.dump(ast.parse(wrong)):
        raise ValueError(f"{fault.name}: the program stays the same")
    return path.relative_to(root).as_posix(), wrong
