"""Each solution that a page prints runs alone, behind the starter that the page prints too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mini_attn.exercises import exercise, exercise_ids
from mini_attn.exercises.checker import judge_answer
from tests.scripts import script

SHOWN = script("book/_ext/exercises.py")
PRINTED = [i for i in exercise_ids() if not exercise(i).assessed and exercise(i).kind != "open"]


@pytest.mark.parametrize("exercise_id", PRINTED)
def test_a_printed_solution_runs_alone(exercise_id: str) -> None:
    task = exercise(exercise_id)
    printed = SHOWN.solution_code(task)
    cell: dict[str, Any] = {"np": np}  # what the chapter imports
    exec(task.starter, cell)
    exec(printed, cell)
    assert not judge_answer(exercise_id, cell[task.name]).failed
