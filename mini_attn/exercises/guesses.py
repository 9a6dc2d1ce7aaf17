"""Which foreseen mistake explains an answer: the one place that chooses among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

__all__ = ["TWO", "explain", "with_pairs"]

TWO = "Two things."  # how the idea of two mistakes at once begins


def explain(
    answer: Any, guesses: Iterable[tuple[Any, str]], same: Callable[[Any, Any], Any]
) -> str | None:
    """The idea that an answer lacks: that of the first guess which explains it.

    Parameters
    ----------
    answer : array or number
        What the learner's answer gave.
    guesses : iterable of (array or number, str)
        What it would be with one idea missing, and that idea; the simplest mistake first.
    same : callable (answer, guess) -> bool
        Whether a guess is what came.

    Returns
    -------
    str or None
        The idea, or None where no guess explains the answer.

    Examples
    --------
    >>> slips = [(16, "Keys are counted, values are not."), (4, "That is one layer.")]
    >>> explain(4, slips, lambda answer, guess: answer == guess)
    'That is one layer.'
    """
    return next((idea for guess, idea in guesses if same(answer, guess)), None)


def with_pairs(
    make: Callable[..., Any], mistakes: Iterable[tuple[dict[str, Any], str]]
) -> list[tuple[Any, str]]:
    """Slips of one mistake each, then of two at once, as in an answer that is half repaired.

    Parameters
    ----------
    make : callable (**choices) -> answer
        The answer, where each choice is one thing that can be done wrong.
    mistakes : iterable of (dict, str)
        What is chosen wrongly, and the idea that is missing; the simplest mistake first.

    Returns
    -------
    list of (answer, str)
        One mistake each, then every two that choose different things.

    Examples
    --------
    >>> def half(x, by=2, plus=0):
    ...     return x / by + plus
    >>> with_pairs(lambda **wrong: half(4, **wrong), [({"by": 4}, "By 2."), ({"plus": 1}, "No 1.")])
    [(1.0, 'By 2.'), (3.0, 'No 1.'), (2.0, 'Two things. By 2. And: No 1.')]
    """
    singly = list(mistakes)
    pairs = [
        ({**one, **other}, f"{TWO} {idea} And: {also}")
        for (one, idea), (other, also) in combinations(singly, 2)
        if not one.keys() & other.keys()
    ]
    return [(make(**choices), idea) for choices, idea in singly + pairs]
