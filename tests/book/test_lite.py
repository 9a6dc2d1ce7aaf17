"""The notebooks that run in the browser: what is served, and a chapter run to its end.

``make book`` builds them. Where no source of Pyodide could be reached, these tests fail.
"""

from __future__ import annotations

import _imp
import hashlib
import json
import subprocess
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from playwright.sync_api import Page

import mini_attn
from mini_attn.stories import load, row_probabilities, sample_rows, shipped
from tests.site import unfold
from tools import HTML, ROOT
from tools.bundle import NODE
from tools.site import Visit, visiting

pytestmark = pytest.mark.lite

LITE = HTML / "lite"
PYODIDE = LITE / "static/pyodide"
WEIGHTS = LITE / "weights"
NAME = f"kv-cache-{mini_attn.__version__}.ipynb"
# Opened as notebooks, the second one in test-all, where the cells of all others run as well.
WHOLE: dict[str, Any] = {"attention": (), "start": pytest.mark.exhaustive}
OTHERS = sorted({path.stem for path in (ROOT / "book").glob("*.ipynb")} - set(WHOLE))
MEMBERS = ("mha", "mla")


@cache
def lock() -> dict[str, Any]:
    """Packages that the browser's Python can load."""
    path = PYODIDE / "pyodide-lock.json"
    assert path.exists(), f"{path} is missing: `make book` could not build the browser notebooks"
    return json.loads(path.read_text(encoding="utf-8"))["packages"]


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_every_package_is_served_and_unchanged() -> None:
    """The lock file lists what is there, with its content, and every dependency."""
    names = {key.lower().replace("_", "-") for key in lock()}
    for entry in lock().values():
        assert sha256(PYODIDE / entry["file_name"]) == entry["sha256"], entry["name"]
        assert {d.lower().replace("_", "-") for d in entry["depends"]} <= names, entry["name"]
    listed = json.loads((ROOT / "book/_lite/files.json").read_text(encoding="utf-8"))["files"]
    for name, expected in listed.items():
        assert sha256(PYODIDE / name) == expected, name


def test_wheel_holds_the_package_and_no_solution() -> None:
    """The package comes whole; solutions and tests stay out."""
    wheel = PYODIDE / lock()["mini-attn"]["file_name"]
    names = zipfile.ZipFile(wheel).namelist()
    assert "mini_attn/numpy/caches/cache.py" in names
    assert "mini_attn/widgets/js/decode_stepper/schema.json" in names
    assert "mini_attn/widgets/js/data/key_budget.json" in names
    assert "mini_attn/widgets/static/living.jupyter.js" in names
    assert not [name for name in names if "solution" in name or name.startswith("tests")]


def test_weights_lie_beside_the_package() -> None:
    """It lists them and carries none; nor what pages and printed notebooks alone use."""
    archive = zipfile.ZipFile(PYODIDE / lock()["mini-attn"]["file_name"])
    last = (".safetensors", ".png", "living.page.js", "living.editor.js", "living.python.js")
    assert not [name for name in archive.namelist() if name.endswith(last)]
    listed = json.loads(archive.read("mini_attn/stories/weights/checksums.json"))
    found = {p.relative_to(WEIGHTS).as_posix(): sha256(p) for p in WEIGHTS.rglob("*.safetensors")}
    assert listed == found
    assert set(shipped()) <= {name.removesuffix(".safetensors") for name in listed}


def page_lock() -> dict[str, Any]:
    """Packages that Python in a page can load."""
    text = (PYODIDE / "page-lock.json").read_text(encoding="utf-8")
    return dict(json.loads(text)["packages"])


def test_python_in_a_page_needs_fewer_packages() -> None:
    """The same files but for two, and our package brings no widgets of Jupyter along."""
    packages = page_lock()
    assert packages["mini-attn"]["depends"] == ["numpy"]
    assert packages["numpy"]["depends"] == []
    for name in ("mini-attn", "numpy"):
        entry = packages[name]
        assert "-1page-" in entry["file_name"]
        assert sha256(PYODIDE / entry["file_name"]) == entry["sha256"]
        kept = {key: lock()[name][key] for key in ("file_name", "sha256", "depends")}
        packages[name] = entry | kept
    assert packages == lock()


