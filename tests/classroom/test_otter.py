"""Otter's real commands on our sheets: right is full, wrong is zero, traps are closed.

What asks otter itself is `exhaustive`, as otter has to be installed for it; what we write for it
is looked at in every run.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from classroom.adapters import otter
from classroom.sheets.leaks import leaks
from classroom.submissions.collect import read
from mini_attn.exercises import exercise
from mini_attn.exercises.checker import judge_answer
from mini_attn.exercises.spec import checked_ids
from tests.classroom import graders
from tests.classroom.graders import ALL, MIXED, cell_of, handed_in, references, run

LOOP = "def cached_step(q, k_new, v_new, k_cache, v_cache, length):\n    while True:\n        q"


def assigned(folder: Path, exercises: str, name: str) -> str:
    """Run otter assign on a sheet; gives what it said."""
    assert otter.main(["--exercises", exercises, "--name", name, "--out", str(folder)]) == 0
    teachers = f"{otter.FOLDER}/{name}.ipynb"
    return run(folder / name, "otter", "assign", "-v", teachers, "dist", MINI_ATTN_PROGRESS="off")


def archive(sheet: Path) -> Path:
    """The archive that grades a sheet."""
    return next(sheet.glob("dist/autograder/*.zip"))


def graded(sheet: Path, notebook: Path) -> dict[str, Any]:
    """Run otter on one notebook; gives the points by exercise, and the words under ``said``."""
    results = notebook.with_suffix("")
    results.mkdir()
    options = ["-a", str(archive(sheet)), "-o", str(results), "--no-logo", str(notebook)]
    run(sheet, "otter", "run", *options, MINI_ATTN_PROGRESS="off")
    tests = json.loads((results / "results.json").read_text(encoding="utf-8"))["tests"]
    points: dict[str, Any] = {test["name"]: test["score"] for test in tests if "score" in test}
    said = " ".join(test["output"] for test in tests)
    return {**points, "said": " ".join(said.split())}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mixed sheet, made into what students get and what grades it."""
    folder = tmp_path_factory.mktemp("otter")
    # Otter itself runs the teacher's notebook and fails if its solutions do.
    assert "All autograder tests passed." in assigned(folder, MIXED, "week1")
    return folder / "week1"


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All exercises as one sheet."""
    folder = tmp_path_factory.mktemp("otter")
    assert "All autograder tests passed." in assigned(folder, ALL, "everything")
    return folder / "everything"


@pytest.mark.exhaustive
def test_reference_of_every_exercise_passes_and_its_starter_earns_nothing(
    everything: Path, tmp_path: Path
) -> None:
    """That the references pass is said by otter assign, which grades them."""
    handed_out = everything / "dist/student/everything.ipynb"
    handed_in(handed_out, tmp_path / "starter.ipynb", "", lambda notebook: None)
    points = graded(everything, tmp_path / "starter.ipynb")
    del points["said"]
    assert points == dict.fromkeys(checked_ids(), 0)


@pytest.mark.exhaustive
def test_reference_earns_its_points(mixed: Path, tmp_path: Path) -> None:
    """Also with noise on every channel, without its check cells, and in cells of the student's."""

    def change(notebook: NotebookNode) -> None:
        cell_of(notebook, "cached_step", "starter").source += """
import os, sys, warnings
right = cached_step
def cached_step(*, q, k_new, v_new, k_cache, v_cache, length):
    print("x" * 1_000_000)
    print("on stderr", file=sys.stderr)
    warnings.warn("a warning")
    os.write(2, b"past Python")
    return right(q, k_new, v_new, k_cache, v_cache, length)
"""
        # The test hangs on the check; without it `answer` would be the last exercise's.
        notebook.cells.remove(cell_of(notebook, "cache_budget", "check"))
        begun = cell_of(notebook, "stale_keys", "starter")
        at = notebook.cells.index(begun)
        notebook.cells.insert(at + 1, new_code_cell(begun.source))
        begun.source = "# below"

    handed_in(mixed / "dist/student/week1.ipynb", tmp_path / "right.ipynb", MIXED, change)
    points = graded(mixed, tmp_path / "right.ipynb")
    del points["said"]
    assert points == {key: exercise(key).points for key in MIXED.split()}


@pytest.mark.exhaustive
def test_wrong_answer_is_told_its_missing_idea(mixed: Path, tmp_path: Path) -> None:
    """Nor does an endless answer keep the others from theirs, or a name of ours help."""

    def change(notebook: NotebookNode) -> None:
        cell_of(notebook, "cached_step", "starter").source = LOOP
        cell_of(notebook, "cache_budget", "starter").source = "answer = 37"
        cell_of(notebook, "sharp_choice", "starter").source = "1 / 0"
        source = "check = grade = lambda *_: None\nCheckFailed = AssertionError = int"
        notebook.cells.insert(3, new_code_cell(source))

    handed_in(mixed / "dist/student/week1.ipynb", tmp_path / "wrong.ipynb", "", change)
    points = graded(mixed, tmp_path / "wrong.ipynb")
    said = points.pop("said")
    assert points == dict.fromkeys(MIXED.split(), 0)
    assert "CheckFailed: runs: It ran more than 200,000 lines" in said
    assert "You rotate each key with the base of the step" in said
    assert "CheckFailed: by hand: You've filled the whole device with caches" in said


