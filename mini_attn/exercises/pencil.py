"""What exercises with pencil and paper share: one number, and how far another one is off."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Inputs

__all__ = ["cases", "expected", "times_too_many"]


def cases(rng: np.random.Generator) -> Cases:
    """A pencil exercise has one answer.

    Parameters
    ----------
    rng : numpy.random.Generator
        Not used: nothing is drawn.

    Returns
    -------
    dict of lists of dict
        One case without inputs.
    """
    return {"by hand": [{}]}


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One number.

    Parameters
    ----------
    inputs : dict
        Empty.

    Returns
    -------
    dict of (shape, dtype kind)
        The answer, a floating-point number.
    """
    return {"answer": ((), "f")}


def times_too_many(value: float, answer: float) -> str:
    """How far a wrong count is off, in words.

    Parameters
    ----------
    value, answer : float
        The wrong count and the right one, both above 0.

    Returns
    -------
    str
        Words that end in "too many" or "too few", with the factor where it is 1.5 or more.

    Examples
    --------
    >>> times_too_many(60.0, 30.0)
    '2.0 times too many'
    >>> times_too_many(29.0, 30.0)
    'a little too few'
    """
    word, far = ("many", value / answer) if value > answer else ("few", answer / value)
    return f"{far:,.1f} times too {word}" if far >= 1.5 else f"a little too {word}"
