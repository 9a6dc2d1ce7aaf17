"""Finds the notebooks in a folder of submissions, and reads none of them wrongly.

Files come from anywhere: nothing is unpacked to the disk, no link is followed, and sizes are
limited before anything is read. What cannot be read is said and costs its author alone.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mini_attn.errors import ConfigError

__all__ = ["MISTAKEN", "NOTEBOOK_BYTES", "Found", "find"]

NOTEBOOK_BYTES = 20 * 10**6
ARCHIVE_BYTES = 500 * 10**6
ENTRIES = 20_000  # files in one archive
DEPTH = 3  # archives in archives
FOLDERS = 40  # folders in folders
SKIPPED = (".ipynb_checkpoints", "__MACOSX")
# What somebody may hand in by mistake; other files, such as a list of names, are nobody's.
MISTAKEN = ("py", "pdf", "html", "md", "doc", "docx", "odt", "rtf", "tar", "gz", "7z", "rar")


@dataclass
class _Quota:
    """What may still be taken out of archives: a small file can unfold to terabytes."""

    files: int
    size: int

    @classmethod
    def of_a_student(cls) -> _Quota:
        return cls(200, 200 * 10**6)

    @classmethod
    def of_a_class(cls) -> _Quota:
        return cls(ENTRIES, 4 * 10**9)


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
    """

    parts: tuple[str, ...]
    content: bytes | None = None
    problem: str | None = None


def _shown(name: str) -> str:
    """A file's name as text; bytes that are no text are written as numbers."""
    return name.encode("utf-8", "backslashreplace").decode()


def _wanted(name: str) -> str | None:
    """What kind of file a name promises."""
    kind = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    return kind if kind in ("ipynb", "zip") else None


def _hidden(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(".") or part in SKIPPED for part in parts)


def _in_archive(
    content: bytes, parts: tuple[str, ...], depth: int, quota: _Quota
) -> Iterator[Found]:
    """The notebooks in a zip file, read one at a time; depth 0 is the archive of a class."""
    if depth > DEPTH:
        yield Found(parts, problem="archives stand in archives too deep")
        return
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError):
        yield Found(parts, problem="this zip file is broken")
        return
    with archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        if len(entries) > ENTRIES:
            yield Found(parts, problem=f"this zip file has more than {ENTRIES:,} files")
            return
        empty = True
        for entry in sorted(entries, key=lambda e: e.filename):
            # Only a name to show and to sort by: nothing is written to such a place.
            below = [part for part in entry.filename.replace("\\", "/").split("/") if part]
            inner = (*parts, *(_shown(part) for part in below if part not in (".", "..")))
            kind = _wanted(entry.filename)
            if kind is None or _hidden(inner[len(parts) :]):
                continue
            empty = False
            if quota.files <= 0 or quota.size <= 0:
                yield Found(inner, problem="too much in one zip file: not read")
                return
            yield from _in_entry(archive, entry, kind, inner, depth, quota)
        if empty:
            yield Found(parts, problem="no notebook in this zip file")


def _in_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, kind: str,
              parts: tuple[str, ...], depth: int, quota: _Quota) -> Iterator[Found]:  # fmt: skip
    """One file of an archive."""
    if stat.S_ISLNK(entry.external_attr >> 16):
        yield Found(parts, problem="this is a link, not a file")
        return
    limit = NOTEBOOK_BYTES if kind == "ipynb" else ARCHIVE_BYTES
    try:
        with archive.open(entry) as file:
            content = file.read(limit + 1)
    except Exception:  # zipfile raises many kinds for broken or encrypted entries
        locked = "it is encrypted" if entry.flag_bits & 1 else "it is broken"
        yield Found(parts, problem=f"this file cannot be taken out of its zip file: {locked}")
        return
    quota.files, quota.size = quota.files - 1, quota.size - len(content)
    # In the archive of a class, each archive is a student's, and costs that student alone.
    own = _Quota.of_a_student() if depth == 0 and kind == "zip" else quota
    yield from _classify(content, kind, parts, depth, limit, own)


def _classify(content: bytes, kind: str, parts: tuple[str, ...], depth: int, limit: int,
              quota: _Quota) -> Iterator[Found]:  # fmt: skip
    if len(content) > limit:
        yield Found(parts, problem=f"this file is larger than {limit // 10**6} MB")
    elif kind == "zip":
        yield from _in_archive(content, parts, depth + 1, quota)
    else:
        yield Found(parts, content)


def _in_file(
    entry: os.DirEntry[str], parts: tuple[str, ...], *, only_entry: bool
) -> Iterator[Found]:
    """One file of a folder; links, pipes and devices are named and not opened."""
    kind = _wanted(entry.name)
    if kind is None:
        if len(parts) == 1 and entry.name.rsplit(".", 1)[-1].lower() in MISTAKEN:
            yield Found(parts, problem="this is no notebook: hand in the .ipynb file")
        return
    if not entry.is_file(follow_symlinks=False):
        yield Found(parts, problem="this is a link or a device, not a file")
        return
    limit = NOTEBOOK_BYTES if kind == "ipynb" else ARCHIVE_BYTES
    try:
        with open(entry.path, "rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        yield Found(parts, problem=f"this file cannot be read: {error.strerror}")
        return
    quota = _Quota.of_a_class() if only_entry else _Quota.of_a_student()
    yield from _classify(content, kind, parts, -1 if only_entry else 0, limit, quota)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What stands in a folder, by name."""
    with os.scandir(folder) as found:
        return sorted((e for e in found if not _hidden((e.name,))), key=lambda e: e.name)


def _in_folder(folder: Path, parts: tuple[str, ...]) -> Iterator[Found]:
    """The notebooks below a folder of a student's."""
    if len(parts) > FOLDERS:
        yield Found(parts[:2], problem="folders stand in folders too deep")
        return
    try:
        entries = _entries(folder)
    except OSError as error:  # no right to look in, or a path longer than the system takes
        yield Found(parts, problem=f"this folder cannot be read: {error.strerror}")
        return
    for entry in entries:
        inner = (*parts, _shown(entry.name))
        if entry.is_dir(follow_symlinks=False):
            yield from _in_folder(Path(entry.path), inner)
        else:
            yield from _in_file(entry, inner, only_entry=False)


def _of_student(entry: os.DirEntry[str], *, only_entry: bool) -> Iterator[Found]:
    """What one entry of the submissions holds; whatever is wrong with it costs its author."""
    parts = (_shown(entry.name),)
    if entry.is_dir(follow_symlinks=False):
        below = _in_folder(Path(entry.path), parts)
        yield next(below, None) or Found(parts, problem="no notebook in this folder")
        yield from below
    else:
        yield from _in_file(entry, parts, only_entry=only_entry)


def find(folder: Path) -> Iterator[Found]:
    """All notebooks below a folder, in the order of their names.

    Parameters
    ----------
    folder : Path
        The submissions: notebooks, folders and zip files, in any arrangement.

    Yields
    ------
    Found
        Each notebook, and each file that should be one and cannot be read.

    Raises
    ------
    ConfigError
        If there is no such folder, or none that may be read.
    """
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {str(folder)!r}")
    try:
        entries = _entries(folder)
    except OSError as error:
        raise ConfigError(f"the folder {str(folder)!r} cannot be read: {error.strerror}") from None
    for entry in entries:
        yield from _of_student(entry, only_entry=len(entries) == 1)
