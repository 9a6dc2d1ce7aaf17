"""Reads the progress that a page exported: the code that a student wrote there is handed in."""

from __future__ import annotations

import re

from mini_attn.errors import ConfigError
from mini_attn.exercises.progress_format import parse
from mini_attn.exercises.progress_record import ANSWERS, entries
from mini_attn.exercises.spec import exercise

__all__ = ["BEGINNING", "answers_in_progress", "is_progress"]

BEGINNING = 200  # bytes of a file that say what it is
PROGRESS = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"living-attention-progress"')
NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,30})?(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?")
NO_CODE = "this progress holds no answer: write it on the page, or hand in the notebook"


def is_progress(content: bytes) -> bool:
    """Return whether a file begins like the progress that a page exports."""
    return PROGRESS.match(content[:BEGINNING]) is not None


def _number(typed: str, unit: str) -> str | None:
    """Return what a page's field for a number holds as a cell; None if it's no plain number."""
    text = typed.strip().removesuffix(unit).strip()
    plain = text.replace(",", "")
    return f"answer = {plain}" if NUMBER.fullmatch(text) and re.search(r"\d", text) else None


def answers_in_progress(content: bytes, known: set[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Take the answers out of a progress file.

    Parameters
    ----------
    content : bytes
        The file, for which `is_progress` holds.
    known : set of str
        Ids of all exercises.

    Returns
    -------
    dict of str to list of str
        Sources by exercise. What the file says was solved counts for nothing.
    list of str
        What couldn't be used.
    """
    try:
        record = parse(content)
    except ConfigError as error:
        return {}, [str(error)]
    found: dict[str, list[str]] = {}
    problems = []
    for _, kind, name, entry in entries(record):
        if kind != ANSWERS:
            continue
        code: str | None = entry["code"]
        if name not in known:
            problems.append(f"there is no exercise {name[:40]!r}")
            continue
        if exercise(name).kind == "pencil" and not entry["code"].lstrip().startswith("answer"):
            code = _number(entry["code"], exercise(name).question.unit)
        if code is None:
            words = f"the answer to {name}, {entry['code'][:40]!r}, is no plain number"
            problems.append(f"{words}: hand in the notebook")
        else:
            found[name] = [code]
    return found, problems if found or problems else [NO_CODE]
