"""Hints to an exercise, one after the other."""

from __future__ import annotations

from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise
from mini_attn.exercises.variants import mine

__all__ = ["hint"]

_shown: dict[str, int] = {}


def hint(exercise_id: str, number: int | None = None) -> None:
    """Print a hint: first the idea, then the steps.

    Parameters
    ----------
    exercise_id : str
        Which exercise.
    number : int or None
        1 or 2; None gives the next one that was not shown.

    Raises
    ------
    ConfigError
        If there is no such exercise or hint.
    """
    hints = mine(exercise(exercise_id)).hints
    if number is None:
        number = min(_shown.get(exercise_id, 0) + 1, len(hints))
    if number not in range(1, len(hints) + 1):
        raise ConfigError(f"{exercise_id} has hints 1 to {len(hints)}, not {number!r}")
    _shown[exercise_id] = number
    print(f"Hint {number} of {len(hints)}: {hints[number - 1]}")
