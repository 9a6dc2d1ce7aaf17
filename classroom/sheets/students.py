"""Whose a sheet is, where the numbers of pencil exercises are drawn for each student."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from classroom.sheets.sheet import Sheet
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise

__all__ = ["Student", "drawn_on", "with_numbers"]


@dataclass(frozen=True)
class Student:
    """Somebody on the roster.

    Parameters
    ----------
    name : str
        As it stands there, in one clean line.
    file : str
        Of the notebook, without its ending.
    key : str
        What the numbers are drawn from.
    """

    name: str
    file: str
    key: str


def drawn_on(sheet: Sheet) -> list[str]:
    """Return the exercises of a sheet whose numbers are drawn."""
    return [key for key in sheet.exercises if exercise(key).draw]


def with_numbers(sheets: Sequence[Sheet]) -> Sheet:
    """Return the one sheet that numbers are drawn for.

    Raises
    ------
    ConfigError
        If there are several, or nothing on it can be drawn.
    """
    if len(sheets) > 1:
        raise ConfigError("numbers are drawn for one chapter or one list of exercises")
    if not drawn_on(sheets[0]):
        words = "has no pencil exercise whose numbers can be drawn: leave out the roster"
        raise ConfigError(f"{sheets[0].name!r} {words}")
    return sheets[0]
