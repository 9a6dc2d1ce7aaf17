"""Questions for a number: one kind of data, and two judges that say the same to every number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from mini_attn.errors import ConfigError
from mini_attn.exercises import exercise, exercise_ids
from mini_attn.exercises.variants import key_of
from mini_attn.questions import (
    KINDS,
    LeadsTo,
    Mistake,
    NumberQuestion,
    Remark,
    above,
    below,
    foreseen,
    judge,
    near,
)
from mini_attn.widgets.questions import QUESTIONS
from tests.javascript import run

PENCIL = [exercise(i) for i in exercise_ids() if exercise(i).kind == "pencil"]
DRAWN = [task.for_student(key_of("judges", f"student {n}")) for task in PENCIL for n in range(5)]
KIND = [NumberQuestion(answer=40.5, unit="rows", tolerance=0.01, kind=kind) for kind in KINDS]
ALL: dict[str, NumberQuestion] = {
    **QUESTIONS,
    **{task.id: task.question for task in PENCIL},
    **{f"{task.id} {n}": task.question for n, task in enumerate(DRAWN)},
    **{f"a {question.kind}": question for question in KIND},
}


def around(value: float, off: float = 0.0) -> Iterator[float]:
    """A number, and its edges from both sides."""
    yield value
    for edge in (value - off, value + off):
        yield from (edge, below(edge), above(edge))


def numbers(name: str, question: NumberQuestion) -> list[float]:
    """Numbers at every edge that the question has, and many others."""
    values = [*around(question.answer, question.off), -question.answer, 0.0, 1e25, -1e-7]
    for mistake in question.mistakes:
        values += [*around(mistake.value, question.off_by(mistake)), mistake.value * 3.7]
    for remark in question.otherwise:
        values += [v for limit in (remark.low, remark.high) if math.isfinite(limit)
                   for v in around(limit)]  # fmt: skip
    if name in exercise_ids():
        wrong = import_module(f"solutions.{name}").WRONG
        values += [value for _, value, check, _ in wrong if check == "by hand"]
    factors = (0.01, 0.5, 0.98, 0.995, 1.003, 1.04, 1.06, 1.25, 9.96, 100, 999.7, 1001)
    values += [question.answer * factor for factor in factors]
    values += [question.answer + step for step in (-1, 1, 0.5, -0.25)]
    rng = np.random.default_rng(len(name))
    values += [*rng.uniform(-3, 100, 20), *(10.0 ** rng.uniform(-9, 15, 30)), *range(-2, 40)]
    return [float(value) for value in values]


def test_page_and_python_say_the_same_to_every_number() -> None:
    given = {name: numbers(name, question) for name, question in ALL.items()}
    said = run(
        "return input.map(([question, values]) =>"
        " values.map((value) => Object.values(living.judgeNumber(question, value))));",
        [(ALL[name].data(), values) for name, values in given.items()],
    )
    seen = dict.fromkeys(("right", "mistake", "wrong"), 0)
    for (name, values), page in zip(given.items(), said, strict=True):
        for value, told in zip(values, page, strict=True):
            assert told == list(judge(ALL[name], value)), (name, value)
            seen[told[0]] += 1
    assert seen["right"] > 4 * len(ALL)
    assert seen["mistake"] > 20 * len(ALL)
    assert seen["wrong"] > 50 * len(ALL)


def test_what_counts_begins_and_ends_at_the_tolerance() -> None:
    question = NumberQuestion(
        answer=200, unit="rows", tolerance=0.01, mistakes=(Mistake(100, "Half."),)
    )
    right = [value for value in range(400) if judge(question, value).verdict == "right"]
    half = [value for value in range(400) if judge(question, value) == ("mistake", "Half.")]
    assert (right, half) == ([198, 199, 200, 201, 202], [99, 100, 101])
    exact = NumberQuestion(answer=200, unit="rows", within=0.5)
    right = [value / 4 for value in range(1600) if judge(exact, value / 4).verdict == "right"]
    assert right == [199.5, 199.75, 200, 200.25, 200.5]
    assert judge(NumberQuestion(answer=3, unit="rows"), 3 + 1e-9).verdict == "wrong"
    assert judge(NumberQuestion(answer=0.3, unit="rows"), 0.1 + 0.2).verdict == "right"


def test_a_remark_is_told_with_the_numbers_of_who_is_wrong() -> None:
    told = Remark("{value:,.1f} {ratio:.3g} {factor:.3g} {large} {many}, {times_too_many}")
    question = NumberQuestion(
        answer=2000,
        unit="rows",
        mistakes=foreseen({1: "One."}),
        otherwise=(
            Remark("Not whole.", low=10, high=20, fractional=True),
            near(500, "A quarter.", 0.1), told,
        ),
    )  # fmt: skip
    said = [judge(question, value).message for value in (4000, 1500, 12, 12.5, 549, 551, 1)]
    assert said == [
        "4,000.0 2 2 large many, 2.0 times too many",
        "1,500.0 0.75 1.33 small few, a little too few",
        "12.0 0.006 167 small few, 166.7 times too few",
        "Not whole.", "A quarter.", "551.0 0.276 3.63 small few, 3.6 times too few", "One.",
    ]  # fmt: skip
    assert [remark.is_plain for remark in question.otherwise] == [True, True, False]


def test_what_a_number_leads_to_is_computed() -> None:
    assert LeadsTo("over", 4).number(10) == 2.5
    steps = LeadsTo("steps", 32, start=64)
    assert [steps.number(value) for value in (64, 95, 96, 63)] == [1, 1, 2, 0]
    weight = LeadsTo("weight", 4)
    assert weight.number(0) == pytest.approx(1 / 5)
    assert (weight.number(-1e9), weight.number(1e9)) == (pytest.approx(0), 1)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"answer": 0}, "the answer must be above 0, got 0"),
        ({"unit": ""}, "unit must not be empty"),
        ({"tolerance": 0.1}, "tolerance must be 0 to 0.1"),
        ({"kind": "riddle"}, "kind must be one of product, quotient"),
        ({"mistakes": foreseen({40.0: "The answer."})}, "40.0 cannot be told from 40"),
        ({"mistakes": (Mistake(8, "Eight."), Mistake(8, "Eight."))}, "8 cannot be told from 8"),
        ({"mistakes": foreseen({8: "A.", 8.1: "B."}), "tolerance": 0.02}, "8.1 cannot be told"),
        ({"otherwise": (Remark("{leads_to:.3g}"),)}, "tells what a number leads to"),
    ],
)
def test_questions_that_cannot_work_are_refused(bad: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        NumberQuestion(**{"answer": 40, "unit": "rows", **bad})


def test_two_numbers_with_one_sentence_may_lie_close_together() -> None:
    mistakes = foreseen({8: "About eight.", 8.1: "About eight."})
    assert judge(NumberQuestion(answer=40, unit="rows", tolerance=0.02, mistakes=mistakes), 8.2)


@pytest.mark.parametrize(
    "text", ["{value}", "{value:d}", "{value:>9.3g}", "{value!r:.3g}", "{many:.3g}", "{other:.3g}"]
)
def test_words_that_no_page_can_write_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="no page can write"):
        Remark(text)
    with pytest.raises(ConfigError, match="kind must be one of over, steps, weight"):
        LeadsTo("times", 2)


def test_numbers_are_written_as_python_writes_them() -> None:
    rng = np.random.default_rng(5)
    values = [0.0, 0.5, 1.5, 2.5, 2.25, 0.125, 1234565.0, 99999.5, 999999.5, 1e-5, 12345678.9, 1e22]
    values += [float(v) for v in 10.0 ** rng.uniform(-12, 20, 300)]
    values += [-value for value in values]
    specs = [",.6g", ".4g", ",.4g", ".3g", ",.3g", ",.0f", ".0f", ",.1f", ",.6f"]
    written = run(
        "return input.specs.map((spec) => input.values.map((value) => living.show(value, spec)));",
        {"values": values, "specs": specs},
    )
    assert written == [[format(value, spec) for value in values] for spec in specs]


TYPED = "return input.texts.map((text) => living.judge(input.question, text));"


def test_an_exercise_takes_a_number_as_it_is_typed_and_a_guess_is_taken_kindly() -> None:
    mistakes = (Mistake(59.25, "Not whole."),)
    asked = {"answer": 7_372_800, "unit": "bytes", "tolerance": 0.005, "mistakes": mistakes}
    texts = ["7.37 MB", "7,372,800", "7.372.800", "7.37", "7.4 MB", "59.3", "-3"]
    strict, kind = (
        [
            said["verdict"]
            for said in run(TYPED, {"question": question.data(), "texts": texts})
        ]
        for question in (
            NumberQuestion(**asked, signed=True),
            NumberQuestion(**asked, signed=False, lenient=True),
        )
    )  # fmt: skip
    assert strict == ["right", "right", "right", "wrong", "right", "mistake", "wrong"]
    assert kind == ["right", "right", "right", "right", "right", "mistake", "unread"]
    loose = NumberQuestion(answer=3.262, unit="units", tolerance=0.003)
    guess = NumberQuestion(answer=3.262, unit="units", tolerance=0.003, lenient=True)
    for question, verdict in ((loose, "wrong"), (guess, "right")):
        (said,) = run(TYPED, {"question": question.data(), "texts": ["3.3"]})
        assert said["verdict"] == verdict


def test_either_reading_of_a_number_may_be_right_or_explained() -> None:
    """An exercise takes 1,234 and 1.234 for a thousand and for a bit more than one."""
    question = NumberQuestion(answer=1.234, unit="units", mistakes=foreseen({2345: "Too far."}))
    said = run(TYPED, {"question": question.data(), "texts": ["1,234", "1.234", "2.345", "2,345"]})
    assert [one["verdict"] for one in said] == ["right", "right", "mistake", "mistake"]
