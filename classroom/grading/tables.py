"""Text and tables of a teacher's, as editors and spreadsheets on any system save them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from mini_attn.errors import ConfigError

__all__ = ["rows_of", "separator_of", "text_of"]


def text_of(path: Path) -> str:
    """A file's text in UTF-8, UTF-16 or Windows-1252, without a byte order mark.

    Raises
    ------
    ConfigError
        If it cannot be read, or is no text.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if wide else ("utf-8-sig", "cp1252"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise ConfigError(f"{path} cannot be read as text: save it as text in UTF-8")


def separator_of(header: str) -> str:
    """What stands between the columns: a tab, a semicolon or a comma."""
    return max("\t;,", key=header.count)


def rows_of(path: Path, text: str, separator: str) -> list[list[str]]:
    """The rows of a table; a line without any cell is an empty row.

    Raises
    ------
    ConfigError
        If the text is no table.
    """
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise ConfigError(f"{path} is no table that can be read: {error}") from None
