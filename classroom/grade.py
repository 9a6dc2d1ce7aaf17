"""Grades a folder of notebooks: ``make grade DIR=submissions/``.

A student's result is kept as soon as it is there, under a name that depends on everything that
could change it. A run that was interrupted goes on where it was, and a second run repeats
nothing and writes the same files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from classroom.answer import end_all, judge, probe
from classroom.cells import RELEASE, untouched
from classroom.commands import add_choice, choice, replace_file
from classroom.report import write_reports
from classroom.sheet import ROOT, Sheet, chapters, chosen, tasks_of
from classroom.submissions import Submission, read
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise

__all__ = ["grade_folder", "sheet_of_file"]

NOT_CHANGED = "The cell is as it was handed out."


@dataclass(frozen=True)
class Settings:
    """What every grade of a run depends on, besides the answer."""

    sheet: str
    exercises: tuple[str, ...]
    seed: str
    graders: str  # digest of the code that grades


def _digest(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _graders() -> str:
    """Digest of all code that a grade depends on."""
    total = hashlib.sha256()
    folders = [ROOT / "classroom", ROOT / "book", *(ROOT / "mini_attn").glob("*/")]
    files = [p for f in folders if f.name not in ("torch", "widgets") for p in f.rglob("*.py")]
    files += [*(ROOT / "mini_attn").glob("*.py"), *(ROOT / "book").glob("*.ipynb")]
    for path in sorted(set(files)):
        total.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return total.hexdigest()


def _write(path: Path, data: Any) -> None:
    """Data as JSON, the same text for the same data."""
    replace_file(path, json.dumps(data, indent=1, sort_keys=True) + "\n")


def _secret_seed(out: Path, given: str | None) -> str:
    """The seed of the run: as asked for, as in an earlier run, or new."""
    path = out / "seed.json"
    kept = json.loads(path.read_text(encoding="utf-8"))["seed"] if path.exists() else None
    seed = given or kept or secrets.token_hex(16)
    if seed != kept:
        _write(path, {"seed": seed})
        path.chmod(0o600)  # who knows it knows the cases
    return str(seed)


def _case_seed(settings: Settings, exercise_id: str) -> int:
    """All students of a run get the same cases."""
    return int(_digest(settings.seed, exercise_id)[:16], 16)


def _grade_answer(exercise_id: str, cells: list[str] | None, settings: Settings) -> dict[str, Any]:
    asked = exercise(exercise_id)
    about = {
        "id": exercise_id, "title": asked.title, "page": asked.page,
        "kind": asked.kind, "of": asked.points, "points": 0, "failed": None,
        "message": "", "notes": [],
    }  # fmt: skip
    if cells is None:
        return {**about, "state": "not handed in"}
    if untouched(exercise_id, cells):
        unchanged = {"state": "not attempted", "failed": "attempted", "message": NOT_CHANGED}
        return {**about, **unchanged}
    seed = _case_seed(settings, exercise_id)
    judged = judge(asked, cells, asked.name, seed=seed)
    report = judged.report
    state = "stopped" if judged.stopped else "not yet" if report.failed else "solved"
    if report.failed == "attempted":
        state = "not attempted"
    notes = list(dict.fromkeys([*report.notes, *judged.notes]))
    return {
        **about, "state": state, "points": report.points, "failed": report.failed,
        "message": report.message, "notes": notes,
    }  # fmt: skip


def _grade_student(sent: Submission, settings: Settings) -> dict[str, Any]:
    """The result of one student."""
    answers = [_grade_answer(i, sent.cells.get(i), settings) for i in settings.exercises]
    return {
        "student": sent.student,
        "written_name": sent.written_name,
        "files": sent.files,
        "problems": sent.problems,
        "answers": answers,
        "points": sum(answer["points"] for answer in answers),
        "of": sum(answer["of"] for answer in answers),
    }


def _kept(path: Path) -> dict[str, Any] | None:
    """A result of an earlier run, if it is whole."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found if found["student"] is not None else None
    except (OSError, ValueError, TypeError, LookupError):
        return None


def _remove_old(out: Path, written: list[Path]) -> None:
    """Feedback of an earlier run for somebody who is no longer there."""
    for path in set((out / "feedback").glob("*")) - set(written):
        if path.suffix in (".md", ".html"):
            path.unlink()


def _handed_in(sent: list[Submission]) -> Sheet:
    """Without a sheet: every exercise that somebody handed in, in the order of the book."""
    seen = {i for one in sent for i in one.cells}
    ids = tuple(i for page in chapters() for i in tasks_of(page) if i in seen)
    return Sheet("All that was handed in", ids, RELEASE)


