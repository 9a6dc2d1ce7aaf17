"""The true chance of each next word, and what remains uncertain even to one who knows it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mini_attn.shapes import check_count
from mini_attn.stories.reading import StoryReader, reader
from mini_attn.stories.sampling import SHARE, check_kind, sample_rows
from mini_attn.stories.vocabulary import WORDS, check_ids

__all__ = ["Floor", "Recall", "floor", "next_probabilities", "row_probabilities", "who_has"]

Array = NDArray[Any]


class Floor(NamedTuple):
    """The least loss that any model can have, in nats.

    Parameters
    ----------
    nats : float
        Mean entropy of a next word.
    standard_error : float
        Of that mean, from the spread between rows.
    by_position : array (length - 1,)
        Mean entropy of the word at each position from 1 on.
    """

    nats: float
    standard_error: float
    by_position: Array


class Recall(NamedTuple):
    """Places where the next word follows from who has what, or from what was put where.

    Parameters
    ----------
    rows, positions : integer array (places,)
        The last word that is read before the answer.
    answers : integer array (places,)
        The next word.
    distances : integer array (places,)
        How far before the answer it was said last.
    """

    rows: Array
    positions: Array
    answers: Array
    distances: Array


def row_probabilities(ids: Any, *, kind: str = "mixture", share: float = SHARE) -> Array:
    """The chance of each next word after each word of whole rows.

    ``out[..., t, w] = P(ids[t + 1] = w | ids[0 … t])``

    Parameters
    ----------
    ids : integers (length,) or (n, length)
        Rows of words, each from `START` on.
    kind : str
        The language: ``"mixture"``, ``"stories"`` or ``"repeats"``.
    share : float
        Share of story rows in the mixture.

    Returns
    -------
    float64 array (length, vocab) or (n, length, vocab)
        Rows that sum to 1, or zeros from where a row leaves the language.

    Raises
    ------
    ShapeError
        If the ids have other axes, or there are none.
    DTypeError
        If they are no integers.
    ConfigError
        If one stands for no word, the kind is unknown, or the share not from 0 to 1.

    Notes
    -----
    One step of the reader for each word, for all rows at once.

    Examples
    --------
    >>> from mini_attn.stories.vocabulary import encode
    >>> row_probabilities(encode("<s> once upon"), kind="stories").max(axis=1)
    array([1., 1., 1.])
    """
    stories = check_kind(kind, share)
    array = check_ids(ids, axes="length|n length")
    rows = np.atleast_2d(array)
    reading = reader(len(rows), stories)
    out = np.empty((*rows.shape, len(WORDS)))
    for t, words in enumerate(rows.T):
        reading.step(words)
        out[:, t] = reading.probabilities()
    return out.reshape(*array.shape, -1)


def next_probabilities(prefix: Any, *, kind: str = "mixture", share: float = SHARE) -> Array | None:
    """The chance of each next word after a prefix.

    ``p[w] = P(prefix + w) / P(prefix)``

    Parameters
    ----------
    prefix : integers (length,)
        Words from `START` on.
    kind : str
        The language: ``"mixture"``, ``"stories"`` or ``"repeats"``.
    share : float
        Share of story rows in the mixture.

    Returns
    -------
    float64 array (vocab,) or None
        Chances that sum to 1; None where the prefix cannot occur.

    Raises
    ------
    ShapeError
        If the prefix is empty or no single row.
    DTypeError
        If the ids are no integers.
    ConfigError
        If one stands for no word, the kind is unknown, or the share not from 0 to 1.

    Examples
    --------
    >>> from mini_attn.stories.vocabulary import WORDS, encode
    >>> p = next_probabilities(encode("<s> once upon a time there was a"), kind="stories")
    >>> {WORDS[i]: float(p[i]) for i in p.nonzero()[0]}
    {'girl': 0.5, 'boy': 0.5}
    >>> next_probabilities(encode("<s> once upon the time"), kind="stories") is None
    True
    """
    stories = check_kind(kind, share)
    reading = reader(1, stories)
    for word in check_ids(prefix, axes="length"):
        reading.step(word[None])
    chances: Array = reading.probabilities()[0]
    return chances if chances.any() else None


def _entropies(ids: Array, stories: float) -> Array:
    """Entropy in nats of the words at positions 1 to length - 1, (n, length - 1)."""
    reading = reader(len(ids), stories)
    out = np.empty((len(ids), ids.shape[1] - 1))
    for t in range(ids.shape[1] - 1):
        reading.step(ids[:, t])
        chances = reading.probabilities()
        out[:, t] = -(chances * np.log(np.where(chances > 0, chances, 1.0))).sum(axis=1)
    return out


def floor(
    kind: str = "mixture",
    *,
    share: float = SHARE,
    length: int = 256,
    rows: int = 1000,
    seed: int = 0,
) -> Floor:
    """The least mean loss that a model can have on rows of the language.

    ``-mean over rows and positions of sum over w of p(w) ln p(w)``

    Parameters
    ----------
    kind : str
        The language: ``"mixture"``, ``"stories"`` or ``"repeats"``.
    share : float
        Share of story rows in the mixture.
    length : int
        Words of a row; its first one is given, the others are to be foretold.
    rows : int
        Rows that are sampled of each kind, at least 2.
    seed : int
        Chooses them.

    Returns
    -------
    Floor
        Nats a word, their standard error, and the nats of each position.

    Raises
    ------
    ConfigError
        If a number is too small, the kind unknown, or the share not from 0 to 1.

    Notes
    -----
    Each word counts with the entropy of its true chances, not with the surprise at the word
    that came: the same mean, with less spread. Chance is left in the choice of rows only.

    Examples
    --------
    >>> found = floor("stories", rows=50, length=128)
    >>> round(found.nats, 3), round(found.standard_error, 3)
    (0.454, 0.005)
    """
    check_count("length", length, least=2)
    check_count("rows", rows, least=2)
    stories = check_kind(kind, share)
    by_position, variance = np.zeros(length - 1), 0.0
    # Both kinds of rows are sampled and weighed, so that their number is not left to chance.
    for part, chance in (("stories", stories), ("repeats", 1 - stories)):
        if chance:
            ids = sample_rows(rows, length, seed, kind=part)
            entropy = _entropies(ids, stories)
            by_position += chance * entropy.mean(axis=0)
            variance += chance**2 * entropy.mean(axis=1).var(ddof=1) / rows
    return Floor(float(by_position.mean()), float(np.sqrt(variance)), by_position)


def who_has(ids: Any) -> Recall:
    """Find where the next word follows from who has what, or from what was put where.

    ``"now tom had the" -> "ball"``

    Parameters
    ----------
    ids : integers (length,) or (n, length)
        Rows of words, each from `START` on; rows of repeats have no such places.

    Returns
    -------
    Recall
        Rows, positions, answers, and how long ago the answers were said.

    Raises
    ------
    ShapeError
        If the ids have other axes, or there are none.
    DTypeError
        If they are no integers.
    ConfigError
        If one stands for no word.

    Notes
    -----
    The word after position t is the answer: a model's choice there is right if its likeliest
    word is ``answers``. After a row's last word there is one, too, if the story would go on so.

    Examples
    --------
    >>> from mini_attn.stories.vocabulary import decode
    >>> found = who_has(sample_rows(1, 60, seed=2, kind="stories"))
    >>> decode(found.answers), found.distances.tolist()
    ('sara drum', [12, 25])
    """
    rows = np.atleast_2d(check_ids(ids, axes="length|n length"))
    reading = StoryReader(len(rows))
    last = np.full((len(rows), len(WORDS)), -1)  # where each word was said last
    places = []
    for t, words in enumerate(rows.T):
        reading.step(words)
        last[np.arange(len(rows)), words] = t
        answers = reading.asked()
        asked = np.flatnonzero(answers >= 0)
        ago = t + 1 - last[asked, answers[asked]]
        places.append(np.stack([asked, np.full_like(asked, t), answers[asked], ago]))
    found = np.concatenate(places, axis=1)
    return Recall(*found[:, np.lexsort(found[1::-1])])
