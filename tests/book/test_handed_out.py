"""Notebooks that run wherever they're downloaded: their first cell, the zip, the links to both."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
import nbformat
import pytest

from classroom.sheets.leaks import leaks
from classroom.sheets.wheel import build_wheel
from classroom.submissions.cells import read_cells
from mini_attn import __version__
from tests.scripts import script
from tools import HTML, ROOT
from tools.pages import Page

FOLDER = HTML / "notebooks"
STEMS = sorted(path.stem for path in (ROOT / "book").glob("*.ipynb"))
SAMPLE = "kv-cache"
first = script("book/_ext/first_cell.py")
handed_out = script("book/_ext/handed_out.py")
ZIP, WHEEL = f"{handed_out.NAME}.zip", handed_out.WHEEL
SITE = "https://example.org/attention/notebooks"
PUBLIC = handed_out.Public("https://example.org/attention", "https://github.com/example/attention")
CLOSED = handed_out.Public()


# The first cell, in a Python that has nothing, with a pip that only notes what it's asked for.

PIP = """
import os, sys
from pathlib import Path
open("asked", "a").write(sys.argv[-1] + chr(10))
said = os.environ.get("SAID", "")
if said and ("[widgets]" in sys.argv[-1] or "ANYWAY" in os.environ):
    sys.exit(said)
Path(__file__).parents[1].joinpath("mini_attn.py").write_text("__version__ = '9.9'", "utf-8")
"""
ASK = """
import sys
try:
    exec(sys.argv[1], {})
except ImportError as error:
    print(*error._render_traceback_(), sep=chr(10))
else:
    import mini_attn
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python without any package, pip included."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=os.name != "nt")
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


class Room:
    """A folder with a notebook in it, and what its first cell does there."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python, self.folder, self.modules = python, folder, folder / "modules"
        self.modules.mkdir()

    def add_pip(self) -> None:
        """Give the Python a pip."""
        (self.modules / "pip").mkdir()
        (self.modules / "pip/__main__.py").write_text(PIP, encoding="utf-8")

    def run(self, site: str = "", **environment: str) -> list[str]:
        """Run the cell; gives the lines that it shows."""
        source = first.first_cell("9.9", site).source
        paths = {"PYTHONPATH": str(self.modules), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [self.python, "-c", ASK, source], cwd=self.folder, check=False,
            env={**os.environ, **paths, **environment}, capture_output=True, encoding="utf-8",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def asked(self) -> list[str]:
        """Return what pip was asked for."""
        note = self.folder / "asked"
        return note.read_text("utf-8").splitlines() if note.exists() else []


@pytest.fixture
def room(bare: Path, tmp_path: Path) -> Room:
    """A folder without a wheel."""
    return Room(bare, tmp_path)


def test_the_cell_is_short_folded_and_keeps_its_names() -> None:
    cell = first.first_cell("9.9", SITE)
    assert len([line for line in cell.source.splitlines() if line.strip()]) <= 21
    assert cell.metadata.jupyter.source_hidden
    assert cell.metadata.tags == [first.TAG]
    names: dict[str, Any] = {}
    exec(first.first_cell(__version__, "").source, names)
    assert names.keys() - {"__builtins__"} == {"find_mini_attn"}


def test_nothing_happens_where_the_package_is(room: Room) -> None:
    room.add_pip()
    (room.modules / "mini_attn.py").write_text("__version__ = '9.9'", "utf-8")
    assert room.run(SITE) == []
    assert room.asked() == []


def test_another_version_is_named_and_stays(room: Room) -> None:
    room.add_pip()
    (room.modules / "mini_attn.py").write_text("__version__ = '0.3'", "utf-8")
    assert room.run(SITE) == ["This notebook is for mini_attn 9.9, and 0.3 is installed."]
    assert room.asked() == []


def test_a_wheel_beside_it_is_installed(room: Room) -> None:
    """It comes before the site, and a space in the folder's name does no harm."""
    room.add_pip()
    room.folder = room.folder / "my notebooks"
    room.folder.mkdir()
    wheel = room.folder / "mini_attn-9.9-py3-none-any.whl"
    wheel.touch()
    assert room.run(SITE) == []
    assert room.asked() == [f"mini_attn[widgets] @ {wheel.as_uri()}"]


def test_the_site_has_the_wheel(room: Room) -> None:
    room.add_pip()
    assert room.run(SITE) == []
    assert room.asked() == [f"mini_attn[widgets] @ {SITE}/mini_attn-9.9-py3-none-any.whl"]


