"""One exercise in one place: the bank holds it, the chapter's cells are written from there."""

from __future__ import annotations

import ast
import copy
import re
from dataclasses import replace
from operator import eq
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

from mini_attn.errors import ConfigError
from mini_attn.exercises import Exercise, exercise, exercise_ids
from mini_attn.exercises.guesses import explain
from mini_attn.exercises.judging import judge_number
from mini_attn.exercises.spec import STAGES, checked_ids
from mini_attn.questions import NumberQuestion, Remark
from tools.exercises import update

ROOT = Path(__file__).resolve().parents[2]
IDS = exercise_ids()
PAGES = sorted({exercise(i).page for i in IDS})
EQUATION = re.compile(r"equation \{eq\}`[\w-]+`")
DATA: dict[str, Any] = {
    "id": "toy", "page": "kv-cache", "title": "Toy", "kind": "pencil", "groups": {"by hand": 2},
    "minutes": 1, "difficulty": 1, "assessed": False, "section": "The ring", "hints": ("", ""),
    "common_errors": ("",), "text": "How many?", "judge": lambda inputs, outputs: None,
    "number": NumberQuestion(answer=2, unit="rows"),
}  # fmt: skip


def cells_of(page: str) -> list[nbformat.NotebookNode]:
    return list(nbformat.read(ROOT / f"book/{page}.ipynb", as_version=4).cells)


def headings(page: str) -> list[str]:
    prose = [cell.source for cell in cells_of(page) if cell.cell_type == "markdown"]
    return re.findall(r"^#{2,} (.+)$", "\n".join(prose), re.MULTILINE)


# The chapters


@pytest.mark.parametrize("page", PAGES)
def test_chapter_holds_what_the_bank_says_to_the_letter(page: str) -> None:
    cells = cells_of(page)
    before = copy.deepcopy(cells)
    assert update(cells, page) == []
    assert cells == before
    tagged = {cell.metadata["exercise"]["id"] for cell in cells if "exercise" in cell.metadata}
    assert tagged == {i for i in IDS if exercise(i).page == page}


def test_every_chapter_with_a_tagged_cell_is_compared() -> None:
    found = {
        path.stem
        for path in (ROOT / "book").glob("*.ipynb")
        if any("exercise" in cell.metadata for cell in cells_of(path.stem))
    }
    assert sorted(found) == PAGES


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_changed_cell_is_found_and_mended(part: int) -> None:
    cells = cells_of("kv-cache")
    before = copy.deepcopy(cells)
    tags = [cell.metadata.get("exercise") for cell in cells]
    at = tags.index({"id": "chunk_mask", "role": "starter"}) - 1 + part
    cells[at].source += " "
    assert update(cells, "kv-cache") == ["chunk_mask"]
    assert cells == before


def test_an_exercise_that_a_chapter_lacks_goes_behind_the_others() -> None:
    cells = cells_of("kv-cache")
    tags = [cell.metadata.get("exercise") for cell in cells]
    at = tags.index({"id": "cached_step", "role": "starter"}) - 1
    moved = [cell.source.split("\n\n", 1)[-1] for cell in cells[at : at + 3]]
    del cells[at : at + 3]
    assert update(cells, "kv-cache")[0] == "cached_step"
    roles = [cell.metadata.get("exercise", {}).get("role") for cell in cells]
    last = len(roles) - 1 - roles[::-1].index("check")
    assert cells[last - 2].source.startswith(
        f"### Exercise {roles.count('check')}: The cached step\n"
    )
    assert [cell.source.split("\n\n", 1)[-1] for cell in cells[last - 2 : last + 1]] == moved
    assert cells[last].metadata == {"exercise": {"id": "cached_step", "role": "check"}}


