"""What the tables of Moodle, Canvas and Blackboard look like, and the names in their zips.

- Moodle's grading worksheet (``mod/assign/feedback/offline/importgradeslib.php``): found by the
  headers of the teacher's language, a student by the number at the end of "Identifier", the
  "Last modified (grade)" compared with what the server has.
- Moodle's export of the gradebook (``grade/export/txt``, ``grade/import/csv``): one column for
  each grade item, without its maximum, and no participant's number.
- Canvas (``lib/gradebook_exporter.rb``, ``lib/gradebook_importer.rb``): an assignment is
  "Title (id)", a student the number under "ID"; a row "Points Possible", in which "(read only)"
  marks what is computed; perhaps a row "Manual Posting" before it.
- Blackboard (Grade Center, *Work Offline*; help.blackboard.com): UTF-16 with tabs or UTF-8 with
  commas, a column is "Title [Total Pts: 9 Score] |id", a student the username.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from classroom.adapters.gradebook import Gradebook
from mini_attn.errors import ConfigError

__all__ = ["CHANGEABLE", "Column", "Platform", "choose_column", "columns", "number",
           "platform_of", "points_row"]  # fmt: skip

PLAIN = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,20})?")
CHANGEABLE = "Grade can be changed"
# Of Canvas, where no row says what is computed; others have assignments of such names.
COMPUTED = re.compile(r"(Current|Final|Override) (Score|Points|Grade|Status)")


@dataclass(frozen=True)
class Platform:
    """One kind of table.

    Parameters
    ----------
    name : str
        As it is said to the teacher.
    needs : tuple of str
        Headers by which it is known; each entry may have several spellings, with a bar between.
    ident : str
        The header above the platform's own number of a student; empty if it exports none.
    names : tuple of tuple of str
        Headers of a full name, or of first and last name.
    logins : tuple of str
        Headers of what else names exactly one student.
    grade : re.Pattern
        Headers of the columns that take a grade, with groups ``title`` and perhaps ``of``.
    how, pages : str
        Where the teacher gives back the table, and the zip of feedback; empty if nowhere.
    """

    name: str
    needs: tuple[str, ...]
    ident: str
    names: tuple[tuple[str, ...], ...]
    logins: tuple[str, ...]
    grade: re.Pattern[str]
    how: str
    pages: str


@dataclass(frozen=True)
class Column:
    """A column that takes a grade: where it stands, its title, and points if the header says."""

    place: int
    header: str
    title: str
    of: str | None


FIRST_LAST = (("First name", "Last name"), ("First name", "Surname"))
MOODLE_PAGES = "the assignment's page, Upload multiple feedback files in a zip"
PLATFORMS = (
    Platform(
        "Moodle", ("Identifier", "Grade"), "Identifier", (("Full name",), *FIRST_LAST),
        ("Email address", "ID number", "Username"), re.compile(r"(?P<title>Grade)"),
        "the assignment's page, Upload grading worksheet", MOODLE_PAGES,
    ),
    Platform(
        "Canvas", ("ID", "Section", "Student|LastName"), "ID",
        (("Student",), ("FirstName", "LastName")),
        ("SIS User ID", "SIS Login ID", "Integration ID"),
        re.compile(r"(?P<title>.+) \(\d+\)", re.DOTALL), "Gradebook, Import",
        "the assignment's page, Re-Upload Submissions",
    ),
    Platform(
        "Blackboard", ("Last Name", "First Name", "Username"), "",
        (("First Name", "Last Name"),), ("Username", "Student ID"),
        re.compile(r"(?P<title>.+) \[Total Pts: (?P<of>[\d.,]+)(?: Score)?\] \|\d+", re.DOTALL),
        "Grade Center, Work Offline, Upload", "",
    ),
    Platform(
        "Moodle's gradebook", ("First name", "Last name|Surname", "Email address"), "",
        FIRST_LAST, ("Email address", "ID number", "Username"),
        re.compile(
            r"Assignment: ?(?P<title>.+?)(?<! \(Percentage\))(?<! \(Letter\))(?: \(Real\))?",
            re.DOTALL,
        ),
        "Grades, Import, CSV file, mapped by the e-mail address", MOODLE_PAGES,
    ),
)  # fmt: skip


def platform_of(header: list[str]) -> Platform | None:
    """Whose table has such a header."""
    for one in PLATFORMS:
        if all(any(name in header for name in needed.split("|")) for needed in one.needs):
            return one
    return None


def number(text: str) -> Decimal | None:
    """Points as a platform writes them, with a point or a comma; None if these are none."""
    plain = text.strip().replace(",", ".")
    return Decimal(plain) if PLAIN.fullmatch(plain) else None


def points_row(platform: Platform, book: Gradebook) -> int | None:
    """Canvas's row "Points Possible"."""
    if platform.name != "Canvas":
        return None
    marked = (i for i, row in enumerate(book.rows[:4]) if row[0].text.strip() == "Points Possible")
    return next(marked, None)


def _shown(texts: list[str]) -> str:
    return ", ".join(repr(text[:80]) for text in texts[:10]) or "none"


def columns(platform: Platform, book: Gradebook) -> list[Column]:
    """The columns that take a grade; what the platform computes does not."""
    above = points_row(platform, book)
    found = []
    for place, cell in enumerate(book.rows[0]):
        match = platform.grade.fullmatch(cell.text)
        if not match:
            continue
        of = match.groupdict().get("of")
        if above is not None and place < len(book.rows[above]):
            of = book.rows[above][place].text
            if "read only" in of:
                continue
        elif platform.name == "Canvas" and COMPUTED.search(cell.text):
            continue
        found.append(Column(place, cell.text, match["title"], of))
    return found


def _squeezed(text: str) -> str:
    return re.sub(r"[\s_-]+", "", text).casefold()


def choose_column(found: list[Column], wanted: str | None, folder: str) -> Column:
    """The column that is asked for, the one named as the folder of grades, or the only one."""
    if wanted is not None:
        fits = [c for c in found if wanted in (c.header, c.title)]
    else:
        fits = [c for c in found if _squeezed(c.title) == _squeezed(folder)] or found
    if len(fits) != 1:
        what = "no column" if not fits else f"{len(fits)} columns"
        shown = _shown([c.header for c in found])
        raise ConfigError(
            f"{what} for the grades{f' by the name {wanted!r}' if wanted else ''}: choose with "
            f"COLUMN=; the table has {shown}"
        )
    return fits[0]
