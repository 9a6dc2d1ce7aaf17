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

__all__ = ["NOTEBOOK_BYTES", "Found", "find"]

NOTEBOOK_BYTES = 20 * 10**6
ARCHIVE_BYTES = 500 * 10**6
ENTRIES = 20_000  # files in one archive
DEPTH = 3  # archives in archives
SKIPPED = (".ipynb_checkpoints", "__MACOSX")


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


def _in_archive(content: bytes, parts: tuple[str, ...], depth: int) -> Iterator[Found]:
    """The notebooks in a zip file, read one at a time and up to the limit."""
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
        for entry in sorted(entries, key=lambda e: e.filename):
            # Only a name to show and to sort by: nothing is written to such a place.
            below = [part for part in entry.filename.replace("\\", "/").split("/") if part]
            inner = (*parts, *(_shown(part) for part in below if part not in (".", "..")))
            kind = _wanted(entry.filename)
            if kind is None or _hidden(inner[len(parts) :]):
                continue
            yield from _in_entry(archive, entry, kind, inner, depth)


def _in_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, kind: str,
              parts: tuple[str, ...], depth: int) -> Iterator[Found]:  # fmt: skip
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
    yield from _classify(content, kind, parts, depth, limit)


def _classify(
    content: bytes, kind: str, parts: tuple[str, ...], depth: int, limit: int
) -> Iterator[Found]:
    if len(content) > limit:
        yield Found(parts, problem=f"this file is larger than {limit // 10**6} MB")
    elif kind == "zip":
        yield from _in_archive(content, parts, depth + 1)
    else:
        yield Found(parts, content)


def _in_folder(folder: Path, parts: tuple[str, ...]) -> Iterator[Found]:
    """The notebooks below a folder; links, pipes and devices are named and not opened."""
    for entry in sorted(os.scandir(folder), key=lambda e: e.name):
        inner = (*parts, _shown(entry.name))
        if _hidden((entry.name,)):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _in_folder(Path(entry.path), inner)
            continue
        kind = _wanted(entry.name)
        if kind is None:
            continue
        if not entry.is_file(follow_symlinks=False):
            yield Found(inner, problem="this is a link or a device, not a file")
            continue
        limit = NOTEBOOK_BYTES if kind == "ipynb" else ARCHIVE_BYTES
        try:
            with open(entry.path, "rb") as file:
                content = file.read(limit + 1)
        except OSError as error:
            yield Found(inner, problem=f"this file cannot be read: {error.strerror}")
            continue
        yield from _classify(content, kind, inner, 0, limit)


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
        If there is no such folder.
    """
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {str(folder)!r}")
    yield from _in_folder(folder, ())