def archives() -> list[tuple[zipfile.ZipFile, zipfile.ZipFile]]:
    """What a notebook starts with, and what a page has in its place."""
    pairs = [("python_stdlib.zip", "page-stdlib.zip")] + [
        (lock()[name]["file_name"], page_lock()[name]["file_name"])
        for name in ("numpy", "mini-attn")
    ]
    return [(zipfile.ZipFile(PYODIDE / a), zipfile.ZipFile(PYODIDE / b)) for a, b in pairs]


def source_of(name: str) -> str:
    """The module's source that a file with bytecode stands for."""
    folder, _, file = name.rpartition("/")
    stem = file.split(".")[0]
    return f"{folder.removesuffix('__pycache__').rstrip('/')}/{stem}.py".lstrip("/")


def test_a_page_starts_with_the_same_modules_as_bytecode() -> None:
    """Nothing is lost but what a page cannot use, and each bytecode is its source's."""
    for whole, page in archives():
        names = set(page.namelist())
        assert len(names) == len(page.namelist())
        compiled = {source_of(name): name for name in names if name.endswith(".pyc")}
        assert len(compiled) > 40
        lost = set(whole.namelist()) - names - set(compiled)
        useless = (".pyi", ".pxd", ".h", ".a", ".c")
        rooms = ("numpy/f2py/", "mini_attn/widgets/static/")
        assert not [n for n in lost if not n.startswith(rooms) and not n.endswith(useless)]
        assert names - set(compiled.values()) <= set(whole.namelist())
        for source, name in compiled.items():
            data, text = page.read(name), whole.read(source)
            assert data[4:8] == b"\1\0\0\0", name  # by hash, and not looked at again
            raw = int.from_bytes(data[:4], "little")
            assert data[8:16] == _imp.source_hash(raw, text), name  # type: ignore[attr-defined]


def test_our_modules_keep_their_sources_on_a_page() -> None:
    """A cell may show them, and bytecode of another Python is passed over for them."""
    whole, page = archives()[-1]
    sources = {name for name in whole.namelist() if name.endswith(".py")}
    assert sources <= set(page.namelist())
    assert "mini_attn/numpy/caches/__pycache__/cache.cpython-312.pyc" in page.namelist()
    assert "mini_attn/exercises/__pycache__/on_page.cpython-312.pyc" in page.namelist()


# The page's start in Node, as its worker does it, and a program in it.
START_OF_A_PAGE = """
const [folder, program] = process.argv.slice(1);
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const python = await loadPyodide({
  indexURL: folder, packages: ["numpy", "mini-attn"], stdLibURL: `${folder}/page-stdlib.zip`,
  lockFileURL: `${folder}/page-lock.json`,
  env: { MINI_ATTN_PROGRESS: "off", HOME: "/home/pyodide", PYTHONDONTWRITEBYTECODE: "1" },
});
python.runPython(program);
"""
# Notes what is compiled from here on.
LISTEN = """
import importlib._bootstrap_external as files, json, sys, zipimport
from pathlib import Path
compiled = []
def noted(function, place):
    def call(*given, **named):
        compiled.append(str(given[place]))
        return function(*given, **named)
    return call
files.SourceLoader.source_to_code = noted(files.SourceLoader.source_to_code, 2)
zipimport._compile_source = noted(zipimport._compile_source, 0)
"""
# Bytecode that an older Python has left: the number that tells its version is lower by one.
STALE = """
for path in Path("/lib/python3.12/site-packages/mini_attn").rglob("*.pyc"):
    data = path.read_bytes()
    path.write_bytes(bytes([data[0] - 1]) + data[1:])
"""
FIRST_CHECK = """
places = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
from mini_attn.exercises import on_page
code = "def chunk_mask(q_positions, kv_positions):" + chr(10)
code += "    return (kv_positions >= 0) & (kv_positions <= q_positions[:, None])"
state = on_page.check("chunk_mask", code, print)["report"]["state"]
import mini_attn.numpy
at_boot = [place for place in places if ".zip/" in place]
print(json.dumps({"at_boot": at_boot, "compiled": compiled, "state": state}))
"""


