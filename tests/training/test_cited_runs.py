"""What a page cites of runs whose weights we don't ship is what their records say."""

from __future__ import annotations

import ast
import json
from typing import Any

import nbformat
import pytest

from tools import ROOT

RUNS = {"each layer its own": "mha", "the third reads the second's": "shared"}


CELLS = nbformat.read(ROOT / "book/shared-layers.ipynb", 4).cells


def text() -> str:
    return "\n".join(cell.source for cell in CELLS)


def cited(name: str) -> Any:
    """The value that a cell of the chapter gives to a name."""
    (cell,) = [cell for cell in CELLS if cell.source.startswith(f"{name} = ")]
    return ast.literal_eval(ast.parse(cell.source).body[0].value)


def recorded(name: str) -> dict[str, Any]:
    return json.loads((ROOT / f"training/results/{name}.json").read_text(encoding="utf-8"))


def test_a_chapter_cites_the_runs_of_three_layers_as_they_are_stored() -> None:
    runs = cited("stored_runs")
    assert set(runs) == set(RUNS)
    for words, member in RUNS.items():
        record = recorded(f"{member}-3x96-s0")
        assert record["measured"]["copying"]["nats"] == pytest.approx(runs[words], abs=5e-4)


def test_a_chapter_cites_every_run_with_entries_as_it_is_stored() -> None:
    for member, rows in cited("measured_runs").items():
        records = sorted((ROOT / "training/results").glob(f"{member}-2x64-s*.json"))
        assert len(records) == len(rows)
        for path, (stories, copying, right) in zip(records, rows, strict=True):
            found = recorded(path.stem)["measured"]
            assert found["stories"]["loss"]["nats"] == pytest.approx(stories, abs=5e-3)
            assert found["copying"]["nats"] == pytest.approx(copying, abs=5e-4)
            assert found["who_has"]["right"] == pytest.approx(right, abs=5e-3)


def test_a_chapter_cites_what_choosing_entries_costs_as_it_is_stored() -> None:
    every = recorded("choice")["points"]
    points = [point for point in every if point["seed"] == 0]
    stored = {(point["indexer"], point["topk"]): point["excess"]["nats"] for point in points}
    rows = cited("choices")
    assert {(indexer, topk) for indexer, row in rows.items() for topk in row} == set(stored)
    for (indexer, topk), nats in stored.items():
        assert rows[indexer][topk] == pytest.approx(nats, abs=5e-3)
    last = {
        point["topk"]: round(point["excess"]["nats"], 2)
        for point in every
        if point["seed"] == 2 and point["indexer"] == "trained"
    }
    assert f"trained with: {last[64]} and {last[8]}." in text()
