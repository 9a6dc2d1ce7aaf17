"""One tolerance for all exercises: by the type of the answer, and by what float32 can give."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from mini_attn.exercises import checker, exercise
from mini_attn.exercises.comparing import apart, close, moves
from mini_attn.exercises.judging import ROUGH, judge_function
from mini_attn.exercises.runner import run
from mini_attn.exercises.spec import GROUPS, checked_ids, undecided
from tests.exercises.toy import TOY, all_cases, told
from tests.sampling import sampled

FUNCTIONS = [i for i in checked_ids() if exercise(i).kind != "pencil"]
SOLUTIONS = {i: importlib.import_module(f"solutions.{i}") for i in FUNCTIONS}
CAUGHT = [
    (i, name, answer)
    for i in FUNCTIONS
    for name, answer, failing, _ in SOLUTIONS[i].WRONG
    if failing in GROUPS
]
BOTH = re.compile(r"should (?:be|sum to) (.+?)[;:] .*?(?:it is|sums to) (.+?)\.(?: |$)")


def cast(value: Any, kinds: str, dtype: Any) -> Any:
    """A value, its arrays of these kinds in another type."""
    if isinstance(value, tuple):
        return tuple(cast(one, kinds, dtype) for one in value)
    known = isinstance(value, np.ndarray | np.generic) and value.dtype.kind in kinds
    return np.asarray(value).astype(dtype) if known else value


def in_single(answer: Any) -> Any:
    """An answer that computes in float32: what goes in and what comes out."""

    def single(**inputs: Any) -> Any:
        with np.errstate(over="ignore"):
            given = {name: cast(value, "f", np.float32) for name, value in inputs.items()}
        return cast(answer(**given), "f", np.float32)

    return single


@pytest.mark.parametrize("seeds", [2, pytest.param(20, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("exercise_id", FUNCTIONS)
def test_a_right_answer_in_float32_is_right(exercise_id: str, seeds: int) -> None:
    answer = in_single(SOLUTIONS[exercise_id].REFERENCE)
    for seed in range(seeds):
        # By name: an answer is called with what the reference takes.
        report = judge_function(
            exercise(exercise_id), lambda inputs: run(lambda **given: answer(**given), inputs),
            seed=seed,
        )  # fmt: skip
        assert report.failed is None, (seed, report.failed, report.message)


@pytest.mark.parametrize(
    ("exercise_id", "name", "answer"), sampled(CAUGHT, lambda caught: caught[0])
)
def test_a_wrong_answer_is_wrong_in_float32(exercise_id: str, name: str, answer: Any) -> None:
    def rounded(**inputs: Any) -> Any:
        return cast(answer(**inputs), "f", np.float32)

    report = checker.judge_answer(exercise_id, rounded)
    assert report.failed is not None, name


@pytest.mark.parametrize("dtype", ["int32", "uint64", ">i4", "int8"])
def test_whole_numbers_may_have_any_type_that_holds_them(dtype: str) -> None:
    def other(**inputs: Any) -> Any:
        return cast(SOLUTIONS["strongest_part"].REFERENCE(**inputs), "i", dtype)

    assert checker.judge_answer("strongest_part", other).failed is None


def test_half_precision_is_refused_by_its_name() -> None:
    report = told(lambda x: (2 * x).astype(np.float16))
    assert (report.failed, report.message) == (
        "dtype", "out is float16, which keeps 3 digits: compute in float64, or in float32.",
    )  # fmt: skip
    assert told(lambda x: (2 * x).astype(">f4")).failed is None


# An exponential makes of a rounded number what is far from the right one.
STEEP = replace(
    TOY,
    judge=undecided,
    right=lambda inputs: np.exp(inputs["x"]),
    slips=lambda inputs: [(np.exp(inputs["x"]) + 1e-3, "One thousandth is added.")],
    cases=lambda rng: {"by hand": [{"x": np.array([9.1, 2.3])}], "edges": [{"x": np.zeros(1)}]},
)


def test_what_is_right_to_the_precision_of_float32_is_right_and_is_told_so() -> None:
    def single(x: np.ndarray) -> np.ndarray:
        return np.exp(x.astype(np.float32))

    assert told(lambda x: np.exp(x), STEEP).notes == []
    assert told(single, replace(STEEP, judge=undecided, same=partial(close, tight=1e-9))).notes == [
        ROUGH
    ]
    off = told(lambda x: np.exp(x) * (1 + 1e-6 * (x > 9)), STEEP)  # as a float32 on the way gives
    assert off.failed is None
    rough = told(lambda x: single(x).astype(float) * (1 + 2e-6 * (x > 9)), STEEP)
    assert (rough.failed, rough.notes) == (None, [ROUGH])


def test_a_mistake_that_is_known_is_none_of_rounding() -> None:
    report = told(lambda x: np.exp(x) + 1e-3, STEEP)
    assert (report.failed, report.message) == ("by hand", "One thousandth is added.")
    wrong = told(lambda x: (np.exp(x) + x).astype(np.float32), STEEP)
    assert wrong.failed == "by hand"

    def more(x: np.ndarray) -> np.ndarray:  # by so little that rounding could be the reason
        return np.exp(x) * (1 + 2e-6 * (x > 9))

    known = replace(STEEP, slips=lambda inputs: [(more(inputs["x"]), "A little is added.")])
    assert told(more, STEEP).notes == [ROUGH]
    assert (told(more, known).failed, told(more, known).message) == (
        "by hand",
        "A little is added.",
    )


def test_a_float32_answer_may_be_as_far_off_as_rounded_inputs_make_it() -> None:
    inputs = {"x": np.array([9.0, 0.0]), "n": 3, "scale": 0.1}
    moved = moves(lambda given: np.exp(given["x"]), inputs, {"out": np.float32([1.0, 1.0])})
    assert 0.5 < moved["out"] / (9 * np.exp(9.0) * 2.0**-24) < 1.5
    assert moves(lambda given: given["x"], inputs, {"out": np.ones(2)}) == {}
    wanted = np.array([1e-6, 1.0])
    assert close(np.float32(wanted * 1.5), wanted) is False
    assert close(np.float32([1.5e-6, 1.0]), wanted)
    assert not close(np.float32([1.5e-6, 1.0]), wanted, relative=True)


# Two numbers in a message are never the same to the eye


@pytest.mark.parametrize("off", [1e-4, 1e-5])
@pytest.mark.parametrize("exercise_id", [i for i in FUNCTIONS if exercise(i).right is not None])
def test_what_should_be_and_what_is_can_be_told_apart(exercise_id: str, off: float) -> None:
    task, reference = exercise(exercise_id), SOLUTIONS[exercise_id].REFERENCE

    def nearly(**inputs: Any) -> Any:
        value = reference(**inputs)
        first, *more = value if isinstance(value, tuple) else (value,)
        if first.dtype.kind == "f":
            first = first + off * (1 + np.abs(first))
        return (first, *more) if more else first

    report = checker.judge_answer(exercise_id, nearly)
    if next(iter(task.expected(all_cases(task)[0][1]).values()))[1] == "f":
        assert report.failed
    for wanted, got in BOTH.findall(report.message):
        assert wanted != got, report.message


def test_a_sum_that_is_not_one_is_not_written_as_one() -> None:
    task = replace(exercise("soft_choice"), judge=undecided, slips=lambda inputs: [])
    right = SOLUTIONS["soft_choice"].REFERENCE
    report = judge_function(
        task, lambda inputs: run(lambda scores: right(scores) * (1 + 1e-5), inputs), seed=0
    )
    assert report.message.startswith("The rows add up to 1.00001.")

    def with_more(scores: np.ndarray) -> np.ndarray:
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / (powers.sum(axis=1, keepdims=True) + 1e-7)

    assert "added something to the sum" in checker.judge_answer("soft_choice", with_more).message
    assert apart([1.0, 1.0], [1.0, 1.0 - 1e-9]) == ("[1, 1]", "[1, 0.999999999]")
