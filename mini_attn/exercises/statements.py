"""The statements of a cell, also of one that only a notebook can run."""

from __future__ import annotations

import ast
import re

__all__ = ["UNREADABLE", "statements", "unread"]

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
# What only a notebook understands, and what stands for it elsewhere: a command whose result is
# kept, a command, a question.
_ONLY_THERE = (
    (re.compile(r"^([ \t]*\w[\w., ]*=)[ \t]*[%!].*$", re.MULTILINE), r"\1 None"),
    (re.compile(r"^([ \t]*)[%!].*$", re.MULTILINE), r"\1pass"),
    (re.compile(r"^([ \t]*)(?:\?\??[\w.*]+|[\w.*]+\?\??)[ \t]*;?[ \t]*$", re.MULTILINE), r"\1pass"),
)  # fmt: skip


def statements(source: str) -> list[ast.stmt]:
    r"""A cell's statements: one by one, so that an error in a trial line does not lose the rest.

    Parameters
    ----------
    source : str
        The cell.

    Returns
    -------
    list of ast.stmt
        In order.

    Raises
    ------
    SyntaxError, ValueError, RecursionError, MemoryError
        If it cannot be read; `unread` says why.

    Examples
    --------
    >>> [ast.unparse(part) for part in statements("%time f()\nf?\nfiles = !ls\nx = 3")]
    ['pass', 'pass', 'files = None', 'x = 3']
    """
    try:
        return ast.parse(source).body
    except SyntaxError:
        for pattern, plain in _ONLY_THERE:
            source = pattern.sub(plain, source)
        return ast.parse(source).body


def unread(error: Exception) -> str:
    """Why a cell or a part of it cannot be read, in words.

    Parameters
    ----------
    error : SyntaxError, ValueError, RecursionError or MemoryError
        What Python says.

    Returns
    -------
    str
        With the line, where it is known.

    Examples
    --------
    >>> unread(RecursionError())
    'it is nested too deeply'
    """
    if isinstance(error, UnicodeError):
        return "it holds half of a character that is written in two parts"
    if isinstance(error, SyntaxError):
        return str(error.msg)[:200] + (f" in line {error.lineno}" if error.lineno else "")
    return str(error)[:200] if isinstance(error, ValueError) else "it is nested too deeply"
