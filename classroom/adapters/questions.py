"""What is asked for a number or for words, in the one form that exports are written from.

Pencil exercises come from the bank, with the teacher's solutions for what wrong numbers are known;
predictions come from the questions of the book's pages. Both are the data that a page judges by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice, takewhile
from math import isfinite

from classroom.sheets.key import key, number, said_alike
from classroom.sheets.sheet import Sheet, chapters
from classroom.sheets.standalone import standalone
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise
from mini_attn.questions import NumberQuestion
from mini_attn.widgets.questions import QUESTIONS, Question

__all__ = ["Asked", "Essay", "Known", "asked_of", "options"]

PENCIL = re.compile(r"^With pencil and paper: (.)")
CHOICES = 6
FAR = 1e3  # answers: a platform's ranges end somewhere


@dataclass(frozen=True)
class Known:
    """A number, from where to where it is meant, and what is said to it."""

    value: float
    low: float
    high: float
    words: str


@dataclass(frozen=True)
class Essay:
    """One question for an answer in words, which people mark.

    Parameters
    ----------
    key, title, text, points, hints
        As of `Asked`; the text is Markdown.
    rubric : tuple of (str, int)
        What earns how many points.
    model : str
        A model answer in Markdown; empty where the question is assessed.
    """

    key: str
    title: str
    text: str
    points: int
    hints: tuple[str, ...]
    rubric: tuple[tuple[str, int], ...]
    model: str = ""


@dataclass(frozen=True)
class Asked:
    """One question for a number.

    Parameters
    ----------
    key, title : str
        ``"<page>/<id>"``, the same in every version of the book, and what a teacher reads.
    text : str
        The question in Markdown; of a prediction, with code in backticks and no other markup.
    is_markdown : bool
        Which of the two it is.
    unit : str
        What the number counts.
    points : int
        What it earns.
    right : Known
        The answer, and what is said to it.
    wrong : tuple of Known
        Foreseen wrong numbers, in the order in which they are looked for.
    hints : tuple of str
        The idea, then the steps; code in backticks.
    working : str
        Lines that arrive at the number; empty where students are not to see them.
    """

    key: str
    title: str
    text: str
    is_markdown: bool
    unit: str
    points: int
    right: Known
    wrong: tuple[Known, ...]
    hints: tuple[str, ...] = ()
    working: str = ""

    @property
    def page(self) -> str:
        """The chapter."""
        return self.key.split("/")[0]


def options(asked: Asked) -> dict[str, Known]:
    """The right number and foreseen wrong ones by size, as texts of which no two are alike.

    Raises
    ------
    ConfigError
        If no wrong number can be told from the right one.
    """
    found: dict[str, Known] = {}
    for known in (asked.right, *asked.wrong):
        found.setdefault(f"{number(known.value)} {asked.unit}", known)
    if len(found) == 1:
        raise ConfigError(f"{asked.key} has no wrong number to choose from: export it as a number")
    few = islice(found.items(), CHOICES)
    return dict(sorted(few, key=lambda pair: pair[1].value))


def _around(value: float, off: float, words: str) -> Known:
    return Known(float(value), value - off, value + off, words)


def _wrong(question: NumberQuestion, numbers: Sequence[float] = ()) -> tuple[Known, ...]:
    """Return the wrong numbers that a platform can answer: mistakes, ranges and single numbers.

    A platform can't repeat the number that was typed, and can't leave whole numbers out of
    a range. After the first remark that does either, single numbers that are often found get
    what the page would say.
    """
    found = [_around(m.value, question.off_by(m), m.message) for m in question.mistakes]
    for one in takewhile(lambda one: one.is_plain and not one.fractional, question.otherwise):
        far = FAR * question.answer
        low, high = max(one.low, -far), one.high if isfinite(one.high) else far
        found.append(Known((low + high) / 2, low, high, one.message))
    for value in numbers:
        said = said_alike(question, value)
        if said and not any(one.low <= value <= one.high for one in found):
            found.append(_around(value, 0.0, said))
    return tuple(found)


def _pencil(exercise_id: str, points: int) -> Asked:
    """A pencil exercise."""
    found = exercise(exercise_id)
    solutions, question = import_module(f"solutions.{exercise_id}"), found.question
    often = [float(value) for _, value, check, _ in solutions.WRONG if check == "by hand"]
    explained = key(exercise_id)
    return Asked(
        key=f"{found.page}/{exercise_id}",
        title=found.title,
        text=PENCIL.sub(lambda first: first[1].upper(), standalone(exercise_id)),
        is_markdown=True,
        unit=question.unit,
        points=points,
        right=_around(question.answer, question.off, ""),
        wrong=_wrong(question, often),
        hints=found.hints,
        working="" if found.assessed else explained.working,
    )


def _essay(exercise_id: str, points: int) -> Essay:
    """An open question."""
    found = exercise(exercise_id)
    model = "" if found.assessed else import_module(f"solutions.{exercise_id}").MODEL
    return Essay(
        key=f"{found.page}/{exercise_id}",
        title=found.title,
        text=standalone(exercise_id),
        points=points,
        hints=found.hints,
        rubric=tuple(found.rubric.items()),
        model=model,
    )


def _prediction(question: Question) -> Asked:
    """A prediction; a platform gets its number typed without a unit."""
    return Asked(
        key=question.key,
        title=f"Predict: {question.key.split('/')[1].replace('-', ' ')}",
        text=question.text,
        is_markdown=False,
        unit=question.unit,
        points=1,
        right=_around(question.answer, question.off, question.explanation),
        wrong=_wrong(question),
    )


def _of(sheet: Sheet) -> Iterator[Asked | Essay]:
    if sheet.name in chapters():
        for question in QUESTIONS.values():
            if question.key.startswith(f"{sheet.name}/"):
                yield _prediction(question)
    for exercise_id in sheet.exercises:
        if exercise(exercise_id).kind == "pencil":
            yield _pencil(exercise_id, sheet.worth(exercise_id))
        elif exercise(exercise_id).kind == "open":
            yield _essay(exercise_id, sheet.worth(exercise_id))


def asked_of(sheets: list[Sheet]) -> dict[str, list[Asked | Essay]]:
    """The questions for a number or for words, by the name of their sheet.

    Parameters
    ----------
    sheets : list of Sheet
        A chapter has its predictions, pencil exercises and open questions, a problem sheet has
        no predictions.

    Returns
    -------
    dict of str to list of Asked and Essay
        Sheets without any are left out.

    Raises
    ------
    ConfigError
        If there is no such question at all.
    """
    found = {sheet.name: list(_of(sheet)) for sheet in sheets}
    kept = {name: asked for name, asked in found.items() if asked}
    if not kept:
        raise ConfigError(
            "nothing among these is answered by a number or in words, so nothing can be exported"
        )
    return kept
