"""Takes notebooks out of zip files, in memory, and within budgets that are set before.

A small archive can list, hold and unfold to more than any machine has. What is counted here is
what reading costs, whatever the archive says of itself, and each student has a quota.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

__all__ = ["NOTEBOOK_BYTES", "Found", "Quota", "classify", "hidden", "limit_of",
           "shown", "unrenamed", "wanted"]  # fmt: skip

NOTEBOOK_BYTES = 20 * 10**6
ARCHIVE_BYTES = 500 * 10**6
ENTRIES = 20_000  # files in one archive
DEPTH = 3  # archives in archives
SKIPPED = (".ipynb_checkpoints", "__MACOSX")
RENAMED = re.compile(r"(?<=\.ipynb)\.(txt|json)\Z", re.IGNORECASE)
END_BYTES = 2**16 + 100  # of an archive, in which its list of contents is looked for
# What systems pack with. Others take memory or time by what a few bytes of the file ask for.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass
class Quota:
    """What may still be read: files, their bytes, and bytes of archives' lists of contents."""

    files: int
    size: int
    listed: int = 2 * 10**6
    whole: Quota | None = None  # that of the class, of which this is spent too
    told: bool = False

    @classmethod
    def of_a_student(cls) -> Quota:
        """For what one student sent."""
        return cls(200, 200 * 10**6)

    @classmethod
    def of_a_class(cls) -> Quota:
        """For a class in one archive."""
        return cls(ENTRIES, 4 * 10**9, 8 * 10**6)

    @property
    def spent(self) -> bool:
        """Whether nothing more is read."""
        over = min(self.files, self.size, self.listed) <= 0
        return over or (self.whole is not None and self.whole.spent)

    def spend(self, size: int) -> None:
        """Count a file."""
        self.files, self.size = self.files - 1, self.size - size
        if self.whole is not None:
            self.whole.spend(size)


@dataclass(frozen=True)
class Found:
    """A file of a student's.

    Parameters
    ----------
    parts : tuple of str
        Its place below the folder, archives counted as folders.
    content : bytes or None
        What it holds, if it could be read.
    problem : str or None
        Why it could not.
    time : datetime or None
        When it was written: of a zip file that a student made, the time of that file. Without a
        zone, where the zip file of a class says it.
    """

    parts: tuple[str, ...]
    content: bytes | None = None
    problem: str | None = None
    time: datetime | None = None


def shown(name: str) -> str:
    """A file's name as text; bytes that are no text are written as numbers."""
    return name.encode("utf-8", "backslashreplace").decode()


def unrenamed(name: str) -> str:
    """A file's name without what browsers put behind that of a notebook which they save."""
    return RENAMED.sub("", name)


def wanted(name: str) -> str | None:
    """What kind of file a name promises."""
    name = unrenamed(name)
    kind = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    return kind if kind in ("ipynb", "zip") else None


def hidden(parts: tuple[str, ...]) -> bool:
    """Whether a system or a program put the file there."""
    return any(part.startswith(".") or part in SKIPPED for part in parts)


def limit_of(kind: str) -> int:
    """Bytes of a file of this kind that are read."""
    return NOTEBOOK_BYTES if kind == "ipynb" else ARCHIVE_BYTES


class _TooLong(Exception):
    """A list of contents beyond its budget."""


