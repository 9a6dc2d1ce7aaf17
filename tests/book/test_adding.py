"""A newcomer adds one of each kind to a copy of the tree, from CONTRIBUTING's own list of places.

The toys lie in ``tests/toy/<kind>.txt``, as files and as lines to insert. What they and the row's
commands change must be the places of the row, all of them and no others, and then what belongs to
the kind passes.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import ROOT
from tools.bundle import packages
from tools.commands import COMMANDS

pytestmark = pytest.mark.slow

TOYS = ROOT / "tests/toy"
ADDED = re.compile(r"^\+\+\+ (\S+)(?: after ([^\n]+))?\n(.*?)(?=^\+\+\+ |\Z)", re.M | re.S)
ROW = re.compile(r"^\| an? ([a-z]+) \| (.*) \| (.*)\| (.*) \|$", re.M)
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = TEXT.partition("\n## Adding things\n")[2].partition("\n## ")[0]
ROWS = {
    kind: [re.findall(r"`([^`]+)`", cell) for cell in cells]
    for kind, *cells in ROW.findall(SECTION)
}
NAMES = {
    "exercise": "toy_scaled",
    "widget": "toy_square",
    "family": "toy_llama",
    "chapter": "toy-chapter",
    "variant": "toyloud",
}
MOST = 15  # files that are written by hand, whatever is added
LEFT = ("_build", ".*", "__pycache__", "results", "node_modules")


def lay(kind: str, folder: Path, **words: str) -> None:
    """Put a toy into a tree, with other words in it; a chapter with its exercises."""
    toy = (TOYS / f"{kind}.txt").read_text(encoding="utf-8")
    for old, new in {"@words": "word " * 3000, **words}.items():
        toy = toy.replace(old, new)
    if kind == "chapter":
        section = {"kv-cache": "toy-chapter", "The cached step": "What a toy keeps"}
        for number, stage in enumerate(("warm-up", "transfer", "invent")):  # in order of their ids
            lay("exercise", folder, toy_scaled=f"toy_{number}", transfer=stage, **section)
    for name, after, text in ADDED.findall(toy):
        path = folder / name
        if after:
            before = path.read_text(encoding="utf-8")
            assert f"{after}\n" in before, (name, after)
            text = before.replace(f"{after}\n", f"{after}\n{text}", 1)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def digests(folder: Path) -> dict[str, str]:
    """Return a digest of each file of a tree."""
    files = (path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in names.items()
        if not any(fnmatch.fnmatch(part, left) for part in name.split("/") for left in LEFT)
    }


def places_of(touched: set[str], places: list[str]) -> tuple[set[str], set[str]]:
    """Return the places that were touched, and the files that are in none of them."""
    patterns = {place: re.sub(r"<\w+>", "*", place) + "*" * place.endswith("/") for place in places}
    used, lost = set(), set()
    for name in touched:
        found = {place for place, wanted in patterns.items() if fnmatch.fnmatch(name, wanted)}
        used |= found
        lost |= set() if found else {name}
    return used, lost


def module_of(command: str) -> list[str]:
    """Return the Python module that a command runs: one of make's is looked up in its table."""
    if command.startswith("make "):
        return ["-m", *COMMANDS[command.removeprefix("make ")].steps[-1]]
    return command.removeprefix("python ").split()


def python(folder: Path, *arguments: str) -> str:
    """Run Python in a tree and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "MINI_ATTN_PROGRESS": "off"}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


@pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=() if k == "exercise" else pytest.mark.exhaustive) for k in ROWS],
)
def test_what_the_list_names_is_what_has_to_be_touched(kind: str, tmp_path: Path) -> None:
    places, commands, tests = ROWS[kind]
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT))
    (tree / ".cache").mkdir()
    (tree / ".cache/node").symlink_to(packages().parent)
    before = digests(tree)
    lay(kind, tree)
    written = digests(tree)
    assert sum(before.get(name) != digest for name, digest in written.items()) <= MOST
    for command in commands:
        python(tree, *module_of(command))
    after = digests(tree)
    assert before.keys() <= after.keys()
    used, lost = places_of({n for n in after if before.get(n) != after[n]}, places)
    assert lost == set(), "CONTRIBUTING does not name these"
    assert used == set(places), "CONTRIBUTING names more than has to be touched"
    new = [name for name in after if name not in before and name.endswith(".py")]
    python(tree, "-m", "ruff", "check", "--quiet", *new)
    fast = "not (slow or site or browser or lite or soak or exhaustive)"
    for test in tests:
        files, _, chosen = re.sub(r"<\w+>", NAMES[kind], test).partition(" -k ")
        output = python(tree, "-m", "pytest", "-q", "-p", "no:xdist", "-m", fast, *files.split(),
                        "-k", chosen.strip("'"), f"--basetemp={tmp_path / 'tmp'}")  # fmt: skip
        assert " passed" in output


def test_each_toy_is_one_of_the_list() -> None:
    assert {path.stem for path in TOYS.glob("*.txt")} == set(ROWS)


def test_a_file_that_the_list_lacks_is_seen() -> None:
    used, lost = places_of({"a/x.py", "b/deep/y.js", "c.md"}, ["a/<id>.py", "b/", "d.md"])
    assert (used, lost) == ({"a/<id>.py", "b/"}, {"c.md"})
