"""What make and ``python -m tools`` call, alike: explained commands, and no test is left out."""

from __future__ import annotations

import argparse
import ast
import contextlib
import http.client
import importlib.util
import itertools
import json
import mimetypes
import os
import re
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import pytest_collection_modifyitems
from tests.sampling import sampled
from tools import ROOT, __main__, serve, setup, test
from tools.commands import COMMANDS, EVERYWHERE, GROUPS, Command, Variable

BROWSER = {"browser", "lite"}
MARKERS = ["browser", "lite", "slow", "site", "exhaustive", "soak", "gpu", "hypothesis"]
# Stands for the Python of .venv: prints what it's given, or waits for Ctrl-C and then finishes.
STAND_IN = """#!{python}
import json, os, sys, time
if "--wait" in sys.argv:
    try:
        print("waits", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        time.sleep(1)
        print("finished", flush=True)
        sys.exit("what a program says at its end")
print(json.dumps([*sys.argv[1:], os.environ.get("PYTHONUTF8")]), flush=True)
"""
NASTY = {
    "DIR": "grades/week 1",
    "LATE": "10% a day, at most 50%",
    "AGAIN": 'Ada O\'Hara; "bo" \\ x=1 DUE=none; #5',
    "OUT": "a\\ b",
    "NAME": "ünï ∂",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The commands in a tree of their own, with a stand-in for the environment."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    for name in ("requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / setup.PYTHON.relative_to(ROOT)
    python.parent.mkdir(parents=True)
    python.write_text(STAND_IN.format(python=sys.executable), encoding="utf-8")
    python.chmod(0o755)
    (tmp_path / ".venv/.ready").touch()
    return tmp_path


def called(tree: Path, *command: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in a tree, without what this run's own make has set."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "PYTHON"))}
    environment = {**kept, "PYTHONDONTWRITEBYTECODE": "1", **options.pop("env", {})}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, check=False,
                          encoding="utf-8", **options)  # fmt: skip


def by_both(tree: Path, *words: str) -> list[subprocess.CompletedProcess[str]]:
    """Run the same words with make and with ``python -m tools``."""
    make = ("make", "--no-print-directory", f"PYTHON={sys.executable}")
    return [called(tree, *make, *words), called(tree, sys.executable, "-m", "tools", *words)]


def test_every_command_is_explained_within_80_columns() -> None:
    text = __main__.overview()
    texts = [text, *map(__main__.help_on, COMMANDS)]
    assert [line for one in texts for line in one.splitlines() if len(line) > 80] == []
    assert [name for name in COMMANDS if f"\n  {name} " not in text] == []
    assert {command.group for command in COMMANDS.values()} == GROUPS.keys()
    for name, command in COMMANDS.items():
        told = __main__.help_on(name)
        assert [v.name for v in command.variables if f"  {v.name + '=':<12} " not in told] == []
        names = [v.name for v in (*command.variables, *EVERYWHERE)]
        assert len(set(names)) == len(names), name


def test_every_step_is_a_module() -> None:
    modules = {step[0] for command in COMMANDS.values() for step in command.steps}
    assert [name for name in modules if importlib.util.find_spec(name) is None] == []


class AskedError(Exception):
    """Stops a program once its parser knows its options."""


def parser_of(module: str, monkeypatch: pytest.MonkeyPatch) -> argparse.ArgumentParser:
    """The parser of a program, which gets no further."""
    found: list[argparse.ArgumentParser] = []

    def stop(self: argparse.ArgumentParser, *_: Any) -> None:
        found.append(self)
        raise AskedError

    with monkeypatch.context() as patched:
        patched.setattr(argparse.ArgumentParser, "parse_args", stop)
        patched.setattr(sys, "argv", [module])
        with pytest.raises(AskedError):
            runpy.run_module(module, run_name="__main__")
    return found[0]


def passed(command: Command) -> list[Variable]:
    """The variables that a command's program gets as arguments."""
    return [one for one in command.variables if one.kind != "environment"]


ASKED = [name for name, command in COMMANDS.items() if passed(command)]


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("name", [n for n in ASKED if n != "table"])
def test_a_program_takes_what_its_variables_become(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = COMMANDS[name]
    parser = parser_of(command.steps[-1][0], monkeypatch)
    given = {v.name: "7" for v in command.variables}
    asked = vars(parser.parse_args(__main__.arguments(name, given, [])))
    for variable in passed(command):
        actions = [a for a in parser._actions if variable.flag in a.option_strings]
        place = actions[0].dest if variable.flag else None
        value = asked[place] if place else asked
        assert value not in (None, False, ""), variable.name


@pytest.mark.parametrize("name", sampled(COMMANDS, lambda name: len(passed(COMMANDS[name])) > 0, 3))
def test_make_and_python_call_the_same(name: str, tree: Path) -> None:
    """Each variable has its value to the letter, whatever blanks and quotes are in it."""
    command = COMMANDS[name]
    (tree / "_build/html").mkdir(parents=True)
    (tree / "_build/html/index.html").touch()
    if not command.needs:
        return
    if command.needs == "pages":  # it would serve
        return
    words = [f"{v.name}={NASTY.get(v.name, '7')}" for v in command.variables]
    make, python = by_both(tree, name, *words)
    assert make.returncode == python.returncode == 0, make.stderr + python.stderr
    assert make.stdout == python.stdout
    lines = [json.loads(line) for line in make.stdout.splitlines()]
    assert {line.pop() for line in lines} == {"1"}
    assert [line[:2] for line in lines[-len(command.steps):]] == [
        ["-m", step[0]] for step in command.steps
    ]  # fmt: skip
    for variable in passed(command):
        value = NASTY.get(variable.name, "7")
        one = f"{variable.flag}={value}" if variable.flag else value
        wanted = {"switch": [variable.flag], "words": value.split(), "value": [one]}[variable.kind]
        assert set(wanted) <= set(lines[-1]), variable.name


def test_other_words_go_to_the_program_and_several_commands_run_in_turn(tree: Path) -> None:
    words = ["grade", "in/", "--due", "2026-10-12", "--late=5% a day", "PARTIAL=1", "ANONYMOUS=0"]
    said = called(tree, sys.executable, "-m", "tools", *words).stdout
    assert json.loads(said)[1:-1] == ["classroom.grading.grade", "--partial", *words[1:5]]
    for done in by_both(tree, "test", "test-all"):
        modules = [json.loads(line)[1:-1] for line in done.stdout.splitlines()]
        assert modules == [["tools.build"], ["tools.test", "test"], ["tools.test", "test-all"]]
    listing = called(tree, sys.executable, "-m", "tools", "totals", "DIR=a 'b c' tool*").stdout
    assert json.loads(listing)[2:-1] == ["a", "b c", "tools"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["grate"], "there is no command 'grate'; did you mean grade?"),
        (["grade", "DIR=x", "ROOSTER=y"], "grade takes no ROOSTER=; did you mean ROSTER?"),
        (["book", "PORT=1"], "book takes no PORT= ("),
        (["grade"], "[grade] say where the submissions are: DIR=submissions/"),
        (["lms", "DIR=x"], "[lms] say which table: DIR=grades/week1 FROM=export.csv"),
        (["help", "trian"], "there is no command 'trian'; did you mean train?"),
    ],
)
def test_wrong_words_get_one_sentence(words: list[str], sentence: str, tree: Path) -> None:
    (tree / ".venv/.ready").unlink()  # nothing may be set up for them
    make, python = by_both(tree, *words)
    assert python.returncode == 2
    assert make.returncode == 2
    assert python.stdout == make.stdout == ""
    assert python.stderr.startswith(sentence)
    assert make.stderr.startswith(sentence)
    assert len(python.stderr.splitlines()) == 1