def alive(process_id: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.exhaustive
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads Linux's /proc")
def test_cell_without_end_is_ended_from_outside_and_leaves_nothing(
    mixed: Path, tmp_path: Path
) -> None:
    """Otter knows no limit; what `make otter` prints runs it under timeout."""
    mark = tmp_path / "kernel"

    def change(notebook: NotebookNode) -> None:
        source = (
            f"import os\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\nwhile True:\n    pass"
        )
        notebook.cells.insert(3, new_code_cell(source))

    handed_in(mixed / "dist/student/week1.ipynb", tmp_path / "endless.ipynb", "", change)
    command = [graders.tools() / "otter", "run", "-a", archive(mixed), tmp_path / "endless.ipynb"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=graders.surroundings(tmp_path, MINI_ATTN_PROGRESS="off"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        for _ in range(1200):
            if mark.exists() and mark.read_text():
                break
            time.sleep(0.1)
        kernel = int(mark.read_text())
        assert alive(kernel)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)  # what timeout sends
    try:
        for _ in range(200):
            if not alive(kernel):
                break
            time.sleep(0.1)
        assert not alive(kernel)
    finally:
        if alive(kernel):
            os.kill(kernel, signal.SIGKILL)
    assert not (tmp_path / "results.json").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["mixed", "everything"])
def test_students_copy_holds_starters_and_no_solution(
    name: str, request: pytest.FixtureRequest
) -> None:
    sheet: Path = request.getfixturevalue(name)
    copy = sheet / f"dist/student/{sheet.name}.ipynb"
    assert leaks(copy) == []
    assert leaks(archive(sheet)) == []
    assert leaks(sheet / f"{otter.FOLDER}/{sheet.name}.ipynb") != []
    notebook = nbformat.read(copy, as_version=4)
    assert "teacher" not in copy.read_text(encoding="utf-8").lower()
    sent = read(copy.parent)[0]  # as make grade reads it
    assert sent.problems == []
    for exercise_id in notebook.metadata.mini_attn.exercises:
        assert sent.cells[exercise_id] == [exercise(exercise_id).starter]
        begun = cell_of(notebook, exercise_id, "starter")
        assert begun.source.strip() == exercise(exercise_id).starter.strip()
        assert cell_of(notebook, exercise_id, "check").source == exercise(exercise_id).check


@pytest.mark.exhaustive
def test_students_copy_needs_no_otter(mixed: Path) -> None:
    notebook = nbformat.read(mixed / "dist/student/week1.ipynb", as_version=4)
    assert not any("otter" in cell.source for cell in notebook.cells)


@pytest.mark.exhaustive
def test_another_sheets_notebook_is_refused(mixed: Path, tmp_path: Path) -> None:
    assigned(tmp_path, "cache_budget", "week2")
    other = tmp_path / "week2/dist/student/week2.ipynb"
    options = ["-a", str(archive(mixed)), "-o", str(tmp_path), str(other)]
    said = run(mixed, "otter", "run", *options, status=1)
    assert "Received submission for assignment 'week2' (this is assignment 'week1')" in said


def test_teachers_notebook_says_so_first() -> None:
    notebook = otter.assignment(graders.sheet(MIXED, "week1"))
    assert "**solutions**" in notebook.cells[0].source
    assert notebook.cells[0].source.startswith("# Ignore")  # so that otter leaves it out
    assert "ok_format: false" in notebook.cells[1].source
    assert "TEACHER" in otter.FOLDER


@pytest.mark.parametrize("exercise_id", checked_ids())
def test_reference_stands_on_its_own_in_its_cell(exercise_id: str) -> None:
    """The source that is written into notebooks, not the object that is imported."""
    import numpy as np

    space: dict[str, Any] = {"np": np}
    exec(references(exercise_id)[exercise_id], space)
    assert judge_answer(exercise_id, space[exercise(exercise_id).name]).failed is None


def test_unknown_chapter_ends_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert otter.main(["--chapter", "no-such", "--out", str(tmp_path / "a")]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("[otter] there is no chapter 'no-such'")
    assert said.err.count("\n") == 1
    assert not (tmp_path / "a").exists()


def test_all_chapters_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert otter.main(["--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    written = {path.stem: path.read_bytes() for path in tmp_path.rglob("*.ipynb")}
    assert written.keys() == {exercise(i).page for i in checked_ids()}
    assert f"{len(written)} sheets" in said
    assert otter.main(["--chapter", "rope", "--out", str(tmp_path / "again")]) == 0
    again = next((tmp_path / "again").rglob("*.ipynb"))
    assert again.read_bytes() == written["rope"]
