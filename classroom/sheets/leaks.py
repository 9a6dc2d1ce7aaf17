"""Is a solution in what is handed out? Looks into notebooks, wheels and archives."""

from __future__ import annotations

import ast
import inspect
import io
import json
import re
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from mini_attn.exercises.spec import exercise, exercise_ids

__all__ = ["code_lines", "flat", "leaks", "telling_line"]

MARKUP = re.compile(r"[`*_$\\<>&]")


def code_lines(source: str) -> list[str]:
    """Lines without their indentation and without comments, as who copies code may drop those."""
    lines = (line.strip() for line in source.splitlines())
    return [line for line in lines if not line.startswith("#")]


@cache
def telling_line(exercise_id: str) -> str:
    """Return a line that only the solution has: the longest of its function, a number's expression.

    Of an open question it is the longest line of the model answer that reads the same as a page
    shows it: without marks of Markdown.
    """
    module = import_module(f"solutions.{exercise_id}")
    if exercise(exercise_id).kind == "open":
        return max((x for x in module.MODEL.splitlines() if not MARKUP.search(x)), key=len).strip()
    if callable(module.REFERENCE):
        lines = code_lines(inspect.getsource(module.REFERENCE))
        starter = exercise(exercise_id).starter or ""
        return max((line for line in lines[1:] if line not in starter), key=len)
    source = inspect.getsource(module)
    values = [
        ast.get_source_segment(source, node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "REFERENCE"
    ]
    return max((values[0] or "").splitlines(), key=len).strip()


def flat(text: str) -> str:
    """In one line, so that another indentation or line break hides nothing."""
    return " ".join(text.split())


def _texts(name: str, data: bytes) -> Iterator[tuple[str, str]]:
    """Yield what can be read in a file, by place; archives are opened, also inside of others."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for inner in archive.namelist():
                yield from _texts(f"{name}/{inner}", archive.read(inner))
        return
    text = data.decode("utf-8", errors="ignore")
    yield name, text
    if name.endswith(".ipynb"):  # quotes stand behind backslashes in the file
        yield name, "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])


def leaks(path: Path, content: bytes | None = None) -> list[str]:
    """Places in a file at which a solution can be read.

    Parameters
    ----------
    path : Path
        A notebook, a wheel, an archive or a text.
    content : bytes or None
        What is to stand in it, where it is not there yet.

    Returns
    -------
    list of str
        ``file: exercise``; empty if there is none.
    """
    lines = {key: flat(telling_line(key)) for key in exercise_ids()}
    found = []
    for place, text in _texts(path.name, path.read_bytes() if content is None else content):
        one_line = flat(text)
        found += [f"{place}: {key}" for key, line in lines.items() if line in one_line]
    return list(dict.fromkeys(found))