def test_help_needs_no_environment(tree: Path) -> None:
    shutil.rmtree(tree / ".venv")
    for words in ([], ["help"], ["help", "grade"]):
        make, python = by_both(tree, *words)
        assert make.stdout.replace("make", "python -m tools") == python.stdout.replace(
            "make", "python -m tools"
        )
        assert "grade" in make.stdout
    long = called(tree, sys.executable, "-m", "tools", "grade", "--help").stdout
    assert long == python.stdout
    assert list(tree.glob(".venv")) == []


def test_only_what_was_typed_counts(tree: Path) -> None:
    """A user's own environment may have variables of these names."""
    for command in (["make", f"PYTHON={sys.executable}"], [sys.executable, "-m", "tools"]):
        done = called(tree, *command, "bytes", env={"ROWS": "5", "OUT": "x"})
        assert json.loads(done.stdout)[:-1] == ["-m", "training.equal_bytes"]


def started(tree: Path) -> subprocess.Popen[str]:
    """A command that waits, in a group of its own as in a terminal."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tools", "grade", "--wait"], cwd=tree, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True,
        env={**os.environ, "PYTHONPATH": ""},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "waits\n"
    return process


def test_ctrl_c_lets_the_program_finish(tree: Path) -> None:
    process = started(tree)
    os.killpg(process.pid, signal.SIGINT)
    out, error = process.communicate(timeout=30)
    assert (out, error) == ("finished\n", "what a program says at its end\n")
    assert process.returncode == 130


def test_being_ended_ends_the_program(tree: Path) -> None:
    process = started(tree)
    process.terminate()
    process.communicate(timeout=30)  # until the program has closed its output as well
    assert process.returncode == 143


def performed(monkeypatch: pytest.MonkeyPatch, *names: str, ready: bool = True) -> list[list[str]]:
    """The programs that commands run, one after the other."""
    run: list[list[str]] = []
    monkeypatch.setattr(__main__, "run", lambda command: run.append([*map(str, command)]) or 0)
    monkeypatch.setattr(__main__, "is_ready", lambda: ready)
    monkeypatch.setattr(__main__, "READY", SimpleNamespace(touch=lambda: run.append(["ready"])))
    done: set[str] = set()
    for name in names:
        assert __main__.perform(name, [], done) == 0
    return run


def test_what_a_command_needs_runs_once_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, own = str(setup.PYTHON), sys.executable
    book = [python, "-m", "tools.build"]
    run = performed(monkeypatch, "test", "book", "test-all", "pdf", ready=False)
    assert run == [
        [own, "-m", "tools.setup"], ["ready"], book,
        [python, "-m", "tools.test", "test"], [python, "-m", "tools.test", "test-all"],
        [python, "-m", "tools.browser", "--install"], [python, "-m", "tools.pdf"],
    ]  # fmt: skip
    monkeypatch.setattr(__main__, "HTML", tmp_path)
    serving = [own, "-m", "tools.serve"]
    assert performed(monkeypatch, "serve") == [book, serving]
    (tmp_path / "index.html").touch()
    assert performed(monkeypatch, "serve", ready=False) == [serving]
    assert performed(monkeypatch, "clean", ready=False) == [
        [own, "-m", "tools.clean", "_build", "dist"]
    ]
    for name in ("test", "test-all", "soak", "pdf", "bench", "links", "chapters"):
        assert COMMANDS[name].needs == "book", name


def test_the_first_step_that_fails_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    run = []
    monkeypatch.setattr(__main__, "is_ready", lambda: True)
    monkeypatch.setattr(__main__, "run", lambda command: run.append(command) or 3)
    assert __main__.main(["pdf"]) == 3
    assert len(run) == 1


def test_the_environment_is_made_again_when_its_files_are_newer(tree: Path) -> None:
    code = "from tools.__main__ import is_ready; print(is_ready())"

    def ready() -> str:
        return called(tree, sys.executable, "-c", code).stdout.strip()

    assert ready() == "True"
    later = time.time() + 60
    os.utime(tree / "requirements.txt", (later, later))
    assert ready() == "False"
    os.utime(tree / ".venv/.ready", (later, later))
    assert ready() == "True"
    (tree / setup.PYTHON.relative_to(ROOT)).unlink()
    assert ready() == "False"


# ---------- an older Python ----------

OLD = """
import sys
sys.version_info, sys.version = (3, 9, 2, "final", 0), "3.9.2 (default)"
import runpy
sys.argv = ["tools", "book"]
runpy.run_module({module!r}, run_name="__main__")
"""


@pytest.mark.parametrize("module", ["tools", "tools.setup"])
def test_an_older_python_gets_one_sentence(module: str, tree: Path) -> None:
    done = called(tree, sys.executable, "-c", OLD.format(module=module))
    assert done.returncode == 1
    assert done.stderr.startswith("This needs Python 3.11 or newer, and you started Python 3.9.2")
    assert len(done.stderr.splitlines()) == 1


def test_what_an_older_python_reads_first_is_plain() -> None:
    """Python 2.7 reads it to the end before it runs the check, and only ASCII."""
    text = (ROOT / "tools/__init__.py").read_text(encoding="ascii")
    body = ast.parse(text).body
    assert [type(one).__name__ for one in body[:3]] == ["Expr", "Import", "If"]
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Match, ast.AsyncFunctionDef,
             ast.Nonlocal, ast.Starred, ast.arg)  # fmt: skip
    assert [ast.unparse(one) for one in ast.walk(ast.parse(text)) if isinstance(one, newer)] == []


# ---------- the book's server ----------


def test_files_are_served_as_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the system says that a script is plain text, as Windows may."""
    monkeypatch.setattr(mimetypes, "guess_type", lambda *_, **__: ("text/plain", None))
    monkeypatch.setattr(serve, "HTML", tmp_path)
    for suffix in serve.KINDS:
        (tmp_path / f"a{suffix}").write_bytes(b"x")
    server = serve.Server((serve.HOST, 0), lambda *a: serve.Handler(*a, directory=str(tmp_path)))
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for suffix, kind in serve.KINDS.items():
            asked = http.client.HTTPConnection(*server.server_address[:2])
            asked.request("GET", f"/a{suffix}")
            assert asked.getresponse().headers["Content-Type"] == kind
            asked.close()
        server.shutdown()