def test_without_anywidget_the_package_still_comes(room: Room) -> None:
    room.add_pip()
    assert room.run(SITE, SAID="ERROR: No matching distribution found for anywidget") == []
    assert [line.split(" @ ")[0] for line in room.asked()] == ["mini_attn[widgets]", "mini_attn"]


def test_no_wheel_and_no_site_is_said_in_two_lines(room: Room) -> None:
    room.add_pip()
    assert room.run() == [
        "mini_attn 9.9 isn't installed: its wheel isn't beside this notebook.",
        "Open it in the book's unpacked zip.",
    ]
    assert room.asked() == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "ERROR: Could not find a version that satisfies the requirement matplotlib (from "
            "versions: none)\nERROR: No matching distribution found for matplotlib",
            "pip finds no network",
        ),
        (
            "  WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError'\n"
            "ERROR: Could not install packages due to an OSError: HTTPSConnectionPool",
            "pip finds no network",
        ),
        (
            "WARNING: a cache is not writable\n"
            "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system",
            "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system",
        ),
        (
            "error: externally-managed-environment\n\n× This environment is externally managed",
            "error: externally-managed-environment",
        ),
        (
            "  ERROR: HTTP error 404 while getting https://example.org\nERROR: Could not install",
            "ERROR: HTTP error 404 while getting https://example.org",
        ),
    ],
)
def test_what_pip_says_is_told_in_one_line(room: Room, said: str, shown: str) -> None:
    room.add_pip()
    address = f"{SITE}/mini_attn-9.9-py3-none-any.whl"
    assert room.run(SITE, SAID=said, ANYWAY="1", PYTHONIOENCODING="utf-8") == [
        f"mini_attn 9.9 isn't installed: {shown}.",
        f'Try in a terminal: pip install matplotlib "mini_attn @ {address}"',
    ]


def test_a_missing_pip_is_named(room: Room) -> None:
    first_line, _ = room.run(SITE)
    assert first_line.endswith("No module named pip.")


def test_jupyter_shows_the_two_lines_alone(room: Room) -> None:
    """IPython asks the error itself for what it shows."""
    from IPython.core.interactiveshell import InteractiveShell

    shell, shown = InteractiveShell(), []
    shell._showtraceback = lambda kind, error, lines: shown.extend(lines)
    source = first.first_cell("9.9", "").source.replace("from mini_attn", "from mini_none")
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        shell.run_cell(source)
    assert len(shown) == 1
    assert len(shown[0].splitlines()) == 2


# The links.


def links(public: Any, patch: pytest.MonkeyPatch) -> str:
    """The list on a chapter's page."""
    patch.setattr(handed_out, "read_public", lambda: public)
    templates = SimpleNamespace(
        render_string=lambda text, facts: jinja2.Template(text).render(facts)
    )
    app = SimpleNamespace(
        config=SimpleNamespace(lite_megabytes=44), builder=SimpleNamespace(templates=templates)
    )
    return str(handed_out.run_links(app, "book/kv-cache", "../"))


