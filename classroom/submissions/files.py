"""Finds the notebooks in a folder of submissions, and reads none of them wrongly.

Files come from anywhere: nothing is unpacked to the disk, no link is followed, and sizes are
limited before anything is read. What cannot be read is said and costs its author alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from classroom.submissions.archives import (
    MACOSX,
    NO_NOTEBOOK,
    Found,
    Quota,
    classify,
    guarded,
    hidden,
    is_answer,
    is_handed_in,
    junk,
    limit_of,
    nothing_in,
    shown,
    wanted,
)
from classroom.submissions.progress import BEGINNING
from mini_attn.errors import ConfigError

__all__ = ["find"]

FOLDERS = 40  # folders in folders


def _time(about: os.stat_result) -> datetime | None:
    """Return when a file was written."""
    try:
        return datetime.fromtimestamp(about.st_mtime, UTC)
    except (ValueError, OverflowError, OSError):  # any number can stand there
        return None


def _is_answer(entry: os.DirEntry[str]) -> bool:
    """Return whether a file of JSON begins like a student's; links and pipes aren't opened."""
    if not entry.is_file(follow_symlinks=False):
        return False
    try:
        with open(entry.path, "rb") as file:
            return is_answer(file.read(BEGINNING))
    except OSError:
        return False


def _in_file(
    entry: os.DirEntry[str], parts: tuple[str, ...], depth: int, quota: Quota
) -> Iterator[Found]:
    """Yield one file of a folder; links, pipes and devices are named and not opened."""
    kind = wanted(entry.name)
    if kind is None or (kind == "json" and not _is_answer(entry)):
        if len(parts) == 1 and is_handed_in(entry.name):
            yield Found(parts, problem=NO_NOTEBOOK)
        return
    if not entry.is_file(follow_symlinks=False):
        yield Found(parts, problem="this is a link or a device, not a file")
        return
    if quota.spent:
        if not quota.told:
            yield Found(parts, problem="too much in one folder: not read")
        quota.told = True
        return
    try:
        with open(entry.path, "rb") as file:
            about = os.fstat(file.fileno())  # memory is taken for what is asked
            content = file.read(min(about.st_size, limit_of(kind)) + 1)
    except OSError as error:
        yield Found(parts, problem=f"this file cannot be read: {error.strerror}")
        return
    quota.spend(kind, len(content))
    yield from classify(content, kind, parts, depth, quota, _time(about))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return what stands in a folder, by name."""
    with os.scandir(folder) as found:
        return sorted(found, key=lambda entry: entry.name)


def _in_folder(folder: Path, parts: tuple[str, ...], quota: Quota) -> Iterator[Found]:
    """Yield the notebooks below a folder of a student's."""
    if len(parts) > FOLDERS:
        yield Found(parts[:2], problem="folders stand in folders too deep")
        return
    try:
        entries = _entries(folder)
    except OSError as error:  # no right to look in, or a path longer than the system takes
        yield Found(parts, problem=f"this folder cannot be read: {error.strerror}")
        return
    for entry in entries:
        inner = (*parts, shown(entry.name))
        if hidden((entry.name,)):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _in_folder(Path(entry.path), inner, quota)
        else:
            yield from _in_file(entry, inner, 0, quota)


def _names(folder: Path) -> list[tuple[str, ...]]:
    """Return what stands right in a folder; nothing where it can't be read, as that is said."""
    try:
        return [(shown(entry.name),) for entry in _entries(folder) if not hidden((entry.name,))]
    except OSError:
        return []


def _of_student(entry: os.DirEntry[str], *, only_entry: bool) -> Iterator[Found]:
    """Yield what one entry of the submissions holds; whatever is wrong with it costs its author."""
    parts, quota = (shown(entry.name),), Quota.of_a_student()
    if not entry.is_dir(follow_symlinks=False):
        yield from _in_file(entry, parts, -1 if only_entry else 0, quota)
        return
    below = _in_folder(Path(entry.path), parts, quota)
    if (first := next(below, None)) is not None:
        yield first
        yield from below
    elif entry.name != MACOSX:
        yield from nothing_in(parts, _names(Path(entry.path)), "no notebook in this folder")


def find(folder: Path) -> Iterator[Found]:
    """Yield all notebooks below a folder, in the order of their names.

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
        entries = [entry for entry in _entries(folder) if not junk(entry.name)]
    except OSError as error:
        raise ConfigError(f"the folder {str(folder)!r} cannot be read: {error.strerror}") from None
    for entry in entries:
        found = _of_student(entry, only_entry=len(entries) == 1)
        yield from guarded(found, (shown(entry.name),))
