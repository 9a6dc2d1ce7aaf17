"""Hints, and where a learner stands."""

from __future__ import annotations

import os
from pathlib import Path

from mini_attn.errors import ConfigError
from mini_attn.exercises.kept import NAME, attempts, load, place, rewrite, write
from mini_attn.exercises.record import LARGEST, Entry, Record, entries, merged, parse
from mini_attn.exercises.spec import exercise, exercise_ids

__all__ = ["export_progress", "hint", "import_progress", "progress", "reset_progress"]

_shown: dict[str, int] = {}


def hint(exercise_id: str, number: int | None = None) -> None:
    """Print a hint: first the idea, then the steps.

    Parameters
    ----------
    exercise_id : str
        Which exercise.
    number : int or None
        1 or 2; None gives the next one that was not shown.

    Raises
    ------
    ConfigError
        If there is no such exercise or hint.
    """
    hints = exercise(exercise_id).hints
    if number is None:
        number = min(_shown.get(exercise_id, 0) + 1, len(hints))
    if number not in range(1, len(hints) + 1):
        raise ConfigError(f"{exercise_id} has hints 1 to {len(hints)}, not {number!r}")
    _shown[exercise_id] = number
    print(f"Hint {number} of {len(hints)}: {hints[number - 1]}")


def _known(record: Record) -> tuple[Record, int]:
    """A record without exercises that this book does not have, and how many those are."""
    ids = exercise_ids()
    result: Record = {}
    left_out = 0
    for page, kind, name, entry in entries(record):
        if kind == "exercises" and (name not in ids or exercise(name).page != page):
            left_out += 1
        else:
            result = merged(result, {page: {kind: {name: entry}}})
    return result, left_out


def _chapters() -> dict[str, list[str]]:
    """The exercises of each chapter."""
    chapters: dict[str, list[str]] = {}
    for task in map(exercise, exercise_ids()):
        chapters.setdefault(task.page, []).append(task.id)
    return chapters


def _of(chapter: str) -> list[str]:
    """The exercises of one chapter; ConfigError where there is no such chapter."""
    chapters = _chapters()
    if not isinstance(chapter, str) or chapter not in chapters:
        known = ", ".join(sorted(chapters))
        raise ConfigError(f"there is no chapter {str(chapter)[:40]!r}; there are {known}")
    return chapters[chapter]


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 else "s")


def _words(found: dict[str, dict[str, Entry]]) -> str:
    """How many exercises and predictions: ``2 exercises and 1 prediction``."""
    parts = [(len(found.get(kind, {})), kind[:-1]) for kind in ("exercises", "predictions")]
    return " and ".join(_count(n, noun) for n, noun in parts if n) or "nothing"


def _all(record: Record) -> dict[str, dict[str, Entry]]:
    """A record of all chapters as if they were one."""
    found: dict[str, dict[str, Entry]] = {}
    for page, kind, name, entry in entries(record):
        found.setdefault(kind, {})[f"{page}/{name}"] = entry
    return found


def _print_chapter(page: str, ids: list[str], kept: dict[str, dict[str, Entry]]) -> None:
    """A chapter's exercises, a line each, and its predictions where some are known."""
    tasks = [exercise(exercise_id) for exercise_id in ids]
    width = max((len(task.title) for task in tasks), default=0)
    print(page)
    for task in tasks:
        entry = kept.get("exercises", {}).get(task.id)
        missing = attempts.get(task.id) or (entry or {}).get("missing")
        state = f"missing: {missing}" if missing else "not yet"
        if entry is None:
            state = "not attempted"
        elif entry["state"] != "tried":
            state = "solved" if entry["state"] == "solved" else "done, ticked by hand"
        points = entry["points"] if entry else 0
        print(f"  {task.title:{width}}  {points} of {task.points}  {state}")
    answers = kept.get("predictions", {})
    if answers:
        right = sum(entry["verdict"] == "right" for entry in answers.values())
        print(f"  {_count(len(answers), 'prediction')} answered, {right} right")


def progress(chapter: str | None = None) -> None:
    """Print how far you are, chapter by chapter.

    The chapters of this session come with their exercises, those of earlier visits on one line
    each. What `check` saw is kept between visits: in the file that the last line names.

    Parameters
    ----------
    chapter : str or None
        The name of one chapter, for example ``"kv-cache"``, to see all its exercises.

    Raises
    ------
    ConfigError
        If there is no such chapter.
    """
    record, _ = _known(load())
    listed: dict[str, list[str]]
    if chapter is not None:
        listed = {chapter: _of(chapter)}
    else:
        listed = {exercise(i).page: [] for i in attempts} | {page: [] for page in record}
        for page, ids in listed.items():
            seen = [i for i in attempts if exercise(i).page == page]
            ids += dict.fromkeys([*seen, *record.get(page, {}).get("exercises", {})])
    path = place()
    if not listed:
        print(f"No exercise was checked {'in this session ' if path is None else ''}yet.")
        return
    present = {exercise(i).page for i in attempts} | {chapter}
    for page, ids in listed.items():
        kept = record.get(page, {})
        if page in present:
            _print_chapter(page, ids, kept)
        else:
            solved = sum(e["points"] > 0 for e in kept.get("exercises", {}).values())
            print(f"{page}: {_words(kept)}, {solved} solved; progress({page!r}) lists them")
    tasks = [exercise(i) for ids in listed.values() for i in ids]
    found = _all(record).get("exercises", {})
    earned = sum(found.get(f"{task.page}/{task.id}", {}).get("points", 0) for task in tasks)
    total = sum(task.points for task in tasks)
    print(f"{earned} of {total} points {'in this session' if path is None else f'({path})'}")


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
    record, _ = _known(load())
    if target.exists():
        record = merged(_content(target), record)
    _written(target, record)
    print(f"{_words(_all(record)).capitalize()} written to {target}.")


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
    given, left_out = _known(_content(source))
    before = _all(load())
    rewrite(lambda mine: merged(given, mine))
    after = _all(load())
    new = {kind: {n: e for n, e in named.items() if e != before.get(kind, {}).get(n)}
           for kind, named in after.items()}  # fmt: skip
    print(f"{_words(new).capitalize()} new from {source}; you have {_words(after)} now.")
    if left_out:
        print(f"{_count(left_out, 'exercise')} left out: this book does not have them.")


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
        _of(chapter)
    record, path = load(), place()
    gone = {page: kinds for page, kinds in record.items() if chapter in (None, page)}
    copy = path.with_name(f"{path.stem}-before-reset.json") if path and gone else None
    if copy:
        _written(copy, record)
    rewrite(lambda mine: {page: kinds for page, kinds in mine.items() if page not in gone})
    for exercise_id in [i for i in attempts if chapter in (None, exercise(i).page)]:
        del attempts[exercise_id]
    print(f"{_words(_all(gone)).capitalize()} forgotten.")
    if copy:
        print(f'import_progress("{copy}") brings it back.')
