"""Pencil exercises in the page: what it is given, and what an assessed one keeps to itself."""

from __future__ import annotations

import json
from types import ModuleType

import pytest

from mini_attn.exercises import exercise, exercise_ids
from tests import javascript
from tests.scripts import script
from tools import ROOT

PENCIL = [i for i in exercise_ids() if exercise(i).kind == "pencil"]


@pytest.fixture(scope="module")
def boxes() -> ModuleType:
    """The part of the book's build that writes an exercise into its page."""
    return script("book/_ext/exercises.py")


def test_the_page_judges_by_the_exercise_s_own_question(boxes: ModuleType) -> None:
    given = [json.loads(boxes.page_data(exercise(i))) for i in PENCIL]
    found = javascript.run(
        "return input.map((data) => living.questionOf(data));",
        given,
        sources=["pencil/question.js"],
    )
    assert found == [json.loads(json.dumps(exercise(i).question.data())) for i in PENCIL]


@pytest.mark.parametrize("exercise_id", [i for i in PENCIL if exercise(i).assessed])
def test_numbers_of_an_assessed_exercise_are_not_read_in_the_page(
    boxes: ModuleType, exercise_id: str
) -> None:
    text = boxes.page_data(exercise(exercise_id))
    data = json.loads(text)
    assert isinstance(data.pop("question"), str)
    assert set(data) == {"id", "page", "title", "points", "unit"}
    assert not [one for one in exercise(exercise_id).question.mistakes if one.message in text]


def test_every_pencil_exercise_stands_here() -> None:
    assert len(PENCIL) >= 16
    assert (ROOT / "mini_attn/widgets/js/pencil/index.js").exists()
