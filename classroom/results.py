"""What one student's submission is given, what a teacher decided, and what a run was asked for.

Every room reads these; `as_data` and `from_data` alone know a result as the JSON that is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

__all__ = ["Alike", "Answer", "ByHand", "Dates", "Deduction", "Result", "Run", "as_data",
           "from_data"]  # fmt: skip


@dataclass(frozen=True)
class ByHand:
    """What a teacher decided about an answer or, without points, about a whole sheet.

    Parameters
    ----------
    comment : str
        May be empty.
    changed : bool
        Whether the answer is another one by now.
    points : number or None
        None leaves those of the grader.
    was : number
        Points of the grader.
    parts : tuple of number
        Points criterion by criterion; empty where they were given as a whole.
    first : bool
        Whether nobody gave points before, as with an answer in words.
    """

    comment: str
    changed: bool
    points: float | None = None
    was: float = 0
    parts: tuple[float, ...] = ()
    first: bool = False


@dataclass(frozen=True)
class Deduction:
    """What being late takes off an attempt.

    Parameters
    ----------
    off : float
        Percent of the points.
    words : str
        When it was handed in and was due, and by which rule it loses.
    raw : number
        The points before; 0 until there are any.
    """

    off: float
    words: str
    raw: float = 0

    def left(self, points: float) -> float:
        """Return what is left of so many points."""
        return points * (100 - self.off) / 100


@dataclass(frozen=True)
class Answer:
    """How one answer did.

    Parameters
    ----------
    id, title, page, kind : str
        The exercise, as in `mini_attn.exercises.spec.Exercise`.
    of : number
        Points that it's worth, in the book or on the sheet.
    state : str
        One of `classroom.reports.feedback.STATES` and ``OPEN_STATES``.
    points, partial : number
        Points of the whole answer, all or none, and of the groups of checks before the first that
        failed.
    failed : str or None
        The check that it did not pass.
    message : str
        The idea that is missing.
    notes : list of str
        What its cells complained about.
    text : str or None
        An answer in words, which people mark.
    mark : ByHand or None
        What the teacher decided.
    """

    id: str
    title: str
    page: str
    kind: str
    of: float
    state: str
    points: float = 0
    partial: float = 0
    failed: str | None = None
    message: str = ""
    notes: list[str] = field(default_factory=list)
    text: str | None = None
    mark: ByHand | None = None


@dataclass(frozen=True)
class Result:
    """One student's attempt at a sheet, graded.

    Parameters
    ----------
    student, written_name, files, problems, attempt
        As in `classroom.submissions.collect.Submission`.
    answers : list of Answer
        One for each exercise of the sheet, in its order.
    points, of : number
        The total, and that of the sheet; 0 until the sheet says what its exercises are worth.
    attempts : list of str
        Which of several attempts counts, and what others there are.
    late : Deduction or None
        What being late took off; None where no due date was set or nothing was handed in.
    remark : ByHand or None
        The teacher's comment on the whole sheet.
    """

    student: str
    written_name: str | None
    files: list[str]
    problems: list[str]
    answers: list[Answer]
    attempt: int = 1
    points: float = 0
    of: float = 0
    attempts: list[str] = field(default_factory=list)
    late: Deduction | None = None
    remark: ByHand | None = None


class Dates(NamedTuple):
    """When a sheet was due, what being late costs, and where hand-in times were found."""

    due: str
    rule: str
    sources: list[str]


class Alike(NamedTuple):
    """Two students some of whose answers are alike, and how near each is, from 0 to 1."""

    students: tuple[str, str]
    exercises: dict[str, float]


@dataclass(frozen=True)
class Run:
    """What the results of a class have in common, for its reports.

    Parameters
    ----------
    sheet : str
        Its name.
    exercises : sequence of str
        Its exercises, in order.
    of : number
        Its points.
    version : str
        That of the package.
    isolation : dict of str to bool
        Layers, as `classroom.grading.judge.probe` gives them.
    partial : bool
        Whether groups of checks count one by one.
    attempts : str or None
        Which of several attempts counts.
    late : Dates or None
        None where no due date was set.
    again : list of str
        Students who alone were graded, again.
    unfit : list of str
        Words for each mark by hand that fits nothing.
    alike : list of Alike
        Answers that are alike, for the teacher alone.
    borrowed : list of str
        Words for what has somebody else's numbers, for the teacher alone.
    """

    sheet: str
    exercises: Sequence[str]
    of: float
    version: str
    isolation: Mapping[str, Any]
    partial: bool = False
    attempts: str | None = None
    late: Dates | None = None
    again: Sequence[str] = ()
    unfit: Sequence[str] = ()
    alike: Sequence[Alike] = ()
    borrowed: Sequence[str] = ()


# What the sheet, the dates and the teacher add is found anew at each run, and is not kept.
ADDED = ("points", "of", "attempts", "late", "remark")


def as_data(result: Result) -> dict[str, Any]:
    """Return what is kept of a result: all that the grader itself found."""
    data = {name: value for name, value in asdict(result).items() if name not in ADDED}
    for answer in data["answers"]:
        del answer["mark"]
        if answer["text"] is None:
            del answer["text"]
    return data


def from_data(data: Mapping[str, Any]) -> Result:
    """Return a result that was kept.

    Raises
    ------
    TypeError, LookupError
        If it isn't one: a part is missing, or there's one that nobody knows.
    """
    return Result(**{**data, "answers": [Answer(**answer) for answer in data["answers"]]})
