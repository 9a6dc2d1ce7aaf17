"""Where the record of a learner's work lies, and how it is written there.

The file has the format of an export. It is read again before each write, so that two notebooks
add to it and neither takes from the other; what could not be written waits in memory. Nothing
here raises into a check, and nothing is written for an exercise that was not attempted.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from mini_attn.errors import ConfigError
from mini_attn.exercises.progress_file import BROWSER, change, read, say_once
from mini_attn.exercises.progress_format import OtherVersion
from mini_attn.exercises.progress_record import Record, merged
from mini_attn.exercises.spec import Exercise

__all__ = ["attempts", "load", "outcome", "place", "remember", "rewrite"]

NAME = "progress.json"
SWITCH = "MINI_ATTN_PROGRESS"
DRIVE = Path("/drive")  # what JupyterLite keeps in the browser, beside the notebooks
PATIENCE = 0.1  # seconds that a check waits at most for another notebook's write

attempts: dict[str, str] = {}  # of this session: by exercise the check that failed, "" if none
_waiting: Record = {}  # what the file does not hold yet


@cache
def _has_drive() -> bool:
    """Return whether the browser keeps files; each question to it takes a while."""
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


def outcome(task: Exercise, failed: str | None) -> Record:
    """Return what is worth keeping of an answer.

    Parameters
    ----------
    task : Exercise
        Which exercise.
    failed : str or None
        Name of the first check that failed, None for a solved exercise.

    Returns
    -------
    Record
        Of this one exercise; empty where it was not attempted.
    """
    if failed == "attempted":
        return {}
    entry = {"state": "tried", "points": 0, "missing": failed}
    if not failed:
        entry = {"state": "solved", "points": task.points}
    return {task.page: {"exercises": {task.id: entry}}}


def remember(task: Exercise, failed: str | None) -> None:
    """Keep the `outcome` of an answer; what was solved once stays solved.

    Parameters
    ----------
    task : Exercise
    failed : str or None
        As in `outcome`.
    """
    if attempts.get(task.id) != "":
        attempts[task.id] = failed or ""
    if chapter := outcome(task, failed):
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
            kept = read(path)
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


atexit.register(_flush, 5.0)
