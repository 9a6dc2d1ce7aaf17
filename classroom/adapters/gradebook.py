"""A table of a learning platform, in which single cells change and no other byte does.

Python's csv module reads what a cell says and forgets how it was written; here each cell keeps
its place in the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from classroom.grading.tables import decoded
from mini_attn.errors import ConfigError

__all__ = ["Cell", "Gradebook", "read_gradebook"]

QUOTED = re.compile(r'"([^"]*(?:""[^"]*)*)"')
SEPARATORS = "\t;,"


@dataclass(frozen=True)
class Cell:
    """What a cell says, and where it stands in the text, its quotes included."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Gradebook:
    """A table as it lies on the disk.

    Parameters
    ----------
    text : str
        All of it.
    mark : bytes
        The byte order mark before the text; empty if there is none.
    encoding : str
        That of the text.
    rows : list of list of Cell
        The header is the first one. Empty lines are rows of one empty cell.
    """

    text: str
    mark: bytes
    encoding: str
    rows: list[list[Cell]]

    def said(self, row: int) -> dict[str, str]:
        """What a row says under each header; of two headers that are alike, the first counts."""
        pairs = zip(self.rows[0], self.rows[row], strict=False)  # a row may be too short
        return {header.text: cell.text for header, cell in reversed(list(pairs))}

    def changed(self, cells: Mapping[tuple[int, int], str]) -> bytes:
        """The file with other numbers in some cells, by row and column, each quoted as before."""
        parts, end = [], 0
        for (row, column), value in sorted(cells.items()):
            old = self.rows[row][column]
            quote = '"' if self.text[old.start : old.start + 1] == '"' else ""
            parts += [self.text[end : old.start], quote, value, quote]
            end = old.end
        return self.mark + "".join([*parts, self.text[end:]]).encode(self.encoding)


def _rows(text: str, separator: str, path: Path) -> Iterator[list[Cell]]:
    """The rows of a table, one after the other."""
    plain = re.compile(f"[^{separator}\r\n]*")
    row: list[Cell] = []
    number, place = 1, 0
    while place < len(text) or row:
        quoted = QUOTED.match(text, place)
        found = quoted or plain.match(text, place)
        assert found  # the second pattern matches the empty text too
        end = found.end()
        after = text[end : end + 1]
        if (after not in ("", separator, "\r", "\n")) if quoted else found[0].startswith('"'):
            raise ConfigError(f"{path}: a quotation mark in row {number} has no partner")
        said = quoted[1].replace('""', '"') if quoted else found[0]
        row.append(Cell(said, place, end))
        place = end + 1
        if after != separator:
            yield row
            row = []
            number += 1
            place += text[end : end + 2] == "\r\n"


def read_gradebook(path: Path, known: Callable[[list[str]], bool]) -> Gradebook | None:
    """A table, whatever separates its cells.

    Parameters
    ----------
    path : Path
        The file: UTF-8 with or without a byte order mark, UTF-16 with one, or Windows-1252.
    known : callable
        Says of the texts of a header whether they are those of a table that is looked for.

    Returns
    -------
    Gradebook or None
        None if no separator makes a header that is known.

    Raises
    ------
    ConfigError
        If the file cannot be read, is no text, or has a quotation mark without a partner.
    """
    mark, encoding, text = decoded(path)
    for separator in SEPARATORS:
        try:
            header = next(_rows(text, separator, path), [])
        except ConfigError:  # with another separator the quotes fit
            continue
        if known([cell.text for cell in header]):
            return Gradebook(text, mark, encoding, list(_rows(text, separator, path)))
    return None
