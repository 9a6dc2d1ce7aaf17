"""What an exercise is: data, and two functions that never call the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mini_attn.errors import ConfigError

__all__ = ["Cases", "Exercise", "Inputs", "Outputs", "exercise", "exercise_ids"]

Inputs = dict[str, Any]
Cases = dict[str, list[Inputs]]
Outputs = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Parameters
    ----------
    id, page, title : str
        Its key, the page it stands on, and its title.
    kind : {"write", "bug", "pencil"}
        A function to write, one to repair, or a number.
    points, minutes, difficulty : int
        What it earns, what it takes, and 1 to 5.
    assessed : bool
        Whether its solution is kept from the page.
    hints : tuple of str
        The idea, then the steps.
    common_errors : tuple of str
        What often goes wrong, for the page.
    cases : callable (rng) -> dict of lists of dict
        Inputs, by the check that they belong to, in this order: "by hand" (tiny), "random",
        "property" (what the exercise is about), "edges".
    expected : callable (inputs) -> dict of (shape, dtype kind)
        What the answer to these inputs looks like, by name, in order.
    judge : callable (inputs, outputs) -> str or None
        The idea that these outputs lack, or None. Arrays only: it never calls the answer.
    """

    id: str
    page: str
    title: str
    kind: str
    points: int
    minutes: int
    difficulty: int
    assessed: bool
    hints: tuple[str, ...]
    common_errors: tuple[str, ...]
    cases: Callable[[np.random.Generator], Cases]
    expected: Callable[[Inputs], dict[str, tuple[tuple[int, ...], str]]]
    judge: Callable[[Inputs, Outputs], str | None]

    @property
    def label(self) -> str:
        """Difficulty, minutes and points in one line."""
        dots = "●" * self.difficulty + "○" * (5 - self.difficulty)
        return f"difficulty {dots} · {self.minutes} min · {self.points} points"


def exercise_ids() -> list[str]:
    """All exercises, by the files of the bank.

    Returns
    -------
    list of str
        Their ids, sorted.
    """
    folder = Path(__file__).with_name("bank")
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


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
    if exercise_id not in exercise_ids():
        known = ", ".join(exercise_ids())
        raise ConfigError(f"there is no exercise {str(exercise_id)[:40]!r}; there are {known}")
    found: Exercise = import_module(f"mini_attn.exercises.bank.{exercise_id}").EXERCISE
    return found
