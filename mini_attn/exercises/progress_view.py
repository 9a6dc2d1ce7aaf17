"""Where a learner stands, chapter by chapter."""

from __future__ import annotations

from mini_attn.exercises.progress_record import Entry, Record, only_known, words
from mini_attn.exercises.progress_store import attempts, load, place
from mini_attn.exercises.spec import Exercise, exercise, of_chapter

__all__ = ["progress"]


def _state(task: Exercise, entry: Entry | None) -> str:
    """Return how far an exercise is, in words."""
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
        if task.kind == "open":
            done = ", done by your own word" if entry else ""
            print(f"  {task.title:{width}}  {task.points} points, marked by people{done}")
            continue
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
        tasks = map(exercise, ids)
        total += sum(task.points for task in tasks if task.kind != "open")
    print(f"{earned} of {total} points {'in this session' if path is None else f'({path})'}")
