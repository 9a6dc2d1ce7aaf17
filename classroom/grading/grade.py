"""Grades a folder of notebooks: ``make grade DIR=submissions/``.

A run that was interrupted goes on where it was, and a second run repeats nothing and writes the
same files.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from classroom import ROOT
from classroom.grading.credit import credited
from classroom.grading.drawn import borrowed, draw_for
from classroom.grading.guess import sheet_of_all
from classroom.grading.judge import probe
from classroom.grading.keep import write_kept
from classroom.grading.likeness import alike
from classroom.grading.marked import RECORD, lay_marks
from classroom.grading.marks import FILE, make_table, read_marks
from classroom.grading.process import end_all
from classroom.grading.resume import (
    Settings,
    digest_of_graders,
    kept_results,
    read_result,
    result_path,
    secret_seed,
    write_data,
)
from classroom.grading.roster import read_roster
from classroom.grading.student import grade_student
from classroom.reports.isolation import spoken
from classroom.reports.report import write_reports
from classroom.sheets.commands import add_choice, choice
from classroom.sheets.sheet import Sheet, sheet_of_file
from classroom.submissions.collect import Submission, read
from mini_attn import __version__
from mini_attn.errors import ConfigError

__all__ = ["grade_folder", "main"]


def _grade_all(
    sent: list[Submission], settings: Settings, work: Path, jobs: int, show: Callable[[int], None]
) -> list[dict[str, Any]]:
    """Results of all students, those of earlier runs included."""
    paths = {s.student: result_path(work, settings, s) for s in sent}
    results = {student: read_result(path) for student, path in paths.items()}
    open_ones = [s for s in sent if results[s.student] is None]
    show(len(sent) - len(open_ones))
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(grade_student, s, settings): s.student for s in open_ones}
        try:
            for future in as_completed(futures):
                student = futures[future]
                results[student] = future.result()
                write_data(paths[student], results[student])
                show(sum(result is not None for result in results.values()))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            end_all()
            raise
    for path in set(kept_results(work)) - set(paths.values()):
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
    jobs: int | None = None, roster: Sequence[str] = (), partial: bool = False,
    draw: str | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Grade all submissions in a folder and write grades, feedback and summary.

    Parameters
    ----------
    folder : Path
        The submissions, as in `classroom.submissions.collect.read`. Nothing in it is changed.
    out : Path
        Where grades go. What an earlier run has graded there is used again.
    sheet : Sheet or None
        What was asked for; None takes what more than half of the class handed in.
    seed : str or None
        Seeds the cases; None keeps that of an earlier run or draws a secret one.
    jobs : int or None
        Answers graded at the same time; None for one a core.
    roster : sequence of str
        Names of everybody in the class, as the files name them: who sent nothing is listed too.
    partial : bool
        Whether groups of checks count one by one, also where the sheet does not say so.
    draw : str or None
        Seed of the numbers that everybody on the roster was given; None for the book's.

    Returns
    -------
    list of dict
        A result for each student.

    Raises
    ------
    ConfigError
        If there is nothing to grade, ``out`` lies in ``folder``, another run writes to ``out``,
        ``out`` cannot be written to, this machine cannot run answers, there is no sheet and what
        came in disagrees, or the seed of the numbers is missing or another one.
    """
    if out.resolve().is_relative_to(folder.resolve()):
        raise ConfigError("the grades would lie among the submissions: choose another OUT")
    sent = read(folder)
    if not sent:
        raise ConfigError(f"there is no notebook and no zip file in {str(folder)!r}")
    sheet = sheet or sheet_of_all(sent)
    students = draw_for(sent, sheet, roster, draw)
    partial = partial or sheet.partial
    in_force = probe()
    for line in spoken(in_force):
        print(f"[grade] {line}", file=sys.stderr, flush=True)
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(out / ".lock", timeout=0):
            make_table(out / FILE)
            marks = read_marks(out / FILE, sent, {i: sheet.worth(i) for i in sheet.exercises})
            secret = secret_seed(out, seed)
            settings = Settings(
                sheet.name, sheet.exercises, secret, digest_of_graders(), draw is not None
            )
            results = _grade_all(
                sent, settings, out / "work", jobs or os.cpu_count() or 1, _bar(len(sent))
            )
            results = credited(results, sheet, partial=partial)
            results, record, lost = lay_marks(out, marks, sent, sheet.exercises, results)
            run = {
                "sheet": sheet.name, "exercises": list(sheet.exercises), "of": sheet.points,
                "version": __version__, "isolation": in_force, "students": len(results),
                "unfit": lost, "partial": partial, "alike": alike(sent, sheet.exercises),
                "borrowed": borrowed(sent, students, sheet.exercises),
            }  # fmt: skip
            write_reports(out, run, results, roster=roster, write=write_kept)
            write_data(out / RECORD, record)  # last: what was shown is what the teacher marks
    except Timeout:
        raise ConfigError(f"another run is grading into {str(out)!r}") from None
    except OSError as error:  # no room, no right, or a file where a folder should be
        place, why = error.filename or out, error.strerror or error
        words = f"grades cannot be kept in {str(out)!r}: {str(place)!r}: {why}"
        raise ConfigError(f"{words}; what was graded is kept, the same command goes on") from None
    return results


def main() -> None:
    """The command behind ``make grade``."""
    parser = argparse.ArgumentParser(prog="make grade", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sheet", type=Path, help="the .json file of a released sheet")
    add_choice(parser)
    parser.add_argument("--seed")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--partial", action="store_true", help="groups of checks count one by one")
    parser.add_argument("--roster", type=Path, help="names, one a line, or a CSV file")
    parser.add_argument("--draw", help="seed of the numbers that each student was given")
    asked = parser.parse_args()
    out = asked.out or ROOT / "grades" / (asked.folder.resolve().name or "grades")
    try:
        if sum(map(bool, (asked.sheet, asked.chapter, asked.exercises))) > 1:
            raise ConfigError("choose a sheet, a chapter or a list of exercises, not several")
        sheet = sheet_of_file(asked.sheet) if asked.sheet else None
        if asked.chapter or asked.exercises:
            sheet = choice(asked)[0]
        roster = read_roster(asked.roster) if asked.roster else []
        results = grade_folder(
            asked.folder,
            out,
            sheet=sheet,
            seed=asked.seed,
            jobs=asked.jobs,
            roster=roster,
            partial=asked.partial,
            draw=asked.draw,
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
