"""What is kept of a learner's work: in this session, in a file, and from one tier to the other."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from mini_attn.exercises import check, grade, kept, progress


def solution(exercise_id: str) -> Any:
    """The reference of an exercise."""
    return importlib.import_module(f"solutions.{exercise_id}").REFERENCE


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A session of its own that keeps nothing in a file."""
    monkeypatch.setenv("MINI_ATTN_PROGRESS", "off")
    begin()
    yield
    begin()


def begin() -> None:
    """As if the interpreter had just started."""
    kept.attempts.clear()
    kept._waiting.clear()
    kept._said.clear()


def shown(capsys: pytest.CaptureFixture[str], chapter: str | None = None) -> list[str]:
    """The lines that `progress` prints."""
    capsys.readouterr()
    progress(chapter)
    return capsys.readouterr().out.splitlines()


def test_a_session_says_what_is_solved_and_missing(capsys: pytest.CaptureFixture[str]) -> None:
    """What was checked, chapter by chapter; other exercises are not listed."""
    assert shown(capsys) == ["No exercise was checked in this session yet."]
    check("chunk_mask", lambda **_: None)
    check("half_temperature", ...)
    check("cache_budget", solution("cache_budget"))
    lines = [line.split("  ") for line in shown(capsys)]
    assert [line[0] or line[-1].strip() for line in lines] == [
        "kv-cache", "missing: type", "solved", "start", "not attempted",
        "2 of 8 points in this session",
    ]  # fmt: skip


def test_what_is_solved_stays_solved(capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, solution("cache_budget"), 1, ...):
        check("cache_budget", number)
    assert shown(capsys)[-1] == "2 of 2 points in this session"


def test_a_grader_leaves_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    grade("cache_budget", solution("cache_budget"))
    assert shown(capsys) == ["No exercise was checked in this session yet."]
