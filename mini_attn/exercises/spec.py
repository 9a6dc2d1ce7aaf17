"""What an exercise is: data, and two functions that never call the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mini_attn.errors import ConfigError
from mini_attn.exercises.comparing import Inputs, Outputs, Same, Symptom, by_right, close
from mini_attn.exercises.complaint import Complaint

if TYPE_CHECKING:  # only an exercise that asks for a number loads them
    from mini_attn.questions import NumberQuestion

__all__ = [
    "GROUPS", "STAGES", "Cases", "Exercise", "Inputs", "Outputs", "Slips", "checked_ids",
    "exercise", "exercise_ids", "of_chapter",
]  # fmt: skip

Cases = dict[str, list[Inputs]]
Slips = Sequence[tuple[Any, str]]

GROUPS = ("by hand", "random", "property", "edges")  # of cases, in the order of checking
NUMBER = "answer = ...  # your number"
WORDS = "*Write your answer here: a double click opens this cell.*"
STAGES = ("warm-up", "transfer", "invent")  # of a chapter's exercises
CRITERIA = (2, 5)  # of an open question, at least and at most
NAME = re.compile(r"^def (\w+)", re.MULTILINE)
BLOCK = re.compile(r"- |\* |[|>]|\d+\. |\$\$")  # what begins lines that stay lines


def no_cases(rng: np.random.Generator) -> Cases:
    """Return no cases: the answer is a number, or words."""
    return {}


def no_arrays(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Return no arrays: nothing is called."""
    return {}


def no_slips(inputs: Inputs) -> Slips:
    """Nothing is foreseen."""
    return ()


