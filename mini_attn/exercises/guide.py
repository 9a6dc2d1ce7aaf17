"""Hints, and where a learner stands."""

from __future__ import annotations

from mini_attn.errors import ConfigError
from mini_attn.exercises.kept import attempts, load, place
from mini_attn.exercises.record import Entry, Record, only_known, words
from mini_attn.exercises.spec import Exercise, exercise, exercise_ids

__all__ = ["hint", "of_chapter", "progress"]

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


def of_chapter(page: str) -> list[str]:
    """The exercises of a chapter.

    Parameters
    ----------
    page : str
        Its name, for example ``"kv-cache"``.

    Returns
    -------
    list of str
        Their ids.

    Raises
    ------
    ConfigError
        If there is no such chapter.
    """
    chapters: dict[str, list[str]] = {}
    for task in map(exercise, exercise_ids()):
        chapters.setdefault(task.page, []).append(task.id)
    if not isinstance(page, str) or page not in chapters:
        known = ", ".join(sorted(chapters))
        raise ConfigError(f"there is no chapter {str(page)[:40]!r}; there are {known}")
    return chapters[page]


def _state(task: Exercise, entry: Entry | None) -> str:
    """How far an exercise is, in words."""
    if entry is None:
        return "not attempted"
    if entry["state"] != "tried":
        return "solved" if entry["state"] == "solved" else "done, ticked by hand"
    missing = attempts.get(task.id) or entry.get("missing")
    return f"missing: {missing}" if missing else "not yet"


def _print_chapter(page: str, ids: list[str], kept: dict[str, dict[str, Entry]]) -> None:
    """A chapter's exercises, a line each, and its predictions where some are known."""
    tasks = [exercise(exercise_id) for exercise_id in ids]
    width = max((len(task.title) for task in tasks), default=0)
    print(page)
    for task in tasks:
        entry = kept.get("exercises", {}).get(task.id)
        points = entry["points"] if entry else 0
        print(f"  {task.title:{width}}  {points} of {task.points}  {_state(task, entry)}")
    answers = kept.get("predictions", {})
    if answers:
        right = sum(answer["verdict"] == "right" for answer in answers.values())
        noun = "prediction" if len(answers) == 1 else "predictions"
        print(f"  {len(answers)} {noun} answered, {right} right")


def _listed(record: Record) -> dict[str, list[str]]:
    """The exercises that were checked or kept, by chapter: those of this session first."""
    pages = dict.fromkeys([*(exercise(i).page for i in attempts), *record])
    listed = {}
    for page in pages:
        seen = [i for i in attempts if exercise(i).page == page]
        listed[page] = list(dict.fromkeys([*seen, *record.get(page, {}).get("exercises", {})]))
    return listed


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
    record, _ = only_known(load())
    path = place()
    listed = _listed(record) if chapter is None else {chapter: of_chapter(chapter)}
    if not listed:
        print(f"No exercise was checked {'in this session ' if path is None else ''}yet.")
        return
    present = {exercise(i).page for i in attempts} | {chapter}
    earned = total = 0
    for page, ids in listed.items():
        kept = record.get(page, {})
        if page in present:
            _print_chapter(page, ids, kept)
        else:
            print(f"{page}: {words({page: kept})} of an earlier visit")
        earned += sum(entry["points"] for entry in kept.get("exercises", {}).values())
        total += sum(exercise(exercise_id).points for exercise_id in ids)
    print(f"{earned} of {total} points {'in this session' if path is None else f'({path})'}")
