"""nbgrader's real commands on our sheets: right is full, wrong is zero, traps are closed.

What asks nbgrader itself is `exhaustive`, as nbgrader has to be installed for it; what we write
for it is looked at in every run, and each graded cell is run as it stands.
"""

from __future__ import annotations

import ast
import csv
import html
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from classroom.adapters import nbgrader
from classroom.sheets.leaks import leaks, telling_line
from classroom.submissions.collect import read
from mini_attn.exercises import check, exercise, grade
from mini_attn.exercises.spec import checked_ids
from tests.classroom import graders
from tests.classroom.graders import ALL, MIXED, cell_of, handed_in, references, run

OF = 12.0  # points of the mixed sheet
SCALE = " / np.sqrt(q.shape[-1])"


def starter(notebook: NotebookNode) -> None:
    """Nothing was done."""
    fresh = nbgrader.assignment(graders.sheet(MIXED, "week1"))
    for key in MIXED.split():
        cell_of(notebook, key, "starter").source = cell_of(fresh, key, "starter").source


def wrong(notebook: NotebookNode) -> None:
    """A foreseen mistake in each."""
    starter(notebook)  # the function to repair stays as it was
    written = references(MIXED)["cached_step"]
    assert SCALE in written
    cell_of(notebook, "cached_step", "starter").source = written.replace(SCALE, "")
    cell_of(notebook, "cache_budget", "starter").source = "answer = 37"
    cell_of(notebook, "sharp_choice", "starter").source = "answer = 'many'"


def noisy(notebook: NotebookNode) -> None:
    """Right, with everything on every channel that nbgrader looks at."""
    cell_of(notebook, "cached_step", "starter").source += """
import logging, os, sys, warnings
logging.basicConfig()
right = cached_step
for line in range(100_000):
    print("a flood of lines", line)
def cached_step(*, q, k_new, v_new, k_cache, v_cache, length):
    print("x" * 1_000_000)
    print("on stderr", file=sys.stderr)
    logging.getLogger("mine").error("through a handler that was made before")
    warnings.warn("a warning")
    os.write(2, b"past Python")
    display({"an": "object"})
    sys.displayhook(1e9)
    return right(q, k_new, v_new, k_cache, v_cache, length)
"""


def endless(notebook: NotebookNode) -> None:
    """One answer never ends, and neither does a cell of the student's own."""
    source = (
        "def cached_step(q, k_new, v_new, k_cache, v_cache, length):\n    while True:\n        q"
    )
    cell_of(notebook, "cached_step", "starter").source = source
    notebook.cells.insert(3, new_code_cell("while True:\n    pass"))


def tampered(notebook: NotebookNode) -> None:
    """Right, but graded cells are deleted or changed, and an answer stands in another cell."""
    cell_of(notebook, "stale_keys", "graded").source = "pass"
    cell_of(notebook, "stale_keys", "graded").metadata.nbgrader.points = 400
    for role in ("graded", "check", "starter"):
        at = notebook.cells.index(cell_of(notebook, "cache_budget", role))
        notebook.cells[at : at + 1] = [new_code_cell("answer = 30")] if role == "starter" else []
    notebook.cells.remove(cell_of(notebook, "cached_step", "graded"))
    notebook.cells.remove(cell_of(notebook, "sharp_choice", "graded"))


def stripped(notebook: NotebookNode) -> None:
    """Right, but saved by a program that keeps no marks."""
    notebook.cells = [cell for cell in notebook.cells if "grade(" not in cell.source]
    for cell in notebook.cells:
        cell.metadata.clear()


def rebound(notebook: NotebookNode) -> None:
    """Nothing done, but every name of ours means something else."""
    starter(notebook)
    source = "check = grade = lambda *_: None\nCheckFailed = AssertionError = int"
    notebook.cells.insert(3, new_code_cell(source))


def patched(notebook: NotebookNode) -> None:
    """Nothing done, but the checker itself is changed from inside."""
    starter(notebook)
    source = "import mini_attn.exercises.checker as inside\ninside.grade = lambda *_: None"
    notebook.cells.insert(3, new_code_cell(source))


