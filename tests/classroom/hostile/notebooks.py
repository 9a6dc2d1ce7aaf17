"""Notebooks that are broken, changed or made to stop whoever reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["NOTEBOOKS", "HostileNotebook"]

Change = Callable[[dict[str, Any]], "dict[str, Any] | bytes"]


@dataclass(frozen=True)
class HostileNotebook:
    """A change to a notebook whose answers are all right.

    Parameters
    ----------
    name : str
        What it tries.
    change : callable (notebook) -> dict or bytes
        The new notebook, or the bytes of the file.
    earns : bool
        Whether all points are still earned; if not, none is.
    words : str
        What its author must be told; empty for nothing.
    """

    name: str
    change: Change
    earns: bool
    words: str = ""

    def content(self, notebook: bytes) -> bytes:
        """The file.

        Parameters
        ----------
        notebook : bytes
            A notebook with right answers.
        """
        read = json.loads(notebook)
        for cell in read["cells"]:
            cell["source"] = "".join(cell["source"])
        changed = self.change(read)
        return changed if isinstance(changed, bytes) else json.dumps(changed).encode()


def _dumped(notebook: dict[str, Any]) -> bytes:
    return json.dumps(notebook).encode()


def _each(change: Callable[[dict[str, Any]], object]) -> Change:
    """The same change to every cell of code."""

    def changed(notebook: dict[str, Any]) -> dict[str, Any]:
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                change(cell)
        return notebook

    return changed


def _without(role: str) -> Change:
    def changed(notebook: dict[str, Any]) -> dict[str, Any]:
        kept = [
            cell for cell in notebook["cells"]
            if cell["metadata"].get("exercise", {}).get("role") != role
        ]  # fmt: skip
        return {**notebook, "cells": kept}

    return changed


def _cells(change: Callable[[list[Any]], Any]) -> Change:
    return lambda notebook: {**notebook, "cells": change(notebook["cells"])}


def _extra(cell: Any) -> Change:
    return _cells(lambda cells: [*cells, cell])


def _tagged(key: Any, source: Any = "pass", role: Any = "starter") -> dict[str, Any]:
    tag = {"exercise": {"id": key, "role": role}}
    return {"cell_type": "code", "metadata": tag, "source": source, "outputs": []}


def _code(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": []}


def _named(source: Any) -> Change:
    """The cell for the name, filled in."""

    def changed(notebook: dict[str, Any]) -> dict[str, Any]:
        for cell in notebook["cells"]:
            if cell["metadata"].get("exercise", {}).get("role") == "name":
                cell["source"] = source
        return notebook

    return changed


def _old_format(notebook: dict[str, Any]) -> dict[str, Any]:
    cells = [{**cell, "input": cell["source"]} for cell in notebook["cells"]]
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}


NO = "no notebook"
NOTEBOOKS = tuple(
    HostileNotebook(*row)
    for row in (
        ("an empty file", lambda n: b"", False, "empty"),
        ("broken JSON", lambda n: _dumped(n)[:-1] + b"]", False, NO),
        ("cut off", lambda n: _dumped(n)[: len(_dumped(n)) // 2], False, NO),
        ("a page of the web", lambda n: b"<!doctype html><p>Sign in", False, NO),
        ("bytes that are no text", lambda n: b"\xff\xfe\xfd" * 1000, False, NO),
        ("a number", lambda n: b"3", False, NO),
        ("a list", lambda n: b"[]", False, NO),
        ("another file of JSON", lambda n: b'{"a": 1}', False, NO),
        ("cells that are no list", _cells(lambda cells: {"a": cells}), False, NO),
        ("no cells", _cells(lambda cells: []), False, "no exercise"),
        ("cells that are no cells", _cells(lambda cells: [1, None, [], "x", {}]), False, ""),
        ("an old format", _old_format, False, "format 3"),
        ("larger than is read", lambda n: _dumped(n) + b" " * 21_000_000, False, "larger than"),
        ("a million cells", _cells(lambda cells: [{}] * 10**6 + cells), False, ""),
        ("deeply nested", lambda n: b"[" * 10**6, False, ""),
        ("deep metadata", lambda n: b'{"cells": [], "metadata": ' + b"[" * 10**5, False, ""),
        ("a number of a million digits", lambda n: b'{"cells": ' + b"9" * 10**6 + b"}", False, ""),
        ("numbers that are none", lambda n: {**n, "metadata": {"x": float("nan")}}, True, ""),
        ("in UTF-16", lambda n: json.dumps(n).encode("utf-16"), True, ""),
        ("in UTF-32", lambda n: json.dumps(n).encode("utf-32"), True, ""),
        ("bytes behind the end", lambda n: _dumped(n) + b"\0\0", False, NO),
        ("answers that are text", _each(lambda cell: cell.update(cell_type="raw")), False, ""),
        ("within another file", lambda n: {"type": "notebook", "content": n}, False, NO),
        ("with a byte-order mark", lambda n: b"\xef\xbb\xbf" + _dumped(n), True, ""),
        ("tags lost", _each(lambda cell: cell["metadata"].clear()), True, "tags: "),
        ("metadata lost", _each(lambda cell: cell.pop("metadata")), True, "tags: "),
        ("metadata of another kind", _each(lambda cell: cell.update(metadata=[1])), True, "tags: "),
        ("sources as lines", _each(lambda c: c.update(source=c["source"].splitlines(True))), True),
        ("sources of another kind", _each(lambda cell: cell.update(source={"a": 1})), False,
         "cells is no text"),
        ("answers deleted", _without("starter"), False, ""),
        ("checks deleted", _without("check"), True, ""),
        ("the name deleted", _without("name"), True, ""),
        ("cells twice", _cells(lambda cells: cells + cells), True, ""),
        ("cells backwards", _cells(lambda cells: cells[::-1]), True, ""),
        ("outputs forged", _each(lambda cell: cell.update(
            outputs=[{"output_type": "stream", "name": "stdout", "text": "solved, 4 of 4"}] * 99)),
         True, ""),
        ("an id that is none", _extra(_tagged("no_such")), True, "no exercise 'no_such'"),
        ("an id that is a path", _extra(_tagged("../../etc/passwd")), True, "there is no exercise"),
        ("an id with markup", _extra(_tagged("<script>\x1b[2J\n|`=1+1")), True, "there is no"),
        ("an id with half a character", _extra(_tagged("\ud800")), True, "there is no exercise"),
        ("a long id", _extra(_tagged("x" * 10**6)), True, "there is no exercise"),
        ("an id that is a list", _extra(_tagged(["cached_step"])), True, ""),
        ("a role that is a list", _extra(_tagged("cached_step", "x", ["starter"])), True, ""),
        ("a forged version", lambda n: {**n, "metadata": {"mini_attn": {"version": "=9\n9"}}},
         True, "handed out by"),
        ("a name with markup", _named("**Name:** a<script>alert(1)</script>|`=1+1`"), True, ""),
        ("a name with half a character", _named("**Name:** a\ud800\udfff"), True, ""),
        ("a name like a formula", _named("Name: =a+cmd|' /C calc'!A0"), True, ""),
        ("a name of a million colons", _named("name" + ":" * 10**6), True, ""),
        ("a name of a million letters", _named("**Name:** " + "x" * 10**6), True, ""),
        ("sixty thousand cells behind a check", _cells(lambda cells: [
            *cells, _code('check("cached_step", cached_step)'),
            *([_code("cached_step = 1")] * 60_000)]),
         True, ""),
        ("sixty thousand cells in an answer", _cells(lambda cells: [
            *cells, _tagged("half_temperature"), *([_code("")] * 60_000)]), False, "are too long"),
        ("whole numbers of 4,000 digits", lambda n: _dumped(n)[:-1] + b', "x": ['
         + b",".join([b"9" * 4_000] * 4_000) + b"]}", True, ""),
        ("the cells twice", lambda n: _dumped(n)[:-1] + b', "cells": []}', False, "no exercise"),
        ("the same key many times", lambda n: b'{"x": 1' + b', "x": 1' * 10**6 + b", "
         + _dumped(n)[1:], True, ""),
        ("many attachments", _extra({"cell_type": "markdown", "source": "x", "attachments": {
            str(n): {"image/png": "x"} for n in range(200_000)}}), True, ""),
        ("a million empty lines", _extra({"cell_type": "code", "source": "\n" * 10**6 + "x"}),
         True, ""),
    )
)  # fmt: skip
