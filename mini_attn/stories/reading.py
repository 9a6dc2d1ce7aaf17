"""Readers: they follow many rows at once, a word a step, and know what comes next.

A reader says the chance of each next word in `probabilities` and takes a word a row in `step`.
It is exact: a row that leaves its language has no next word from there on, only zeros.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mini_attn.stories.machine import machine
from mini_attn.stories.sampling import PERIODS
from mini_attn.stories.vocabulary import WORDS

__all__ = ["MixtureReader", "Reader", "RepeatReader", "StoryReader", "reader"]

Array = NDArray[Any]
VOCAB = len(WORDS)


class Reader(Protocol):
    """What all readers do."""

    def probabilities(self) -> Array:
        """The chance of each next word, (n, vocab); zeros outside of the language."""

    def step(self, words: Array) -> Array:
        """Read one word in each row, (n,); the chance that each had, (n,)."""


def _gathered(words: Array, chances: Array) -> Array:
    """Chances summed at their words: (n, ways) to (n, vocab)."""
    n = len(words)
    places = (words + VOCAB * np.arange(n)[:, None]).ravel()
    return np.bincount(places, chances.ravel(), n * VOCAB).reshape(n, VOCAB)


def _scaled(belief: Array, total: Array) -> Array:
    """Beliefs that sum to 1, or zeros where nothing is left to believe."""
    return belief / np.where(total > 0, total, 1.0)[:, None]


class StoryReader:
    """Reads stories: a node of the machine for each row, and what its registers hold.

    Parameters
    ----------
    n : int
        Rows.
    """

    def __init__(self, n: int) -> None:
        self.machine = machine()
        self.node = np.zeros(n, dtype=np.int64)
        self.held = np.zeros((n, self.machine.orders.shape[1]), dtype=np.int64)

    def _said(self) -> Array:
        """The word of each way that is not drawn, (n, edges)."""
        m, node = self.machine, self.node
        held = np.take_along_axis(self.held, m.register[node], axis=1)
        return np.where(m.word[node] >= 0, m.word[node], m.forms[m.form[node], held])

    def _free(self, rows: Array, drawn: Array) -> Array:
        """Mark the words of a class that no register holds, (rows, vocab)."""
        free = self.machine.classes[drawn]
        np.put_along_axis(free, self.held[rows], False, axis=1)
        return free

    def probabilities(self) -> Array:
        """The chance of each next word, (n, vocab); zeros outside of the language."""
        m, node = self.machine, self.node
        weight, drawn = m.weight[node], m.drawn[node]
        chances = _gathered(self._said(), np.where(drawn < 0, weight, 0.0))
        for edge in np.flatnonzero((drawn >= 0).any(axis=0)):
            rows = np.flatnonzero(drawn[:, edge] >= 0)
            free = self._free(rows, drawn[rows, edge])
            chances[rows] += weight[rows, edge, None] * free / free.sum(axis=1, keepdims=True)
        return chances

    def step(self, words: Array) -> Array:
        """Read one word in each row, (n,); the chance that each had, (n,)."""
        m, node, rows = self.machine, self.node, np.arange(len(words))
        drawn = m.drawn[node]
        new = ~(self.held == words[:, None]).any(axis=1)
        fits = np.where(
            drawn < 0,
            self._said() == words[:, None],
            m.classes[drawn, words[:, None]] & new[:, None],
        )
        fits &= m.weight[node] > 0
        edge = fits.argmax(axis=1)
        chosen = drawn[rows, edge]
        chances = np.where(fits.any(axis=1), m.weight[node, edge], 0.0)
        filled = np.flatnonzero(chosen >= 0)
        chances[filled] /= self._free(filled, chosen[filled]).sum(axis=1)
        into = np.where(chosen >= 0, m.register[node, edge], 0)
        self.held[rows, into] = words
        self.held[:, 0] = 0
        self.held = np.take_along_axis(self.held, m.orders[m.order[node, edge]], axis=1)
        self.node = np.where(chances > 0, m.then[node, edge], len(m.weight) - 1)
        return chances

    def asked(self) -> Array:
        """The next word where it has to be recalled, else -1, (n,)."""
        asked = self.machine.asked[self.node]
        said = np.take_along_axis(self._said(), asked.argmax(axis=1)[:, None], axis=1)[:, 0]
        return np.where(asked.any(axis=1), said, -1)


class RepeatReader:
    """Reads repeats: the words of each row's block, and its length once that has shown.

    No two words of a block are alike, so the first word that comes again says that it is over.

    Parameters
    ----------
    n : int
        Rows.
    """

    def __init__(self, n: int) -> None:
        least, most = PERIODS
        # The chance that a block which has this many words is over: 0, …, 0, 1/53, 1/52, …, 1.
        self.over = np.zeros(most + 1)
        self.over[least:] = 1 / np.arange(most + 1 - least, 0, -1)
        self.block = np.zeros((n, most), dtype=np.int64)
        self.said = np.zeros((n, VOCAB), dtype=bool)
        self.read = np.full(n, -1)  # words after START
        self.period = np.zeros(n, dtype=np.int64)  # 0 until it has shown
        self.inside = np.ones(n, dtype=bool)

    def _law(self) -> tuple[Array, Array, Array]:
        """The word that must come if the block is over, that chance, and that of a new word."""
        place = self.read % np.maximum(self.period, 1)
        again = np.take_along_axis(self.block, place[:, None], axis=1)[:, 0]
        read = np.minimum(self.read, len(self.over) - 1)
        over = np.where(self.period > 0, 1.0, self.over[read])
        return again, over, (1 - over) / (VOCAB - 1 - read)

    def probabilities(self) -> Array:
        """The chance of each next word, (n, vocab); zeros outside of the language."""
        again, over, fresh = self._law()
        chances = np.where(self.said, 0.0, fresh[:, None])
        chances[:, 0] = 0.0
        chances[np.arange(len(again)), again] += over
        chances[self.read < 0] = np.eye(1, VOCAB)
        return np.asarray(chances * self.inside[:, None])

    def step(self, words: Array) -> Array:
        """Read one word in each row, (n,); the chance that each had, (n,)."""
        rows = np.arange(len(words))
        again, over, fresh = self._law()
        chances = np.where(self.said[rows, words] | (words == 0), 0.0, fresh)
        chances += np.where(words == again, over, 0.0)
        chances = np.where(self.read < 0, words == 0, chances) * self.inside
        self.inside &= chances > 0
        shown = self.said[rows, words] & (self.period == 0)
        self.period = np.where(shown & self.inside, self.read, self.period)
        fresh = np.flatnonzero(self.inside & (self.read >= 0) & (self.period == 0))
        self.block[fresh, self.read[fresh]] = words[fresh]
        self.said[fresh, words[fresh]] = True
        self.read += 1
        return chances


class MixtureReader:
    """Reads rows that are stories or repeats: both readers, and the chance of each.

    Parameters
    ----------
    n : int
        Rows.
    share : float
        Share of story rows.
    """

    def __init__(self, n: int, share: float) -> None:
        self.parts: tuple[Reader, Reader] = (StoryReader(n), RepeatReader(n))
        self.belief = np.tile([share, 1 - share], (n, 1))

    def probabilities(self) -> Array:
        """The chance of each next word, (n, vocab); zeros outside of the language."""
        stories, repeats = (part.probabilities() for part in self.parts)
        return self.belief[:, :1] * stories + self.belief[:, 1:] * repeats

    def step(self, words: Array) -> Array:
        """Read one word in each row, (n,); the chance that each had, (n,)."""
        belief = self.belief * np.stack([part.step(words) for part in self.parts], axis=1)
        chances = belief.sum(axis=1)
        self.belief = _scaled(belief, chances)
        return chances


def reader(n: int, stories: float) -> Reader:
    """A reader of so many rows, the simplest that will do.

    Parameters
    ----------
    n : int
        Rows.
    stories : float
        Chance that a row tells stories.

    Returns
    -------
    Reader
        A new reader, before the first word.

    Examples
    --------
    >>> float(reader(1, 0.5).probabilities()[0, 0])
    1.0
    """
    if stories == 1:
        return StoryReader(n)
    return MixtureReader(n, stories) if stories else RepeatReader(n)