def gone(notebook: NotebookNode) -> None:
    """Ends the process that grades it."""
    notebook.cells.insert(3, new_code_cell("import os\nos._exit(0)"))


STUDENTS: dict[str, tuple[Callable[[NotebookNode], None], float]] = {
    "reference": (lambda notebook: None, OF),
    "starter": (starter, 0.0),
    "wrong": (wrong, 0.0),
    "noisy": (noisy, OF),
    "endless": (endless, OF - 4),
    "tampered": (tampered, OF),
    "stripped": (stripped, OF),
    "rebound": (rebound, 0.0),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with the mixed sheet, handed in and graded."""
    folder = released(tmp_path_factory.mktemp("course"), MIXED, "week1")
    other = ["--exercises", "cache_budget", "--name", "other", "--out", str(folder)]
    assert nbgrader.main(other) == 0  # files are told apart by the names of the sheets
    archive = folder / "downloaded/week1/archive"
    out = folder / "release/week1/week1.ipynb"
    for student, (change, _) in STUDENTS.items():
        handed_in(out, archive / f"{student}_week1.ipynb", MIXED, change)
    handed_in(out, archive / "gone/week1-1.ipynb", MIXED, gone)
    handed_in(out, folder / "patched.ipynb", MIXED, patched)
    with zipfile.ZipFile(archive / "patched_9_week1.zip", "w") as archived:
        archived.write(folder / "patched.ipynb", "my work/week1.ipynb")
    run(folder, "nbgrader", "zip_collect", "week1")
    run(folder, "nbgrader", "autograde", "week1", "--Execute.timeout=10", status=1)
    run(folder, "nbgrader", "export")
    run(folder, "nbgrader", "generate_feedback", "week1")
    return folder


def released(folder: Path, exercises: str, name: str) -> Path:
    """A course's folder with a sheet that nbgrader has released."""
    assert nbgrader.main(["--exercises", exercises, "--name", name, "--out", str(folder)]) == 0
    run(folder, "nbgrader", "generate_assignment", name)
    return folder


def exported(course: Path) -> dict[tuple[str, str], float]:
    """Points by sheet and student, as nbgrader exports them."""
    with (course / "grades.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {(row["assignment"], row["student_id"]): float(row["score"]) for row in rows}


@pytest.fixture(scope="module")
def scores(course: Path) -> dict[tuple[str, str], float]:
    """Points of the mixed sheet."""
    return exported(course)


@pytest.mark.exhaustive
def test_every_exercise_s_reference_earns_its_points_and_its_starter_nothing(
    tmp_path: Path,
) -> None:
    assert len(checked_ids()) >= 45
    folder = released(tmp_path, ALL, "everything")
    holds_no_solution(folder, "everything")
    out = folder / "release/everything/everything.ipynb"
    for student, exercises in (("reference", ALL), ("starter", "")):
        to = folder / f"submitted/{student}/everything/everything.ipynb"
        handed_in(out, to, exercises, lambda notebook: None)
    run(folder, "nbgrader", "autograde", "everything")
    run(folder, "nbgrader", "export")
    full = sum(exercise(i).points for i in checked_ids())
    assert exported(folder) == {
        ("everything", "reference"): full,
        ("everything", "starter"): 0,
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("student", STUDENTS)
def test_student_earns_what_the_answers_are_worth(
    scores: dict[tuple[str, str], float], student: str
) -> None:
    assert scores["week1", student] == STUDENTS[student][1]


@pytest.mark.exhaustive
def test_process_that_ends_costs_its_author_alone(
    course: Path, scores: dict[tuple[str, str], float]
) -> None:
    assert (course / "submitted/gone/week1/week1.ipynb").exists()
    assert not (course / "autograded/gone/week1").exists()
    assert scores["week1", "gone"] == 0


@pytest.mark.exhaustive
def test_known_limit_a_student_who_changes_the_checker_is_believed(
    scores: dict[tuple[str, str], float],
) -> None:
    """No protection that we could claim: if this fails, the words of teaching.md are too harsh."""
    assert scores["week1", "patched_9"] == OF


NAMES = {
    "ada_week1.ipynb": ("ada", "week1"),
    "ada_l_week1.ipynb": ("ada_l", "week1"),  # never taken for another ada's
    "ada/week1.ipynb": ("ada", "week1"),
    "ada/my work/week1 (1).ipynb": ("ada", "week1"),
    "ada_week1/week1.ipynb": ("ada", "week1"),
    "lovelaceada_12_345_week1-2.ipynb": ("lovelaceada_12_345", "week1"),
    "Ada L_77_assignsubmission_file/week1.ipynb": ("Ada L_77_assignsubmission_file", "week1"),
    "ada_other.ipynb": ("ada", "other"),
    "ada_week10.ipynb": None,
    "week1.ipynb": None,
}


@pytest.mark.exhaustive
def test_names_of_files_give_the_student(course: Path) -> None:
    code = (
        "import json, re, sys; from traitlets.config import PyFileConfigLoader as Loader\n"
        "wanted = Loader('nbgrader_config.py').load_config().FileNameCollectorPlugin.named_regexp\n"
        "found = [re.match(wanted, '/c/downloaded/week1/extracted/' + n) for n in sys.argv[1:]]\n"
        "print(json.dumps([m and (m['student_id'], m['file_id']) for m in found]))"
    )
    said = json.loads(run(course, "python", "-c", code, *NAMES))
    assert dict(zip(NAMES, said, strict=True)) == {
        name: expected and list(expected) for name, expected in NAMES.items()
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("student", ["reference", "patched_9", "noisy"])
def test_make_grade_reads_the_same_notebooks(course: Path, student: str) -> None:
    """It takes the answers and nothing round them: no changed checker, no graded cell."""
    sent = read(course / "submitted" / student / "week1")
    assert [one.problems for one in sent] == [[]]
    path = course / f"submitted/{student}/week1/week1.ipynb"
    notebook = nbformat.read(path, as_version=4)
    assert sent[0].cells == {
        key: [cell_of(notebook, key, "starter").source] for key in MIXED.split()
    }


@pytest.fixture(scope="module")
def told(course: Path) -> Callable[[str], str]:
    """What a student reads in the feedback."""

    def text(student: str) -> str:
        page = (course / f"feedback/{student}/week1/week1.html").read_text(encoding="utf-8")
        body = page[page.index("<body") :]
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", body)).split())

    return text


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "words",
    [
        "CheckFailed: by hand: You haven't scaled the scores",
        "You rotate each key with the base of the step",
        "CheckFailed: by hand: You've filled the whole device with caches",
        "CheckFailed: type: The answer is one number; this is a str",
    ],
)
def test_wrong_answer_is_told_its_missing_idea(told: Callable[[str], str], words: str) -> None:
    assert words in told("wrong")
    assert words not in told("reference")


@pytest.mark.exhaustive
def test_feedback_shows_no_solution(told: Callable[[str], str]) -> None:
    """Nothing is hidden in the tests that nbgrader would show here."""
    lines = [" ".join(telling_line(key).split()) for key in MIXED.split()]
    assert all(line in told("reference") for line in lines)  # the student's own
    assert not any(line in told("starter") or line in told("wrong") for line in lines)


@pytest.mark.exhaustive
def test_endless_answer_is_told_so_and_the_rest_is_graded(told: Callable[[str], str]) -> None:
    assert "CheckFailed: runs: It ran more than 200,000 lines" in told("endless")
    assert "KeyboardInterrupt" in told("endless")  # the cell outside an answer


@pytest.mark.exhaustive
def test_flood_is_cut(course: Path) -> None:
    graded = nbformat.read(course / "autograded/noisy/week1/week1.ipynb", as_version=4)
    flood = cell_of(graded, "cached_step", "starter").outputs
    text = "".join(output.text for output in flood if output.output_type == "stream")
    assert 0 < len(text.splitlines()) <= 1000


@pytest.mark.exhaustive
def test_no_answer_waits_for_a_teacher(course: Path) -> None:
    """A deleted test of nbgrader's would."""
    names = [path.parent.name for path in (course / "autograded").glob("*/week1")]
    assert sorted(names) == sorted([*STUDENTS, "patched_9"])
    code = (
        "from nbgrader.api import Gradebook\n"
        "with Gradebook('sqlite:///gradebook.db') as book:\n"
        "    for one in book.assignment_submissions('week1'):\n"
        "        print(one.student.id, one.needs_manual_grade)"
    )
    lines = run(course, "python", "-c", code).splitlines()
    waiting = dict(line.split() for line in lines)
    assert len(waiting) == len(STUDENTS) + 2
    assert [name for name, waits in waiting.items() if waits != "False"] == ["gone"]


@pytest.mark.exhaustive
def test_validate_says_so_but_its_exit_status_does_not(course: Path) -> None:
    """Why nothing here relies on the status."""
    said = run(course, "nbgrader", "validate", "release/week1/week1.ipynb", status=0)
    assert "VALIDATION FAILED ON 4 CELL(S)" in said


@pytest.mark.exhaustive
def test_released_notebook_holds_starters_and_no_solution(course: Path) -> None:
    holds_no_solution(course, "week1")


def holds_no_solution(course: Path, name: str) -> None:
    path = course / f"release/{name}/{name}.ipynb"
    assert leaks(path) == []
    released = nbformat.read(path, as_version=4)
    made = nbformat.read(course / f"source/{name}/{name}.ipynb", as_version=4)
    assert [cell.source for cell in released.cells] == [cell.source for cell in made.cells]
    assert "YOUR CODE HERE" not in path.read_text(encoding="utf-8")


@pytest.mark.exhaustive
def test_grading_leaves_the_teachers_own_progress_alone(course: Path) -> None:
    """The course is the home of whoever ran the commands."""
    assert list(course.rglob("living-attention-progress.json")) == []


@pytest.mark.parametrize("exercise_id", checked_ids())
def test_graded_cell_is_marked_and_ends_in_none(exercise_id: str) -> None:
    notebook = nbgrader.assignment(graders.sheet(exercise_id, "one"))
    graded, begun = (cell_of(notebook, exercise_id, role) for role in ("graded", "starter"))
    mark = graded.metadata.nbgrader
    assert (mark.schema_version, mark.grade, mark.solution, mark.locked) == (3, True, False, True)
    assert mark.points == exercise(exercise_id).points
    assert begun.metadata.nbgrader.solution
    assert not begun.metadata.nbgrader.grade
    assert "HIDDEN" not in graded.source.upper()
    # An object, or np.float64(0.0), at the end of the cell would be full marks.
    last = ast.parse(graded.source).body[-1]
    assert isinstance(last, ast.Expr)
    assert ast.unparse(last).startswith(f"grade('{exercise_id}', ")
    space: dict[str, object] = {"check": check}
    exec(references(exercise_id)[exercise_id], space)
    exec(graded.source, space)
    assert eval(ast.unparse(last), space) is None


def test_course_of_somebody_else_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "nbgrader_config.py"
    config.write_text("c = get_config()\n")
    assert nbgrader.main(["--chapter", "start", "--out", str(tmp_path)]) == 2
    assert "another course's" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [config]


def test_writing_again_keeps_what_the_teacher_has(tmp_path: Path) -> None:
    written = []
    for _ in range(2):
        assert nbgrader.main(["--chapter", "start", "--out", str(tmp_path)]) == 0
        (tmp_path / "gradebook.db").write_text("grades")
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        written.append({str(path.relative_to(tmp_path)): path.read_bytes() for path in files})
    assert written[0] == written[1]
    assert sorted(written[1]) == [
        "gradebook.db", "nbgrader_config.py", "source/start/start.ipynb"
    ]  # fmt: skip
    assert written[1]["gradebook.db"] == b"grades"


def test_unknown_exercise_ends_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert nbgrader.main(["--exercises", "no_such_one", "--out", str(tmp_path / "a")]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("[nbgrader] there is no exercise 'no_such_one'")
    assert said.err.count("\n") == 1
    assert not (tmp_path / "a").exists()


def test_grade_in_the_cell_is_the_checkers_own() -> None:
    source = cell_of(nbgrader.assignment(graders.sheet("cache_budget", "one")), "cache_budget",
                     "graded").source  # fmt: skip
    space: dict[str, object] = {"grade": lambda *_: None, "answer": ...}
    with pytest.raises(AssertionError, match="three dots"):
        exec(source, space)
    assert space["grade"] is grade