def first_check(before: str = "") -> dict[str, Any]:
    """How a page's first check goes, and what was compiled for it."""
    program = LISTEN + before + FIRST_CHECK
    command = [NODE, "--input-type=module", "--eval", START_OF_A_PAGE, PYODIDE, program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-600:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_a_page_compiles_nothing_but_its_exercise() -> None:
    """Python, NumPy and the checks come as bytecode, and of the bank one module is imported."""
    said = first_check()
    assert said["state"] == "solved"
    assert len(said["at_boot"]) > 100
    assert not [name for name in said["at_boot"] if not name.endswith(".pyc")]
    assert [Path(name).name for name in said["compiled"]] == ["chunk_mask.py"]


@pytest.mark.exhaustive
def test_bytecode_of_another_python_is_passed_over() -> None:
    """The sources are compiled then, and nothing is said of it."""
    said = first_check(STALE)
    assert said["state"] == "solved"
    names = {name.split("/mini_attn/")[-1] for name in said["compiled"]}
    ours = {"exercises/on_page.py", "exercises/bank/chunk_mask.py", "numpy/caches/cache.py"}
    assert ours <= names


def test_copy_is_the_chapter() -> None:
    """Kernel, stamp and plain Markdown apart, the copy has the chapter's cells."""
    source = nbformat.read(ROOT / "book/kv-cache.ipynb", as_version=4)
    copy = nbformat.read(LITE / "files" / NAME, as_version=4)
    code = [[c.source for c in n.cells if c.cell_type == "code"] for n in (source, copy)]
    assert code[0] == code[1]
    assert copy.metadata.kernelspec.name == "python"
    assert copy.metadata.mini_attn.version == mini_attn.__version__
    text = "\n".join(c.source for c in copy.cells if c.cell_type == "markdown")
    assert ":::" not in text
    assert "{cite" not in text
    assert "File → Download" in text


def test_settings_keep_to_this_site() -> None:
    """Pyodide comes from here and no index is asked for packages."""
    text = (LITE / "jupyter-lite.json").read_text(encoding="utf-8")
    settings = json.loads(text)["jupyter-config-data"]["litePluginSettings"]
    kernel = settings["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert kernel["disablePyPIFallback"] is True
    assert kernel["pyodideUrl"].startswith("./static/pyodide/")


@pytest.fixture
def visit() -> Iterator[Visit]:
    """Opens pages of the built book in a fresh Chromium."""
    with visiting() as visits:
        yield visits


def opened(visit: Visit, stem: str) -> Page:
    """A chapter's notebook, opened by the link that stands on its page."""
    page = visit(f"book/{stem}.html")
    unfold(page).click("a.run-here")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    return page


def run_all(page: Page, seconds: int) -> None:
    """Run every cell and wait for the last; nothing is awaited inside the page."""
    page.evaluate("""() => {
      const panel = jupyterapp.shell.currentWidget;
      window.ended = false;
      panel.sessionContext.ready
        .then(() => jupyterapp.commands.execute("notebook:run-all-cells"))
        .then(() => { window.ended = true; });
    }""")
    page.wait_for_function("window.ended", timeout=1000 * seconds)


@pytest.mark.parametrize("stem", [pytest.param(stem, marks=mark) for stem, mark in WHOLE.items()])
def test_chapter_runs_to_its_end(visit: Visit, stem: str) -> None:
    """No dialog, no error in a cell, no outside request; widgets and checks come to life."""
    page = opened(visit, stem)
    run_all(page, seconds=300)
    cells = page.evaluate("""() => jupyterapp.shell.currentWidget.model.sharedModel.cells
      .filter(cell => cell.cell_type === "code")
      .map(cell => ({count: cell.execution_count, outputs: cell.outputs}))""")
    errors = [o for cell in cells for o in cell["outputs"] if o["output_type"] == "error"]
    assert errors == []
    assert all(cell["count"] for cell in cells), "a cell was not run"
    text = json.dumps([cell["outputs"] for cell in cells])
    assert "not attempted" in text.lower()
    assert page.locator(".jp-Dialog").count() == 0
    first = page.evaluate("""() => jupyterapp.shell.currentWidget.model.sharedModel.cells
      .findIndex(cell => (cell.metadata.tags ?? []).includes("widget"))""")
    page.evaluate(f"void jupyterapp.shell.currentWidget.content.scrollToItem({first})")
    page.wait_for_selector(".jp-OutputArea-output .living svg", timeout=20_000)
    assert visit.outside == []


START = """async ([address, program]) => {
  const { loadPyodide } = await import(`${address}/lite/static/pyodide/pyodide.mjs`);
  window.python = await loadPyodide();
  await python.loadPackage(["mini-attn", "matplotlib", "ipython"]);
  await python.runPythonAsync(program);
}"""
# Each chapter in a namespace of its own; gives what its first error says, or nothing.
PROGRAM = """
import contextlib, io, sys, traceback, types
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt

def run_cells(cells):
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    space = vars(main)
    for cell in cells:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell, "cell", "exec"), space)
        except Exception:
            return cell[:200] + chr(10) + traceback.format_exc(limit=-2)
        plt.close("all")
    return ""

def logits_of(name, rows):
    import numpy as np
    from mini_attn.stories import load
    return load(name)(np.array(rows, np.int64)).ravel().tolist()

def chances_of(rows):
    import numpy as np
    from mini_attn.stories import row_probabilities
    return row_probabilities(np.array(rows, np.int64)).ravel().tolist()
"""


@pytest.fixture(scope="module")
def python() -> Iterator[Page]:
    """A page with the browser's Python as it is served, for all chapters in turn."""
    with visiting() as visits:
        page = visits("404.html")
        page.evaluate(START, [visits.address, PROGRAM])
        yield page
        assert visits.outside == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("stem", OTHERS)
def test_cells_run_in_the_browsers_python(python: Page, stem: str) -> None:
    """Every cell of a chapter, in order, with no package but those that are served."""
    notebook = nbformat.read(ROOT / "book" / f"{stem}.ipynb", as_version=4)
    cells = [
        cell.source for cell in notebook.cells
        if cell.cell_type == "code" and "skip-execution" not in cell.metadata.get("tags", [])
    ]  # fmt: skip
    said = python.evaluate("(cells) => python.globals.get('run_cells')(python.toPy(cells))", cells)
    assert said == ""


ROWS = np.concatenate([sample_rows(1, 256, seed=4, kind=kind) for kind in ("stories", "repeats")])


def asked(python: Page, function: str, *arguments: Any) -> np.ndarray:
    """What a function of the browser's Python answers, a flat list of numbers."""
    call = (
        f"(given) => python.globals.get('{function}')(...given.map((x) => python.toPy(x))).toJs()"
    )
    return np.array(python.evaluate(call, list(arguments)))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in MEMBERS else pytest.mark.exhaustive)
        for name in shipped()
    ],
)
def test_the_browsers_python_gives_the_same_logits(python: Page, name: str) -> None:
    got, expected = asked(python, "logits_of", name, ROWS.tolist()), load(name)(ROWS)
    assert np.abs(got.reshape(expected.shape) - expected).max() < 1e-4


def test_the_browsers_python_knows_the_same_language(python: Page) -> None:
    got, expected = asked(python, "chances_of", ROWS.tolist()), row_probabilities(ROWS)
    np.testing.assert_allclose(got.reshape(expected.shape), expected, atol=1e-12)
