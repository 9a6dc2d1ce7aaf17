"""The checks: starters fail kindly, references pass, each wrong answer gets its idea named."""

from __future__ import annotations

import functools
import importlib
import math
import sys
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mini_attn.errors import CheckFailed, ConfigError
from mini_attn.exercises import check, checker, exercise, grade, hint
from mini_attn.exercises.budget import LINE_BUDGET, is_learners
from mini_attn.exercises.report import CHECKS
from mini_attn.exercises.runner import run
from mini_attn.exercises.spec import checked_ids
from tests.sampling import sampled

ROOT = Path(__file__).resolve().parents[2]
IDS = checked_ids()
SOLUTIONS = {i: importlib.import_module(f"solutions.{i}") for i in IDS}
FUNCTIONS = [i for i in IDS if exercise(i).kind != "pencil"]
WRONG = [(i, *wrong) for i in IDS for wrong in SOLUTIONS[i].WRONG]


def test_every_exercise_is_complete() -> None:
    assert len(IDS) >= 3
    for exercise_id in IDS:
        task = exercise(exercise_id)
        assert task.kind in ("write", "bug", "pencil")
        assert len(task.hints) == 2
        assert all(task.hints)
        assert task.common_errors
        assert 1 <= task.difficulty <= 5
        assert len(SOLUTIONS[exercise_id].WRONG) >= 5
    assert {exercise(i).assessed for i in IDS} == {True, False}


@pytest.mark.parametrize("exercise_id", IDS)
@pytest.mark.parametrize("seed", [0, 1, checker.SEED])
def test_reference_passes_without_a_note(exercise_id: str, seed: int) -> None:
    report = checker.judge_answer(exercise_id, SOLUTIONS[exercise_id].REFERENCE, seed=seed)
    assert report.failed is None, report.message
    assert report.points == exercise(exercise_id).points
    assert report.notes == []


@pytest.mark.parametrize(
    ("exercise_id", "name", "answer", "failing", "words"),
    sampled(WRONG, lambda wrong: (wrong[0], wrong[3] == "by hand")),
    ids=[f"{w[0]}-{w[1]}" for w in WRONG],
)
def test_wrong_answer_gets_its_idea(
    exercise_id: str, name: str, answer: Any, failing: str, words: str
) -> None:
    report = checker.judge_answer(exercise_id, answer)
    assert report.failed == failing, report.message
    assert words in report.message
    assert report.points == 0


@pytest.mark.parametrize("wrong", {w[3]: w for w in WRONG}.values(), ids=lambda wrong: wrong[3])
def test_a_grade_raises_what_the_check_says(wrong: Any) -> None:
    exercise_id, _, answer, failing, words = wrong
    with pytest.raises(CheckFailed, match=f"^{failing}: ") as raised:
        grade(exercise_id, answer)
    assert words in str(raised.value)


def first_for_all(value: Any, first: Any) -> Any:
    """What somebody has who looks at the first case, or at the first row, alone."""
    if isinstance(value, np.ndarray):
        return np.broadcast_to(value[:1], value.shape).copy() if value.ndim else value
    return first


def ignoring(reference: Any, _name: str, _first: Any, /, **inputs: Any) -> Any:
    return reference(**{**inputs, _name: first_for_all(inputs[_name], _first)})


FREE = {  # what the result does not depend on, or not beyond its first row
    "attention_intensity": {"head_dim", "kv_len"},  # both cancel, which is the point
    "block_softmax": {"block"},
    "code_attention": {"k_zero"},  # the task asks which array is of no use
    "silent_rows": {"span"},
    "kept_offset": {"held_positions"},  # they tempt: the newest key held need not be the last
    "tile_product": {"tile"},
}


@pytest.mark.parametrize("exercise_id", sampled(FUNCTIONS, lambda i: exercise(i).page))
def test_no_argument_can_be_ignored(exercise_id: str) -> None:
    """Each one differs between the cases in a way that the answer has to take up."""
    task, reference = exercise(exercise_id), SOLUTIONS[exercise_id].REFERENCE
    first = next(iter(task.cases(np.random.default_rng(checker.SEED)).values()))[0]
    answers = {name: functools.partial(ignoring, reference, name, first[name]) for name in first}
    passing = {
        name
        for name, answer in answers.items()
        if not checker.judge_answer(exercise_id, answer).failed
        for name, answer in answers.items()
        if not checker.judge_answer(exercise_id, answer).failed
    }
    assert passing == FREE.get(exercise_id, set())