def no_symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Nothing but the case is shown."""
    return None


def undecided(inputs: Inputs, outputs: Outputs) -> str | None:
    """Stands for a judge that comes from the right answer."""
    raise NotImplementedError


def all_of_it(inputs: Inputs, outputs: Outputs) -> Outputs:
    """Every number that is returned is asked for."""
    return outputs


def _in_paragraphs(text: str) -> str:
    """A text whose lines were broken to fit the source, each paragraph in one line again."""
    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(p if BLOCK.match(p) else " ".join(p.split()) for p in paragraphs)


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """One exercise: everything about it but its solution.

    Parameters
    ----------
    id, page, title : str
        Its key, the page it stands on, and its title.
    kind : {"write", "bug", "pencil", "open"}
        A function to write, one to repair, a number, or an answer in words: no check decides
        that, a person does by its rubric.
    groups : mapping of str to int
        Points by group of checks, named after the check that ends it, in the order of `GROUPS`.
        A function's last group is "edges", a number has "by hand" alone, words have none.
    minutes, difficulty : int
        What it takes, and 1 to 5.
    stage : {"warm-up", "transfer", "invent"}
        What it asks for: what the page shows, the same idea in another place, or an answer that
        stands on no page. Each chapter has all three and begins with the first.
    assessed : bool
        Whether its solution is kept from the page.
    section : str
        Heading of the section of its page that explains what is asked.
    text : str
        The task in Markdown. A line break within a paragraph is a blank; lists, tables and
        displayed formulas keep theirs.
    hints : tuple of str
        The idea, then the steps.
    common_errors : tuple of str
        What often goes wrong, for the page.
    right : callable (inputs) -> array or mapping of str to array
        The right answer; of several outputs, the one that is judged first comes first.
    slips : callable (inputs) -> sequence of (answer, str)
        Foreseen mistakes, the simplest first: what the answer would be with one idea missing, in
        the form of `right`, and that idea. The same mistakes in the same order for all inputs,
        with None for what these inputs leave no room for. An answer may hold the outputs alone
        that the mistake is about. `mini_attn.exercises.choosing` has the rule that chooses.
    same : callable (array, array, float) -> bool
        Whether an output is what it should be, or what a mistake would make of it. The rule of
        tolerance is `mini_attn.exercises.comparing.close`, which is this unless more is asked.
    symptom : callable (inputs, outputs) -> str or None, or mapping of str to str
        What is true of a wrong answer to these inputs, or of each output that is wrong; said where
        no mistake explains it.
    judge : callable (inputs, outputs) -> str or None
        In place of `right`, where many answers are right: what is wrong with these outputs, or
        None. Arrays only: it never calls the answer.
    asked : callable (inputs, outputs) -> outputs
        The part of the outputs that is asked for, where the rest may hold anything.
    room : callable (inputs) -> (int, str), or None
        Bytes that an answer may hold at one time, and the idea that one lacks which holds more,
        where the task says what must not be built.
    keeps_inputs : bool
        Whether the task forbids to write into the arrays that are passed in.
    starter : str
        Source of the first cell. Its last function, or ``answer``, is what is checked.
    cases : callable (rng) -> dict of lists of dict
        Inputs, by the check that they belong to, in the order of `GROUPS`: "by hand" (tiny),
        "random", "property" (what the exercise is about), "edges".
    expected : callable (inputs) -> dict of (shape, dtype kind)
        What the answer to these inputs looks like, by name, in order. Of ``"f"`` the answer's own
        precision decides how near it has to come. ``"i"``, integers of any type, and ``"b"``
        are exact: cases on a boundary have to be on it in float32 too.
    number : NumberQuestion or None
        What a pencil exercise asks for: the right number, what it counts, foreseen wrong ones.
    standalone : pair of str
        A passage that makes sense in the chapter only, and what a sheet says instead.
    letters : str
        What the letters of the equation that the text speaks of are called in the task.
    definition : str
        Heading of the section with a definition that is too long for a sheet.
    draw : callable (key) -> Exercise, or None
        For pencil exercises: the same one with numbers that each student gets drawn.
        `mini_attn.exercises.variants` draws them.
    rubric : mapping of str to int
        Points for what a person has to read, by what it should hold: two to five sentences of an
        open question.
    complaint : Complaint or None
        What a user reported of a function to repair; others have none.

    Raises
    ------
    ConfigError
        If there is no such stage, if the groups are none of `GROUPS`, not in their order, or end
        before the last check, if neither `right` nor `judge` says what is right, if an open
        question has groups or not as many criteria as `CRITERIA` says, or if a function to repair
        has no complaint, or anything else has one.
    """

    id: str
    page: str
    title: str
    kind: str
    groups: Mapping[str, int] = field(default_factory=dict)
    minutes: int
    difficulty: int
    assessed: bool
    section: str
    text: str
    hints: tuple[str, ...]
    common_errors: tuple[str, ...]
    right: Callable[[Inputs], Any] | None = None
    slips: Callable[[Inputs], Slips] = no_slips
    same: Same = close
    symptom: Symptom = no_symptom
    judge: Callable[[Inputs, Outputs], str | None] = undecided
    asked: Callable[[Inputs, Outputs], Outputs] = all_of_it
    room: Callable[[Inputs], tuple[int, str]] | None = None
    keeps_inputs: bool = False
    starter: str = NUMBER
    cases: Callable[[np.random.Generator], Cases] = no_cases
    expected: Callable[[Inputs], dict[str, tuple[tuple[int, ...], str]]] = no_arrays
    number: NumberQuestion | None = None
    standalone: tuple[str, str] = ("", "")
    letters: str = ""
    definition: str = ""
    stage: str = "transfer"
    draw: Callable[[str], Exercise] | None = None
    rubric: Mapping[str, int] = field(default_factory=dict)
    complaint: Complaint | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _in_paragraphs(self.text))
        if self.stage not in STAGES:
            stages = ", ".join(STAGES)
            raise ConfigError(f"the stage of {self.id} is {self.stage!r}, expected one of {stages}")
        if (self.complaint is not None) != (self.kind == "bug"):
            raise ConfigError(f"{self.id}: a function to repair has a complaint, nothing else has")
        if self.kind == "open":
            self._check_rubric()
            object.__setattr__(self, "starter", WORDS)
            return
        object.__setattr__(self, "starter", self.starter.strip())
        if self.kind == "pencil":
            if self.number is None:
                raise ConfigError(f"{self.id} is a pencil exercise without a number to ask for")
        elif self.judge is undecided:
            if self.right is None:
                raise ConfigError(f"{self.id} has neither right nor judge: what answer is right?")
            object.__setattr__(self, "judge", by_right(self.right, self.same, self.symptom))
        checks = GROUPS[:1] if self.kind == "pencil" else GROUPS
        ordered = [name for name in checks if name in self.groups]
        if list(self.groups) != ordered or ordered[-1:] != list(checks[-1:]):
            raise ConfigError(
                f"the groups of {self.id} are {', '.join(self.groups) or 'none'}; expected some of "
                f"{', '.join(checks)} in this order, the last one included"
            )

    def _check_rubric(self) -> None:
        """Refuse an open question that nobody could mark."""
        fewest, most = CRITERIA
        if self.groups or not fewest <= len(self.rubric) <= most:
            words = f"{len(self.rubric)} criteria and {len(self.groups)} groups of checks"
            raise ConfigError(
                f"{self.id} has {words}; an open question has {fewest} to {most} and none"
            )

    @property
    def question(self) -> NumberQuestion:
        """Return what a pencil exercise asks for; others have none, and raise ConfigError."""
        if self.number is None:
            raise ConfigError(f"{self.id} asks for no number")
        return self.number

    @property
    def points(self) -> int:
        """What it earns in all."""
        return sum(self.groups.values()) + sum(self.rubric.values())

    @property
    def dots(self) -> str:
        """Its difficulty, of five dots."""
        return "●" * self.difficulty + "○" * (5 - self.difficulty)

    @property
    def label(self) -> str:
        """Stage, difficulty, minutes and points in one line."""
        return f"{self.stage} · difficulty {self.dots} · {self.minutes} min · {self.points} points"

    @property
    def name(self) -> str:
        """Name of the function that is checked, ``answer`` for a number, "" for words."""
        if self.kind == "open":
            return ""
        return "answer" if self.kind == "pencil" else NAME.findall(self.starter)[-1]

    @property
    def check(self) -> str:
        """Source of the second cell."""
        return f'check("{self.id}"{self.name and f", {self.name}"})'

    def for_student(self, key: str) -> Exercise:
        """The exercise with the numbers that one student gets.

        Parameters
        ----------
        key : str
            The student's own; empty for the numbers of the book.

        Returns
        -------
        Exercise
            Itself, where nothing is drawn.
        """
        return self.draw(f"{key} {self.id}") if self.draw and key else self


def exercise_ids() -> list[str]:
    """All exercises, by the files of the bank.

    Returns
    -------
    list of str
        Their ids, sorted.
    """
    return list(_files_of_the_bank())


@cache
def _files_of_the_bank() -> tuple[str, ...]:
    """Return the names of the bank's modules, sorted; the folder is read once a process."""
    folder = Path(__file__).with_name("bank")
    return tuple(sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__"))


def checked_ids() -> list[str]:
    """The exercises that a check decides: all but the open questions.

    Returns
    -------
    list of str
        Their ids, sorted.
    """
    return [i for i in exercise_ids() if exercise(i).kind != "open"]


def exercise(exercise_id: str) -> Exercise:
    """The exercise with an id.

    Parameters
    ----------
    exercise_id : str
        For example ``"cached_step"``.

    Returns
    -------
    Exercise
        Its data.

    Raises
    ------
    ConfigError
        If there is none.

    Examples
    --------
    >>> exercise("cached_step").points
    4
    """
    if exercise_id not in _files_of_the_bank():
        known = ", ".join(_files_of_the_bank())
        raise ConfigError(f"there is no exercise {str(exercise_id)[:40]!r}; there are {known}")
    found: Exercise = import_module(f"mini_attn.exercises.bank.{exercise_id}").EXERCISE
    return found


def of_chapter(page: str) -> list[str]:
    """The exercises of a chapter.

    Parameters
    ----------
    page : str
        Its name, for example ``"kv-cache"``.

    Returns
    -------
    list of str
        Their ids.

    Raises
    ------
    ConfigError
        If there is no such chapter.
    """
    chapters: dict[str, list[str]] = {}
    for task in map(exercise, exercise_ids()):
        chapters.setdefault(task.page, []).append(task.id)
    if not isinstance(page, str) or page not in chapters:
        known = ", ".join(sorted(chapters))
        raise ConfigError(f"there is no chapter {str(page)[:40]!r}; there are {known}")
    return chapters[page]