def _grade_all(
    sent: list[Submission], settings: Settings, work: Path, jobs: int, show: Callable[[int], None]
) -> list[dict[str, Any]]:
    """Results of all students, those of earlier runs included."""
    paths = {s.student: work / f"{_digest(asdict(settings), asdict(s))}.json" for s in sent}
    results = {student: _kept(path) for student, path in paths.items()}
    open_ones = [s for s in sent if results[s.student] is None]
    show(len(sent) - len(open_ones))
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(_grade_student, s, settings): s.student for s in open_ones}
        try:
            for future in as_completed(futures):
                student = futures[future]
                results[student] = future.result()
                _write(paths[student], results[student])
                show(sum(result is not None for result in results.values()))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            end_all()
            raise
    for path in set(work.glob("*.json")) - set(paths.values()):
        path.unlink()  # of an answer, a seed or a grader that is no more
    return [result for _, result in sorted(results.items()) if result is not None]


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


def grade_folder(
    folder: Path, out: Path, *, sheet: Sheet | None = None, seed: str | None = None,
    jobs: int | None = None, roster: Sequence[str] = (),
) -> list[dict[str, Any]]:  # fmt: skip
    """Grade all submissions in a folder and write grades, feedback and summary.

    Parameters
    ----------
    folder : Path
        The submissions, as in `classroom.submissions.read`. Nothing in it is changed.
    out : Path
        Where grades go. What an earlier run has graded there is used again.
    sheet : Sheet or None
        What was asked for; None takes every exercise that somebody handed in.
    seed : str or None
        Seeds the cases; None keeps that of an earlier run or draws a secret one.
    jobs : int or None
        Answers graded at the same time; None for one a core.
    roster : sequence of str
        Names of everybody in the class, as the files name them: who sent nothing is listed too.

    Returns
    -------
    list of dict
        A result for each student.

    Raises
    ------
    ConfigError
        If there is nothing to grade, ``out`` lies in ``folder``, another run writes to ``out``,
        or this machine cannot run answers.
    """
    if out.resolve().is_relative_to(folder.resolve()):
        raise ConfigError("the grades would lie among the submissions: choose another OUT")
    sent = read(folder)
    if not sent:
        raise ConfigError(f"there is no notebook and no zip file in {str(folder)!r}")
    sheet = sheet or _handed_in(sent)
    in_force = probe()
    out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / ".lock", timeout=0):
            settings = Settings(sheet.name, sheet.exercises, _secret_seed(out, seed), _graders())
            results = _grade_all(
                sent, settings, out / "work", jobs or os.cpu_count() or 1, _bar(len(sent))
            )
            run = {
                "sheet": sheet.name, "exercises": list(sheet.exercises), "of": sheet.points,
                "version": RELEASE, "isolation": in_force, "students": len(results),
            }  # fmt: skip
            _remove_old(out, write_reports(out, run, results, roster=roster))
    except Timeout:
        raise ConfigError(f"another run is grading into {str(out)!r}") from None
    return results


def sheet_of_file(path: Path) -> Sheet:
    """The sheet that a release wrote beside its notebook."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return chosen(exercises=" ".join(data["exercises"]), name=data["sheet"])[0]
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise ConfigError(f"{path} is not the file of a sheet: {error}") from None


def _names(path: Path) -> list[str]:
    """The names of a roster."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if wide else ("utf-8-sig", "cp1252"):
        try:
            lines = content.decode(encoding).splitlines()
            break
        except UnicodeDecodeError:
            continue
    else:
        raise ConfigError(f"{path} is no list of names: save it as text in UTF-8")
    return [line.strip() for line in lines if line.strip()]


def main() -> None:
    """The command behind ``make grade``."""
    parser = argparse.ArgumentParser(prog="make grade", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sheet", type=Path, help="the .json file of a released sheet")
    add_choice(parser)
    parser.add_argument("--seed")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--roster", type=Path, help="a text file with a name on each line")
    asked = parser.parse_args()
    out = asked.out or ROOT / "grades" / (asked.folder.resolve().name or "grades")
    try:
        if sum(map(bool, (asked.sheet, asked.chapter, asked.exercises))) > 1:
            raise ConfigError("choose a sheet, a chapter or a list of exercises, not several")
        sheet = sheet_of_file(asked.sheet) if asked.sheet else None
        if asked.chapter or asked.exercises:
            sheet = choice(asked)[0]
        roster = _names(asked.roster) if asked.roster else []
        results = grade_folder(
            asked.folder, out, sheet=sheet, seed=asked.seed, jobs=asked.jobs, roster=roster
        )
    except ConfigError as error:
        sys.exit(f"[grade] {error}")
    except KeyboardInterrupt:
        sys.exit("\n[grade] interrupted; what was graded is kept, the same command goes on")
    mean = sum(result["points"] for result in results) / len(results)
    print(f"\n[grade] {len(results)} students, {mean:.1f} of {results[0]['of']} points on average")
    print(f"[grade] {out / 'grades.csv'}, {out / 'summary.html'}, feedback in {out / 'feedback'}")


if __name__ == "__main__":
    main()
