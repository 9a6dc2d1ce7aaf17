"""Takes notebooks out of zip files, in memory, and within budgets that are set before.

A small archive can list, hold and unfold to more than any machine has. What is counted here is
what reading took, whatever the archive says of itself, and each student has a quota of their own:
nobody spends another's.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from classroom.submissions.attempts import MOODLE
from classroom.submissions.progress import BEGINNING, is_progress

__all__ = ["NOTEBOOK_BYTES", "Found", "Quota", "classify", "guarded", "hidden", "is_answer",
           "is_handed_in", "is_mistaken", "junk", "limit_of", "nothing_in", "shown", "unrenamed",
           "wanted"]  # fmt: skip

NOTEBOOK_BYTES = 20 * 10**6
ARCHIVE_BYTES = 500 * 10**6
ENTRIES = 20_000  # files in what one student sent
CLASS_LIST = 20 * 10**6  # bytes of the list of contents of a class's archive
DEPTH = 3  # archives in archives
SMALLEST = 5 * 10**6  # bytes that an archive counts for at least, so that there are 200 of them
EMPTY = 15 * 10**6  # bytes that a notebook counts for which holds nothing: it is named a few times
PIECE = 2**20
PEEK = 2**14  # bytes that are taken of an entry to see what it is
# What systems and programs make, in small letters; in `MACOSX` each name begins with "._".
JUNK = {".appledouble", ".cache", ".ds_store", ".fseventsd", ".git", ".hg", ".idea",
        ".ipynb_checkpoints", ".ipython", ".jupyter", ".spotlight-v100", ".svn",
        ".temporaryitems", ".trash", ".trashes",
        ".venv", ".virtual_documents", ".vscode"}  # fmt: skip
MACOSX = "__MACOSX"
# What somebody may hand in by mistake; other files, such as a list of names, are nobody's.
MISTAKEN = ("py", "pdf", "html", "md", "doc", "docx", "odt", "rtf", "tar", "gz", "7z", "rar",
            "tgz", "bz2", "xz", "pages", "tex", "jpg", "jpeg", "png", "heic")  # fmt: skip
NAMED = 3  # files that are named
RENAMED = re.compile(r"(?<=\.ipynb)\.(txt|json)\Z|(?<=\.json)\.txt\Z", re.IGNORECASE)
# How a notebook begins that somebody saved as JSON; other files of JSON are the teacher's.
SAVED_NOTEBOOK = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:cells|metadata|nbformat)"')
TOO_MUCH = "too much in one zip file: not read"
NO_NOTEBOOK = "this is no notebook: hand in the .ipynb file"
END_BYTES = 2**16 + 100  # of an archive, in which its list of contents is looked for
# What systems pack with. Others take memory or time by what a few bytes of the file ask for.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass
class Quota:
    """What may still be read of one student's.

    Parameters
    ----------
    files : int
        Notebooks.
    size, packed : int
        Bytes of notebooks, and of archives.
    listed : int
        Bytes of archives' lists of contents.
    told : bool
        Whether it was said that something is not read.
    """

    files: int
    size: int
    packed: int = 2 * ARCHIVE_BYTES
    listed: int = 2 * 10**6
    told: bool = False

    @classmethod
    def of_a_student(cls) -> Quota:
        """For what one student sent."""
        return cls(200, 200 * 10**6)

    @property
    def spent(self) -> bool:
        """Return whether nothing more is read."""
        return min(self.files, self.size, self.packed, self.listed) <= 0

    def spend(self, kind: str, size: int) -> None:
        """Count a file of this kind."""
        if kind == "zip":
            self.packed -= max(size, SMALLEST)
        else:
            self.files, self.size = self.files - 1, self.size - size


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
    """Return a file's name as text; bytes that are no text are written as numbers."""
    return name.encode("utf-8", "backslashreplace").decode()


def unrenamed(name: str) -> str:
    """Return a file's name without what browsers put behind that of a notebook which they save."""
    return RENAMED.sub("", name)


