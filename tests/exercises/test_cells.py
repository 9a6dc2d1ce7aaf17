"""Which cells a page runs, in which order, and what stands in for Jupyter there."""

from __future__ import annotations

import json
import subprocess
import sys
from types import ModuleType

import nbformat
import pytest

from tests import javascript
from tests.scripts import script
from tools import ROOT

CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
KINDS = ("run", "quiet", "picture", "exercise", "never")


@pytest.fixture(scope="module")
def cells() -> ModuleType:
    """The part of the book's build that gives pages their sources."""
    return script("book/_ext/cells.py")


def test_every_code_cell_is_given_as_it_stands(cells: ModuleType) -> None:
    seen = set()
    for path in CHAPTERS:
        notebook = nbformat.read(path, as_version=4)
        given = cells.cells_of(path)
        code = [(i, c) for i, c in enumerate(notebook.cells) if c.cell_type == "code"]
        assert [(number, source) for number, _, source in given] == [(i, c.source) for i, c in code]
        for (_, kind, source), (_, cell) in zip(given, code, strict=True):
            seen.add(kind)
            assert (kind == "exercise") == ("exercise" in cell.metadata)
            assert (kind == "picture") == bool(
                {"widget", "prediction"} & set(cell.metadata.get("tags", []))
            )
            if kind == "run":
                assert "import torch" not in source
    assert seen == set(KINDS)


def test_what_is_missing_before_a_cell() -> None:
    given = [{"number": i, "kind": kind} for i, kind in enumerate(("run", "picture", "quiet"))]
    given += [{"number": i, "kind": kind} for i, kind in enumerate(("never", "exercise", "run"), 3)]
    found = javascript.run(
        """return input.asked.map(([ran, life, number]) => {
          const missing = living.missingBefore(input.given, new Map(ran), life, number);
          return missing.map((cell) => cell.number);
        });""",
        {
            "given": given,
            "asked": [
                [[], -1, 5],  # Python was never started
                [[], -1, 0],
                [[[0, 1], [2, 1]], 1, 5],
                [[[0, 1], [2, 1]], 2, 5],  # it was ended and begun anew
                [[[2, 1]], 1, 5],
            ],
        },
        sources=("python/order.js",),
    )
    assert found == [[0, 2], [], [], [0, 2], [0]]


PROGRAM = """
import importlib.util, json, sys
find = importlib.util.find_spec
gone = {"anywidget", "IPython"}
importlib.util.find_spec = lambda name, *rest: None if name in gone else find(name, *rest)
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in gone:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
from mini_attn.exercises.on_page import run
print(json.dumps([run(code, "cell", print) for code in json.loads(sys.argv[1])]))
"""


def test_cells_run_without_what_jupyter_brings() -> None:
    """As in a page: neither anywidget nor IPython is there."""
    codes = [
        "from mini_attn.widgets import DecodeStepper, Prediction\nDecodeStepper(step=3)",
        "from mini_attn.widgets.comparison_data import ONE_SHAPE\nlen(ONE_SHAPE) > 0",
        "from mini_attn import plain\nfrom mini_attn.notebook import source_of\n"
        "source_of(plain.append)",
        "import mini_attn.widgets._nothing",
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(codes)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    picture, data, source, missing = json.loads(done.stdout)
    assert picture["value"] == "DecodeStepper: the living picture runs on the page as it is"
    assert data["value"] == "True"
    assert source["value"].startswith("def append(cache, k_new, v_new, positions):")
    assert "ModuleNotFoundError" in missing["error"]


def test_stand_ins_take_nobodys_place() -> None:
    from mini_attn import widgets
    from mini_attn.exercises.stand_ins import install

    install()
    assert sys.modules["mini_attn.widgets"] is widgets
    assert widgets.DecodeStepper(step=3).step == 3
