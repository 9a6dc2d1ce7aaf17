"""Grades all of a class, several answers at a time; what was graded before is used again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from classroom.grading.process import end_all
from classroom.grading.resume import (
    Settings,
    kept_results,
    read_result,
    result_path,
    write_data,
)
from classroom.grading.student import grade_student
from classroom.submissions.collect import Submission
from mini_attn.errors import ConfigError

__all__ = ["grade_all"]

Key = tuple[str, int]  # student and attempt
Kept = dict[Key, tuple[Path, dict[str, Any]]]


def _bar(total: int) -> Callable[[int], None]:
    """Shows how many students are done: a bar on a terminal, else a line every tenth."""
    last = -1

    def show(done: int) -> None:
        nonlocal last
        tenth = done * 10 // total if total else 10
        if sys.stderr.isatty():
            full = done * 30 // total if total else 30
            bar = "█" * full + "░" * (30 - full)
            print(f"\r[grade] {bar} {done} of {total}", end="", file=sys.stderr, flush=True)
        elif tenth != last:
            print(f"[grade] {done} of {total} students", file=sys.stderr, flush=True)
        last = tenth

    return show


def _kept(work: Path) -> Kept:
    """All results that are there, by student and attempt."""
    found: Kept = {}
    for path in kept_results(work):
        result = read_result(path)
        if result is not None:
            result = {"attempt": 1, **result}
            found[result["student"], result["attempt"]] = path, result
    return found


def _of_before(
    sent: Sequence[Submission], kept: Kept, again: frozenset[str], exercises: Sequence[str]
) -> Kept:
    """The results of those who are not graded again, as they are; refuses if there are none."""
    found: Kept = {}
    for key in ((one.student, one.attempt) for one in sent if one.student not in again):
        if key not in kept or [a["id"] for a in kept[key][1]["answers"]] != list(exercises):
            words = "was not graded for this sheet yet: run make grade without AGAIN= first"
            raise ConfigError(f"{key[0]!r} {words}")
        found[key] = kept[key]
    return found


def grade_all(
    sent: Sequence[Submission],
    settings: Settings,
    work: Path,
    jobs: int,
    again: frozenset[str] = frozenset(),
) -> list[dict[str, Any]]:
    """Results of all students, those of earlier runs included.

    Parameters
    ----------
    sent : sequence of Submission
        What is to be graded.
    settings : Settings
        Those of the run.
    work : Path
        Where results are kept.
    jobs : int
        Answers graded at the same time.
    again : frozenset of str
        If it names students, they alone are graded, whatever is kept of them; the others keep the
        results they have, whatever they handed in since.

    Returns
    -------
    list of dict
        By student and attempt.

    Raises
    ------
    ConfigError
        If somebody who is not graded again has no result.
    """
    kept = _kept(work) if again else {}
    before = _of_before(sent, kept, again, settings.exercises) if again else {}
    keys = {(s.student, s.attempt): s for s in sent}
    paths = {key: result_path(work, settings, s) for key, s in keys.items()}
    paths |= {key: path for key, (path, _) in before.items()}
    results = {key: None if key[0] in again else read_result(path) for key, path in paths.items()}
    open_ones = {key: s for key, s in keys.items() if results[key] is None}
    show = _bar(len(keys))
    show(len(keys) - len(open_ones))
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(grade_student, s, settings): key for key, s in open_ones.items()}
        try:
            for future in as_completed(futures):
                key = futures[future]
                results[key] = future.result()
                write_data(paths[key], results[key])
                show(sum(result is not None for result in results.values()))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            end_all()
            raise
    # Of an answer, a seed or a grader that is no more; of others nothing goes.
    old = {kept[key][0] for key in kept if key[0] in again} if again else {*kept_results(work)}
    for path in old - set(paths.values()):
        path.unlink()
    return [result for _, result in sorted(results.items()) if result is not None]