def wanted(name: str) -> str | None:
    """Return what kind of file a name promises; what ``json`` is, `is_answer` tells."""
    name = unrenamed(name)
    kind = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    return kind if kind in ("ipynb", "zip", "json") else None


def is_answer(beginning: bytes) -> bool:
    """Return whether a file of JSON is a student's: progress of the page's, or a notebook."""
    return is_progress(beginning) or SAVED_NOTEBOOK.match(beginning) is not None


def is_mistaken(name: str) -> bool:
    """Return whether a file is of a kind that somebody hands in instead of a notebook."""
    return name.rsplit(".", 1)[-1].lower() in MISTAKEN


def is_handed_in(name: str) -> bool:
    """Return whether a file that stands alone among the students' is one of theirs.

    Moodle says so in the name; otherwise its kind has to be one that people hand in.
    """
    return is_mistaken(name) or MOODLE.fullmatch(name) is not None


def hidden(parts: tuple[str, ...]) -> bool:
    """Return whether a system or a program put a file of a student's there."""
    return any(part.startswith(".") or part == MACOSX for part in parts)


def junk(name: str) -> bool:
    """Return whether an entry among the students' is a system's or a program's."""
    return name.startswith(("._", ".Trash-")) or name.lower() in JUNK


def limit_of(kind: str) -> int:
    """Return how many bytes of a file of this kind are read."""
    return ARCHIVE_BYTES if kind == "zip" else NOTEBOOK_BYTES


def guarded(found: Iterator[Found], parts: tuple[str, ...]) -> Iterator[Found]:
    """Yield what is in a place; whatever goes wrong there is that place's problem alone."""
    try:
        yield from found
    except Exception as error:  # no reader foresees every file
        yield Found(parts, problem=f"this cannot be read ({type(error).__name__})")


def nothing_in(
    parts: tuple[str, ...], files: Iterable[tuple[str, ...]], words: str
) -> Iterator[Found]:
    """Say of a place without a notebook what was sent instead, or the words."""
    files = list(files)
    sent = [place for place in files if is_handed_in(place[-1])][:NAMED]
    for place in sent:
        yield Found((*parts, *place), problem=NO_NOTEBOOK)
    if not sent:
        there = ", ".join("/".join(place) for place in files[:NAMED])
        more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
        yield Found(parts, problem=f"{words}, only {there}{more}" if there else words)


class _TooLong(Exception):
    """A list of contents beyond its budget."""


class _Opened(io.BytesIO):
    """The bytes of an archive, which count what is taken of them.

    `zipfile` reads the list of contents in one piece: while that is looked for, there is a limit.
    """

    def __init__(self, content: bytes, room: int) -> None:
        super().__init__(content)
        self.length, self.room, self.longest, self.taken = len(content), room, 0, 0
        self.most = 0  # bytes that may be taken; 0 for any number

    def read(self, size: int | None = -1, /) -> bytes:
        """Read so many bytes, or refuse before anything is taken."""
        rest = max(self.length - self.tell(), 0)
        piece = rest if size is None or size < 0 else min(size, rest)
        if piece > max(self.room, END_BYTES) or (self.most and self.taken + piece > self.most):
            raise _TooLong
        self.longest = max(self.longest, piece)
        self.taken += piece
        return super().read(size)


@dataclass(frozen=True)
class _Entry:
    """One file of an archive: what the list of contents says, the name's parts, and the kind."""

    info: zipfile.ZipInfo
    parts: tuple[str, ...]
    kind: str | None


