"""What a page cites of runs whose weights we don't ship is what their records say."""

from __future__ import annotations

import ast
import json

import nbformat
import pytest

from tools import ROOT

RUNS = {"each layer its own": "mha", "the third reads the second's": "shared"}


def test_a_chapter_cites_the_runs_of_three_layers_as_they_are_stored() -> None:
    cells = nbformat.read(ROOT / "book/shared-layers.ipynb", 4).cells
    (cell,) = [cell for cell in cells if cell.source.startswith("stored_runs = ")]
    cited = ast.literal_eval(ast.parse(cell.source).body[0].value)
    assert set(cited) == set(RUNS)
    for words, member in RUNS.items():
        path = ROOT / f"training/results/{member}-3x96-s0.json"
        record = json.loads(path.read_text(encoding="utf-8"))
        assert record["measured"]["copying"]["nats"] == pytest.approx(cited[words], abs=5e-4)
