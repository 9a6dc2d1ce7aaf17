"""A verdict does not depend on the numbers that are drawn: a thousand seeds for each exercise."""

from __future__ import annotations

import pytest

from mini_attn.exercises import checker
from tests.exercises.test_precision import CAUGHT, FUNCTIONS, SOLUTIONS, in_single

SEEDS = range(1_000)

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("exercise_id", FUNCTIONS)
def test_no_seed_lets_a_wrong_answer_pass(exercise_id: str) -> None:
    """The wrong answers in turn, each with many seeds of its own."""
    wrong = [(name, answer) for key, name, answer in CAUGHT if key == exercise_id]
    passed = []
    for seed in SEEDS:
        name, answer = wrong[seed % len(wrong)]
        if checker.judge_answer(exercise_id, answer, seed=seed).failed is None:
            passed.append((name, seed))
    assert passed == []


@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
@pytest.mark.parametrize("exercise_id", FUNCTIONS)
def test_no_seed_fails_a_right_answer(exercise_id: str, single: bool) -> None:
    reference = SOLUTIONS[exercise_id].REFERENCE

    def right(**inputs: object) -> object:
        return (in_single(reference) if single else reference)(**inputs)

    reports = ((seed, checker.judge_answer(exercise_id, right, seed=seed)) for seed in SEEDS)
    assert [(seed, str(report)) for seed, report in reports if report.failed] == []
