"""Where the record of a learner's work lies, and how it is written there.

The file has the format of an export. It is read again before each write, so that two notebooks
add to it and neither takes from the other; what could not be written waits in memory. Nothing
here raises into a check, and nothing is written for an exercise that was not attempted.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from mini_attn.errors import ConfigError
from mini_attn.exercises.record import LARGEST, OtherVersion, Record, as_text, merged, parse
from mini_attn.exercises.spec import Exercise

__all__ = ["attempts", "load", "place", "remember", "rewrite", "write"]

NAME = "progress.json"
SWITCH = "MINI_ATTN_PROGRESS"
BROWSER = sys.platform == "emscripten"
DRIVE = Path("/drive")  # what JupyterLite keeps in the browser, beside the notebooks
PATIENCE = 0.1  # seconds that a check waits at most for another notebook's write

attempts: dict[str, str] = {}  # of this session: by exercise the check that failed, "" if none
_waiting: Record = {}  # what the file does not hold yet
_said: set[str] = set()


def say_once(sentence: str) -> None:
    """Print a sentence, the first time that it is said."""
    if sentence not in _said:
        _said.add(sentence)
        print(sentence)


@cache
def _has_drive() -> bool:
    """Whether the browser keeps files; each question to it takes a while."""
    return DRIVE.is_dir()


def place() -> Path | None:
    """The file in which progress is kept, or None where it is kept for the session only.

    Returns
    -------
    Path or None
        What the environment variable MINI_ATTN_PROGRESS names (``off`` for nothing), else the
        system's usual folder for a program's state, in the browser the notebook's folder.
    """
    named = os.environ.get(SWITCH)
    if named is not None:
        off = named.strip().lower() in ("", "0", "off", "no")
        return None if off else Path(os.path.expanduser(named)).absolute()
    if BROWSER:
        return DRIVE / f"mini-attn-{NAME}" if _has_drive() else None
    try:
        if sys.platform == "darwin":
            folder = Path.home() / "Library/Application Support"
        elif os.name == "nt":
            folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
        else:
            folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
    except RuntimeError:  # a user without a home
        return None
    return folder.absolute() / "mini_attn" / NAME


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
    """Hold the lock beside a file; TimeoutError where another process does not let go of it."""
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


def _read(path: Path) -> Record:
    """What the file holds; one that cannot be read is set aside."""
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


def change(path: Path, edit: Callable[[Record], Record], patience: float = PATIENCE) -> None:
    """Read the file, edit and write it, while no other process does."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(path, patience):
        before = _read(path)
        after = edit(before)
        if after != before:
            write(path, after)


def _flush(patience: float = PATIENCE) -> None:
    """Bring what waits into the file; where that fails it goes on waiting."""
    path = place() if _waiting else None
    if path is None:
        if _waiting and BROWSER and SWITCH not in os.environ:
            say_once("Progress lasts until this page is left: this browser keeps no files for it.")
        return
    try:
        change(path, lambda kept: merged(kept, _waiting), patience)
        _waiting.clear()
    except TimeoutError:
        return  # the next check writes it too, or the end of the session
    except OtherVersion as reason:
        say_once(f"Progress lasts for this session only, {path} stays as it is: {reason}.")
    except (OSError, ValueError) as reason:
        why = getattr(reason, "strerror", None) or reason
        say_once(f"Progress lasts for this session only: {path} cannot be written ({why}).")


def remember(task: Exercise, failed: str | None) -> None:
    """Keep how far an answer came; what was solved once stays solved.

    Parameters
    ----------
    task : Exercise
        Which exercise.
    failed : str or None
        Name of the first check that failed, None for a solved exercise.
    """
    if attempts.get(task.id) != "":
        attempts[task.id] = failed or ""
    if failed == "attempted":
        return
    entry = {"state": "tried", "points": 0, "missing": failed}
    if not failed:
        entry = {"state": "solved", "points": task.points}
    chapter = {task.page: {"exercises": {task.id: entry}}}
    _waiting.update(merged(_waiting, chapter))
    _flush()


def load() -> Record:
    """All that is known: what the file holds, and what waits to get there.

    Returns
    -------
    Record
        Empty where nothing was kept.
    """
    path = place()
    kept: Record = {}
    if path is not None:
        try:
            kept = _read(path)
        except (OSError, ValueError) as reason:
            why = getattr(reason, "strerror", None) or reason
            say_once(f"What was kept in {path} cannot be read: {why}.")
    return merged(kept, _waiting)


def rewrite(edit: Callable[[Record], Record]) -> None:
    """Change what is known, in the file or, without one, in memory.

    Parameters
    ----------
    edit : callable (Record) -> Record
        From all that is known to what shall be known.

    Raises
    ------
    ConfigError
        If the file cannot be changed now; nothing is changed then.
    """
    path = place()
    after = edit(_waiting) if path is None else {}
    if path is not None:
        try:
            change(path, lambda kept: edit(merged(kept, _waiting)), patience=2.0)
        except OSError as reason:
            raise ConfigError(f"{path} cannot be written: {reason.strerror or reason}") from None
    _waiting.clear()
    _waiting.update(after)


atexit.register(_flush, 1.0)
