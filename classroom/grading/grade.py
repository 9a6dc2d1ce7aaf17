"""Grades a folder of notebooks: ``make grade DIR=submissions/``.

A run that was interrupted goes on where it was, and a second run repeats nothing and writes the
same files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from classroom import ROOT
from classroom.atomic import said_of
from classroom.grading.anonymous import anonymous, pseudonyms, read_key, secret_key
from classroom.grading.attempts import CHOICES, counted, to_grade
from classroom.grading.batch import grade_all
from classroom.grading.credit import credited
from classroom.grading.drawn import borrowed, draw_for
from classroom.grading.infer_sheet import sheet_of_all
from classroom.grading.judge import probe
from classroom.grading.late import Late, Times, read_late, take_off
from classroom.grading.likeness import alike
from classroom.grading.mark_provenance import RECORD, Marked, lay_marks
from classroom.grading.marks import FILE, list_waiting, make_table, read_marks
from classroom.grading.options import late_of, read_options, refuse_folder, sheet_of
from classroom.grading.people import names_of, read_roster
from classroom.grading.run_folder import (
    ASKED,
    Settings,
    as_asked,
    digest_of_graders,
    secret_seed,
    to_grade_again,
    write_data,
    write_kept,
)
from classroom.reports.isolation import refusal, spoken
from classroom.reports.report import reports, who_is_missing
from classroom.results import Result, Run
from classroom.sheets.sheet import Sheet
from classroom.submissions.collect import Submission, read
from mini_attn import __version__
from mini_attn.errors import ConfigError

__all__ = ["grade_folder", "main"]


@contextmanager
def _held(out: Path) -> Iterator[None]:
    """Yield the folder of the grades, for one run at a time; trouble with the disk is one line."""
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(out / ".lock", timeout=0):
            yield
    except Timeout:
        raise ConfigError(f"another run is grading into {str(out)!r}") from None
    except OSError as error:  # no room, no right, or a file where a folder should be
        words = f"grades cannot be kept in {str(out)!r}: {said_of(error, out)}"
        raise ConfigError(f"{words}; what was graded is kept, the same command goes on") from None


@dataclass(frozen=True)
class _Plan:
    """What a run was asked for, once all of it is known."""

    sheet: Sheet
    partial: bool
    attempts: str | None
    times: Times | None
    again: frozenset[str]
    jobs: int
    drawn: bool


@dataclass(frozen=True)
class _Graded:
    """A class once it's graded.

    Parameters
    ----------
    marked : Marked
        The results that the reports show, and what the teacher's marks are about.
    counting : list of Submission
        The attempt of each student that counts.
    """

    marked: Marked
    counting: list[Submission]


def _graded(sent: list[Submission], out: Path, plan: _Plan, seed: str | None) -> _Graded:
    """Grade what was sent, lay the teacher's marks over it, and take off what being late costs."""
    sheet = plan.sheet
    make_table(out / FILE)
    key = read_key(out)
    others = pseudonyms(key, sent) if key else {}
    worth = {i: sheet.worth(i) for i in sheet.exercises}
    marks = read_marks(out / FILE, sent, worth, others)
    secret = secret_seed(out, seed)
    settings = Settings(sheet.name, sheet.exercises, secret, digest_of_graders(), plan.drawn)
    chosen = to_grade(sent, plan.attempts)
    graded = grade_all(chosen, settings, out / "work", plan.jobs, plan.again)
    credit = credited(graded, sheet, partial=plan.partial)
    counting, counted_ones = counted(sent, credit, plan.times, plan.attempts)
    marked = lay_marks(out, marks, counting, sheet.exercises, counted_ones)
    if plan.times:
        marked = replace(marked, results=take_off(marked.results, plan.times))
    return _Graded(marked, counting)


