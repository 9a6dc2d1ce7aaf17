"""The environment of nbgrader and otter-grader: pinned, and of one piece with the book's."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from classroom import ROOT
from classroom.adapters import graders
from tests.classroom.graders import run, tools


def pins(path: Path) -> dict[str, str]:
    """Versions by the name in its normal form."""
    lines = [re.split("[#;]", line)[0].strip() for line in path.read_text().splitlines()]
    pairs = [line.split("==") for line in lines if "==" in line]
    return {name.lower().replace("_", "-").replace(".", "-"): version for name, version in pairs}


def test_pins_are_those_of_the_book_where_both_need_a_package() -> None:
    ours, book = pins(graders.PINS), pins(ROOT / "requirements.txt")
    shared = ours.keys() & book.keys()
    assert len(shared) > 50
    assert {name: ours[name] for name in shared} == {name: book[name] for name in shared}


@pytest.mark.exhaustive
def test_environment_holds_both_tools_as_pinned_and_no_torch(tmp_path: Path) -> None:
    listed = json.loads(run(tmp_path, "python", "-m", "pip", "list", "--format", "json"))
    found = {row["name"].lower(): row["version"] for row in listed}
    assert (found["nbgrader"], found["otter-grader"]) == ("0.9.6", "7.0.0")
    assert "torch" not in found
    assert "No broken requirements" in run(tmp_path, "python", "-m", "pip", "check")
    where = run(tmp_path, "python", "-c", "import mini_attn; print(mini_attn.__file__)")
    assert Path(where.strip()) == ROOT / "mini_attn/__init__.py"


@pytest.mark.exhaustive
def test_environment_is_made_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert tools() == graders.BIN
    assert not graders.make_environment()
    assert graders.main() == 0
    assert "making" not in capsys.readouterr().out


def test_unfinished_environment_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a network: what pip would do is noted, and its second call fails."""
    calls: list[list[str]] = []

    def pretend(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        status = 1 if len(calls) == 2 else 0
        return subprocess.CompletedProcess(command, status, "", "no route to host")

    monkeypatch.setattr(graders, "VENV", tmp_path / "venv")
    monkeypatch.setattr(graders, "BIN", tmp_path / "venv/bin")
    monkeypatch.setattr(graders.venv, "create", lambda folder, with_pip: folder.mkdir())
    monkeypatch.setattr(graders.subprocess, "run", pretend)
    with pytest.raises(SystemExit, match="no route to host"):
        graders.make_environment()
    (tmp_path / "venv/half").touch()
    assert graders.make_environment()
    assert not (tmp_path / "venv/half").exists()
    assert len(calls) == 4
    assert not graders.make_environment()
    assert capsys.readouterr().out.count("making") == 2
