"""Rows of stories and of repeated words, drawn from a seed.

A row is told from the grammar, line by line, and knows nothing of the machine that reads it. Row i
depends on the seed and on i alone, and a shorter row is the beginning of a longer one.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, cycle, islice
from random import Random

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_choice, check_count, check_number
from mini_attn.stories.grammar import PRONOUNS, STATES, Line, Slot, parse
from mini_attn.stories.vocabulary import CLASSES, NUMBERS, START, WORDS

__all__ = ["KINDS", "PERIODS", "SHARE", "check_kind", "sample_rows", "sample_story"]

KINDS = ("mixture", "stories", "repeats")
SHARE = 0.25  # of rows that tell stories: copying is the slower one to learn
PERIODS = (8, 60)  # words of a block before it is repeated, fewest and most, all equally likely


@lru_cache(maxsize=1)
def _ways() -> dict[str, tuple[list[float], list[tuple[Line, tuple[Slot, ...]]]]]:
    """Per state the summed chances of its lines, and the lines with their slots."""
    return {
        state: (
            list(accumulate(line.weight for line in lines)),
            [(x, parse(x.text)) for x in lines],
        )
        for state, lines in STATES.items()
    }


def _story(chance: Random) -> list[str]:
    """One story, from `START` to its end."""
    state = "start"
    words: list[str] = []
    held: dict[str, str] = {}
    while not words or state != "start":
        total, lines = _ways()[state]
        line, slots = lines[bisect(total, chance.random() * total[-1])]
        for slot in slots:
            if slot.drawn:
                free = [word for word in CLASSES[slot.drawn] if word not in held.values()]
                held[slot.register] = free[int(chance.random() * len(free))]
            word = slot.word or held[slot.register]
            words.append(PRONOUNS[slot.form][word] if slot.form else word)
        if line.moves:
            moves = [move.split("=") for move in line.moves.split()]
            held |= {to: held.get(source, "") for to, source in moves}
        state = line.then
    return words


def _block(chance: Random) -> list[str]:
    """The words of a block, no two alike."""
    least, most = PERIODS
    period = least + int(chance.random() * (most + 1 - least))
    left = list(WORDS[1:])
    return [left.pop(int(chance.random() * len(left))) for _ in range(period)]


def _words(chance: Random, stories: bool) -> Iterator[str]:
    """Words of a row without end."""
    if stories:
        while True:
            yield from _story(chance)
    yield START
    yield from cycle(_block(chance))


def check_kind(kind: str, share: float) -> float:
    """The chance that a row tells stories; refuse what is no kind or no chance.

    Parameters
    ----------
    kind : str
        ``"mixture"``, ``"stories"`` or ``"repeats"``.
    share : float
        Share of story rows in the mixture.

    Returns
    -------
    float
        The share of the mixture, 1 of stories, 0 of repeats.

    Raises
    ------
    ConfigError
        If the kind is none of the three, or the share is not from 0 to 1.

    Examples
    --------
    >>> check_kind("stories", 0.5)
    1.0
    """
    check_choice("kind", kind, KINDS)
    if not 0 <= check_number("share", share) <= 1:
        raise ConfigError(f"share must be from 0 to 1, got {share!r:.60}")
    return {"mixture": float(share), "stories": 1.0, "repeats": 0.0}[kind]


def sample_story(seed: int) -> str:
    """One story, as a reader would read it.

    ``words ~ grammar, from the first line to "the end ."``

    Parameters
    ----------
    seed : int
        Chooses the story, 0 or more.

    Returns
    -------
    str
        Its words, without `START`.

    Raises
    ------
    ConfigError
        If the seed is no whole number of at least 0.

    Examples
    --------
    >>> sample_story(7)[-28:]
    'sara had the key . the end .'
    """
    return " ".join(_story(Random(check_count("seed", seed, least=0)))[1:])


def sample_rows(
    n: int, length: int, seed: int, *, kind: str = "mixture", share: float = SHARE
) -> NDArray[np.int64]:
    """Rows of words, each full of stories or of one block that is repeated.

    ``row = <s> story <s> story …  or  <s> w1 … wk w1 … wk w1 …, cut at the length``

    Parameters
    ----------
    n, length : int
        Rows, and words of each.
    seed : int
        Chooses the rows, 0 or more.
    kind : str
        ``"stories"``, ``"repeats"``, or ``"mixture"``: each row is one of them.
    share : float
        Share of story rows in the mixture.

    Returns
    -------
    integer array (n, length)
        Numbers of words.

    Raises
    ------
    ConfigError
        If a count is too small, the kind unknown, or the share not from 0 to 1.

    Notes
    -----
    A block has k words, 8 to 60 with the same chance, no two alike and none of them `START`. Row i
    depends on the seed and on i alone, and a shorter row is the beginning of a longer one.
    Chance comes from Python's ``random.Random.random``, whose numbers no version changes.

    Examples
    --------
    >>> sample_rows(2, 4, seed=0, kind="stories").tolist()
    [[0, 33, 53, 2], [0, 33, 53, 2]]
    """
    check_count("n", n)
    check_count("length", length)
    check_count("seed", seed, least=0)
    stories = check_kind(kind, share)
    rows = np.empty((n, length), dtype=np.int64)
    for i, row in enumerate(rows):
        chance = Random(seed << 32 | i)
        words = _words(chance, chance.random() < stories)
        row[:] = [NUMBERS[word] for word in islice(words, length)]
    return rows
