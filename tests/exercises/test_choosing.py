"""One rule says what is told about a wrong answer, and every bank keeps to it."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from mini_attn.errors import ConfigError
from mini_attn.exercises import exercise
from mini_attn.exercises.axes import Misfit, ideas_of_shape
from mini_attn.exercises.checker import SEED
from mini_attn.exercises.choosing import Tried, what_to_say
from mini_attn.exercises.comparing import by_right, close, named
from mini_attn.exercises.guesses import TWO, with_pairs
from mini_attn.exercises.judging import judge_function
from mini_attn.exercises.runner import run
from mini_attn.exercises.spec import checked_ids, undecided
from solutions import block_softmax
from tests.exercises.toy import TOY, all_cases, told

PARTLY = "Some cases are right. The others come out as with this mistake:"
FUNCTIONS = [i for i in checked_ids() if exercise(i).kind != "pencil"]
BY_RIGHT = [i for i in FUNCTIONS if exercise(i).right is not None]


# The rule


def test_the_simplest_mistake_that_explains_every_case_is_named() -> None:
    report = told(lambda x: x.copy())
    assert (report.failed, report.message) == ("by hand", "It is not doubled.")
    assert told(lambda x: 2 * x).failed is None


def test_a_mistake_that_explains_some_failing_cases_only_is_not_named() -> None:
    """As it was: the first case alone looked like it, and the learner was sent away."""

    def first_case_only(x: np.ndarray) -> np.ndarray:
        return x if x.size == 2 else 7 * x

    report = told(first_case_only)
    assert report.failed == "by hand"
    assert report.message == "With x = [1, 2]: out should be [2, 4]; it is [1, 2]."
    thrice = told(lambda x: 3 * x if x.size == 2 else 7 * x)
    assert thrice.message == "With x = [1, 2]: out should be [2, 4]; it is [3, 6]."


def test_an_answer_repaired_in_part_is_told_that_some_cases_are_right() -> None:
    report = told(lambda x: 2 * x if x.size == 2 else 3 * x)
    assert (report.failed, report.message) == (
        "random", f"{PARTLY} That is three times as much.",
    )  # fmt: skip


def test_two_mistakes_that_fit_the_failing_cases_alike_name_nothing() -> None:
    task = replace(TOY, slips=lambda inputs: [(3 * inputs["x"], "One."), (3 * inputs["x"], "Two.")])
    assert "should be" in told(lambda x: 2 * x if x.size == 2 else 3 * x, task).message


def test_where_some_cases_fail_one_mistake_comes_before_two_that_fit_as_well() -> None:
    def foreseen(inputs: Any) -> list[tuple[Any, str]]:
        return [(3 * inputs["x"], "One."), (3 * inputs["x"], "Two things. One. And: Other.")]

    report = told(lambda x: 2 * x if x.size == 2 else 3 * x, replace(TOY, slips=foreseen))
    assert report.message.endswith("come out as with this mistake: One.")


def test_a_mistake_that_would_have_failed_where_the_answer_passed_is_not_the_whole_story() -> None:
    """The signs are lost where the first number is negative, and nowhere else."""
    report = told(lambda x: np.abs(2 * x) if x[0] < 0 else 2 * x)
    assert report.message == f"{PARTLY} The signs are lost."


def test_a_mistake_that_a_case_leaves_no_room_for_explains_nothing() -> None:
    assert "should be" in told(lambda x: 2 * x[::-1]).message


def test_where_nothing_explains_the_case_to_look_at_is_shown() -> None:
    """The case by hand if it fails, else the one with the fewest numbers."""
    assert told(lambda x: 5 * x).message == "With x = [1, 2]: out should be [2, 4]; it is [5, 10]."
    report = told(lambda x: 2 * x if x.size == 2 else 5 * x)
    assert report.failed == "random"
    assert report.message == "With x = [-6]: out should be [-12]; it is [-30]."


def test_what_a_symptom_says_comes_first() -> None:
    task = replace(TOY, judge=undecided, symptom=lambda inputs, outputs: "Too much.")
    assert told(lambda x: 5 * x, task).message.startswith("Too much. With x = [1, 2]: ")


def test_numbers_that_are_not_finite_are_a_fault_of_their_own() -> None:
    def overflows(x: np.ndarray) -> np.ndarray:
        return np.where(x < 0, np.inf, 2 * x)

    report = told(overflows)
    assert (report.failed, report.message) == ("finite", "out holds infinity at [1].")
    # Elsewhere they hide no mistake, and are told when it is mended.
    assert told(lambda x: np.where(x < 0, np.nan, x)).message == "It is not doubled."


def test_a_mistake_may_be_what_makes_numbers_that_are_not_finite() -> None:
    def foreseen(inputs: Any) -> list[tuple[Any, str]]:
        x = inputs["x"]
        return [(np.where(x == 0, np.nan, 2 * x), "Nothing is divided by 0.")]

    report = told(lambda x: np.where(x == 0, np.nan, 2 * x), replace(TOY, slips=foreseen))
    assert (report.failed, report.message) == ("finite", "Nothing is divided by 0.")


def test_what_may_have_made_them_is_a_fact_of_the_case() -> None:
    def overflows(x: np.ndarray) -> np.ndarray:
        return np.where(x == 5.0, np.exp(1e6 * x), 2 * x)

    assert told(overflows).message == "out holds infinity at [2]. An exponential overflowed."


def test_an_error_after_the_first_fault_does_not_hide_it() -> None:
    def raises(x: np.ndarray) -> np.ndarray:
        if x.size == 1:
            raise ValueError("no")
        return x

    assert told(raises).message == "It is not doubled."
    calls = []

    def endless(x: np.ndarray) -> np.ndarray:
        calls.append(x.size)
        while x.size != 2:
            pass
        return x

    start = time.perf_counter()
    assert told(endless).message == "It is not doubled."
    assert calls == [2, 2, 3]  # the first case twice, then one loop that is waited for
    assert time.perf_counter() - start < 10


def test_a_process_that_has_gone_does_not_hide_the_first_fault() -> None:
    def call(inputs: Any) -> Any:
        if inputs["x"].size == 3:
            raise OSError("gone")
        return run(lambda x: x.copy(), inputs)

    assert judge_function(TOY, call, seed=SEED).message == "It is not doubled."
    with pytest.raises(OSError, match="gone"):
        judge_function(TOY, lambda inputs: call({"x": np.zeros(3)}), seed=SEED)


def test_of_several_outputs_the_first_wrong_one_is_spoken_of() -> None:
    task = replace(
        TOY,
        judge=undecided,
        right=lambda i: {"b": 2 * i["x"], "a": i["x"]},
        slips=lambda i: [({"a": 9 * i["x"]}, "About a."), ({"b": i["x"]}, "About b.")],
        expected=lambda i: {"a": (i["x"].shape, "f"), "b": (i["x"].shape, "f")},
    )
    assert told(lambda x: (9 * x, x.copy()), task).message == "About b."
    assert told(lambda x: (9 * x, 2 * x), task).message == "About a."
    assert told(lambda x: (8 * x, 2 * x), task).message == (
        "b is right. With x = [1, 2]: a should be [1, 2]; it is [8, 16]."
    )


def test_writing_into_what_was_passed_in_fails_where_the_task_forbids_it() -> None:
    def in_place(x: np.ndarray) -> np.ndarray:
        x *= 2
        return x

    assert told(in_place).failed is None
    assert "changed its input x" in told(in_place).notes[0]
    report = told(in_place, replace(TOY, keeps_inputs=True))
    assert (report.failed, report.message, report.notes) == (
        "repeatable", "It writes into x, which should stay as passed in.", [],
    )  # fmt: skip


def test_an_exercise_says_what_is_right() -> None:
    with pytest.raises(ConfigError, match="neither right nor judge"):
        replace(TOY, right=None, judge=undecided)


def test_two_mistakes_at_once_come_after_each_alone() -> None:
    def made(up: int = 0, by: int = 1) -> int:
        return 10 * by + up

    choices = [({"up": 1}, "Up."), ({"by": 2}, "By."), ({"by": 3}, "By far.")]
    assert with_pairs(made, choices) == [
        (11, "Up."), (20, "By."), (30, "By far."), (21, "Two things. Up. And: By."),
        (31, "Two things. Up. And: By far."),
    ]  # fmt: skip


# The shape that is wrong


def table(inputs: Any) -> Any:
    return np.outer(inputs["x"], np.arange(1.0, 4.0))


WIDE = replace(
    TOY, judge=undecided, right=table, slips=lambda inputs: [],
    expected=lambda inputs: {"out": ((inputs["x"].size, 3), "f")},
)  # fmt: skip
COLUMNS = np.arange(1.0, 4.0)


@pytest.mark.parametrize(
    ("answer", "idea"),
    [
        (lambda x: np.outer(COLUMNS, x), "The two axes are exchanged."),
        (lambda x: np.outer(x, COLUMNS)[:, None], "Axis 1 has size 1 and is left over"),
        (lambda x: np.outer(x, COLUMNS).sum(0), "Axis 0 is missing: was it summed over"),
        (lambda x: np.outer(x, COLUMNS).sum(1), "Axis 1 is missing: was it summed over"),
        (lambda x: np.outer(x, COLUMNS)[:, :1], "Axis 1 was reduced to one entry"),
        (lambda x: np.outer(x, COLUMNS).ravel(), "Axes 0 and 1 have become one"),
        (lambda x: np.outer(x, COLUMNS).sum(), "All axes are gone"),
        (lambda x: np.zeros((7, 5)), ""),
    ],
)
def test_a_wrong_shape_is_told_with_what_happened_to_the_axes(answer: Any, idea: str) -> None:
    report = told(answer, WIDE)
    got = answer(x=np.ones(2)).shape
    assert report.failed == "shape"
    assert report.message.startswith(f"out should have shape (2, 3); it has {got}.")
    assert idea in report.message
    assert idea or report.message.count(".") == 1


def test_what_is_said_about_a_shape_fits_those_of_all_cases() -> None:
    """Exchanged in the first case alone; and where a square hides it, it is still that."""

    def first_only(x: np.ndarray) -> np.ndarray:
        return np.outer(COLUMNS, x) if x.size == 2 else np.zeros((7, 5))

    assert told(first_only, WIDE).message == "out should have shape (2, 3); it has (3, 2)."
    square = replace(WIDE, cases=lambda rng: {"by hand": [{"x": np.ones(n)} for n in (2, 3, 1)]})
    assert told(lambda x: np.outer(COLUMNS, x), square).failed == "shape"
    assert "exchanged" in told(lambda x: np.outer(COLUMNS, x), square).message
    right_then_not = told(
        lambda x: np.outer(COLUMNS, x) if x.size == 1 else table({"x": x}), square
    )
    assert "exchanged" not in right_then_not.message


def test_axes_of_three_and_four_are_named_by_their_place() -> None:
    ideas = ideas_of_shape(Misfit("out", (2, 5, 3, 4), (2, 3, 5, 4)))
    assert ideas == ["Axes 1 and 2 are exchanged."]
    assert ideas_of_shape(Misfit("out", (2, 5, 3, 4), (4, 3, 5, 2)))[0].startswith("The axes stand")
    assert ideas_of_shape(Misfit("out", (2, 5, 12), (2, 5, 3, 4))) == [
        "Axes 2 and 3 should become one, by a reshape."
    ]
    assert ideas_of_shape(Misfit("out", (5, 4), (9, 9, 9))) == []


# The case that is shown


@pytest.mark.parametrize(
    ("given", "wanted", "got", "words"),
    [
        ([1.0], [0.0], [-0.5], "out should be [0]; it is [-0.5]."),
        ([1.0], [-0.0], [1.0], "out should be [0]; it is [1]."),
        ([1.0], [1.0], [1.00001], "out should be [1]; it is [1.00001]."),
        ([1.0], [True], [False], "out should be [True]; it is [False]."),
        (range(40), range(9), [0, 1, 2, 3, 5, 5, 6, 7, 8], "out[4] should be 4; it is 5."),
    ],
)
def test_numbers_are_shown_as_one_writes_them(
    given: Any, wanted: Any, got: Any, words: str
) -> None:
    judge = by_right(lambda inputs: np.array(wanted), close, lambda *_: None)
    said = judge({"x": np.array(given)}, {"out": np.array(got)})
    assert str(said).endswith(words)
    few = len(given) < 24
    assert str(said).startswith("With x = [1]: " if few else "With x of shape (40,): ")


# The banks


# Of the pairs, which are many, every so many.
@pytest.mark.slow
@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("exercise_id", BY_RIGHT)
def test_every_foreseen_mistake_is_named(exercise_id: str, every: int) -> None:
    """An answer that makes the mistake, and nothing else, hears its sentence or a simpler one."""
    task = exercise(exercise_id)
    cases = all_cases(task)
    assert task.right is not None
    with np.errstate(all="ignore"):
        table = [task.slips(inputs) for _, inputs in cases]
    assert len({len(slips) for slips in table}) == 1, "the same mistakes for all inputs"
    made = {id(inputs): slips for (_, inputs), slips in zip(cases, table, strict=True)}
    task = replace(task, slips=lambda inputs: made[id(inputs)])  # made once, as they are many
    assert table[0]
    ideas = {idea for slips in table for _, idea in slips}
    for number, (_, idea) in enumerate(table[0]):
        if any(slips[number][0] is None for slips in table):
            continue
        if idea.startswith(TWO) and number % every:
            continue
        tried = []
        for (group, inputs), slips in zip(cases, table, strict=True):
            names = list(task.expected(inputs))
            right = task.asked(inputs, named(task.right(inputs), names))
            outputs = {**right, **named(slips[number][0], names)}
            finite = all(np.isfinite(array).all() for array in outputs.values())
            fault = task.judge(inputs, outputs) if finite else "It is not finite."
            tried.append(Tried(group, inputs, outputs, fault, finite))
        with np.errstate(all="ignore"):
            said = what_to_say(task, tried)
        assert said is not None, f"no case shows it: {idea}"
        assert said[1] in ideas, (idea, said)


def test_an_answer_that_holds_too_much_is_told_so() -> None:
    task = replace(exercise("block_softmax"), room=lambda inputs: (10, "Too much at once."))
    call = partial(run, block_softmax.REFERENCE, measured=True)
    report = judge_function(task, call, seed=0)
    assert (report.failed, report.message) == ("by hand", "Too much at once.")
    assert judge_function(replace(task, room=None), call, seed=0).failed is None


def test_what_the_text_forbids_is_checked() -> None:
    for task in map(exercise, checked_ids()):
        told = re.search(r"[Ll]eave `|Leave|[Dd]on.t change (`|the (four )?arrays)", task.text)
        assert task.keeps_inputs == bool(told), task.id
