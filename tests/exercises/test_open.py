"""Open questions: people mark them, by a rubric, and no check does."""

from __future__ import annotations

import re
from importlib import import_module

import nbformat
import pytest

from classroom.sheets.sheet import chapters
from mini_attn.errors import ConfigError
from mini_attn.exercises import check, exercise, exercise_ids, grade, hint, progress
from mini_attn.exercises.checker import judge_answer
from mini_attn.exercises.spec import WORDS, checked_ids
from mini_attn.models import model
from tools import ROOT

OPEN = [i for i in exercise_ids() if exercise(i).kind == "open"]
KEY = "learned_factor"


def test_each_chapter_has_one_and_three_are_assessed() -> None:
    assert sorted(exercise(i).page for i in OPEN) == sorted(chapters())
    assert sum(exercise(i).assessed for i in OPEN) == 3
    assert sorted([*OPEN, *checked_ids()]) == exercise_ids()


@pytest.mark.parametrize("exercise_id", OPEN)
def test_it_can_be_marked(exercise_id: str) -> None:
    """Two to five criteria, a model answer, and two answers that show what earns how much."""
    task, solution = exercise(exercise_id), import_module(f"solutions.{exercise_id}")
    assert 2 <= len(task.rubric) <= 5
    assert 4 <= task.points <= 6
    assert all(says.endswith(".") for says in task.rubric)
    assert len(task.hints) == 2
    assert len(task.common_errors) >= 2
    assert len(solution.MODEL.split()) >= 120
    (_, full, all_of_it), (_, part, some) = solution.SAMPLES
    assert all_of_it == tuple(task.rubric.values())
    assert all(0 <= got <= most for got, most in zip(some, task.rubric.values(), strict=True))
    assert 0 < sum(some) < task.points
    assert len({solution.MODEL, full, part}) == 3


@pytest.mark.parametrize("exercise_id", OPEN)
def test_what_a_student_reads_does_not_hold_the_answer(exercise_id: str) -> None:
    """No run of eight words of the model answer stands in the task, the rubric or a hint."""
    task, model = exercise(exercise_id), import_module(f"solutions.{exercise_id}").MODEL
    shown = " ".join([task.text, *task.rubric, *task.hints, *task.common_errors])
    words, told = (re.findall(r"\w+", text.lower()) for text in (model, shown))
    runs = {tuple(told[n : n + 8]) for n in range(len(told))}
    assert not [words[n : n + 8] for n in range(len(words) - 7) if tuple(words[n : n + 8]) in runs]


@pytest.mark.parametrize("exercise_id", OPEN)
def test_its_answer_is_a_cell_of_text(exercise_id: str) -> None:
    task = exercise(exercise_id)
    cells = nbformat.read(ROOT / f"book/{task.page}.ipynb", as_version=4).cells
    tagged = [c for c in cells if c.metadata.get("exercise", {}).get("id") == exercise_id]
    starter, checks = tagged
    assert (starter.cell_type, starter.source) == ("markdown", WORDS)
    assert starter.metadata["tags"] == ["remove-cell"]
    assert (checks.cell_type, checks.source) == ("code", f'check("{exercise_id}")')


def test_a_check_says_kindly_that_people_mark_it(capsys: pytest.CaptureFixture[str]) -> None:
    for answer in ((), ("my answer",)):
        check(KEY, *answer)
        said = " ".join(capsys.readouterr().out.split())
        assert said.startswith("The factor that could be learned: 6 points, marked by people")
        for says, points in exercise(KEY).rubric.items():
            assert f"{points} point{'s' * (points > 1)}: {says}" in said
        assert import_module(f"solutions.{KEY}").MODEL.strip()[:30] not in said
    check(KEY, alone=True)
    assert "marked by people" in capsys.readouterr().out


def test_no_machine_gives_it_points() -> None:
    for ask in (judge_answer, grade):
        with pytest.raises(ConfigError, match=f"{KEY} has an answer in words: people mark it"):
            ask(KEY, "because")
    with pytest.raises(ConfigError, match="pass your answer too: check"):
        check("cached_step")


def test_hints_and_progress_know_it(capsys: pytest.CaptureFixture[str]) -> None:
    hint(KEY, 1)
    assert exercise(KEY).hints[0] in capsys.readouterr().out
    progress("attention")
    told = capsys.readouterr().out
    assert re.search(r"The factor that could be learned +6 points, marked by people", told)
    tasks = [exercise(i) for i in checked_ids() if exercise(i).page == "attention"]
    assert f"of {sum(task.points for task in tasks)} points" in told


def test_numbers_of_the_model_answers_come_from_the_package() -> None:
    llama = model("llama-3-8b")
    a_token = 2 * 2 * llama.n_layers * llama.n_kv_heads * llama.head_dim
    cache = 16 * 2_000 * a_token / 1e9
    text = " ".join(import_module("solutions.because_others_do").MODEL.split())
    assert f"{a_token:,} bytes per token" in text
    assert f"{cache:.1f} GB" in text
    assert 0.19 < cache / (16 + cache) < 0.22  # a fifth
    latent = 16 * 2_000 * 2 * llama.n_layers * (512 + 64) / 1e9
    assert f"{latent:.1f} GB" in text
    assert round((16 + latent) / (16 + cache), 2) == 0.85
    many = 8 * cache  # 16,000 tokens, or 128 users
    assert 0.65 < many / (16 + many) < 0.69
    assert 0.45 < (many - 8 * latent) / (16 + many) < 0.5
