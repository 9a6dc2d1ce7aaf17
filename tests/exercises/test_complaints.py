"""What users reported of the functions to repair: each has a complaint, and none a diagnosis."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mini_attn.errors import ConfigError
from mini_attn.exercises import Exercise, exercise, exercise_ids
from mini_attn.exercises.complaint import TOPICS, Complaint
from tests.exercises.toy import TOY

REPAIRS = [task for task in map(exercise, exercise_ids()) if task.kind == "bug"]
THREAD = re.compile(
    r"\[[^\]]+, (issue|pull request) (\d+)\]\(https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/(\d+)\)"
)


def test_every_repair_has_a_complaint_of_its_own() -> None:
    assert len(REPAIRS) >= 20
    words = [task.complaint.words for task in REPAIRS if task.complaint]
    assert len(set(words)) == len(REPAIRS)
    assert {task.complaint.topic for task in REPAIRS if task.complaint} == set(TOPICS)


@pytest.mark.parametrize("task", REPAIRS, ids=lambda task: task.id)
def test_a_complaint_reports_and_does_not_explain(task: Exercise) -> None:
    """Neither an idea that an answer may lack, nor a hint, nor a line of code."""
    assert task.complaint
    words = task.complaint.words
    assert words.endswith(".")
    assert 20 < len(words) < 160
    assert "`" not in words
    rows = [one for case in task.cases(np.random.default_rng(0)).values() for one in case]
    with np.errstate(all="ignore"):
        ideas = {idea for inputs in rows for _, idea in task.slips(inputs)}
    for told in (*ideas, *task.hints, *task.common_errors):
        for sentence in re.split(r"(?<=[.:?]) ", told):
            assert sentence not in words


def test_where_it_shipped_is_a_thread_of_a_public_tracker() -> None:
    shipped = [task.complaint.shipped for task in REPAIRS if task.complaint]
    found = [THREAD.search(text) for text in shipped if text]
    assert len(found) >= 10
    for thread in found:
        assert thread
        kind, number, place, same = thread.groups()
        assert number == same
        assert (kind == "issue") == (place == "issues")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("magic", "It broke."), "expected one of masks"),
        (("masks", ""), "what would a user report"),
        (("masks", "It broke.", "somewhere"), "links to no thread"),
    ],
)
def test_a_complaint_that_says_nothing_is_refused(given: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Complaint(*given)


def test_a_repair_without_a_complaint_is_refused_and_anything_else_with_one() -> None:
    data = {name: getattr(TOY, name) for name in TOY.__dataclass_fields__}
    for changed in ({"kind": "bug"}, {"complaint": Complaint("masks", "It broke.")}):
        with pytest.raises(ConfigError, match="a function to repair has a complaint"):
            Exercise(**data | changed)