class _Archive:
    """An archive that is open, and what it takes to read it."""

    def __init__(self, content: bytes, room: int) -> None:
        """Look for its list of contents; ValueError says why there is none that is read."""
        self.source = _Opened(content, room)
        try:
            self.zip = zipfile.ZipFile(self.source)
        except _TooLong:
            words = "the list of contents of this zip file is longer than any class needs"
            raise ValueError(words) from None
        except Exception:  # zipfile raises many kinds for lists that are broken
            raise ValueError("this zip file is broken") from None
        self.listed = self.source.longest
        self.source.room = self.source.length  # from here on, entries have limits of their own

    def entries(self) -> tuple[list[_Entry], list[tuple[str, ...]]]:
        """Its files and its folders, by name."""
        files, folders = [], []
        for info in sorted(self.zip.infolist(), key=lambda one: one.filename):
            # Only a name to show and to sort by: nothing is written to such a place.
            names = [part for part in info.filename.replace("\\", "/").split("/") if part]
            parts = tuple(shown(part) for part in names if part not in (".", ".."))
            if parts and info.filename.endswith("/"):
                folders.append(parts)
            elif parts:
                kind = wanted(parts[-1])
                is_json = kind == "json"
                files.append(_Entry(info, parts, self._of_json(info) if is_json else kind))
        return files, folders

    def _of_json(self, info: zipfile.ZipInfo) -> str | None:
        """Return the kind of a file of JSON by how it begins; None if it's no student's answer."""
        if _refused(info):
            return None
        self.source.taken, self.source.most = 0, PEEK
        try:
            with self.zip.open(info) as file:
                return "json" if is_answer(file.read(BEGINNING)) else None
        except Exception:  # zipfile raises many kinds for broken entries
            return None
        finally:
            self.source.most = 0

    def content(self, info: zipfile.ZipInfo, limit: int) -> tuple[bytes | None, int]:
        """Return what a file holds, to one byte behind the limit, and the bytes that were handled.

        None if it is broken. What its headers claim counts for nothing: many entries can share
        their packed bytes, and those can unfold to nothing.
        """
        self.source.taken, pieces, size = 0, [], 0
        try:
            with self.zip.open(info) as file:
                while size <= limit and (piece := file.read(min(PIECE, limit + 1 - size))):
                    pieces.append(piece)
                    size += len(piece)
        except Exception:  # zipfile raises many kinds for broken entries
            return None, max(self.source.taken, size)
        return b"".join(pieces), max(self.source.taken, size)


def _in_archive(
    content: bytes, parts: tuple[str, ...], depth: int, quota: Quota, time: datetime | None
) -> Iterator[Found]:
    """Yield the notebooks in a zip file of a student's, read one at a time."""
    try:
        if depth > DEPTH:
            raise ValueError("archives stand in archives too deep")
        archive = _Archive(content, quota.listed)
    except ValueError as error:
        yield Found(parts, problem=str(error))
        return
    quota.listed -= archive.listed
    files, _ = archive.entries()
    if len(files) > ENTRIES:
        yield Found(parts, problem=f"this zip file has more than {ENTRIES:,} files")
        return
    readable = [entry for entry in files if entry.kind and not hidden(entry.parts)]
    if not readable:
        places = (entry.parts for entry in files if not hidden(entry.parts))
        yield from nothing_in(parts, places, "no notebook in this zip file")
    for entry in readable:
        yield from _in_entry(archive, entry, (*parts, *entry.parts), depth, quota, time)


def _owner(files: list[_Entry], folders: list[tuple[str, ...]]) -> int:
    """Return which folder of a place says whose an entry is: the first, unless all stand in one."""
    readable = [entry.parts for entry in files if entry.kind]
    first = {parts[0] for parts in readable}
    if len(first) > 1 or any(len(parts) == 1 for parts in readable):
        return 1
    beside = [entry.parts for entry in files if entry.parts[0] not in first]
    if any(len(parts) > 1 for parts in beside) or any(f[0] not in first for f in folders):
        return 1  # others are students with a folder, and without a notebook
    lone = any(is_handed_in(parts[0]) for parts in beside)
    return 1 if lone and len({parts[1] for parts in readable}) == 1 else 2


