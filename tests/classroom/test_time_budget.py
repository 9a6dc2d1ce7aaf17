"""One student's answers have so much time together, and the class waits no longer for them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from classroom.grading import batch
from classroom.grading.grade import grade_folder
from classroom.grading.judge import judge
from classroom.sheets.sheet import chosen
from mini_attn.exercises.spec import exercise
from tests.classroom.hostile import SHEET as KEYS
from tests.classroom.hostile import right
from tests.classroom.simulate import Answer, answers_to, notebook_of

SHEET = chosen(exercises=" ".join(KEYS), name="week1")[0]
SECONDS = 10
NOISY = """
import sys
quiet = chunk_mask


def chunk_mask(**given):
    print("noise", file=sys.stderr)
    return quiet(**given)
"""
SLEEPS = "import time\ntime.sleep({})\n"
WORDS = f"took more than {SECONDS} s together; stopped: "


def sleeping(key: str, seconds: float) -> Answer:
    """The right answer, once it has slept."""
    whole = SLEEPS.format(seconds) + right(key)
    return Answer(key, "right", "sleeps", whole, exercise(key).points)


def hand_in(folder: Path) -> Path:
    """One who sleeps through the second answer, between two who are all right."""
    folder.mkdir()
    honest = [answers_to(key)[0] for key in KEYS]
    sleeps = [honest[0], sleeping(KEYS[1], 60), *honest[2:]]
    for name, answers in (("ada", honest), ("bo", sleeps), ("cy", honest)):
        (folder / f"{name}.ipynb").write_bytes(notebook_of(SHEET, answers, name))
    return folder


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """So little time that a test need not wait long."""
    monkeypatch.setattr(batch, "SECONDS", SECONDS)
    monkeypatch.setattr(batch, "SECONDS_EACH", 0)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("short")
def test_who_sleeps_uses_up_their_own_time_and_nobody_else_s(tmp_path: Path) -> None:
    folder, out = hand_in(tmp_path / "in"), tmp_path / "out"
    start = time.monotonic()
    ada, bo, cy = grade_folder(folder, out, sheet=SHEET, seed="a", jobs=1)
    assert time.monotonic() - start < 5 * SECONDS  # of which one is the sleeper's
    assert [one.points for one in (ada, cy)] == [SHEET.points] * 2
    assert ada.problems == cy.problems == []
    states = [answer.state for answer in bo.answers]
    assert states == ["solved", "stopped", "stopped", "stopped"]
    (problem,) = bo.problems
    assert problem == f"the answers {WORDS}{', '.join(KEYS[1:])}"
    row = next(r for r in (out / "grades.csv").read_text().splitlines() if r.startswith('"bo"'))
    assert problem in row
    assert WORDS in (out / "summary.html").read_text()
    page = (out / "feedback/bo.html").read_text()
    assert page.count("that one student has. This one was stopped or not begun.") == 3


@pytest.mark.exhaustive
@pytest.mark.usefixtures("short")
def test_a_class_that_goes_on_does_not_wait_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has used up the time has a result like any other, which a killed run keeps."""
    folder, out = hand_in(tmp_path / "in"), tmp_path / "out"
    first = grade_folder(folder, out, sheet=SHEET, seed="a", jobs=1)
    kept = {path for path in (out / "work").glob("*.json") if '"bo"' in path.read_text()}
    for path in {*(out / "work").glob("*.json")} - kept:
        path.unlink()  # as if the run had been killed once the sleeper was done
    judged: list[str] = []

    def counted(asked: Any, cells: list[str], *rest: Any, **more: Any) -> Any:
        judged.extend(cells)
        return judge(asked, cells, *rest, **more)

    monkeypatch.setattr(batch, "judge", counted)
    assert grade_folder(folder, out, sheet=SHEET, jobs=1) == first
    assert len(judged) == 2 * len(KEYS)
    assert not any("sleep(60)" in cell for cell in judged)


def test_time_grows_with_the_sheet_and_is_enough_for_loops_without_end() -> None:
    """Six seconds of computing end each of them."""
    assert batch.seconds_for(KEYS) == 70
    assert batch.seconds_for(["a"] * 20) > 20 * 6


@pytest.mark.parametrize("cell", [right("chunk_mask"), "def chunk_mask(**given): return 1 / 0"])
def test_an_answer_whose_words_come_too_late(monkeypatch: pytest.MonkeyPatch, cell: str) -> None:
    """What is right stays right; what is wrong is not told with the grader's own inputs."""
    asked = exercise("chunk_mask")
    begun: list[float] = []
    clock = time.monotonic

    class Clock:
        """One that jumps over the end when a second process is to begin."""

        @staticmethod
        def monotonic() -> float:
            begun.append(clock())
            return clock() + 100 * (len(begun) > 1)

    monkeypatch.setattr("classroom.grading.judge.time", Clock)
    found = judge(asked, [cell + NOISY], asked.name, seed=7, ends_at=clock() + 60)
    assert len(begun) == 2
    assert found.out_of_time == ("1 / 0" in cell)
    assert (found.report.points == asked.points) == (not found.out_of_time)
    assert "ZeroDivision" not in found.report.message