def test_cells_that_do_not_belong_together_are_refused() -> None:
    cells = cells_of("kv-cache")
    at = [cell.metadata.get("exercise", {}).get("role") for cell in cells].index("check")
    apart = [*cells[:at], nbformat.v4.new_markdown_cell("A word."), *cells[at:]]
    with pytest.raises(ValueError, match="cached_step do not stand together"):
        update(apart, "kv-cache")
    with pytest.raises(ValueError, match="stands on rope, its bank says kv-cache"):
        update(cells, "rope")
    cells[at - 1].metadata["exercise"]["id"] = "no_such"
    with pytest.raises(ConfigError, match="there is no exercise 'no_such'"):
        update(cells, "kv-cache")


# The bank


@pytest.mark.parametrize("exercise_id", IDS)
def test_facts_fit_together(exercise_id: str) -> None:
    task = exercise(exercise_id)
    assert task.id == exercise_id
    assert task.section in headings(task.page)
    assert task.definition in ["", *headings(task.page)]
    assert task.text.count(task.standalone[0]) == 1 or task.standalone == ("", "")
    assert bool(task.standalone[0]) == bool(task.standalone[1])
    text = task.text.replace(*task.standalone)
    assert len(set(EQUATION.findall(text))) == bool(task.letters)
    assert bool(task.number) == (task.kind == "pencil")
    if task.number:
        assert len(task.question.mistakes) >= 5
        assert task.question.otherwise[-1].covers(task.question.answer), "the last one covers all"
    if task.kind != "open":
        compile(task.starter, "<starter>", "exec")


def test_points_stand_where_checks_can_earn_them() -> None:
    """Who has found the bug has found all of it; who writes may come a part of the way."""
    for task in map(exercise, checked_ids()):
        assert all(points > 0 for points in task.groups.values())
        assert (len(task.groups) > 1) == (task.kind == "write"), task.id
        assert 2 <= task.points <= 5
    assert exercise("cached_step").points == sum(exercise("cached_step").groups.values()) == 4


@pytest.mark.parametrize("page", PAGES)
def test_each_chapter_warms_up_transfers_and_invents(page: str) -> None:
    """In the order of the page; what warms up is none of the hardest."""
    tags = [cell.metadata.get("exercise", {}) for cell in cells_of(page)]
    tasks = [exercise(tag["id"]) for tag in tags if tag.get("role") == "starter"]
    assert tasks[0].stage == "warm-up"
    assert {task.stage for task in tasks} == set(STAGES)
    for task in tasks:
        assert task.stage != "warm-up" or task.difficulty <= 2, task.id
        assert task.label.startswith(f"{task.stage} · difficulty ●"), task.id


def test_a_stage_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match="the stage of toy is 'later', expected one of warm-up"):
        Exercise(**DATA | {"stage": "later"})


# The guesses


def test_the_first_guess_that_explains_is_named() -> None:
    guesses = [(1, "one"), (2, "two"), (2, "two again")]
    assert explain(2, guesses, eq) == "two"
    assert explain(3, guesses, eq) is None
    # What comes after it is not asked: a simple slip hides a rare one.
    assert explain(1, [*guesses, (None, "never")], lambda a, b: a - b == 0) == "one"


def chosen_by_hand(source: str) -> list[int]:
    """Lines where a loop hands back one of its own variables, as it would choose a message."""

    def parts(value: ast.expr | None) -> list[ast.expr | None]:
        return list(value.elts) if isinstance(value, ast.Tuple) else [value]

    lines = []
    for loop in ast.walk(ast.parse(source)):
        if isinstance(loop, ast.For):
            names = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
            lines += [
                node.lineno
                for node in ast.walk(loop)
                if isinstance(node, ast.Return)
                and any(isinstance(one, ast.Name) and one.id in names for one in parts(node.value))
            ]  # fmt: skip
    return lines


def test_one_function_chooses_among_guesses() -> None:
    loop = "def judge(x):\n for guess, idea in guesses:\n  if x == guess:\n   return idea\n"
    assert chosen_by_hand(loop) == [4]
    chosen = {
        path.name: chosen_by_hand(path.read_text(encoding="utf-8"))
        for path in (ROOT / "mini_attn/exercises").rglob("*.py")
    }
    assert [name for name, lines in chosen.items() if lines] == ["choosing.py"]
    assert len(chosen["choosing.py"]) == 1