class _Opened(io.BytesIO):
    """An archive while its list of contents is looked for: `zipfile` reads that in one piece."""

    def __init__(self, content: bytes, room: int) -> None:
        super().__init__(content)
        self.length, self.room, self.longest = len(content), room, 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read so many bytes, or refuse before anything is taken."""
        rest = max(self.length - self.tell(), 0)
        piece = rest if size is None or size < 0 else min(size, rest)
        if piece > max(self.room, END_BYTES):
            raise _TooLong
        self.longest = max(self.longest, piece)
        return super().read(size)


def _open(content: bytes, quota: Quota) -> zipfile.ZipFile | str:
    """An archive, or why it is none that is read."""
    source = _Opened(content, quota.listed)
    try:
        archive = zipfile.ZipFile(source)
    except _TooLong:
        return "the list of contents of this zip file is longer than any class needs"
    except Exception:  # zipfile raises many kinds for lists that are broken
        return "this zip file is broken"
    quota.listed -= source.longest
    source.room = source.length  # from here on, entries have limits of their own
    return archive


Entry = tuple[zipfile.ZipInfo, str, tuple[str, ...]]  # with its kind and the parts of its name


def _notebooks(archive: zipfile.ZipFile) -> list[Entry]:
    """What is looked at in an archive, by name."""
    found: list[Entry] = []
    for entry in sorted(archive.infolist(), key=lambda e: e.filename):
        # Only a name to show and to sort by: nothing is written to such a place.
        names = [part for part in entry.filename.replace("\\", "/").split("/") if part]
        below = tuple(shown(part) for part in names if part not in (".", ".."))
        kind = wanted(entry.filename)
        if kind is not None and below and not entry.is_dir() and not hidden(below):
            found.append((entry, kind, below))
    return found


def _in_archive(
    content: bytes, parts: tuple[str, ...], depth: int, quota: Quota, time: datetime | None
) -> Iterator[Found]:
    """The notebooks in a zip file, read one at a time; depth 0 is the archive of a class."""
    archive = _open(content, quota) if depth <= DEPTH else "archives stand in archives too deep"
    if isinstance(archive, str):
        yield Found(parts, problem=archive)
        return
    with archive:
        if sum(not entry.is_dir() for entry in archive.infolist()) > ENTRIES:
            yield Found(parts, problem=f"this zip file has more than {ENTRIES:,} files")
            return
        entries = _notebooks(archive)
        if not entries:
            yield Found(parts, problem="no notebook in this zip file")
        # In the archive of a class each student has a quota: whose an entry is, its first folder
        # says, or the second where all stand in one.
        first = {below[0] for _, _, below in entries}
        owner = 2 if len(first) == 1 and all(len(below) > 1 for _, _, below in entries) else 1
        quotas: dict[tuple[str, ...], Quota] = {}
        for entry, kind, below in entries:
            own = quota if depth else quotas.setdefault(below[:owner], Quota.of_a_student())
            own.whole = own.whole if depth else quota
            if not own.spent:
                when = time if depth else _time(entry)
                yield from _in_entry(archive, entry, kind, (*parts, *below), depth, own, when)
            elif not own.told:
                own.told = True
                yield Found((*parts, *below), problem="too much in one zip file: not read")


def _time(entry: zipfile.ZipInfo) -> datetime | None:
    """When a file of an archive was written, on the clock of whoever packed it."""
    try:
        return datetime(*entry.date_time)
    except ValueError:  # any number can stand there
        return None


def _in_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, kind: str, parts: tuple[str, ...],
              depth: int, quota: Quota, time: datetime | None) -> Iterator[Found]:  # fmt: skip
    """One file of an archive."""
    problem = None
    if stat.S_ISLNK(entry.external_attr >> 16):
        problem = "this is a link, not a file"
    elif entry.flag_bits & 1:
        problem = "this file cannot be taken out of its zip file: it is encrypted"
    elif entry.compress_type not in METHODS:
        problem = "this file is packed in an unusual way: make an ordinary zip file of it"
    if problem is not None:
        quota.spend(0)
        yield Found(parts, problem=problem)
        return
    limit = min(limit_of(kind), quota.size)
    try:
        with archive.open(entry) as file:
            content = file.read(limit + 1)
    except Exception:  # zipfile raises many kinds for broken entries
        quota.spend(max(entry.compress_size, min(entry.file_size, limit)))
        words = "this file cannot be taken out of its zip file: it is broken"
        yield Found(parts, problem=words)
        return
    # What a student's own archive weighs is the class's matter, what it holds the student's.
    # Many entries can share their packed bytes, and those can unfold to nothing.
    payer = quota.whole if quota.whole is not None and kind == "zip" and depth == 0 else quota
    payer.spend(max(entry.compress_size, len(content)))
    if limit < len(content) <= limit_of(kind):
        quota.told = True
        yield Found(parts, problem="too much in one zip file: not read")
        return
    yield from classify(content, kind, parts, depth, quota, time)


def classify(
    content: bytes,
    kind: str,
    parts: tuple[str, ...],
    depth: int,
    quota: Quota,
    time: datetime | None = None,
) -> Iterator[Found]:
    """A file, or the files in it.

    Parameters
    ----------
    content : bytes
        What was read of it: one byte more than its limit where it has more.
    kind : str
        ``ipynb`` or ``zip``.
    parts : tuple of str
        Its place.
    depth : int
        Archives that it stands in; -1 for the archive of a class.
    quota : Quota
        What may still be read.
    time : datetime or None
        When it was written.

    Yields
    ------
    Found
        Each notebook, and each file that should be one and cannot be read.
    """
    limit = limit_of(kind)
    if len(content) > limit:
        yield Found(parts, problem=f"this file is larger than {limit // 10**6} MB")
    elif kind == "zip":
        yield from _in_archive(content, parts, depth + 1, quota, time)
    else:
        yield Found(parts, content, time=time)
