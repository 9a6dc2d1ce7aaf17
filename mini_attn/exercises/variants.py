"""Numbers that each student gets drawn, and from which everything in an exercise follows.

What is drawn depends on a text alone, by a digest: NumPy's generators may draw otherwise in its
next version, and the notebook in a browser has to agree with the teacher's machine.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import Exercise

__all__ = ["KEY", "drawn", "in_words", "key_of", "mine", "variant"]

KEY = re.compile("[0-9a-f]{12}")  # of a student
TRIES = 200
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
         "eleven", "twelve", "thirteen")  # fmt: skip

_session = {"key": ""}  # of the notebook that runs


def variant(key: str) -> None:
    """Take the numbers that were drawn for one student: `check` and `hint` go by them.

    Parameters
    ----------
    key : str
        Stands in the first cell of a sheet whose numbers were drawn; empty for the book's.

    Raises
    ------
    ConfigError
        If it is none.

    Examples
    --------
    >>> variant("ada")
    Traceback (most recent call last):
    mini_attn.errors.ConfigError: 'ada' is no key to drawn numbers: restore its line
    """
    if not isinstance(key, str) or not (key == "" or KEY.fullmatch(key)):
        words = "is no key to drawn numbers: restore its line"
        raise ConfigError(f"{str(key)[:40]!r} {words}")
    _session["key"] = key


def mine(task: Exercise) -> Exercise:
    """The exercise with the numbers of the notebook that runs."""
    return task.for_student(_session["key"])


def in_words(number: int) -> str:
    """A small number as a text says it, a larger one in digits.

    Examples
    --------
    >>> in_words(8), in_words(16)
    ('eight', '16')
    """
    return WORDS[number] if number < len(WORDS) else str(number)


def key_of(seed: str, name: str) -> str:
    """Return what a student's numbers are drawn from; it tells nothing about anybody else's.

    Parameters
    ----------
    seed : str
        The teacher's, for a whole class.
    name : str
        The student's, in the form that the grader compares names by.

    Returns
    -------
    str
        Twelve hexadecimal digits.

    Examples
    --------
    >>> key_of("autumn", "ada") == key_of("autumn", "ada") != key_of("autumn", "bo")
    True
    """
    return _digest(seed, name)[:12]


def _digest(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def drawn(
    make: Callable[..., Exercise], choices: Mapping[str, Sequence[Any]], key: str
) -> Exercise:
    """A pencil exercise with numbers that are drawn.

    Parameters
    ----------
    make : callable (**numbers) -> Exercise
        Makes the exercise; without numbers, that of the book.
    choices : mapping of str to sequence
        What each number may be.
    key : str
        Decides what is drawn.

    Returns
    -------
    Exercise
        One whose right answer is not the book's, and whose wrong answers can be told apart.

    Raises
    ------
    ConfigError
        If the choices hold none.
    """
    book = make()
    for attempt in range(TRIES):
        places = {name: int(_digest(key, attempt, name), 16) for name in choices}
        try:
            task = make(**{name: few[places[name] % len(few)] for name, few in choices.items()})
        except ConfigError:  # an answer and a mistake, or two mistakes, are the same number
            continue
        # Two mistakes that give one number are one entry: then an idea is lost.
        whole = len(task.question.mistakes) == len(book.question.mistakes)
        if whole and task.question.answer != book.question.answer:
            return task
    raise ConfigError(f"{book.id}: no numbers were found whose mistakes can be told apart")
