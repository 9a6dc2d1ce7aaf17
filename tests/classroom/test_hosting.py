"""Binder and JupyterHub: the configuration files, really installed and started on loopback.

What has to be installed first is `exhaustive`. What is read from the files, and how a student's
server begins, is tried in every run.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

import nbformat
import pytest
import requests
from packaging.requirements import Requirement
from traitlets.config import Config

from classroom.adapters import hub
from classroom.sheets.release import release
from classroom.sheets.sheet import chapters, chosen
from mini_attn.errors import ConfigError
from solutions import cached_step, late_mask
from tests.classroom.hosting import Jupyter, bare, done, free_ports, installed, patient, running
from tests.scripts import script
from tools import ROOT

BINDER = ROOT / ".binder"
PASSWORD = "only-for-this-test"
SAY = "import importlib.util; print(importlib.util.find_spec('torch'))"


def pins(path: Path) -> dict[str, str]:
    """Versions by the packages' normalized names."""
    found = re.findall(r"^([\w.-]+)==([^\s;]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


def tracked_copy(folder: Path) -> Path:
    """What is in the repository, as an image would have it."""
    for name in done("git", "ls-files", "-z", "-co", "--exclude-standard", cwd=ROOT).split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def test_pins_are_those_of_the_tests() -> None:
    """Binder gets no version that the book was not built and tested with."""
    everything, binder = pins(ROOT / "requirements.txt"), pins(BINDER / "requirements.txt")
    assert {"numpy", "anywidget", "ipywidgets", "jupyterlab", "jupyterlab-myst"} <= set(binder)
    assert "torch" not in binder
    assert {name: everything.get(name) for name in binder} == binder
    shared = set(pins(hub.FILES / "requirements.txt")) & set(everything)
    assert {n: pins(hub.FILES / "requirements.txt")[n] for n in shared} == {
        n: everything[n] for n in shared
    }
    assert not shared & set(binder)
    # With jsonschema 4.25 it builds its grammars in every process that reads a notebook: 3 s each.
    grading = pins(ROOT / "classroom/adapters/requirements-grading.txt")
    assert not {"rfc3987-syntax"} & {*everything, *binder, *grading}


def test_binders_list_is_whole() -> None:
    """Everything that a package of the list needs is in the list; the book has the same ones."""
    listed = pins(BINDER / "requirements.txt")
    assert {name: version(name) for name in listed} == listed
    for name in [*listed, "mini-attn"]:
        for text in requires(name) or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert re.sub(r"[-_.]+", "-", needed.name).lower() in listed, f"{name} needs {text}"


@pytest.mark.exhaustive
def test_what_is_installed_is_what_is_listed(environment: Path) -> None:
    listed = pins(BINDER / "requirements.txt") | pins(hub.FILES / "requirements.txt")
    told = done(environment / "venv/bin/python", "-m", "pip", "list", "--format", "json")
    found = json.loads(told[told.index("[") : told.rindex("]") + 1])
    found = {re.sub(r"[-_.]+", "-", row["name"]).lower(): row["version"] for row in found}
    assert {name: found[name] for name in listed} == listed


def test_the_files_are_those_that_binder_reads() -> None:
    assert {path.name for path in BINDER.iterdir()} == {
        "postBuild", "requirements.txt", "runtime.txt",
    }  # fmt: skip
    script = BINDER / "postBuild"
    assert script.stat().st_mode & stat.S_IXUSR
    assert script.read_text(encoding="utf-8").startswith("#!/bin/bash\n")
    named = re.fullmatch(r"python-3\.(\d+)\n", (BINDER / "runtime.txt").read_text())
    assert named
    assert int(named[1]) >= 11  # the package's own floor


def answered(exercise_id: str, module: Any) -> str:
    """A cell with a whole answer and its check."""
    source = inspect.getsource(module.REFERENCE)
    name = module.REFERENCE.__name__
    head = "import numpy as np\nfrom mini_attn.exercises import check\n"
    return f"{head}\n{source}\ncheck({exercise_id!r}, {name})"


@pytest.fixture(scope="module")
def sheets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A released problem sheet."""
    out = tmp_path_factory.mktemp("release")
    paths = release(chosen(exercises="late_mask score_spread", name="week1"), out)
    return paths[0].parent


@pytest.fixture(scope="module")
def environment(sheets: Path) -> Path:
    """A hub's folder, set up as teaching.md says; afresh when a requirement changes.

    Its environment serves for Binder too: an image there has JupyterHub as well, and what
    Binder's own list lacks is found by the test of its pins.
    """

    def make(folder: Path) -> None:
        done(
            "./setup.sh",
            cwd=hub.assemble(folder, sheets),
            env=bare(PYTHON=sys.executable, PIP_NO_COMPILE="1"),
        )

    lists = (BINDER / "requirements.txt", hub.FILES / "requirements.txt")
    others = [hub.FILES / name for name in ("package-lock.json", "overrides.json", "setup.sh")]
    return installed(*lists, *others, make=make)


@pytest.fixture(scope="module")
def image(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository after ``postBuild``, as an image on Binder has it."""
    copy = tracked_copy(tmp_path_factory.mktemp("image") / "repository")
    done("./.binder/postBuild", cwd=copy, env=surroundings(environment, copy))
    return copy


def surroundings(environment: Path, home: Path) -> dict[str, str]:
    """Environment variables with the environment's commands in front."""
    path = f"{environment}/venv/bin{os.pathsep}{os.environ['PATH']}"
    return bare(PATH=path, HOME=str(home), OMP_NUM_THREADS="1")


@pytest.mark.exhaustive
def test_binder_opens_the_chapters(environment: Path, image: Path, tmp_path: Path) -> None:
    """Requirements, postBuild and JupyterLab as in an image; a chapter and a check run in it."""
    port = free_ports(1)
    command = [f"{environment}/venv/bin/jupyter-lab", "--no-browser", "--allow-root",
               f"--port={port}", "--ServerApp.port_retries=0",
               "--IdentityProvider.token=secret"]  # fmt: skip
    with running(command, tmp_path / "log", cwd=image, env=surroundings(environment, tmp_path)):
        session = requests.Session()
        session.headers["Authorization"] = "token secret"
        server = Jupyter(f"http://127.0.0.1:{port}", session)
        patient(lambda: server.get("api/status"), lambda answer: answer.ok)
        assert {f"{page}.ipynb" for page in chapters()} <= set(server.names("book"))
        assert server.get("lab/tree/book/start.ipynb").ok
        asks_nobody(server)
        cells = server.notebook("book/kv-cache.ipynb")["cells"]
        with server.kernel("book/kv-cache.ipynb") as run:
            assert run(SAY) == "None\n"
            assert run("import mini_attn; print(mini_attn.__file__)").startswith(str(environment))
            shown = [run(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
            assert not [text for text in shown if re.search(r"^\w+(Error|Exception): ", text, re.M)]
            assert any("DecodeStepper" in text for text in shown)
            assert "no PyTorch" in "".join(shown)
            assert "solved" in run(answered("cached_step", cached_step))


def test_a_hub_needs_a_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="run `make release` first"):
        hub.assemble(tmp_path / "hub", tmp_path)
    assert hub.main(["--out", str(tmp_path / "hub"), "--release", str(tmp_path)]) == 2
    assert "[hub] no sheets" in capsys.readouterr().err
    assert not (tmp_path / "hub").exists()


def test_a_renewed_folder_keeps_what_the_teacher_wrote(sheets: Path, tmp_path: Path) -> None:
    folder = hub.assemble(tmp_path / "hub", sheets)
    names = {path.name for path in folder.iterdir()}
    assert {"jupyterhub_config.py", "setup.sh", "start.py", "class.txt", "sheets"} <= names
    assert [path.name for path in (folder / "sheets").iterdir()] == ["week1.ipynb"]
    (folder / "class.txt").write_text("ada\n")
    (folder / "sheets/old.ipynb").write_text("{}")
    assert {path.name for path in hub.assemble(folder, sheets).iterdir()} == names
    assert (folder / "class.txt").read_text() == "ada\n"
    assert [path.name for path in (folder / "sheets").iterdir()] == ["week1.ipynb"]
    every = b"".join(
        path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".whl"
    )
    for module in (late_mask, cached_step):  # a server for students holds no solution
        longest = max(inspect.getsource(module.REFERENCE).splitlines(), key=len).strip()
        assert longest.encode() not in every


def test_sheets_are_handed_out_once(tmp_path: Path) -> None:
    """A student's own file is never touched, not even one that was made a link or a folder."""
    start = script("classroom/adapters/hub_files/start.py")
    sheets, home = tmp_path / "sheets", tmp_path / "home"
    sheets.mkdir()
    for name in ("a.ipynb", "b.ipynb", "c.ipynb"):
        (sheets / name).write_text(f"new {name}")
    assert start.hand_out(sheets, home) == ["a.ipynb", "b.ipynb", "c.ipynb"]
    assert stat.S_IMODE(home.stat().st_mode) == 0o700  # nobody else's business
    (home / "a.ipynb").write_text("mine")
    (home / "b.ipynb").unlink()
    (home / "b.ipynb").symlink_to(tmp_path / "nowhere")
    (home / "c.ipynb").unlink()
    (sheets / "d.ipynb").write_text("new d.ipynb")
    assert start.hand_out(sheets, home) == ["c.ipynb", "d.ipynb"]
    assert (home / "a.ipynb").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    assert sorted(path.name for path in home.iterdir()) == [f"{n}.ipynb" for n in "abcd"]


def test_a_student_s_server_begins_with_its_sheets_and_within_its_limits(
    sheets: Path, tmp_path: Path
) -> None:
    """What stands beside its Python becomes the server; here it says what it was given."""
    server = tmp_path / "bin/jupyterhub-singleuser"
    server.parent.mkdir()
    server.write_text('#!/bin/sh\nulimit -v\nulimit -c\necho "$@"\n')
    server.chmod(0o755)
    (server.parent / "python").symlink_to(sys.executable)
    command = [server.parent / "python", hub.FILES / "start.py", sheets, "4", "200", "--port=1"]
    said = done(*command, env=bare(HOME=str(tmp_path)))
    assert said.split("\n")[:3] == [str(4 * 2**20), "0", "--port=1"]
    assert (tmp_path / "living-attention/week1.ipynb").read_bytes() == (
        sheets / "week1.ipynb"
    ).read_bytes()


@pytest.mark.parametrize("script", [BINDER / "postBuild", hub.FILES / "setup.sh"])
def test_the_scripts_are_sound_and_name_files_that_are_there(
    script: Path, sheets: Path, tmp_path: Path
) -> None:
    text = script.read_text(encoding="utf-8")
    shell, *options = text.splitlines()[0].removeprefix("#!").split()
    done(shell, *options, "-n", script)
    place = ROOT if script.parent == BINDER else hub.assemble(tmp_path / "hub", sheets)
    named = re.findall(r"(?<= )(?!/|\$)(?:[\w./-]+\.(?:txt|json|py)|\./mini_attn-\*\.whl)", text)
    assert named
    assert [name for name in named if len(list(place.glob(name.removeprefix("./")))) != 1] == []


@contextmanager
def classroom(folder: Path, log: Path) -> Iterator[str]:
    """The hub, in rehearsal on loopback; gives its address."""
    port = free_ports(3)
    variables = bare(REHEARSAL=PASSWORD, HUB_PORT=str(port))
    with running([folder / "venv/bin/jupyterhub"], log, cwd=folder, env=variables):
        address = f"http://127.0.0.1:{port}"
        patient(lambda: requests.get(f"{address}/hub/api/"), lambda answer: answer.ok)
        yield address


def sign_in(address: str, name: str, password: str) -> tuple[Jupyter, int]:
    """A student's session in the hub, and the status that the form answered with."""
    session = requests.Session()
    session.get(f"{address}/hub/login")
    form = {"username": name, "password": password, "_xsrf": session.cookies["_xsrf"]}
    answer = session.post(f"{address}/hub/login", data=form)
    return Jupyter(f"{address}/user/{name}", session), answer.status_code


def opened(student: Jupyter) -> None:
    """Start the student's server and wait until it answers for itself, not the hub for it."""
    student.get("lab")
    student.session.get(f"{student.address.split('/user/')[0]}/hub/spawn")
    patient(lambda: student.get("lab"), lambda a: a.ok and a.url.startswith(student.address))
    assert student.get("api/status").ok


@pytest.mark.exhaustive
def test_a_class_works_in_the_hub(environment: Path, image: Path, sheets: Path) -> None:
    """Sign in, open a sheet, solve it, come back next week; what is not allowed fails."""
    folder = hub.assemble(environment, sheets)
    (folder / "class.txt").write_text("ada\nbob  # sits in the last row\n")
    for name in ("homes", "state"):
        shutil.rmtree(folder / name, ignore_errors=True)
    with classroom(folder, folder / "hub.log") as address:
        assert sign_in(address, "ada", "a-wrong-password")[1] == 403
        assert sign_in(address, "eve", PASSWORD)[1] == 403  # not in class.txt
        ada, status = sign_in(address, "ada", PASSWORD)
        assert status == 200
        opened(ada)
        assert ada.names() == ["week1.ipynb"]
        other = Jupyter(ada.address, sign_in(address, "bob", PASSWORD)[0].session)
        assert other.get("api/contents").status_code == 403
        works_on_a_sheet(ada)
        asks_no_other_host(ada)
        answers = ada.notebook("week1.ipynb")
        answers["cells"].append(nbformat.v4.new_code_cell("mine = 1"))
        saved = {"type": "notebook", "format": "json", "content": answers}
        assert ada.send("PUT", "api/contents/week1.ipynb", saved).ok
        # The next week: there is one sheet more, and the student's server starts again.
        shutil.copy(folder / "sheets/week1.ipynb", folder / "sheets/week2.ipynb")
        its_hub = Jupyter(f"{address}/hub", ada.session)
        assert its_hub.send("DELETE", "api/users/ada/server").status_code in (202, 204)
        # Until it has stopped wholly, the hub starts no other.
        gone = {"server": None, "pending": None}
        patient(lambda: its_hub.get("api/users/ada"), lambda a: gone.items() <= a.json().items())
        opened(ada)
        assert ada.names() == ["week1.ipynb", "week2.ipynb"]
        assert ada.notebook("week1.ipynb")["cells"][-1]["source"] == "mine = 1"


def works_on_a_sheet(student: Jupyter) -> None:
    """The sheet's own cells as they are handed out, then with an answer; too much memory fails."""
    cells = student.notebook("week1.ipynb")["cells"]
    with student.kernel("week1.ipynb") as run:
        shown = "".join(run(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        assert "The mask that came too late: not attempted" in shown  # the starter as it was given
        assert "The wrong root: not attempted" in shown
        assert "solved" in run(answered("late_mask", late_mask))
        assert "None" in run(SAY)
        assert "MemoryError" in run("np.ones(5 * 2**30, dtype='uint8').sum()")
        assert run("print(1)") == "1\n"  # the kernel lives on


def asks_nobody(server: Jupyter) -> None:
    """No news, no updates, and no question whether they are wanted."""
    told = server.get("lab/api/settings/@jupyterlab/apputils-extension:notification").json()
    assert told["schema"]["properties"]["fetchNews"]["default"] == "false"
    assert told["schema"]["properties"]["checkForUpdates"]["default"] is False


def asks_no_other_host(student: Jupyter) -> None:
    """JupyterLab's server looks for no news, no updates, no extensions."""
    asks_nobody(student)
    page = student.get("lab").text
    settings = json.loads(re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.S)[1])
    assert settings["news"] == {"disabled": True}
    assert settings["extensionManager"]["can_install"] is False
    assert student.get("lab/api/update").json()["notification"] is None
    assert not re.search(r'(src|href)="(https?:)?//', page)


def settings(folder: Path) -> Config:
    """What the configuration file sets, for a hub in a folder."""
    config = Config()
    code = compile(hub.CONFIG.read_text(encoding="utf-8"), str(hub.CONFIG), "exec")
    exec(code, {"__file__": str(folder / "jupyterhub_config.py"), "get_config": lambda: config})
    return config


def test_who_may_sign_in_and_where_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accounts of the machine for a class; no password crosses a network without a certificate."""
    (tmp_path / "class.txt").write_text("# comment\nada\n\n bob # last row\n")
    monkeypatch.delenv("REHEARSAL", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit, match="start it with sudo, or try it alone"):
        settings(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    mine = tmp_path / "python"
    mine.touch(0o700)
    monkeypatch.setattr(sys, "executable", str(mine))
    with pytest.raises(SystemExit, match=r"students may not run .*python: PYTHON="):
        settings(tmp_path)
    monkeypatch.setattr(sys, "executable", "/bin/sh")
    config = settings(tmp_path)
    assert config.Authenticator.allowed_users == {"ada", "bob"}
    assert config.JupyterHub.authenticator_class == "pam"
    assert config.JupyterHub.spawner_class == "jupyterhub.spawner.LocalProcessSpawner"
    assert config.Spawner.cmd[-2:] == ["4", "200"]
    assert config.JupyterHub.bind_url == "http://127.0.0.1:8000"
    assert config.JupyterHub.hub_bind_url.startswith("http://127.0.0.1:")
    assert config.ConfigurableHTTPProxy.api_url.startswith("http://127.0.0.1:")
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    (tmp_path / "tls.crt").touch()
    assert settings(tmp_path).JupyterHub.bind_url == "http://127.0.0.1:8000"
    (tmp_path / "tls.key").touch()
    config = settings(tmp_path)
    assert config.JupyterHub.bind_url == "https://0.0.0.0:8000"
    assert config.JupyterHub.ssl_key == str(tmp_path / "tls.key")
