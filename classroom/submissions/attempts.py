"""Names that say which attempt a file is: as platforms write them, and as people number files."""

from __future__ import annotations

import re

__all__ = ["ATTEMPT", "MOODLE", "NUMBERED", "attempt_of", "canvas_ids"]

# As Moodle names a folder, or a file, of somebody: the number keeps two of one name apart. What
# stands behind is the student's own name for the file, and may be of the same form.
MOODLE = re.compile(r"(.+?)(_\d+)_assignsubmission_(?:file|onlinetext)(?:_.*)?", re.DOTALL)
NUMBERED = re.compile(r"(.+)_(\d+)", re.DOTALL)  # Moodle's students, anybody's second file
BRACKETS = re.compile(r"(.+?) ?\((\d+)\)", re.DOTALL)  # a browser's second file
ATTEMPT = re.compile(r"_attempt_(\d{4}(?:-\d\d){5})(?=_|$)")  # Blackboard's, behind the username
BELOW = re.compile(r"(?:attempt[ _-]?)?(\d{1,6})", re.IGNORECASE)  # a folder in a student's folder


def canvas_ids(student: str) -> tuple[str, str] | None:
    """User and file in a name like ``lovelaceada_late_123_4567_week1``, read as Canvas does."""
    parts = student.split("_")
    at = next((i for i, part in enumerate(parts) if part.isascii() and part.isdecimal()), 0)
    second = parts[at + 1] if 0 < at < len(parts) - 1 else ""
    return (parts[at], second) if second.isascii() and second.isdecimal() else None


def _numbered(name: str) -> tuple[str, int]:
    """Return a name without the number behind it, and this number; 0 if there is none."""
    found = NUMBERED.fullmatch(name) or BRACKETS.fullmatch(name)
    return (found[1], int(found[2][:18])) if found else (name, 0)


def attempt_of(student: str, below: tuple[str, ...], *, moodle: bool) -> tuple[str, int, bool]:
    """Return whose attempt a file is, and which.

    Parameters
    ----------
    student : str
        The student's name as the files have it, perhaps with a number.
    below : tuple of str
        The file's place below the student's own entry; empty if the entry is the file.
    moodle : bool
        Whether Moodle wrote the name: its number keeps two of one name apart and counts nothing.

    Returns
    -------
    who : str
        The same for all attempts of a student.
    number : int
        Grows with the attempts.
    platform : bool
        Whether a platform wrote it, which knows the student by the name of a file.
    """
    if found := ATTEMPT.search(student):
        return student[: found.start()], int(found[1].replace("-", "")), True
    if ids := canvas_ids(student):
        before = student[: student.index(f"_{ids[0]}_{ids[1]}")]
        return f"{before.removesuffix('_late')}_{ids[0]}", int(ids[1][:18]), True
    who, number = (student, 0) if moodle else _numbered(student)
    if not number and below:
        inner = below[0].rsplit(".", 1)[0] if len(below) == 1 else below[0]
        folder = BELOW.fullmatch(inner) if len(below) > 1 else None
        number = int(folder[1]) if folder else _numbered(inner)[1]
    return who, number, False