def test_a_port_that_is_taken_gets_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind((serve.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert serve.main(["--port", str(port)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"[serve] port {port} can't be had")
    assert "serve PORT=8001" in said


def test_only_folders_of_the_project_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a link, the link: what it leads to is another's."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/kept").touch()
    (tmp_path / "dist").symlink_to(tmp_path / "real")
    (tmp_path / "_build/html").mkdir(parents=True)
    monkeypatch.setattr("tools.ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["clean", "_build", "dist", "absent"])
    runpy.run_module("tools.clean", run_name="__main__")
    assert [path.name for path in tmp_path.iterdir()] == ["real"]
    assert (tmp_path / "real/kept").exists()


# ---------- PyTorch and what it asks for ----------


def test_what_pytorch_asks_for_is_not_pinned_otherwise() -> None:
    """A build for a GPU asks for one Triton alone, and pip would refuse another."""
    for_gpu = ['triton==3.5.0; platform_system == "Linux"', "sympy>=1.13.3", "jinja2"]
    pinned = setup.pins("2.9.0", for_gpu)
    assert [line for line in pinned if line.startswith(("triton", "torch=="))] == ["torch==2.9.0"]
    assert any(line.startswith("sympy==") for line in pinned)
    for_cpu = setup.pins("2.13.0+cpu", for_gpu[1:])
    assert sum(line.startswith("triton==") for line in for_cpu) == 1
    assert for_cpu[-1] == "torch==2.13.0+cpu"


# ---------- the tests themselves ----------


def test_every_file_of_tests_lies_in_a_room_that_is_run():
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py")}
    assert len(files) > 80
    assert files == set(test.FILES)
    longest = [path.split("/")[1] in test.LONGEST for path in test.FILES]
    assert longest == sorted(longest, reverse=True)
    assert any(longest)


@pytest.mark.parametrize("mark", test.SELECTS)
def test_a_mark_by_which_runs_choose_stands_in_the_file(mark: str, tmp_path: Path) -> None:
    """Else the runs that look for it there would leave its tests out."""
    path = tmp_path / "test_it.py"
    item = SimpleNamespace(path=path, iter_markers=lambda: [getattr(pytest.mark, mark).mark])
    path.write_text("from kinds import MARKED as test_it")
    with pytest.raises(pytest.UsageError, match=f"mark.{mark} stands in no line"):
        pytest_collection_modifyitems([item])
    path.write_text(f"@pytest.mark.{mark}\ndef test_it(): pass")
    pytest_collection_modifyitems([item])


def selections(steps: list) -> list[str]:
    """The markers that each run of tests asks for."""
    return [step[step.index("-m") + 1] for _, step in steps if "-n" in step and "-m" in step]


def chosen(steps: list, marks: set[str]) -> int:
    """How many of the steps run a test with these marks."""
    names = {name: name in marks for name in MARKERS}
    return sum(eval(asked, {"__builtins__": {}}, names) for asked in selections(steps))


def test_no_marker_falls_between_the_steps():
    """Whatever marks a test has, one step runs it: of test, else of test-all, else of soak."""
    for count in range(len(MARKERS) + 1):
        for marks in map(set, itertools.combinations(MARKERS, count)):
            times = [chosen(steps, marks) for steps in (test.TEST, test.TEST_ALL, test.SOAK)]
            left_out = marks & {"soak", "exhaustive"}
            assert times[0] == (not left_out), marks
            assert times[1] == (left_out == {"exhaustive"}), marks
            assert times[2] == bool(left_out or ("hypothesis" in marks and not marks & BROWSER))
            assert chosen(test.CHECK, marks) == (marks <= {"hypothesis", "gpu"}), marks


def test_bare_pytest_runs_what_make_test_runs():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert options["tool"]["pytest"]["ini_options"]["addopts"].endswith(
        "-m 'not (soak or exhaustive)'"
    )


def test_continuous_integration_runs_test_and_what_it_leaves_out():
    for path in (".ci/run", ".github/workflows/tests.yml"):
        assert re.search(r"^.*\bmake test test-all$", (ROOT / path).read_text(), re.MULTILINE), path


@pytest.mark.parametrize(
    ("which", "status", "ends"),
    [("test-all", 5, None), ("test", 5, "failed"), ("test-all", 1, "failed"), ("test", 0, None)],
)
def test_only_what_adds_cases_may_find_none(
    which: str, status: int, ends: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pytest's exit status is 5 where no test was selected."""
    steps = {which: [("a step", [sys.executable, "-c", f"raise SystemExit({status})"])]}
    monkeypatch.setattr(test, "ALL", steps)
    with pytest.raises(SystemExit, match=ends) if ends else contextlib.nullcontext():
        test.main(which)
