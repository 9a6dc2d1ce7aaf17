"""The boxes below an exercise, as the book's extension writes them."""

from __future__ import annotations

import pytest

from mini_attn.exercises.spec import exercise, exercise_ids
from tests.scripts import script


@pytest.mark.parametrize("name", exercise_ids())
def test_hints_and_errors_show_code_as_code(name: str) -> None:
    prose = script("book/_ext/exercises.py").prose
    task = exercise(name)
    for text in (*task.hints, *task.common_errors):
        html = prose(text)
        assert "`" not in html
        assert html.count("<code>") == html.count("</code>") == text.count("`") / 2


def test_what_stands_in_code_is_escaped() -> None:
    prose = script("book/_ext/exercises.py").prose
    assert prose("a < b, `c < d`") == "a &lt; b, <code>c &lt; d</code>"
