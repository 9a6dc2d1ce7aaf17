"""A learner's progress on its way: into a file, out of a file, and forgotten."""

from __future__ import annotations

import os
from pathlib import Path

from mini_attn.errors import ConfigError
from mini_attn.exercises.progress_file import write
from mini_attn.exercises.progress_format import LARGEST, parse
from mini_attn.exercises.progress_record import Record, merged, only_known, words
from mini_attn.exercises.progress_store import attempts, load, place, rewrite
from mini_attn.exercises.spec import exercise, of_chapter

__all__ = ["export_progress", "import_progress", "reset_progress"]

NAME = "living-attention-progress.json"  # what the page's Export calls it too


def _written(path: Path, record: Record) -> None:
    """Write a record where a learner asked for it; ConfigError where that cannot be."""
    try:
        write(path, record)
    except OSError as reason:
        raise ConfigError(f"{path} cannot be written: {reason.strerror or reason}") from None


def _content(path: Path) -> Record:
    """The record in a file; ConfigError where there is none."""
    try:
        with path.open("rb") as file:
            return parse(file.read(LARGEST + 1))
    except OSError as reason:
        raise ConfigError(f"{path} cannot be read: {reason.strerror or reason}") from None
    except ConfigError as reason:
        raise ConfigError(f"{path}: {reason}") from None


def export_progress(path: str | os.PathLike[str] = NAME) -> None:
    """Write your progress into a file that another Python, or the book's page, can import.

    Parameters
    ----------
    path : path
        The file, or a folder to put it into. An earlier export is brought up to date; what it
        holds beyond this stays.

    Raises
    ------
    ConfigError
        If it cannot be written, or holds something else; it is then as it was.
    """
    target = Path(path).expanduser()
    target = target / NAME if target.is_dir() else target
    record, _ = only_known(load())
    if target.exists():
        record = merged(_content(target), record)
    _written(target, record)
    print(f"Written to {target}: {words(record)}.")


def import_progress(path: str | os.PathLike[str] = NAME) -> None:
    """Add the progress in a file to yours; what you have solved stays solved.

    Parameters
    ----------
    path : path
        What `export_progress`, or Export on a page, has written.

    Raises
    ------
    ConfigError
        If the file is not of that kind, with the first thing that does not fit; nothing changes.
    """
    source = Path(path).expanduser()
    given, left_out = only_known(_content(source))
    rewrite(lambda mine: merged(given, mine))
    print(f"{source} holds {words(given)}.")
    print(f"Together with yours: {words(load())}.")
    if left_out:
        print(f"Left out, because this book has no such exercise: {left_out}.")


def reset_progress(chapter: str | None = None) -> None:
    """Forget your progress, in one chapter or in all.

    Where it was kept in a file, that is copied first, and the last line says how to undo this.

    Parameters
    ----------
    chapter : str or None
        The name of a chapter; None for the whole book.

    Raises
    ------
    ConfigError
        If there is no such chapter, or the file cannot be written; nothing is forgotten then.
    """
    if chapter is not None:
        of_chapter(chapter)
    record, path = load(), place()
    gone = {page: kinds for page, kinds in record.items() if chapter in (None, page)}
    copy = path.with_name(f"{path.stem}-before-reset.json") if path and gone else None
    if copy:
        _written(copy, record)
    rewrite(lambda mine: {page: kinds for page, kinds in mine.items() if page not in gone})
    for exercise_id in [i for i in attempts if chapter in (None, exercise(i).page)]:
        del attempts[exercise_id]
    print(f"Forgotten: {words(gone)}.")
    if copy:
        print(f'import_progress("{copy}") brings it back.')
