"""A repair exercise whose starter nobody has changed does not say where its fault is."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from mini_attn.exercises import check, checker, exercise, on_page
from mini_attn.exercises.spec import Exercise, checked_ids
from mini_attn.exercises.untouched import is_starter

REPAIRS = [i for i in checked_ids() if exercise(i).kind == "bug"]
WORDS = re.compile(
    r"This is the starter as it was given; \d+ of \d+ cases come out right\. "
    r"Read it, find the fault and change it\."
)


def defined(source: str, name: str) -> Any:
    """The function that a cell defines."""
    space: dict[str, Any] = {"np": np}
    exec(source, space)
    return space[name]


def messages(task: Exercise) -> set[str]:
    """What the bank has to say about answers to an exercise, in sentences."""
    texts = [*task.hints, *task.common_errors]
    with np.errstate(all="ignore"):
        for drawn in task.cases(np.random.default_rng(checker.SEED)).values():
            texts += [idea for inputs in drawn for _, idea in task.slips(inputs)]
    texts.append(checker.judge_answer(task.id, defined(task.starter, task.name)).message)
    parts = (part.strip() for text in texts for part in re.split(r"(?<=[.:?])\s", text))
    return {part for part in parts if len(part) > 12}


@pytest.mark.parametrize("exercise_id", REPAIRS)
def test_the_starter_gets_no_diagnosis(
    exercise_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    task = exercise(exercise_id)
    starter = defined(task.starter, task.name)
    check(exercise_id, starter)
    report = on_page.check(exercise_id, task.starter, lambda kind, text: None)
    told = [" ".join(capsys.readouterr().out.split()), report["report"]["message"]]
    known = messages(task)
    assert len(known) > 5
    for text in told:
        assert WORDS.search(text)
        assert [message for message in known if message in text] == []
    assert report["report"]["state"] == "not attempted"
    assert report["report"]["notes"] == []
    assert report["kept"] == {}
    assert "0 of" in told[0]


@pytest.mark.parametrize("exercise_id", REPAIRS)
def test_what_was_touched_is_told_as_before(exercise_id: str) -> None:
    """A line more, in the function that is checked or in a helper."""
    task = exercise(exercise_id)
    wanted = checker.judge_answer(exercise_id, defined(task.starter, task.name)).message
    lines = task.starter.split("\n")
    places = [n for n, line in enumerate(lines) if re.match(r"    ([a-z_]+ = |return )", line)]
    assert places
    for n in {places[0], places[-1]}:
        other = "\n".join([*lines[:n], "    touched = 1", *lines[n:]])
        report = checker.judge_answer(
            exercise_id, defined(other, task.name), diagnose_starter=False
        )
        assert report.message == wanted
        assert report.failed != "attempted"


def test_blanks_and_comments_are_no_repair() -> None:
    task = exercise("late_mask")
    for changed in (f"# mine\n\n{task.starter}\n", task.starter.replace("\n", "  # why?\n")):
        assert is_starter(task, defined(changed, task.name))


def test_other_defaults_and_other_helpers_are_a_change() -> None:
    task = exercise("stale_keys")
    assert is_starter(task, defined(task.starter, task.name))
    helper = task.starter + "\n\n\ndef rotate(x, position, seq_len):\n    return x\n"
    assert not is_starter(task, defined(helper, task.name))
    default = task.starter.replace("(q, k)", "(q, k=0)")
    assert not is_starter(task, defined(default, task.name))
    assert not is_starter(exercise("cached_step"), defined("def f(): ...", "f"))
    for odd in (7, None, print, np.sum, lambda: 1):
        assert not is_starter(task, odd)


def test_alone_says_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.exercises.test_alone import in_notebook

    task = exercise("expand_heads")
    check(task.id, in_notebook(task.starter)[task.name], alone=True)
    assert WORDS.search(" ".join(capsys.readouterr().out.split()))


def test_a_grader_judges_the_starter_like_any_answer() -> None:
    from classroom.grading.judge import judge

    task = exercise("late_mask")
    report = judge(task, [task.starter], task.name, seed=7).report
    assert (report.failed, report.points) == ("by hand", 0)
    assert "took its share" in report.message
