"""Text and tables of a teacher's, as editors and spreadsheets on any system save them."""

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from pathlib import Path

from classroom.reports.to_mark import TO_MARK
from mini_attn.errors import ConfigError

__all__ = ["MARKS", "GradeRow", "decoded", "read_grades", "rows_of", "separator_of", "text_of"]

LARGEST = 50_000_000  # bytes: a table of 10,000 students has a tenth of that
MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"),
         (codecs.BOM_UTF16_BE, "utf-16-be"))  # fmt: skip


@dataclass(frozen=True)
class GradeRow:
    """One student of a table of grades, as it shows names and numbers.

    Parameters
    ----------
    student, written_name, total, of, feedback : str
        Cells of the columns with these names.
    to_mark : str
        Points of answers in words that nobody has marked yet; ``0`` where no words were asked for.
    """

    student: str
    written_name: str
    total: str
    of: str
    feedback: str
    to_mark: str


def decoded(path: Path) -> tuple[bytes, str, str]:
    """Byte order mark, encoding and text of a file in UTF-8, UTF-16 or Windows-1252.

    Raises
    ------
    ConfigError
        If it cannot be read, is larger than any table of a class, or is no text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    if len(content) > LARGEST:
        raise ConfigError(f"{path} is larger than {LARGEST // 1_000_000} MB: no table of a class")
    mark, encoding = next((pair for pair in MARKS if content.startswith(pair[0])), (b"", "utf-8"))
    for name in (encoding,) if mark else ("utf-8", "cp1252"):
        try:
            text = content[len(mark) :].decode(name)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return mark, name, text
    words = "save it as text in UTF-8, or give it as a platform exported it"
    raise ConfigError(f"{path} is no text that can be read: {words}")


def text_of(path: Path) -> str:
    """Return a file's text, as `decoded`."""
    return decoded(path)[2]


def separator_of(header: str) -> str:
    """Return what stands between the columns: a tab, a semicolon or a comma."""
    return max("\t;,", key=header.count)


def rows_of(path: Path, text: str, separator: str) -> list[list[str]]:
    """Return the rows of a table; a line without any cell is an empty row.

    Raises
    ------
    ConfigError
        If the text is no table.
    """
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise ConfigError(f"{path} is no table that can be read: {error}") from None


def read_grades(folder: Path) -> list[GradeRow]:
    """Read a table of grades.

    Raises
    ------
    ConfigError
        If it is not there, or not as it was written.
    """
    path = folder / "grades.csv"
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        names = ("student", "written name", "total", "of", "feedback")
        cells = ([*(row[name] or "" for name in names), row.get(TO_MARK) or "0"] for row in rows)
        return [GradeRow(*texts) for texts in cells]
    except OSError as error:
        words = f"{path} cannot be read: {error.strerror}; run make grade first"
        raise ConfigError(words) from None
    except (KeyError, UnicodeDecodeError, csv.Error):
        raise ConfigError(f"{path} is not as make grade writes it") from None
