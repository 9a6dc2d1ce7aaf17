"""nbgrader and otter-grader as real commands, in an environment of their own, for the tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import nbformat
from filelock import FileLock
from nbformat import NotebookNode

from classroom import ROOT
from classroom.adapters.assignment import reference_source
from classroom.adapters.graders import BIN, make_environment
from classroom.sheets.sheet import Sheet, chosen
from mini_attn.exercises.spec import checked_ids

MIXED = "cached_step stale_keys cache_budget sharp_choice"  # write, repair, and two of pencil
ALL = " ".join(checked_ids())


@cache
def tools() -> Path:
    """The folder of the commands; one worker makes the environment and the other waits."""
    lock = ROOT / ".cache/graders.lock"
    lock.parent.mkdir(exist_ok=True)
    with FileLock(lock):
        make_environment()
    return BIN


def surroundings(home: Path, **values: str) -> dict[str, str]:
    """The environment of a person who has configured nothing."""
    kept = ("JUPYTER", "IPYTHON", "XDG_", "MINI_ATTN", "PYTHONPATH", "VIRTUAL_ENV")
    given = {k: v for k, v in os.environ.items() if not k.startswith(kept)}
    return {**given, "HOME": str(home), "OMP_NUM_THREADS": "1", **values}


def run(folder: Path, *command: str, status: int = 0, **values: str) -> str:
    """Run a command of the environment; gives what it said."""
    done = subprocess.run(
        [tools() / command[0], *command[1:]],
        cwd=folder,
        env=surroundings(folder, **values),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,  # only a hanging tool takes as long
        check=False,
    )
    assert done.returncode == status, done.stdout[-6000:]
    return done.stdout


def sheet(exercises: str, name: str) -> Sheet:
    return chosen(exercises=exercises, name=name)[0]


def answered(notebook: NotebookNode, answers: Mapping[str, str]) -> NotebookNode:
    """A notebook with other sources in some starter cells."""
    for key, source in answers.items():
        cell_of(notebook, key, "starter").source = source
    return notebook


def references(exercises: str) -> dict[str, str]:
    return {key: reference_source(key) for key in exercises.split()}


def cell_of(notebook: NotebookNode, exercise_id: str, role: str) -> NotebookNode:
    """An exercise's cell."""
    tag = {"id": exercise_id, "role": role}
    return next(cell for cell in notebook.cells if cell.metadata.get("exercise") == tag)


def handed_in(
    handed_out: Path, to: Path, exercises: str, change: Callable[[NotebookNode], None]
) -> None:
    """What a student sends who got everything right, except for a change."""
    notebook = answered(nbformat.read(handed_out, as_version=4), references(exercises))
    change(notebook)
    to.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, to)