def written_down(inputs: dict[str, Any]) -> str:
    """A case as a text, by which a table of results could be searched."""
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        return repr({name: (repr(v), getattr(v, "shape", ())) for name, v in inputs.items()})


@pytest.mark.parametrize("exercise_id", FUNCTIONS)
def test_no_group_of_cases_can_be_known_by_heart(exercise_id: str) -> None:
    """A table of the notebook's own cases and their results passes for a right function nowhere.

    Of an assessed exercise not in a single group after the case by hand: else who has repaired
    half of a function could look up the rest.
    """
    task = exercise(exercise_id)
    known, drawn = (task.cases(np.random.default_rng(seed)) for seed in (checker.SEED, 7))
    table = {written_down(inputs) for cases in known.values() for inputs in cases}
    by_heart = {
        group for group, cases in drawn.items() if {written_down(i) for i in cases} <= table
    }
    assert "random" not in by_heart
    assert by_heart <= {"by hand"} or not task.assessed


def test_every_check_is_hit_by_a_wrong_answer() -> None:
    assert {failing for _, _, _, failing, _ in WRONG} == set(CHECKS)


@pytest.mark.parametrize("exercise_id", IDS)
def test_starter_of_the_notebook_earns_nothing_and_is_told_kindly(
    exercise_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = nbformat.read(ROOT / f"book/{exercise(exercise_id).page}.ipynb", as_version=4)
    tagged = {
        cell.metadata["exercise"]["role"]: cell.source
        for cell in notebook.cells
        if cell.metadata.get("exercise", {}).get("id") == exercise_id
    }
    assert set(tagged) == {"starter", "check"}
    names: dict[str, Any] = {"np": np, "check": check}
    exec(tagged["starter"], names)
    exec(tagged["check"], names)
    printed = capsys.readouterr()
    assert f"0 of {exercise(exercise_id).points} points" in printed.out
    assert printed.err == ""


def endless(**_: Any) -> None:
    while True:
        pass


def endless_in_one_line(**_: Any) -> None:
    while True: pass  # fmt: skip  # noqa: E701


def endless_and_deaf(**_: Any) -> None:
    while True:
        try:  # noqa: SIM105
            int("no number")
        except:  # noqa: E722
            pass


def endless_inside_try(**_: Any) -> Any:
    try:
        while True:
            pass
    finally:
        sys.stdout.write("never mind")


class EndlessObject:
    def __call__(self, **_: Any) -> None:
        while True:
            pass


# As in a notebook, where each cell is a file of its own.
CELL: dict[str, Any] = {}
exec(compile("def helper():\n    while True:\n        pass", "<cell-1>", "exec"), CELL)


def endless_in_another_cell(**_: Any) -> Any:
    return CELL["helper"]()


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def raises_speechless(**_: Any) -> None:
    raise Speechless


def closes_its_output(**_: Any) -> None:
    sys.stdout.close()
    sys.stderr.close()


def recursive(**inputs: Any) -> Any:
    return recursive(**inputs)


def exits(**_: Any) -> None:
    sys.exit(3)


def asks(**_: Any) -> str:
    return input("your name?")


def huge(**_: Any) -> np.ndarray:
    return np.ones(10**15)


def right(**inputs: Any) -> Any:
    return SOLUTIONS["chunk_mask"].REFERENCE(**inputs)


def floods(**inputs: Any) -> Any:
    print("x" * 10**6)
    return right(**inputs)


def complains(**inputs: Any) -> Any:
    print("so many words", file=sys.stderr)
    warnings.warn("a deprecated thing", DeprecationWarning, stacklevel=1)
    return right(**inputs)


def mutates(q_positions: np.ndarray, kv_positions: np.ndarray) -> Any:
    answer = right(q_positions=q_positions, kv_positions=kv_positions)
    kv_positions += 1
    return answer


@pytest.mark.parametrize(
    ("answer", "failing", "words"),
    [
        (endless, "runs", "without coming to an end"),
        (endless_in_one_line, "runs", "without coming to an end"),
        (endless_and_deaf, "runs", "without coming to an end"),
        (endless_inside_try, "runs", "without coming to an end"),
        (EndlessObject(), "runs", "without coming to an end"),
        (endless_in_another_cell, "runs", "without coming to an end"),
        (functools.partial(endless, more=1), "runs", "without coming to an end"),
        (raises_speechless, "runs", "in raises_speechless"),
        (closes_its_output, "type", "return"),
        (recursive, "runs", "recursion"),
        (exits, "runs", "sys.exit"),
        (asks, "runs", "keyboard"),
        (huge, "runs", "memory"),
        (lambda **_: None, "type", "return"),
        (lambda **_: "text", "type", "str"),
        (lambda **i: torch.zeros(1, len(i["kv_positions"])), "type", "PyTorch"),
        (lambda **_: np.zeros(3, bool), "shape", "shape"),
        (lambda **i: right(**i).astype(int), "dtype", "boolean"),
        (lambda: 1, "runs", "by these names"),
        (7, "type", "function itself"),
        (None, "type", "function itself"),
    ],
)
def test_hostile_answers_end_in_words(
    answer: Any, failing: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start = time.perf_counter()
    assert check("chunk_mask", answer) is None
    assert time.perf_counter() - start < 10
    printed = capsys.readouterr()
    assert f"✗ {failing}" in printed.out
    assert words in " ".join(printed.out.split())
    assert len(printed.out) < 4_000
    assert printed.err == ""


@pytest.mark.parametrize(
    ("number", "failing"),
    [
        (10**400, "finite"),
        (-math.inf, "finite"),
        (math.nan, "finite"),
        (True, "type"),
        (np.bool_(True), "type"),
        (30 + 0j, "type"),
        (np.array([30]), "type"),
        ([30], "type"),
        (None, "attempted"),
        (-30, "by hand"),
        (0, "by hand"),
        (29, "by hand"),
    ],
)
def test_odd_numbers_end_in_words(number: Any, failing: str) -> None:
    report = checker.judge_answer("cache_budget", number)
    assert report.failed == failing
    assert report.points == 0
    assert f"✗ {failing}" in str(report)


@pytest.mark.parametrize("kind", [int, float, np.int64, np.float32, np.array])
def test_the_right_number_may_have_any_type(kind: Any) -> None:
    report = checker.judge_answer("cache_budget", kind(SOLUTIONS["cache_budget"].REFERENCE))
    assert report.failed is None


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_no_other_number_passes(number: float) -> None:
    report = checker.judge_answer("cache_budget", number)
    assert (report.failed is None) == (number == SOLUTIONS["cache_budget"].REFERENCE)
    assert report.failed is None or len(report.message) > 20


@given(st.sampled_from(["cached_step", "chunk_mask"]), st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None)
def test_wrong_answers_fail_and_references_pass_under_every_seed(
    exercise_id: str, seed: int
) -> None:
    """A grader draws its own cases: luck must neither help nor hurt."""
    assert checker.judge_answer(exercise_id, SOLUTIONS[exercise_id].REFERENCE, seed=seed).points
    for name, answer, failing, words in SOLUTIONS[exercise_id].WRONG:
        report = checker.judge_answer(exercise_id, answer, seed=seed)
        assert (report.failed, words in report.message) == (failing, True), name


@pytest.mark.parametrize("dtype", ["float16", "float32", ">f8", "longdouble"])
def test_any_floating_type_is_judged_alike(dtype: str) -> None:
    def other(**inputs: Any) -> Any:
        return tuple(a.astype(dtype) for a in SOLUTIONS["cached_step"].REFERENCE(**inputs))

    report = checker.judge_answer("cached_step", other)
    # Half precision is too coarse for the check, and is told so by the check, not by an error.
    assert (report.failed is None) == (dtype != "float16"), report.message
    assert "itself failed" not in report.message


def test_what_no_float64_holds_is_not_finite() -> None:
    def beyond(**inputs: Any) -> Any:
        out, k, v = SOLUTIONS["cached_step"].REFERENCE(**inputs)
        return np.full(out.shape, np.finfo(np.longdouble).max), k, v

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert checker.judge_answer("cached_step", beyond).failed == "finite"


def test_large_outputs_are_judged_without_a_warning() -> None:
    def large(**inputs: Any) -> Any:
        out, k, v = SOLUTIONS["cached_step"].REFERENCE(**inputs)
        return np.full_like(out, -np.finfo(float).max), k, v

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert checker.judge_answer("cached_step", large).failed == "by hand"


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (floods, "it printed"),
        (complains, "it warned"),
        (mutates, "it changed its input kv_positions"),
    ],
)
def test_bad_manners_are_noted_and_cost_nothing(answer: Any, note: str) -> None:
    report = checker.judge_answer("chunk_mask", answer)
    assert report.failed is None
    assert any(note in line for line in report.notes)
    assert all(len(line) < 250 for line in report.notes)


