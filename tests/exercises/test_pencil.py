"""Pencil exercises are judged in the page as in Python: every foreseen wrong number, and others."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from mini_attn.exercises import exercise, exercise_ids
from mini_attn.exercises.checker import examine
from mini_attn.exercises.guesses import explain
from tests import javascript
from tests.scripts import script
from tools import ROOT

SOURCES = ("pencil/judge.js", "pencil/number.js")
PENCIL = [i for i in exercise_ids() if exercise(i).kind == "pencil"]


@pytest.fixture(scope="module")
def pencil() -> ModuleType:
    """The part of the book's build that makes the page's judges."""
    return script("book/_ext/pencil.py")


def page_data(pencil: ModuleType, exercise_id: str) -> dict[str, Any]:
    """What the page is given."""
    return json.loads(pencil.page_data(exercise(exercise_id)))


def numbers(exercise_id: str) -> list[float]:
    """The right number, the wrong ones of the bank, foreseen ones, and many around them."""
    bank = import_module(f"solutions.{exercise_id}")
    right = float(bank.REFERENCE)
    wrong = [a for _, a, *_ in bank.WRONG if isinstance(a, int | float) and math.isfinite(a)]
    centres = [right, *wrong, *exercise(exercise_id).mistakes]
    rng = np.random.default_rng(len(exercise_id))
    around = [c * f for c in centres for f in (0.5, 0.98, 0.995, 0.999, 1.0007, 1.003, 1.02, 100)]
    steps = [c + s for c in centres for s in (-1, 1, 0.5, -0.25)]
    free = [*rng.uniform(-3, 100, 40), *(10.0 ** rng.uniform(-9, 15, 60)), *range(-2, 70)]
    return [float(value) for value in (*centres, *around, *steps, *free, 1e25, -1e-7)]


@pytest.mark.parametrize("exercise_id", PENCIL)
def test_page_says_what_python_says(pencil: ModuleType, exercise_id: str) -> None:
    given = numbers(exercise_id)
    said = javascript.run(
        "return input.numbers.map((number) => living.judgeNumber(input.data, number));",
        {"data": page_data(pencil, exercise_id), "numbers": given},
        sources=SOURCES,
    )
    reports = [examine(exercise_id, number) for number in given]
    assert said == [report.message or None for report in reports]
    assert said.count(None) >= 1
    assert len(set(said)) > len(exercise(exercise_id).mistakes) / 2


def test_numbers_are_written_as_python_writes_them() -> None:
    rng = np.random.default_rng(5)
    values = [0.0, 0.5, 1.5, 2.5, 2.25, 0.125, 1234565.0, 99999.5, 999999.5, 1e-5, 12345678.9, 1e22]
    values += [float(v) for v in 10.0 ** rng.uniform(-12, 20, 300)]
    values += [-value for value in values]
    specs = [",.6g", ".4g", ",.4g", ".3g", ",.3g", ",.0f", ".0f", ",.1f", ",.6f"]
    written = javascript.run(
        "return input.specs.map((spec) => input.values.map((value) => living.show(value, spec)));",
        {"values": values, "specs": specs},
        sources=SOURCES,
    )
    assert written == [[format(value, spec) for value in values] for spec in specs]


@pytest.mark.parametrize("exercise_id", [i for i in PENCIL if exercise(i).assessed])
def test_numbers_of_an_assessed_exercise_are_not_read_in_the_page(
    pencil: ModuleType, exercise_id: str
) -> None:
    text = pencil.page_data(exercise(exercise_id))
    data = json.loads(text)
    assert isinstance(data.pop("judge"), str)
    assert set(data) == {"id", "page", "title", "points", "unit"}
    assert not [idea for idea in exercise(exercise_id).mistakes.values() if idea in text]


def _surprise(inputs: Any, outputs: Any) -> str | None:
    """A judge with a word that the page does not have."""
    value = float(outputs["answer"])
    return None if math.gamma(value) > 1 else "too small"


def _idea(inputs: Any, outputs: Any) -> str | None:
    value = float(outputs["answer"])
    if (idea := explain(value, {3: "three"}.items(), math.isclose)) is not None:
        return idea
    return None


@pytest.mark.parametrize("judge", [_surprise, _idea])
def test_a_judge_that_the_page_cannot_follow_stops_the_build(
    pencil: ModuleType, judge: Any
) -> None:
    odd = replace(exercise("cache_budget"), judge=judge)
    with pytest.raises(ValueError, match="cache_budget: the page cannot judge"):
        pencil.page_data(odd)


def test_every_pencil_exercise_stands_here() -> None:
    assert len(PENCIL) >= 16
    assert (ROOT / "mini_attn/widgets/js/pencil/index.js").exists()
