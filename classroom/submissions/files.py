"""Finds the notebooks in a folder of submissions, and reads none of them wrongly.

Files come from anywhere: nothing is unpacked to the disk, no link is followed, and sizes are
limited before anything is read. What cannot be read is said and costs its author alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from classroom.submissions.archives import Found, Quota, classify, hidden, limit_of, shown, wanted
from mini_attn.errors import ConfigError

__all__ = ["MISTAKEN", "find"]

FOLDERS = 40  # folders in folders
# What somebody may hand in by mistake; other files, such as a list of names, are nobody's.
MISTAKEN = ("py", "pdf", "html", "md", "doc", "docx", "odt", "rtf", "tar", "gz", "7z", "rar")


def _time(about: os.stat_result) -> datetime | None:
    """When a file was written."""
    try:
        return datetime.fromtimestamp(about.st_mtime, UTC)
    except (ValueError, OverflowError, OSError):  # any number can stand there
        return None


def _in_file(
    entry: os.DirEntry[str], parts: tuple[str, ...], depth: int, quota: Quota
) -> Iterator[Found]:
    """One file of a folder; links, pipes and devices are named and not opened."""
    kind = wanted(entry.name)
    if kind is None:
        if len(parts) == 1 and entry.name.rsplit(".", 1)[-1].lower() in MISTAKEN:
            yield Found(parts, problem="this is no notebook: hand in the .ipynb file")
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
    if kind == "ipynb":  # an archive counts by what it holds
        quota.spend(len(content))
    yield from classify(content, kind, parts, depth, quota, _time(about))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What stands in a folder, by name."""
    with os.scandir(folder) as found:
        return sorted((e for e in found if not hidden((e.name,))), key=lambda e: e.name)


def _in_folder(folder: Path, parts: tuple[str, ...], quota: Quota) -> Iterator[Found]:
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
        inner = (*parts, shown(entry.name))
        if entry.is_dir(follow_symlinks=False):
            yield from _in_folder(Path(entry.path), inner, quota)
        else:
            yield from _in_file(entry, inner, 0, quota)


def _of_student(entry: os.DirEntry[str], *, only_entry: bool) -> Iterator[Found]:
    """What one entry of the submissions holds; whatever is wrong with it costs its author."""
    parts, quota = (shown(entry.name),), Quota.of_a_student()
    if entry.is_dir(follow_symlinks=False):
        below = _in_folder(Path(entry.path), parts, quota)
        yield next(below, None) or Found(parts, problem="no notebook in this folder")
        yield from below
    elif only_entry:
        yield from _in_file(entry, parts, -1, Quota.of_a_class())
    else:
        yield from _in_file(entry, parts, 0, quota)


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
