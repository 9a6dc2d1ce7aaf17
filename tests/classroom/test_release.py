"""What students get: it stands alone, it runs, it is the same each time, and solves nothing."""

from __future__ import annotations

import importlib
import inspect
import io
import json
import re
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from classroom.sheets import release
from classroom.sheets.chapter import chapter_title, headings
from classroom.sheets.leaks import leaks, telling_line
from classroom.sheets.notebook import student_notebook, title
from classroom.sheets.sheet import Sheet, chapters, chosen
from classroom.sheets.standalone import REFERENCE
from classroom.sheets.wheel import build_wheel
from mini_attn import __version__
from mini_attn.errors import ConfigError, MiniAttnError
from mini_attn.exercises import exercise, exercise_ids
from mini_attn.exercises.spec import checked_ids
from tools.site import visiting

WEEK = "stale_keys tile_traffic cache_budget read_clock"
HASH = re.compile(r"[0-9a-f]{64}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of all chapters."""
    out = tmp_path_factory.mktemp("release")
    return release.release(chosen(), out)[0].parent


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the build of the wheel, which other tests look at."""

    def instead(folder: Path) -> Path:
        path = folder / f"mini_attn-{__version__}-py3-none-any.whl"
        path.write_bytes(b"a wheel")
        return path

    monkeypatch.setattr(release, "build_wheel", instead)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@cache
def texts() -> dict[str, str]:
    """Each exercise's text cell."""
    cells = [cell for sheet in chosen() for cell in student_notebook(sheet).cells]
    return {
        cell.id.removesuffix("-text"): cell.source for cell in cells if cell.id.endswith("-text")
    }


# The notebook


@pytest.mark.parametrize(
    "sheet", [*chosen(), *chosen(exercises=WEEK, name="week1")], ids=lambda sheet: sheet.name
)
def test_notebook_has_the_cells_that_the_grader_looks_for(sheet: Sheet) -> None:
    notebook = student_notebook(sheet)
    nbformat.validate(notebook)
    assert notebook.metadata["mini_attn"] == sheet.as_data()
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    tags = [cell.metadata.get("exercise", {}) for cell in notebook.cells]
    assert tags[1] == {"role": "name"}
    assert notebook.cells[1].source.startswith("**Name:**")
    wanted = [(i, role) for i in sheet.exercises for role in ("starter", "check")]
    assert [(tag["id"], tag["role"]) for tag in tags if "id" in tag] == wanted
    for exercise_id, role in wanted:
        cell = next(c for c in notebook.cells if c.id == f"{exercise_id}-{role}")
        assert cell.source == getattr(exercise(exercise_id), role)
        assert cell.metadata["exercise"] == {"id": exercise_id, "role": role}
    assert not any(cell.get("outputs") for cell in notebook.cells)
    assert nbformat.writes(notebook) == nbformat.writes(student_notebook(sheet))


def test_all_exercises_are_handed_out_once() -> None:
    assert sorted(texts()) == exercise_ids()
    assert len({cell.id for s in chosen() for cell in student_notebook(s).cells[3:]}) == 3 * len(
        exercise_ids()
    )


def test_every_task_stands_alone() -> None:
    """No text speaks of a page, a picture or a number that a sheet has not."""
    page = re.compile(
        r"\{\w+\}`|\]\(#|\bpage\b|\bpicture\b|\babove\b|\bexercise \d|\bcolumn \*|\bequation \(|"
        r"the formula\b|:::",
    )
    for exercise_id, text in texts().items():
        body = text.split("\n\n", 1)[1]
        assert not page.search(body), (exercise_id, page.search(body))
        assert chapter_title(exercise(exercise_id).page) in body
        # An equation is spoken of if, and only if, it is there.
        assert ("the equation below" in body) == ("$$" in body), exercise_id
        assert body.count("$$") % 2 == 0


def test_what_is_spelled_out_is_still_in_the_chapters() -> None:
    tasks = [exercise(i) for i in exercise_ids()]
    for found in [found for found in tasks if found.standalone[0]]:
        passage, instead = found.standalone
        assert found.text.count(passage) == 1
        says = REFERENCE.sub("the equation below", instead)
        assert says in texts()[found.id]
    for found in [found for found in tasks if found.definition]:
        assert found.definition in headings(found.page)
        assert f"*{found.definition}*" in texts()[found.id]


def test_an_equation_comes_with_its_section_and_letters() -> None:
    text = texts()["shaw_scores"]
    assert "from the section *Shaw: a vector for each distance*" in text
    assert r"s_{ij} = \frac{q_i \cdot (k_j + a_{r})}{\sqrt{d_k}}" in text
    assert "$D$ is `most`" in text
    for found in map(exercise, exercise_ids()):
        used = REFERENCE.findall(found.text + found.standalone[1])
        assert len(set(used)) == bool(found.letters)
        assert found.letters in texts()[found.id]


def test_title_of_a_chapter_and_of_a_sheet() -> None:
    assert title(chosen(chapter="kv-cache")[0]) == "KV caching · exercises"
    assert title(chosen(exercises=WEEK, name="week1")[0]) == "Problem sheet: week1"


# It runs


def run(notebook: nbformat.NotebookNode, folder: Path) -> dict[str, str]:
    """Execute from top to bottom; what each cell printed, by id."""
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    return {
        cell.id: "".join(output.get("text", "") for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    }


@pytest.fixture(scope="module")
def everything() -> Sheet:
    return chosen(exercises=" ".join(checked_ids()), name="all")[0]


def test_untouched_it_runs_to_its_end_and_earns_nothing(everything: Sheet, tmp_path: Path) -> None:
    printed = run(student_notebook(everything), tmp_path)
    for exercise_id in everything.exercises:
        said = printed[f"{exercise_id}-check"]
        assert f"0 of {exercise(exercise_id).points} points" in said, said
        assert "not attempted" in said or "✗" in said
        assert "Traceback" not in said


def solved(exercise_id: str) -> str:
    """A starter cell with the reference in it, as a student would have written it."""
    module = importlib.import_module(f"solutions.{exercise_id}")
    name = exercise(exercise_id).name
    if not callable(module.REFERENCE):
        return f"answer = {module.REFERENCE!r}"
    source = inspect.getsource(module).split("\nWRONG", 1)[0]
    return f"{source}\n{name} = REFERENCE"


def test_with_the_references_it_earns_everything(everything: Sheet, tmp_path: Path) -> None:
    notebook = student_notebook(everything)
    for cell in notebook.cells:
        if cell.metadata.get("exercise", {}).get("role") == "starter":
            cell.source = solved(cell.metadata["exercise"]["id"])
    notebook.cells.append(nbformat.v4.new_code_cell("progress()", id="end"))
    printed = run(notebook, tmp_path)
    for exercise_id in everything.exercises:
        assert "solved" in printed[f"{exercise_id}-check"]
    assert f"{everything.points} of {everything.points} points" in printed["end"]


# What is written


def test_release_holds_notebooks_manifests_wheel_and_a_guide(folder: Path) -> None:
    names = set(files(folder))
    wanted = {f"{page}.{suffix}" for page in chapters() for suffix in ("ipynb", "json")}
    wheel = next(name for name in names if name.endswith(".whl"))
    assert names == wanted | {wheel, "README.md", f"mini_attn-exercises-{folder.name}.zip"}
    guide = (folder / "README.md").read_text(encoding="utf-8")
    assert f"pip install jupyterlab {wheel}" in guide
    assert not re.search(r"\{\w+\}", guide)
    for page in chapters():
        facts = json.loads((folder / f"{page}.json").read_text(encoding="utf-8"))
        sheet = chosen(chapter=page)[0]
        assert facts["points"] == sheet.points == sum(t["points"] for t in facts["tasks"])
        assert [t["title"] for t in facts["tasks"]] == [exercise(i).title for i in sheet.exercises]
        notebook = (folder / facts["notebook"]).read_bytes()
        assert HASH.fullmatch(facts["sha256"])
        assert facts["sha256"] == release.hashlib.sha256(notebook).hexdigest()
        assert f"| [{page}.ipynb]({page}.ipynb) | {facts['title']} |" in guide


def test_zip_holds_the_same_files(folder: Path) -> None:
    beside = files(folder)
    name = f"mini_attn-exercises-{folder.name}"
    packed = beside.pop(f"{name}.zip")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        inside = {path.removeprefix(f"{name}/"): archive.read(path) for path in archive.namelist()}
    assert inside == beside


def test_wheel_runs_without_the_project(folder: Path, tmp_path: Path) -> None:
    """Unpacked elsewhere it checks an answer, and has no solutions and no classroom."""
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        archive.extractall(tmp_path)
    tops = {path.name for path in tmp_path.iterdir() if path.suffix != ".dist-info"}
    assert tops == {"mini_attn"}
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import mini_attn.exercises as e; "
        "e.check('cache_budget', 37); print(e.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    assert "weights have to fit" in done.stdout
    assert str(tmp_path) in done.stdout


def test_release_is_the_same_each_time(folder: Path, tmp_path: Path) -> None:
    again = release.release(chosen(), tmp_path)[0].parent
    assert files(again) == files(folder)


@pytest.mark.usefixtures("quick")
def test_problem_sheet_is_released_beside_others(tmp_path: Path) -> None:
    first = release.release(chosen(exercises=WEEK, name="week1"), tmp_path)
    release.release(chosen(exercises="cached_step", name="week2"), tmp_path)
    assert {path.name for path in first} <= set(files(first[0].parent))
    with zipfile.ZipFile(first[0].parent / f"week1-{__version__}.zip") as archive:
        assert not any("week2" in name for name in archive.namelist())
    assert not list(tmp_path.glob(".unfinished*"))


@pytest.mark.usefixtures("quick")
def test_the_folder_s_guide_names_all_that_lies_there(tmp_path: Path) -> None:
    week1 = chosen(exercises=WEEK, name="week1")
    folder = release.release(week1, tmp_path)[0].parent
    first = (folder / "README.md").read_text()
    release.release(chosen(exercises="cached_step", name="week2"), tmp_path)
    both = (folder / "README.md").read_text()
    assert "2 notebooks" in both
    assert [both.count(f"({name}.ipynb)") for name in ("week1", "week2")] == [1, 1]
    for name, other in (("week1", "week2"), ("week2", "week1")):
        with zipfile.ZipFile(folder / f"{name}-{__version__}.zip") as archive:
            guide = archive.read(f"{name}-{__version__}/README.md").decode()
        assert name in guide
        assert other not in guide
    release.release(week1, tmp_path)
    assert (folder / "README.md").read_text() == both != first


@pytest.mark.usefixtures("quick")
def test_a_guide_that_the_teacher_changed_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = release.release(chosen(exercises=WEEK, name="week1"), tmp_path)[0].parent
    (folder / "README.md").write_text("Ask me.")
    paths = release.release(chosen(exercises="cached_step", name="week2"), tmp_path)
    assert (folder / "README.md").read_text() == "Ask me."
    assert "is yours and stays" in capsys.readouterr().out
    assert all(path.is_file() for path in paths)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("facts", ["kept", "lost"])
def test_a_notebook_that_the_teacher_changed_is_not_written_over(
    tmp_path: Path, facts: str
) -> None:
    sheets = chosen(exercises=WEEK, name="week1")
    folder = release.release(sheets, tmp_path)[0].parent
    (folder / "week1.ipynb").write_text("mine")
    if facts == "lost":
        (folder / "week1.json").unlink()
    before = files(folder)
    with pytest.raises(ConfigError, match="changed since it was released"):
        release.release(sheets, tmp_path)
    assert files(folder) == before


# Nothing is given away


def test_release_holds_no_solution(folder: Path) -> None:
    assert [place for path in folder.iterdir() for place in leaks(path)] == []


@pytest.mark.parametrize("exercise_id", exercise_ids())
def test_every_solution_would_be_found(exercise_id: str, tmp_path: Path) -> None:
    """In a cell, in an archive inside an archive, and with another indentation."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(f"    {telling_line(exercise_id)}", id="one")]
    )
    nbformat.write(notebook, tmp_path / "sheet.ipynb")
    with zipfile.ZipFile(tmp_path / "inner.zip", "w") as archive:
        archive.write(tmp_path / "sheet.ipynb", "deep/sheet.ipynb")
    with zipfile.ZipFile(tmp_path / "outer.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "inner.zip", "inner.whl")
    for name in ("sheet.ipynb", "outer.zip"):
        assert any(place.endswith(f": {exercise_id}") for place in leaks(tmp_path / name))
    assert leaks(tmp_path / "outer.zip")[0].startswith("outer.zip/inner.whl/deep/sheet.ipynb")


@pytest.mark.usefixtures("quick")
def test_a_release_with_a_solution_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = telling_line("expand_heads")
    monkeypatch.setattr(
        release, "student_notebook", lambda sheet: student_notebook_with(sheet, line)
    )
    assert release.main(["--chapter", "mqa-gqa", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("[release] nothing was released: a solution stands in")
    assert "mqa-gqa.ipynb: expand_heads" in said
    assert files(tmp_path) == {}


def student_notebook_with(sheet: Sheet, line: str) -> nbformat.NotebookNode:
    notebook = student_notebook(sheet)
    notebook.cells[0].source += f"\n\n{line}"
    return notebook


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--chapter", "nowhere"], "there is no chapter 'nowhere'"),
        (["--exercises", "nothing"], "there is no exercise 'nothing'"),
        (["--exercises", "cached_step cached_step"], "named twice: cached_step"),
        (["--exercises", " "], "is empty"),
        (["--exercises", "cached_step", "--name", "../up"], "small letters"),
        (["--exercises", "cached_step", "--name", "rope"], "is a chapter"),
        (["--exercises", "cached_step", "--chapter", "rope"], "not both"),
    ],
)
def test_wrong_choices_end_in_one_line(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main([*arguments, "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("[release] ")
    assert words in said
    assert said.count("\n") == 1
    assert files(tmp_path) == {}


def test_a_wheel_that_cannot_be_built_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no setuptools here >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(MiniAttnError, match="not built: no setuptools here"):
        build_wheel(tmp_path, broken)


# In the browser notebook of the book

PUT_AND_RUN = """(content) => {
  window.ended = false;
  const { contents } = jupyterapp.serviceManager;
  jupyterapp.restored
    .then(() => contents.save("week1.ipynb", { type: "notebook", format: "json", content }))
    .then(() => jupyterapp.commands.execute("docmanager:open", { path: "week1.ipynb" }))
    .then((panel) => Promise.all([panel.context.ready, panel.sessionContext.ready]))
    .then(() => jupyterapp.commands.execute("notebook:run-all-cells"))
    .then(() => { window.ended = true; });
}"""
PRINTED = """() => jupyterapp.shell.currentWidget.model.sharedModel.cells
  .filter(cell => cell.cell_type === "code").map(cell => cell.outputs)"""


@pytest.mark.exhaustive
@pytest.mark.browser
@pytest.mark.lite
def test_runs_in_the_browser_notebook() -> None:
    """A student's file, put into the book's own Jupyter, finds its kernel and its checks."""
    sheet = chosen(exercises="cache_budget chunk_mask", name="week1")[0]
    content = json.loads(nbformat.writes(student_notebook(sheet)))
    with visiting() as visit:
        page = visit("lite/lab/index.html")
        ready = "window.jupyterapp?.commands.hasCommand('docmanager:open')"
        page.wait_for_function(ready, timeout=60_000)
        page.evaluate(f"({PUT_AND_RUN})({json.dumps(content)})")
        page.wait_for_function("window.ended", timeout=150_000)
        assert page.locator(".jp-Dialog").count() == 0
        outputs = page.evaluate(PRINTED)
        assert visit.outside == []
    assert len(outputs) == 1 + 2 * len(sheet.exercises)
    assert not [o for cell in outputs for o in cell if o["output_type"] == "error"]
    for exercise_id, cell in zip(sheet.exercises, outputs[2::2], strict=True):
        assert f"0 of {exercise(exercise_id).points} points" in json.dumps(cell)
