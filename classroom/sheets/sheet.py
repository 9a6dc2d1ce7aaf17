"""What is handed out: which exercises, in the order of their chapters or in one's own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import yaml

from classroom import BOOK, ROOT
from mini_attn import __version__
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise, exercise_ids

__all__ = ["Sheet", "chapters", "chosen", "sheet_of_file", "tasks_of", "weighted"]

MOST = 1_000  # points of one exercise
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class Sheet:
    """Exercises that are handed out and graded together.

    Parameters
    ----------
    name : str
        Lower-case letters, digits and hyphens; names the files.
    exercises : tuple of str
        Ids, in the order of the sheet.
    version : str
        Version of the project that it is made from.
    weights : tuple of (str, int)
        Exercises with other points than in the book.
    partial : bool
        Whether the groups of checks that an answer passes count one by one.
    drawn : str
        Says of which seed its numbers were drawn, see `classroom.drawing.seal`; empty for the
        book's numbers.
    """

    name: str
    exercises: tuple[str, ...]
    version: str
    weights: tuple[tuple[str, int], ...] = ()
    partial: bool = False
    drawn: str = ""

    def worth(self, exercise_id: str) -> int:
        """Return what an exercise earns on this sheet."""
        return dict(self.weights).get(exercise_id, exercise(exercise_id).points)

    @property
    def points(self) -> int:
        """Return what the whole sheet earns."""
        return sum(map(self.worth, self.exercises))

    def as_data(self) -> dict[str, Any]:
        """For the notebook's metadata and for the file beside it."""
        data = {"sheet": self.name, "version": self.version, "exercises": list(self.exercises)}
        weights = {"points": dict(self.weights)} if self.weights else {}
        flags = {"partial": self.partial, "drawn": self.drawn}
        return {**data, **weights, **{key: value for key, value in flags.items() if value}}


def chapters() -> list[str]:
    """Page stems of the chapters with exercises, in the order of the book."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    with_exercises = {exercise(i).page for i in exercise_ids()}
    pages = [Path(c["file"]).name for part in toc["parts"] for c in part["chapters"]]
    return [page for page in pages if page in with_exercises]


@cache
def tasks_of(page: str) -> tuple[str, ...]:
    """Ids of the exercises of a chapter, in the order of the page."""
    cells = nbformat.read(BOOK / f"{page}.ipynb", as_version=4).cells
    tags = [cell.metadata.get("exercise", {}) for cell in cells]
    return tuple(tag["id"] for tag in tags if tag.get("role") == "starter")


def chosen(
    *, chapter: str | None = None, exercises: str | None = None, name: str | None = None
) -> list[Sheet]:
    """Return the sheets that a command was asked for.

    Parameters
    ----------
    chapter : str or None
        Page stem; None for every chapter. Each chapter is a sheet.
    exercises : str or None
        Ids, separated by blanks or commas: one problem sheet in this order.
    name : str or None
        Name of the problem sheet; None for ``sheet``. Only with ``exercises``.

    Returns
    -------
    list of Sheet
        One or more.

    Raises
    ------
    ConfigError
        For an unknown chapter or exercise, an exercise named twice, both choices at once, or a
        name that makes no good file name.
    """
    if exercises is None:
        if name:
            raise ConfigError("a name goes with a list of exercises; a chapter has its own")
        known = chapters()
        if chapter and chapter not in known:
            raise ConfigError(f"there is no chapter {chapter!r}; there are {', '.join(known)}")
        pages = [chapter] if chapter else known
        return [Sheet(page, tasks_of(page), __version__) for page in pages]
    if chapter:
        raise ConfigError("choose a chapter or a list of exercises, not both")
    ids = tuple(exercises.replace(",", " ").split())
    if not ids:
        raise ConfigError("the list of exercises is empty")
    twice = sorted({i for i in ids if ids.count(i) > 1})
    if twice:
        raise ConfigError(f"named twice: {', '.join(twice)}")
    for exercise_id in ids:
        exercise(exercise_id)
    title = name or "sheet"
    if not NAME.fullmatch(title):
        raise ConfigError(f"a sheet's name has small letters, digits and hyphens, not {title!r}")
    if title in chapters() and ids != tasks_of(title):
        raise ConfigError(f"{title!r} is a chapter: give the sheet another name")
    return [Sheet(title, ids, __version__)]


def weighted(sheet: Sheet, points: Mapping[str, Any]) -> Sheet:
    """Return the sheet with other points for some of its exercises.

    Raises
    ------
    ConfigError
        If an exercise is not on it, or its points are no whole number from 1 to 1,000.
    """
    for key, value in points.items():
        if key not in sheet.exercises:
            raise ConfigError(f"points for {str(key)[:40]!r}, which is not on {sheet.name!r}")
        if type(value) is not int or not 1 <= value <= MOST:
            words = f"points are whole numbers from 1 to {MOST}, not {str(value)[:40]!r}"
            raise ConfigError(f"{key}: {words}")
    return replace(sheet, weights=tuple((i, points[i]) for i in sheet.exercises if i in points))


def sheet_of_file(path: Path) -> Sheet:
    """Return the sheet that a release wrote beside its notebook.

    Raises
    ------
    ConfigError
        If the file is none, or an exercise of it is no more.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        sheet = chosen(exercises=" ".join(data["exercises"]), name=data["sheet"])[0]
        points, partial = data.get("points"), data.get("partial", False)
        if type(partial) is not bool:
            raise ConfigError(f'"partial" is true or false, not {str(partial)[:40]!r}')
        drawn = data.get("drawn", "")
        if not isinstance(drawn, str):
            raise ConfigError(f'"drawn" is a text, not {str(drawn)[:40]!r}')
        # A release without weights has the total there.
        sheet = weighted(sheet, points if isinstance(points, dict) else {})
        return replace(sheet, partial=partial, drawn=drawn)
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise ConfigError(f"{path} is not the file of a sheet: {error}") from None
