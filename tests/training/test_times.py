"""How long a training takes is said alike wherever somebody decides to start one."""

from __future__ import annotations

import json

import pytest

from tools import ROOT

PLACES = ("tools/commands.py", "CONTRIBUTING.md", "book/model.ipynb")


@pytest.mark.parametrize("place", PLACES)
def test_times_told_are_those_of_the_records(place: str) -> None:
    """The shortest and the longest of all members and seeds, whatever machine they ran on."""
    records = list((ROOT / "training/results").glob("*-2x64-s*.json"))
    assert len(records) >= 33
    minutes = [json.loads(path.read_text(encoding="utf-8"))["seconds"] / 60 for path in records]
    told = (ROOT / place).read_text(encoding="utf-8")
    assert "4 to 8 min" in told
    assert f"{min(minutes):.0f} to {max(minutes):.0f}" in told
