"""The file of a learner's progress: read, written whole, and by one notebook at a time."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mini_attn.errors import ConfigError
from mini_attn.exercises.progress_format import LARGEST, OtherVersion, as_text, parse
from mini_attn.exercises.progress_record import Record

__all__ = ["BROWSER", "change", "read", "say_once", "write"]

BROWSER = sys.platform == "emscripten"
_said: set[str] = set()


def say_once(sentence: str) -> None:
    """Print a sentence, the first time that it is said.

    Parameters
    ----------
    sentence : str
        What a learner should know.
    """
    if sentence not in _said:
        _said.add(sentence)
        print(sentence)


def _busy(descriptor: int) -> bool:
    """Take a file's lock, or tell that another process has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return True
    except OSError:  # a file system without locks: go on without
        return False
    return False


@contextmanager
def _locked(path: Path, patience: float) -> Iterator[None]:
    """Hold the lock next to a file; TimeoutError where another process does not let go of it."""
    if BROWSER:  # one writer at a time: each write passes through the page's one thread
        yield
        return
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        end = time.monotonic() + patience
        while _busy(descriptor):
            if time.monotonic() > end:
                raise TimeoutError("another notebook is writing")
            time.sleep(0.002)
        yield
    finally:
        os.close(descriptor)


def _set_aside(path: Path, reason: ConfigError) -> None:
    """Move a file that cannot be read out of the way, and say where it is."""
    number = 1
    while (other := path.with_name(f"{path.stem}-unreadable-{number}.json")).exists():
        number += 1
    path.rename(other)
    say_once(f"Your progress begins anew: {reason}. The file was kept as {other}.")


def read(path: Path) -> Record:
    """Return what the file holds; one that cannot be read is set aside.

    Parameters
    ----------
    path : Path
        The file; a missing one is an empty one.

    Returns
    -------
    Record
        What it holds.

    Raises
    ------
    OSError, OtherVersion
        If the system does not give it, or another version of the book wrote it.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        return parse(content) if content.strip() not in (b"", b"null") else {}
    except FileNotFoundError:
        return {}
    except OtherVersion:  # which will want to read it again
        raise
    except ConfigError as reason:
        _set_aside(path, reason)
        return {}


def write(path: Path, record: Record) -> None:
    """Write a record whole or not at all.

    Parameters
    ----------
    path : Path
        The file; it is replaced.
    record : Record
        What it will hold.

    Raises
    ------
    OSError
        If it cannot be written; the file is then as it was.
    """
    if BROWSER:
        _write_in_browser(path, as_text(record).encode())
        return
    path = Path(os.path.realpath(path))  # a link stays a link
    descriptor, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".part", dir=path.parent)
    try:
        # No fsync: it takes longer than a check, and a lost last second is not a lost file.
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(as_text(record))
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _write_in_browser(path: Path, content: bytes) -> None:
    """Write where JupyterLite stores a file when it is closed, whole.

    Opening a file to be cut would store it empty first, and no empty file is JSON: the notebook
    would wait for an answer for ever. So the old file is written over, with blanks at its end.
    """
    with path.open("r+b" if path.exists() else "wb") as file:
        length = file.seek(0, os.SEEK_END) if file.readable() else 0
        file.seek(0)
        file.write(content.ljust(length))


def change(path: Path, edit: Callable[[Record], Record], patience: float) -> None:
    """Read the file, edit and write it, while no other process does.

    Parameters
    ----------
    path : Path
        The file; its folder is made.
    edit : callable (Record) -> Record
        From what it holds to what it shall hold.
    patience : float
        Seconds to wait at most for another notebook's write.

    Raises
    ------
    OSError, OtherVersion
        If it cannot be done; TimeoutError, if others did not let go. The file is as it was.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(path, patience):
        before = read(path)
        after = edit(before)
        if after != before:
            write(path, after)
