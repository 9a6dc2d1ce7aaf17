"""Which row of a platform's table is whose: by what names exactly one student, or not at all."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from classroom.adapters.gradebook import Gradebook
from classroom.adapters.platforms import Platform, points_row
from classroom.grading.tables import GradeRow
from classroom.reports.feedback import NAME
from classroom.reports.sanitize import clean, folded, for_spreadsheet
from classroom.submissions.attempts import ATTEMPT, NUMBERED, canvas_ids

__all__ = ["Person", "matched", "moodle_folder", "people"]

WRITTEN = 2
UNWRITTEN = re.compile(r"[\x00-\x1f\x7f&<>\"`|':\\/]")  # what Moodle's clean_filename leaves out


@dataclass(frozen=True)
class Person:
    """One student of the platform's table.

    Parameters
    ----------
    row : int
        Of the table.
    name : str
        The full name, or what stands in its place where marking is anonymous.
    ident : str
        The platform's number; empty if it does not export one.
    folder : str
        The name as Moodle writes it for a folder, folded.
    logins, keys : frozenset of str
        User names and the like, and these with all ways to write the name, each folded.
    """

    row: int
    name: str
    ident: str
    folder: str
    logins: frozenset[str]
    keys: frozenset[str]


def shown_key(name: str) -> str:
    """A name from the table of grades, small and capital letters and blanks alike."""
    return folded(" ".join(name.split()))


def key(name: str) -> str:
    """A name from the platform's table, written as in the table of grades."""
    return shown_key(for_spreadsheet(clean(name, NAME)))


def moodle_folder(name: str) -> str:
    """A name as Moodle writes it before the number in a folder's name."""
    return UNWRITTEN.sub("", name.replace("_", " ")).strip(". ")


def _names(platform: Platform, row: dict[str, str]) -> list[str]:
    """All ways to write a student's name, the usual one first."""
    for headers in platform.names:
        if all(header in row for header in headers):
            texts = [row[header].strip() for header in headers]
            if len(texts) == 2:
                return [" ".join(texts).strip(), f"{texts[1]}, {texts[0]}"]
            last, comma, first = texts[0].partition(",")
            turned = (
                [f"{first.strip()} {last.strip()}"] if comma and platform.name == "Canvas" else []
            )
            return [*turned, texts[0]]
    return []


def people(platform: Platform, book: Gradebook) -> list[Person]:
    """The students of a table, row by row; what is no student's row is left out."""
    above = points_row(platform, book)
    found = []
    for number in range(1, len(book.rows)):
        row = book.said(number)
        digits = re.search(r"\d+$", row.get(platform.ident, "").strip())
        ident = digits[0] if digits else ""
        if number == above or (platform.ident and not ident):
            continue
        names = [name for name in _names(platform, row) if name.strip(", ")]
        if not names and platform.name == "Moodle":  # anonymous: "Participant 123" alone
            names = [row[platform.ident].strip()[: -len(ident)].strip()]
        logins = frozenset(filter(None, (key(row.get(h, "")) for h in platform.logins)))
        if names or logins:
            keys = logins | frozenset(map(key, names))
            name = (names or [""])[0]
            found.append(Person(number, name, ident, key(moodle_folder(name)), logins, keys))
    return found


def _by_place(platform: Platform, student: str, everybody: Sequence[Person]) -> list[Person] | None:
    """Whose number or username the platform wrote into a submission's name; None if it did not."""
    if platform.name == "Canvas":
        ids = canvas_ids(student)
        return [p for p in everybody if p.ident == ids[0]] if ids else None
    if platform.name == "Blackboard":
        attempt = ATTEMPT.search(student)
        if not attempt:
            return None
        before = shown_key(student[: attempt.start()])
        return [p for p in everybody if any(before.endswith(f"_{one}") for one in p.logins)]
    found = NUMBERED.fullmatch(student)
    if not found:
        return None
    # Another assignment's table has the same numbers for other students: the name decides too.
    name = key(moodle_folder(found[1]))
    alike = [p for p in everybody if name and p.folder == name]
    return [p for p in alike if p.ident in ("", found[2])]


def _claims(
    platform: Platform, one: GradeRow, everybody: Sequence[Person]
) -> tuple[int, list[Person]]:
    """The students that a submission may be of, and how sure it is: 0 most, WRITTEN least.

    What a student wrote never stands against what the platform did.
    """
    placed = _by_place(platform, one.student, everybody)
    if placed:
        return 0, placed
    named = [p for p in everybody if shown_key(one.student) in p.keys]
    if named or placed is not None:
        return 1, named
    return WRITTEN, [p for p in everybody if shown_key(one.written_name) in p.keys]


def matched(
    platform: Platform, graded: Sequence[GradeRow], everybody: Sequence[Person]
) -> tuple[list[tuple[GradeRow, Person]], list[str], list[str]]:
    """Who is who.

    Parameters
    ----------
    platform : Platform
        Whose table it is.
    graded : sequence of GradeRow
        The submissions.
    everybody : sequence of Person
        The students of the table.

    Returns
    -------
    list of (GradeRow, Person)
        Pairs of which there is no doubt: what the platform itself wrote into the name of a
        submission goes before that name as a whole, and this before what the student wrote.
    list of str
        Who is not among them, with the reason.
    list of str
        Who is among them by the name that stands in the notebook alone.
    """
    problems, said = [], []
    claims: dict[Person, list[tuple[int, GradeRow]]] = defaultdict(list)
    for one in graded:
        sure, hits = _claims(platform, one, everybody)
        if len(hits) == 1:
            claims[hits[0]].append((sure, one))
        else:
            many = f"fits {len(hits)} rows of the table" if hits else "is not in the table"
            problems.append(f"{one.student}: {many}")
    pairs = []
    for person, all_of in claims.items():
        best = min(sure for sure, _ in all_of)
        first = [one for sure, one in all_of if sure == best]
        pairs += [(first[0], person)] if len(first) == 1 else []
        others = [one for sure, one in all_of if sure > best or len(first) > 1]
        shared = f"{len(all_of)} submissions are of {person.name or person.ident}"
        problems += [f"{one.student}: {shared}" for one in others]
        if best == WRITTEN and len(first) == 1:
            said.append(f"{first[0].student}: by the name in the notebook, {person.name}")
    return pairs, problems, said
