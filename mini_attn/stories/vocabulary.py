"""The words of the stories, and the way from text to numbers and back."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError, DTypeError, ShapeError

__all__ = ["CLASSES", "NUMBERS", "START", "WORDS", "check_ids", "decode", "encode"]

START = "<s>"
_GIRLS = "lily mia anna emma zoe ella rose sara"
_BOYS = "tom ben max sam leo jack tim noah"
_LISTS = {
    "girl": _GIRLS,
    "boy": _BOYS,
    "name": f"{_GIRLS} {_BOYS}",
    "object": "ball doll book hat cup key drum kite bear boat coin ring bell car box map",
    "colour": "red blue green yellow white black pink brown",
    "place": "park garden forest school river market beach farm",
    "feeling": "happy sad glad proud tired excited brave calm",
}
# A slot of the grammar is filled from one of these.
CLASSES = {name: tuple(words.split()) for name, words in _LISTS.items()}
_OTHERS = (
    ". a all and at back began both came day end for found from gave girl boy had have he her "
    "him home last laughed let liked looked met much named now once one put ran rain she "
    "sun swapped talked the then there they time to together took too tree under upon very "
    "walked warm was went with by it"
)
WORDS: tuple[str, ...] = (
    START,
    *_OTHERS.split(),
    *(word for name in ("name", "object", "colour", "place", "feeling") for word in CLASSES[name]),
)
NUMBERS = {word: number for number, word in enumerate(WORDS)}


def encode(text: str) -> NDArray[np.int64]:
    """The numbers of the words of a text.

    ``ids[i] = WORDS.index(word i)``

    Parameters
    ----------
    text : str
        Words and full stops with spaces between them.

    Returns
    -------
    integer array (length,)
        One number for each word.

    Raises
    ------
    DTypeError
        If it is no text.
    ConfigError
        If a word is not in the vocabulary; the message names near ones.

    Examples
    --------
    >>> encode("<s> . a")
    array([0, 1, 2])
    """
    if not isinstance(text, str):
        raise DTypeError(f"text must be a str, got {text!r:.60} ({type(text).__name__})")
    words = text.split()
    for place, word in enumerate(words):
        if word not in NUMBERS:
            near = get_close_matches(word.lower().strip(".,!?"), WORDS, n=3)
            hint = f"near ones: {', '.join(near)}" if near else "nothing comes near it"
            raise ConfigError(
                f"word {place} of the text, {word!r:.60}, is none of the {len(WORDS)} words that "
                f"stories have (small letters, spaces around full stops); {hint}"
            )
    return np.array([NUMBERS[word] for word in words], dtype=np.int64)


def decode(ids: Iterable[int] | NDArray[Any]) -> str:
    """The text of a row of numbers.

    ``text = " ".join(WORDS[i] for i in ids)``

    Parameters
    ----------
    ids : integers (length,)
        Numbers of words.

    Returns
    -------
    str
        The words with spaces between them.

    Raises
    ------
    ShapeError
        If it is no single row.
    DTypeError
        If the numbers are no integers.
    ConfigError
        If a number stands for no word.

    Examples
    --------
    >>> decode([0, 1, 2])
    '<s> . a'
    """
    return " ".join(WORDS[i] for i in check_ids(ids, axes="length", least=0).tolist())


def check_ids(ids: Any, *, axes: str, least: int = 1) -> NDArray[np.int64]:
    """Numbers of words as an array, or an error that says what is wrong with them.

    Parameters
    ----------
    ids : integers
        Numbers of words, an array or lists.
    axes : str
        Names of the axes, for example ``"n length"``; a second allowed form stands after a bar.
    least : int
        Fewest words of a row.

    Returns
    -------
    integer array
        The numbers.

    Raises
    ------
    ShapeError
        If there are other axes, or too few words.
    DTypeError
        If the numbers are no integers.
    ConfigError
        If a number stands for no word.

    Examples
    --------
    >>> check_ids([3, 4], axes="length")
    array([3, 4])
    """
    try:
        array = np.asarray(ids)
    except (TypeError, ValueError) as error:  # rows of several lengths
        raise ShapeError(f"ids must be ({axes}), got {ids!r:.60}: {error}") from None
    if array.ndim not in [len(form.split()) for form in axes.split("|")]:
        raise ShapeError(f"ids must be ({axes}), got shape {array.shape}")
    if array.shape[-1] < least:
        raise ShapeError(f"ids must hold at least {least} words a row, got shape {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise DTypeError(f"ids must be integers, got {array.dtype}: {ids!r:.60}")
    wrong = (array < 0) | (array >= len(WORDS))
    if wrong.any():
        place = tuple(int(axis[0]) for axis in np.nonzero(wrong))
        raise ConfigError(
            f"ids must be numbers of words, 0 to {len(WORDS) - 1}; the one at "
            f"{place[0] if len(place) == 1 else place} is {int(array[place])}"
        )
    return array.astype(np.int64)