def grade_folder(
    folder: Path, out: Path, *, sheet: Sheet | None = None, seed: str | None = None,
    jobs: int | None = None, roster: Sequence[str] = (), partial: bool = False,
    late: Late | None = None, attempts: str | None = None, again: Sequence[str] = (),
    nameless: bool = False, draw: str | None = None, unisolated: bool = False,
) -> list[Result]:  # fmt: skip
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
    late : Late or None
        When it was due, and what being late costs; None takes nothing off.
    attempts : str or None
        Which of several attempts counts: ``best``, ``last`` or ``first``. None takes files with
        numbers for students, and all files of one student for one submission.
    again : sequence of str
        Students who alone are graded, again; all others keep what they have.
    nameless : bool
        Whether grades and answers are also written under pseudonyms.
    draw : str or None
        Seed of the numbers that everybody on the roster was given; None for the book's.
    unisolated : bool
        Whether to grade also where the kernel doesn't keep answers from files, the network and
        other processes.

    Returns
    -------
    list of Result
        One for each student.

    Raises
    ------
    ConfigError
        If there is nothing to grade, ``folder`` holds something else than submissions, or no
        answer that names the sheet, ``out`` lies in ``folder``, another run writes to ``out``,
        ``out`` cannot be written to, this machine cannot run answers or lock them up, there is no
        sheet and what came in disagrees, the seed of the numbers is missing or another one, or a
        date, a mark or a student to be graded again is not what it must be; then nothing is
        graded.
    """
    refuse_folder(folder, out)
    if again and seed:
        raise ConfigError("SEED= with AGAIN= would give one student other cases than the class")
    sent = read(folder, attempts=attempts is not None)
    if not sent:
        raise ConfigError(f"there is no notebook and no zip file in {str(folder)!r}")
    sheet = sheet or sheet_of_all(sent)
    students = draw_for(sent, sheet, roster, draw)
    partial = partial or sheet.partial
    times = read_late(late, sent, roster) if late else None
    choices = as_asked(sheet, partial=partial, attempts=attempts, late=late, draw=draw)
    only = to_grade_again(again, names_of(sent), out, choices)
    jobs = jobs or os.cpu_count() or 1
    plan = _Plan(sheet, partial, attempts, times, only, jobs, bool(students))
    in_force = probe()
    if not unisolated and (why := refusal(in_force)):
        raise ConfigError(why)
    for line in spoken(in_force):
        print(f"[grade] {line}", file=sys.stderr, flush=True)
    with _held(out):
        graded = _graded(sent, out, plan, seed)
        results, counting = graded.marked.results, graded.counting
        run = Run(
            sheet.name, sheet.exercises, sheet.points, __version__, in_force, partial, attempts,
            times.dates() if times else None, sorted(plan.again), graded.marked.unfit,
            alike(counting, sheet.exercises), borrowed(sent, students, sheet.exercises),
        )  # fmt: skip
        files = reports(run, results, roster=roster)
        names = pseudonyms(secret_key(out), counting) if nameless else {}
        write_kept(out, files | (anonymous(run, results, counting, names) if names else {}))
        list_waiting(out / FILE, results)
        write_data(out / ASKED, choices)
        # Last: what was shown is what the teacher marks.
        write_data(out / RECORD, graded.marked.record)
    return results


def main() -> None:
    """The command behind ``make grade``."""
    asked = read_options(__doc__)
    out = asked.out or ROOT / "grades" / (asked.folder.resolve().name or "grades")
    try:
        if asked.attempts not in (None, *CHOICES):
            raise ConfigError(f"ATTEMPTS is best, last or first, not {asked.attempts[:40]!r}")
        roster = read_roster(asked.roster) if asked.roster else []
        results = grade_folder(
            asked.folder,
            out,
            sheet=sheet_of(asked),
            seed=asked.seed,
            jobs=asked.jobs,
            roster=roster,
            partial=asked.partial,
            late=late_of(asked),
            attempts=asked.attempts,
            nameless=asked.anonymous,
            draw=asked.draw,
            unisolated=asked.unisolated,
            again=[n.strip() for n in (asked.again or "").split(";") if n.strip()],
        )
    except ConfigError as error:
        sys.exit(f"[grade] {error}")
    except KeyboardInterrupt:
        sys.exit("\n[grade] interrupted; what was graded is kept, the same command goes on")
    mean = sum(result.points for result in results) / len(results)
    print(f"\n[grade] {len(results)} students, {mean:.1f} of {results[0].of} points on average")
    for line in who_is_missing(results, roster):
        print(f"[grade] {line}")
    left = sum(answer.state == "to mark" for r in results for answer in r.answers)
    if left:
        place = f"read {out / 'to-mark.html'}, write into {out / FILE}"
        print(f"[grade] {left} answers in words wait for your marks: {place}")
    print(f"[grade] {out / 'grades.csv'}, {out / 'summary.html'}, feedback in {out / 'feedback'}")


if __name__ == "__main__":
    main()