# What an exercise may be


@pytest.mark.parametrize(
    ("kind", "groups"),
    [
        ("pencil", {}),
        ("pencil", {"edges": 2}),
        ("write", {"random": 2}),
        ("write", {"edges": 1, "random": 1}),
        ("write", {"randon": 1, "edges": 1}),
    ],
)
def test_groups_that_fit_no_check_are_refused(kind: str, groups: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="the groups of toy are"):
        Exercise(**DATA | {"kind": kind, "groups": groups})


@pytest.mark.parametrize(
    ("groups", "rubric"),
    [
        ({"by hand": 1}, {"One.": 1, "Two.": 1}),
        ({}, {}),
        ({}, {"One.": 4}),
        ({}, {f"Criterion {n}.": 1 for n in range(6)}),
    ],
)
def test_a_question_that_nobody_could_mark_is_refused(
    groups: dict[str, int], rubric: dict[str, int]
) -> None:
    with pytest.raises(ConfigError, match="an open question has 2 to 5 and none"):
        Exercise(**DATA | {"kind": "open", "groups": groups, "rubric": rubric})


def test_text_is_written_in_lines_and_read_in_paragraphs() -> None:
    task = Exercise(**DATA | {"text": "\nOne line\nand another.\n\nA second\nparagraph.\n"})
    assert task.text == "One line and another.\n\nA second paragraph."
    lines = "`q` and\n`k`:\n\n- one\n- two\n\n| a |\n|---|\n\n$$\nx\n$$"
    assert Exercise(**DATA | {"text": lines}).text == lines.replace("and\n", "and ")
    assert (task.name, task.check) == ("answer", 'check("toy", answer)')
    helped = "\ndef helper():\n    ...\n\n\ndef mine():\n    ...\n"
    task = Exercise(**DATA | {"kind": "write", "groups": {"edges": 3}, "starter": helped})
    assert (task.name, task.check) == ("mine", 'check("toy", mine)')
    assert task.starter == helped.strip()


def test_what_a_person_reads_earns_points_too() -> None:
    task = Exercise(**DATA | {"rubric": {"Names the reason.": 2, "Gives an example.": 1}})
    assert task.points == 2 + 3
    assert task.label.endswith("5 points")


def test_each_student_may_get_numbers_of_their_own() -> None:
    def made(layers: int) -> Exercise:
        twice = Remark("Twice as many.")
        number = NumberQuestion(answer=2 * layers, unit="rows", otherwise=(twice,))
        return Exercise(
            **DATA | {"number": number, "text": rf"Of {layers:,} $\{{x\}}$?",
                      "starter": f"answer = {layers} * ..."}
        )  # fmt: skip

    def draw(key: str) -> Exercise:
        return made(int(np.random.default_rng(key.encode()[0]).integers(1_000, 9_000)))

    task = replace(made(7), draw=draw)
    drawn = [task.for_student(key) for key in "ab"]
    numbers = [int(re.sub(r"\D", "", one.text)) for one in drawn]
    assert len(set(numbers)) == 2
    assert [one.text for one in drawn] == [rf"Of {n:,} $\{{x\}}$?" for n in numbers]
    assert drawn[0].starter == f"answer = {numbers[0]} * ..."
    assert task.for_student("a").text == drawn[0].text
    assert judge_number(drawn[0], 2 * numbers[0]).failed is None
    assert judge_number(drawn[1], 2 * numbers[0]).message == "Twice as many."
    assert task.for_student("") is task
    plain = exercise("cached_step")
    assert plain.for_student("a") is plain


@pytest.mark.parametrize("seed", [7, 12, 17])
def test_a_prompt_of_more_known_blocks_than_a_text_has(seed: int) -> None:
    """Two mistakes at once can find blocks of several texts, longer together than one of them."""
    task = exercise("shared_blocks")
    drawn = task.cases(np.random.default_rng(seed))["property"]
    assert all(len(task.slips(inputs)) > len(drawn) for inputs in drawn if task.slips)
