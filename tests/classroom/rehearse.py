"""Grades a simulated class, compares every grade, and interrupts a second run twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.classroom.hostile import SHEET

__all__ = ["Run", "differences", "grade_again", "mistakes", "rehearse", "results"]

SEED = "rehearsal"  # the same for both runs, as a resumed run keeps its own
NOT_COMPARED = (".lock", "work")  # what is kept between runs is compared as data


class Run:
    """One process of the real command.

    Parameters
    ----------
    folder, out : Path
        Submissions and grades.
    jobs : int or None
        Answers graded at the same time.
    """

    def __init__(self, folder: Path, out: Path, jobs: int | None = None) -> None:
        command = [sys.executable, "-m", "classroom.grading.grade", str(folder), "--out", str(out)]
        command += ["--exercises", " ".join(SHEET), "--seed", SEED]
        command += ["--jobs", str(jobs)] if jobs else []
        self.out, self.peak_bytes, self.started = out, 0, time.monotonic()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def _look(self) -> None:
        """The most memory that the grader itself has had; known on Linux only."""
        try:
            lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
            peak = next(line for line in lines if line.startswith("VmHWM"))
            self.peak_bytes = max(self.peak_bytes, int(peak.split()[1]) * 1024)
        except (OSError, StopIteration):
            pass

    def wait(self) -> float:
        """Wait for its end; gives seconds.

        Raises
        ------
        RuntimeError
            If the command failed, with what it said.
        """
        while self.process.poll() is None:
            self._look()
            time.sleep(0.2)
        said = self.process.communicate()[0].decode(errors="replace")
        if self.process.returncode:
            raise RuntimeError(f"make grade ended with {self.process.returncode}: {said[-2000:]}")
        return time.monotonic() - self.started

    def kill_after(self, done: int) -> int:
        """Kill it once so many students are graded; gives how many were kept."""
        work = self.out / "work"
        while self.process.poll() is None and len(list(work.glob("*.json"))) < done:
            time.sleep(0.02)
        self.process.kill()
        self.process.communicate()
        return len(list(work.glob("*.json")))


def results(out: Path) -> dict[str, dict[str, Any]]:
    """What was graded, by student."""
    found = [json.loads(p.read_text(encoding="utf-8")) for p in (out / "work").glob("*.json")]
    return {result["student"]: result for result in found}


def _wrong_answer(wanted: dict[str, Any], got: dict[str, Any]) -> str | None:
    """How one answer's grade differs from what it must be."""
    if got["points"] != wanted["points"]:
        return f"{got['points']} points instead of {wanted['points']}"
    if (got["state"] == "solved") != bool(got["points"]):
        return f"{got['state']} with {got['points']} points"
    if wanted["kind"] == "missing":
        return None if got["state"] == "not handed in" else f"{got['state']}, but nothing was sent"
    if wanted["kind"] == "lost":
        return None
    if (got["failed"] or "") not in (wanted["failed"] or ("",)):
        return f"failed {got['failed']} instead of {wanted['failed']}"
    starter = wanted["kind"] == "starter"
    if wanted["failed"] and not starter and not any(w in got["message"] for w in wanted["words"]):
        return f"said {got['message'][:200]!r} instead of {wanted['words']}"
    return None


def mistakes(expected: dict[str, dict[str, Any]], graded: dict[str, dict[str, Any]]) -> list[str]:
    """Every grade that is not as expected, in words.

    Parameters
    ----------
    expected, graded : dict of dict
        By student: from `tests.classroom.simulate.simulate`, and from `results`.
    """
    found = [f"{student}: not expected" for student in sorted(set(graded) - set(expected))]
    for student, wanted in expected.items():
        if student not in graded:
            found.append(f"{student}: no grade")
            continue
        got = graded[student]
        if wanted["problem"] not in " ".join(got["problems"]):
            found.append(f"{student}: told {got['problems']} instead of {wanted['problem']!r}")
        for one, other in zip(wanted["answers"], got["answers"], strict=True):
            wrong = _wrong_answer(one, other)
            if wrong:
                found.append(f"{student}, {one['id']} ({one['kind']}: {one['name']}): {wrong}")
    return found


def differences(one: Path, other: Path) -> list[str]:
    """What differs between the grades of two runs: files by name, results by student.

    Parameters
    ----------
    one, other : Path
        Folders of grades.
    """

    def contents(out: Path) -> dict[str, object]:
        places = {p: p.relative_to(out) for p in out.rglob("*") if p.is_file()}
        files = {
            str(n): p.read_bytes() for p, n in places.items() if n.parts[0] not in NOT_COMPARED
        }
        return files | {f"result of {student}": r for student, r in results(out).items()}

    found, again = contents(one), contents(other)
    return sorted(name for name in {*found, *again} if found.get(name) != again.get(name))


def grade_again(out: Path, students: int, jobs: int | None = None) -> list[int]:
    """Kill a second run, resume and kill it again, and resume it; gives what was kept each time.

    Raises
    ------
    RuntimeError
        If it was not interrupted, or the resumed run failed.
    """
    folder, again = out / "submissions", out / "again"
    kept = [Run(folder, again, jobs).kill_after(part * students // 3) for part in (1, 2)]
    if not 0 < kept[0] <= kept[1] < students:
        raise RuntimeError(f"the run was to be killed twice; {kept} of {students} were graded")
    Run(folder, again, jobs).wait()
    return kept


def _table(expected: dict[str, dict[str, Any]], graded: dict[str, dict[str, Any]]) -> None:
    rows: Counter[tuple[str, str]] = Counter()
    for student, wanted in expected.items():
        for one, other in zip(wanted["answers"], graded[student]["answers"], strict=True):
            rows[one["kind"], other["state"]] += 1
    states = sorted({state for _, state in rows})
    print("".join(f"{name:>16}" for name in ("", *states)))
    for kind in sorted({kind for kind, _ in rows}):
        print(f"{kind:>16}" + "".join(f"{rows[kind, state]:>16}" for state in states))


def rehearse(out: Path, expected: dict[str, dict[str, Any]], *, jobs: int | None = None) -> int:
    """Grade a simulated class and print what was measured.

    Parameters
    ----------
    out : Path
        As in `tests.classroom.simulate.simulate`.
    expected : dict of dict
        What it returned.
    jobs : int or None
        Answers graded at the same time.

    Returns
    -------
    int
        0 if every grade is as expected and the resumed run gave the same bytes.
    """
    students = len(expected)
    run = Run(out / "submissions", out / "grades", jobs)
    seconds = run.wait()
    graded = results(out / "grades")
    wrong = mistakes(expected, graded)
    print("\n".join(wrong), end="\n" if wrong else "")
    if set(graded) == set(expected):
        _table(expected, graded)
    kept = grade_again(out, students, jobs)
    other = differences(out / "grades", out / "again")
    for name in other:
        print(f"differs after a kill: {name}")
    cores = os.cpu_count()
    print(f"[class] {seconds / 60:.1f} minutes with {jobs or cores} at a time on {cores} cores, "
          f"{students / seconds * 60:.0f} students a minute")  # fmt: skip
    print(f"[class] the grader itself had at most {run.peak_bytes / 1e6:.0f} MB")
    print(f"[class] {4 * students} grades, {len(wrong)} not as expected")
    print(f"[class] killed with {kept[0]} and {kept[1]} of {students} graded, resumed: "
          f"{len(other)} files differ")  # fmt: skip
    return 1 if wrong or other else 0
