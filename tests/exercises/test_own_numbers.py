"""Numbers of one's own: everything follows from them, and no mistake gives the right one."""

from __future__ import annotations

import re
from functools import partial

import pytest

from mini_attn.errors import ConfigError
from mini_attn.exercises import Exercise, exercise, exercise_ids
from mini_attn.exercises.variants import drawn, in_words, key_of
from mini_attn.questions import NumberQuestion, judge

PENCIL = [i for i in exercise_ids() if exercise(i).kind == "pencil"]
# Its answers are small counts, nearly each of which is a foreseen mistake: none can be told apart.
FIXED = ["tiled_heads"]
DRAWN = [i for i in PENCIL if i not in FIXED]
KEYS = [key_of("a test", f"student {number}") for number in range(1_000)]


def right(task: Exercise) -> float:
    return task.question.answer


def test_every_pencil_exercise_is_drawn_or_listed() -> None:
    assert [i for i in PENCIL if exercise(i).draw] == DRAWN
    assert not [i for i in exercise_ids() if exercise(i).draw and i not in PENCIL]


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", DRAWN)
def test_no_two_answers_that_can_be_named_meet(exercise_id: str) -> None:
    """In 1,000 draws: the right one, and each wrong one with its own idea."""
    book = exercise(exercise_id)
    variants = {task.text: task for task in map(book.for_student, KEYS)}
    assert len(variants) >= 15
    for task in variants.values():
        assert judge(task.question, right(task)).verdict == "right"
        assert len(task.question.mistakes) == len(book.question.mistakes)
        for mistake in task.question.mistakes:
            told = judge(task.question, mistake.value)
            assert told == ("mistake", mistake.message), (task.text, mistake.value)
        assert right(task) != right(book)
    answers = [right(task) for task in variants.values()]
    assert len(set(answers)) >= 12
    # As hard as in the book: no number beside which the book's is a trifle.
    assert max(answers) < 12 * right(book)
    assert min(answers) > right(book) / 7


@pytest.mark.parametrize("exercise_id", DRAWN)
def test_all_texts_follow_from_the_numbers(exercise_id: str) -> None:
    """The words are the book's; a number of the book that is drawn otherwise stands nowhere."""
    book = exercise(exercise_id)

    def numbers(text: str) -> set[str]:
        return set(re.findall(r"\d[\d,.]*\d|\d", text))

    kept = set.intersection(*(numbers(book.for_student(key).text) for key in KEYS[:200]))
    own = numbers(book.text) - kept
    for key in KEYS[:20]:
        task = book.for_student(key)
        assert task.text != book.text
        assert (task.id, task.page, task.groups, task.question.unit) == (
            book.id, book.page, book.groups, book.question.unit)  # fmt: skip
        foreign = {n for n in own - numbers(task.text) if len(n) > 3}
        told = [*task.hints, *task.common_errors]
        told += [mistake.message for mistake in task.question.mistakes]
        assert not [text for text in told if foreign & numbers(text)]
        assert task.text.count(task.standalone[0]) == 1 or task.standalone == ("", "")


def test_the_same_key_draws_the_same_everywhere() -> None:
    """Fixed by a digest: a change here would judge notebooks of a running course otherwise."""
    assert key_of("a test", "ada") == "f871e61adaa3"
    two = [right(exercise(i).for_student("0123456789ab")) for i in ("cache_budget", "busy_rows")]
    assert two == [21, 296]
    assert len(set(KEYS)) == 1_000
    texts = {exercise(i).for_student(KEYS[0]).text for i in DRAWN}
    assert len(texts) == len(DRAWN)


def test_a_key_draws_each_exercise_apart() -> None:
    """Two exercises with the same choices do not get the same places in them."""
    choices = {"n": range(1_000)}
    seen = []

    def toy(n: int = 0) -> Exercise:
        seen.append(n + 1)
        task = exercise("cache_budget")
        return Exercise(
            id="toy", page=task.page, title="", kind="pencil", groups=task.groups, minutes=1,
            difficulty=1, assessed=False, section="", text="", hints=("", ""), common_errors=("",),
            number=NumberQuestion(answer=n + 1, unit="rows"),
            draw=partial(drawn, toy, choices),
        )  # fmt: skip

    assert {right(toy().for_student(key)) for key in "abc"} <= set(seen)
    assert drawn(toy, choices, "a b").text == ""
    assert right(drawn(toy, choices, "k one")) != right(drawn(toy, choices, "k two"))


def test_choices_without_any_that_can_be_told_apart_are_refused() -> None:
    book = exercise("cache_budget")
    with pytest.raises(ConfigError, match="cache_budget: no numbers were found"):
        drawn(lambda **_: book, {"context": (4096,)}, "a")


def test_numbers_in_words() -> None:
    assert [in_words(n) for n in (0, 1, 13, 14, 16)] == ["zero", "one", "thirteen", "14", "16"]
