"""Who is in a class: the names of a roster, and whom a teacher's table means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from classroom.grading.tables import rows_of, separator_of, text_of
from classroom.reports.report import student_names
from classroom.reports.sanitize import clean, folded
from classroom.submissions.collect import Submission
from mini_attn.errors import ConfigError

__all__ = ["name_columns", "named_one", "names_of", "read_roster"]

# Headers of the column with a student's name, the surest first; first and last name are two.
WHOLE = ("student", "full name", "fullname", "name", "username", "user name", "login")
FIRST, LAST = ("first name", "firstname", "given name"), ("last name", "lastname", "surname")


def _place(header: list[str], names: tuple[str, ...]) -> int | None:
    """Return the column with the first of these names that is there."""
    return next((header.index(name) for name in names if name in header), None)


def name_columns(first: list[str]) -> list[int] | None:
    """Return the columns that make a name, by the header."""
    header = [cell.strip().casefold().replace("_", " ") for cell in first]
    whole = _place(header, WHOLE[:2])
    given, family = _place(header, FIRST), _place(header, LAST)
    if whole is None and given is not None and family is not None:
        return [given, family]
    whole = _place(header, WHOLE) if whole is None else whole
    return None if whole is None else [whole]


def _is_table(path: Path, lines: list[str], separator: str) -> bool:
    """Return whether the lines have columns; "Lovelace, Ada" in a list is one name."""
    if separator not in "".join(lines):
        return False
    a_list = separator == "," and path.suffix.lower() != ".csv"
    return not a_list or any(line.count(",") > 1 or "@" in line for line in lines)


def read_roster(path: Path) -> list[str]:
    """Return the names of a roster.

    Parameters
    ----------
    path : Path
        A name on each line; or a table with commas, semicolons or tabs between its columns, whose
        first line says which of them is the student: ``student``, ``full name``, ``name`` and the
        like, or ``first name`` and ``last name``.

    Returns
    -------
    list of str
        In the order of the file.

    Raises
    ------
    ConfigError
        If it cannot be read, or is a table and does not say where the names are.
    """
    lines = [line for line in text_of(path).splitlines() if line.strip()]
    if not lines:
        return []
    separator = separator_of(lines[0])
    rows = rows_of(path, "\n".join(lines), separator)
    columns = name_columns(rows[0])
    if columns is None and _is_table(path, lines, separator):
        raise ConfigError(
            f'{path} has several columns ({", ".join(rows[0])[:80]}): write "student" above the '
            "one with the names, or give a file with one name on each line"
        )
    if columns is None:
        return [line.strip() for line in lines]
    names = []
    for number, row in enumerate(rows[1:], 2):
        name = " ".join(row[c].strip() for c in columns if c < len(row)).strip()
        if not name and any(cell.strip() for cell in row):
            raise ConfigError(f"{path} has no name in row {number}")
        names += [name] * bool(name)
    return names


def names_of(
    sent: Sequence[Submission], pseudonyms: Mapping[str, str] | None = None
) -> dict[str, list[str]]:
    """Return each student's names: as found, as shown, of every attempt, a pseudonym."""
    places: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for one in sent:
        places.setdefault(one.student, []).extend([*one.files, *one.problems])
        others.setdefault(one.student, []).extend(one.aliases)
    for student, name in (pseudonyms or {}).items():
        others[student].append(name)
    names = student_names(places.items())
    return {student: [*forms, *others[student]] for student, forms in names.items()}


def named_one(names: Mapping[str, Sequence[str]], written: str) -> str | None:
    """Return the one student whom a name fits: as it's in the table of grades, or nearly so."""
    for same in (str, lambda name: folded(clean(name, 300))):
        fits = [s for s, forms in names.items() if same(written) in map(same, forms)]
        if fits:
            return fits[0] if len(fits) == 1 else None
    return None
