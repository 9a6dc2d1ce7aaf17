"""What any system needs: text in UTF-8, nothing of POSIX alone, a workflow that tries it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import ROOT
from tools.commands import COMMANDS

ROOMS = ("benchmarks", "book", "classroom", "mini_attn", "solutions", "tools", "training")
SOURCES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
# Modules of POSIX alone, which Windows has none of.
POSIX = {"curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog",
         "termios", "tty"}  # fmt: skip
# JupyterHub runs on Linux; this file is its own, and nothing of the book imports it.
LINUX = {"classroom/adapters/hub_files/start.py"}
CALLS = {"run", "Popen", "check_output", "check_call", "call", "started"}


def mode_of(call: ast.Call, place: int) -> str:
    """The mode in which a call opens a file."""
    given = [word.value for word in call.keywords if word.arg == "mode"] + call.args[place:][:1]
    return ast.unparse(given[0]) if given else "'r'"


def unsaid(tree: ast.AST) -> Iterator[int]:
    """Lines that read or write text and leave it to the system how it is encoded."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        named = isinstance(call.func, ast.Name)
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        words = {word.arg for word in call.keywords}
        if "encoding" in words or ast.unparse(call.func) == "tarfile.open":
            continue
        text = {"read_text": len(call.args) < 1, "write_text": len(call.args) < 2}.get(name, False)
        if name == "open" and (named or re.fullmatch(r"'[rwax][bt+]*'", mode_of(call, 0))):
            text = "b" not in mode_of(call, 1 if named else 0)
        if name in CALLS:
            text = bool({"text", "universal_newlines"} & words)
        if text:
            yield call.lineno


def at_the_top(tree: ast.Module) -> Iterator[str]:
    """Modules that are imported as soon as this one is."""
    for one in tree.body:
        for node in [one] if isinstance(one, ast.Import | ast.ImportFrom) else []:
            names = [alias.name for alias in node.names]
            yield from names if isinstance(node, ast.Import) else [node.module or ""]


@pytest.mark.parametrize(
    "line",
    [
        "open(path)", "open(path, 'w')", "open(path, mode='a')", "path.open('w')",
        "path.read_text()", "path.write_text(text)", "(a / b).read_text()", "path.open('r+')",
        "subprocess.run(command, text=True)", "Popen(command, universal_newlines=True)",
    ],
)  # fmt: skip
def test_text_without_an_encoding_is_found(line: str) -> None:
    assert list(unsaid(ast.parse(line))) == [1]


@pytest.mark.parametrize(
    "line",
    [
        "open(path, 'rb')", "open(path, encoding='utf-8')", "path.open('wb')",
        "zip.open(name, 'rb')", "tarfile.open(path)",
        "path.read_text('utf-8')", "path.write_text(text, encoding='utf-8')",
        "request.open('GET', address)", "Question(text='Which?')", "run(command)",
    ],
)  # fmt: skip
def test_what_says_it_or_is_no_text_passes(line: str) -> None:
    assert list(unsaid(ast.parse(line))) == []


def test_every_text_is_read_and_written_in_utf_8() -> None:
    """Windows would take its own code page."""
    assert len(SOURCES) > 400
    found = {path: list(unsaid(ast.parse(path.read_text(encoding="utf-8")))) for path in SOURCES}
    places = [f"{path.relative_to(ROOT)}:{n}" for path, lines in found.items() for n in lines]
    assert places == []


def test_nothing_of_posix_alone_is_imported_at_the_top() -> None:
    assert list(at_the_top(ast.parse("import resource\nfrom pwd import x"))) == ["resource", "pwd"]
    found = {}
    for path in SOURCES:
        modules = set(at_the_top(ast.parse(path.read_text(encoding="utf-8")))) & POSIX
        if modules:
            found[path.relative_to(ROOT).as_posix()] = modules
    assert found.keys() == LINUX


def workflow(path: Path) -> dict[str, Any]:
    """A workflow of GitHub Actions."""
    found = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # "on" is a word here
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("path", sorted((ROOT / ".github/workflows").glob("*.yml")),
                         ids=lambda path: path.stem)  # fmt: skip
def test_a_workflow_is_whole_and_runs_commands_that_there_are(path: Path) -> None:
    found = workflow(path)
    assert {"name", "on", "jobs"} <= found.keys()
    for job in found["jobs"].values():
        assert job["runs-on"]
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
            for words in re.findall(r"(?:make|-m tools)((?: [a-z][a-z-]*)+)", step.get("run", "")):
                assert set(words.split()) <= {"help", *COMMANDS}, step


def test_each_system_runs_each_python_that_is_promised() -> None:
    """Without make; CONTRIBUTING says where it was tried besides."""
    job = workflow(ROOT / ".github/workflows/tests.yml")["jobs"]["systems"]
    matrix = job["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    steps = {step["run"]: step.get("if") for step in job["steps"] if "run" in step}
    assert steps["python -m tools check"] is None
    assert "matrix.python == '3.13'" in steps["python -m tools book"]
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "Python 3.11 to 3.14" in text