def _in_class(content: bytes, parts: tuple[str, ...]) -> Iterator[Found]:
    """Yield the notebooks in the zip file of a class, in which each student has a quota."""
    try:
        archive = _Archive(content, CLASS_LIST)
    except ValueError as error:
        yield Found(parts, problem=str(error))
        return
    files, folders = archive.entries()
    files = [entry for entry in files if not any(map(junk, entry.parts[:2]))]
    folders = [parts for parts in folders if not any(map(junk, parts[:2])) and MACOSX not in parts]
    readable = [entry for entry in files if entry.kind]
    if not readable:
        places = (entry.parts for entry in files)
        yield from nothing_in(parts, places, "no notebook in this zip file")
        return
    owner = _owner(files, folders)
    own: dict[tuple[str, ...], list[_Entry]] = {}
    for entry in files:
        if len(entry.parts) > owner or entry.kind or is_handed_in(entry.parts[-1]):
            own.setdefault(entry.parts[:owner], []).append(entry)
    for folder in folders:
        if len(folder) >= owner:
            own.setdefault(folder[:owner], [])
    for place, entries in sorted(own.items()):
        if len(place) == owner:
            found = _of_one(archive, (*parts, *place), owner, entries)
            yield from guarded(found, (*parts, *place))


def _of_one(
    archive: _Archive, parts: tuple[str, ...], owner: int, entries: list[_Entry]
) -> Iterator[Found]:
    """Yield what one student has in the zip file of a class."""
    if len(entries) > ENTRIES:
        yield Found(parts, problem=f"this zip file has more than {ENTRIES:,} files")
        return
    entries = [entry for entry in entries if not hidden(entry.parts[owner:])]
    readable = [entry for entry in entries if entry.kind]
    if not readable and parts[-1] != MACOSX:
        places = (entry.parts[owner:] or entry.parts[-1:] for entry in entries)
        lone = any(len(entry.parts) == owner for entry in entries)  # a file and no folder
        above = parts[:-1] if lone else parts
        yield from nothing_in(above, places, "no notebook in this folder")
    quota = Quota.of_a_student()
    for entry in readable:
        place = (*parts, *entry.parts[owner:])
        yield from _in_entry(archive, entry, place, 0, quota, _time(entry.info))


def _time(info: zipfile.ZipInfo) -> datetime | None:
    """Return when a file of an archive was written, on the clock of whoever packed it."""
    try:
        return datetime(*info.date_time)
    except ValueError:  # any number can stand there
        return None


def _refused(info: zipfile.ZipInfo) -> str | None:
    """Return why a file of an archive is not even opened."""
    if stat.S_ISLNK(info.external_attr >> 16):
        return "this is a link, not a file"
    if info.flag_bits & 1:
        return "this file cannot be taken out of its zip file: it is encrypted"
    if info.compress_type not in METHODS:
        return "this file is packed in an unusual way: make an ordinary zip file of it"
    return None


def _in_entry(archive: _Archive, entry: _Entry, parts: tuple[str, ...], depth: int, quota: Quota,
              time: datetime | None) -> Iterator[Found]:  # fmt: skip
    """Yield one file of an archive."""
    kind = str(entry.kind)
    if quota.spent:
        if not quota.told:
            yield Found(parts, problem=TOO_MUCH)
        quota.told = True
        return
    if problem := _refused(entry.info):
        quota.spend(kind, 0)
        yield Found(parts, problem=problem)
        return
    limit = min(limit_of(kind), quota.packed if kind == "zip" else quota.size)
    content, cost = archive.content(entry.info, limit)
    quota.spend(kind, cost if content else max(cost, EMPTY))
    if content is None:
        words = "this file cannot be taken out of its zip file: it is broken"
        yield Found(parts, problem=words)
    elif limit < len(content) <= limit_of(kind):
        quota.told = True
        yield Found(parts, problem=TOO_MUCH)
    else:
        yield from classify(content, kind, parts, depth, quota, time)


def classify(
    content: bytes,
    kind: str,
    parts: tuple[str, ...],
    depth: int,
    quota: Quota,
    time: datetime | None = None,
) -> Iterator[Found]:
    """Yield a file, or the files in it.

    Parameters
    ----------
    content : bytes
        What was read of it: one byte more than its limit where it has more.
    kind : str
        ``ipynb``, ``json`` or ``zip``.
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
    elif kind == "zip" and depth < 0:
        yield from _in_class(content, parts)
    elif kind == "zip":
        yield from _in_archive(content, parts, depth + 1, quota, time)
    else:
        yield Found(parts, content, time=time)