def test_libraries_are_not_counted() -> None:
    import json

    assert is_learners("/tmp/ipykernel_12/345.py")
    assert is_learners("<ipython-input-1-abc>")
    assert is_learners(__file__)
    for module in (json, np, pytest, checker):
        assert not is_learners(str(module.__file__))


def test_a_check_leaves_the_interpreter_as_it_was() -> None:
    before = (sys.gettrace(), sys.stdout, sys.stderr, input, list(warnings.filters))
    checker.judge_answer("chunk_mask", endless)
    assert (sys.gettrace(), sys.stdout, sys.stderr, input, list(warnings.filters)) == before


def test_the_inputs_of_a_case_survive_the_answer() -> None:
    inputs = {"q_positions": np.arange(2), "kv_positions": np.arange(4)}
    result = run(mutates, inputs)
    assert result.mutated == ["kv_positions"]
    assert inputs["kv_positions"].tolist() == [0, 1, 2, 3]


def test_the_line_budget_leaves_room_for_slow_answers() -> None:
    def slow(n: int) -> int:
        total = 0
        for i in range(n):
            total += i
        return total

    assert run(slow, {"n": LINE_BUDGET // 4}).problem is None
    assert "without coming to an end" in str(run(slow, {"n": LINE_BUDGET}).problem)


@pytest.mark.parametrize("exercise_id", IDS)
def test_a_check_is_fast(exercise_id: str) -> None:
    """Half a second is promised; the margin is for a busy machine."""
    start = time.perf_counter()
    checker.judge_answer(exercise_id, SOLUTIONS[exercise_id].REFERENCE)
    assert time.perf_counter() - start < 2.5


def test_what_an_answer_holds_is_measured() -> None:
    """An answer may be right and still build what it should not; tracing is left as it was."""

    def whole(n: int) -> float:
        return float(np.ones((n, n)).sum())

    def by_rows(n: int) -> float:
        return sum(float(np.ones(n).sum()) for _ in range(n))

    for traced in (False, True):
        if traced:
            tracemalloc.start()
        try:
            assert run(whole, {"n": 500}, measured=True).peak >= 500 * 500 * 8
            assert run(by_rows, {"n": 500}, measured=True).peak < 100_000
            assert tracemalloc.is_tracing() is traced
        finally:
            tracemalloc.stop()


def test_hints_come_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    hint("cached_step", 1)
    hint("cached_step")
    printed = capsys.readouterr().out.splitlines()
    assert [line[:12] for line in printed] == ["Hint 1 of 2:", "Hint 2 of 2:"]
    with pytest.raises(ConfigError, match="hints 1 to 2"):
        hint("cached_step", 3)


@pytest.mark.parametrize("bad", ["", "no_such", "__init__", "../cached_step", None, 3])
def test_unknown_exercises_are_refused(bad: Any) -> None:
    with pytest.raises(ConfigError, match="there is no exercise"):
        check(bad, None)


def test_judges_see_arrays_only() -> None:
    """A check is data: the bank never calls an answer, so a grader may run it elsewhere."""
    for exercise_id in IDS:
        source = (ROOT / f"mini_attn/exercises/bank/{exercise_id}.py").read_text()
        assert "answer(" not in source
        assert "solutions" not in source


def test_an_overflow_shows_whatever_is_drawn() -> None:
    """In every row of the saturated case the largest score is beyond every exponential."""
    task = exercise("attention_gradient")
    for seed in range(1_000):
        (case,) = task.cases(np.random.default_rng(seed))["property"]
        scores = case["q"] @ case["c"].T / np.sqrt(case["q"].shape[1]) / case["t"][:, None]
        assert (scores.max(axis=1) > 709).all(), seed
        assert np.abs(scores).max() < 2001, seed


def test_a_maximum_of_later_tokens_shows_whatever_is_drawn() -> None:
    """It leaves the first token nothing, in each of 300 draws."""
    task, wrong = exercise("multi_head"), {w[0]: w[1] for w in SOLUTIONS["multi_head"].WRONG}
    for seed in range(300):
        inputs = task.cases(np.random.default_rng(seed))["edges"][-1]
        done = run(wrong["maximum of later tokens"], inputs)
        assert np.isnan(done.value[0]).any(), seed