def test_other_sites_are_named_only_where_the_book_is_public(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "https://" not in links(CLOSED, monkeypatch)
    copy = f"gh-pages/notebooks/kv-cache-{__version__}.ipynb"
    text = links(PUBLIC, monkeypatch)
    for address in (
        f"https://colab.research.google.com/github/example/attention/blob/{copy}",
        f"?src=https://raw.githubusercontent.com/example/attention/{copy}",
        "https://mybinder.org/v2/gh/example/attention/main?urlpath=lab/tree/book/kv-cache.ipynb",
    ):
        assert f'{address}"' in text


def test_what_only_the_site_can_serve_needs_a_site() -> None:
    """Colab and Kaggle would have a notebook without a package; Binder builds the repository."""
    assert list(handed_out.hosts(handed_out.Public("", PUBLIC.repository), "book/mla")) == [
        "Binder"
    ]
    assert handed_out.hosts(handed_out.Public(PUBLIC.site), "book/mla") == {}


# What lies beside the pages.


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip as a reader unpacks it."""
    folder = tmp_path_factory.mktemp("unpacked")
    zipfile.ZipFile(FOLDER / ZIP).extractall(folder)
    return folder / handed_out.NAME


@pytest.mark.site
@pytest.mark.parametrize("stem", STEMS)
def test_a_copy_is_the_chapter_with_one_more_cell(stem: str) -> None:
    """The first code cell; graders find the exercises as in the chapter, and the page hasn't it."""
    path = FOLDER / f"{stem}-{__version__}.ipynb"
    code = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    chapter = nbformat.read(ROOT / "book" / f"{stem}.ipynb", as_version=4)
    site = handed_out.folder_address(handed_out.read_public())
    assert code[0] == first.first_cell(__version__, site)
    assert code[1:] == [cell for cell in chapter.cells if cell.cell_type == "code"]
    given, source = (read_cells(p.read_bytes())[0] for p in (path, ROOT / f"book/{stem}.ipynb"))
    answers = [[c for c in cells if c.role and c.kind == "code"] for cells in (given, source)]
    assert answers[0] == answers[1]
    assert "find_mini_attn" not in (HTML / f"book/{stem}.html").read_text(encoding="utf-8")


@pytest.mark.site
def test_the_zip_has_what_lies_beside_it(unpacked: Path) -> None:
    """All notebooks, the wheel and a page on how to begin, and no solution in any of it."""
    names = {f"{stem}-{__version__}.ipynb" for stem in STEMS} | {WHEEL}
    assert {path.name for path in unpacked.iterdir()} == names | {"README.txt"}
    for name in names:
        assert (unpacked / name).read_bytes() == (FOLDER / name).read_bytes()
    assert "jupyter lab" in (unpacked / "README.txt").read_text("utf-8")
    assert leaks(FOLDER / ZIP) == []


@pytest.mark.site
def test_the_wheel_is_that_of_a_release(tmp_path: Path) -> None:
    """A file of that name has the same bytes wherever it's from."""
    assert build_wheel(tmp_path).name == WHEEL
    assert (tmp_path / WHEEL).read_bytes() == (FOLDER / WHEEL).read_bytes()


@pytest.mark.site
def test_pages_lead_to_the_zip_and_say_how_to_install() -> None:
    for name in ("kv-cache", "plain", "about"):
        assert f"../notebooks/{ZIP}" in Page(HTML / f"book/{name}.html").links, name
    text = "".join(Page(HTML / "book/about.html").text)
    site = handed_out.folder_address(handed_out.read_public())
    what = f"mini_attn[widgets] @ {site}/{WHEEL}" if site else f"./{WHEEL}[widgets]"
    assert f'pip install "{what}" matplotlib' in text


# Run where only Jupyter, NumPy and matplotlib are: this environment without our package.

EXECUTE = """
import json, sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
print(json.dumps([cell.get("outputs", []) for cell in notebook.cells]))
"""


def offline(folder: Path, hidden: tuple[str, ...]) -> Path:
    """Return a Python with this environment's packages but for some, and no package of ours."""
    venv.create(folder / "venv", symlinks=os.name != "nt")
    installed, rest = Path(sysconfig.get_path("purelib")), folder / "packages"
    rest.mkdir()
    for path in installed.iterdir():
        if not path.name.startswith(("mini_attn", "__editable__", "torch", *hidden)):
            (rest / path.name).symlink_to(path)
    paths = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    own = Path(sysconfig.get_path("purelib", "venv", paths))
    (own / "packages.pth").write_text(f"{rest}\n", "utf-8")
    return folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


@pytest.fixture(
    scope="module",
    params=[pytest.param((), marks=pytest.mark.exhaustive), ("anywidget",)],
    ids=["whole", "no anywidget"],
)
def reader(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, tuple[str, ...]]:
    """A reader's Python, and what it lacks."""
    return offline(tmp_path_factory.mktemp("reader"), request.param), request.param


@pytest.mark.site
@pytest.mark.slow
@pytest.mark.parametrize(
    "stem",
    [pytest.param(s, marks=() if s == SAMPLE else pytest.mark.exhaustive) for s in STEMS],
)
def test_a_chapter_runs_from_the_zip_without_a_network(
    reader: tuple[Path, tuple[str, ...]], unpacked: Path, stem: str, tmp_path: Path
) -> None:
    """Top to bottom; without anywidget its pictures stand still and say so."""
    python, hidden = reader
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PIP_FIND_LINKS")}
    own = {"PIP_NO_INDEX": "1", "MINI_ATTN_PROGRESS": "off", "IPYTHONDIR": str(tmp_path)}
    done = subprocess.run(
        [python, "-c", EXECUTE, f"{stem}-{__version__}.ipynb"], cwd=unpacked,
        capture_output=True, encoding="utf-8", env={**kept, **own}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    text = json.dumps(json.loads(done.stdout.splitlines()[-1]))
    if "living" in text:
        assert ("stands still" in text) == bool(hidden)
        assert ("widget-view" in text) != bool(hidden)
