"""Which pairs to merge: those that a text has most often, one after another."""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import pairwise

from mini_attn.errors import ConfigError, DTypeError
from mini_attn.tokens._alphabet import BYTE_ORDER, whole_characters
from mini_attn.tokens.patterns import cut

__all__ = ["BYTE_ORDER", "learn_merges"]

Pair = tuple[int, int]


def learn_merges(
    text: str | Iterable[str], count: int, *, pattern: str = "gpt2"
) -> list[tuple[bytes, bytes]]:
    """Learn byte pairs: merge the most frequent neighbors until there are enough new tokens.

    ``pair = argmax of count(left, right)``, over all pieces of the text

    Parameters
    ----------
    text : str or iterable of str
        What to learn from; each str is cut into pieces by itself.
    count : int
        How many tokens to add to the 256 bytes; fewer come if no piece has two tokens any more.
    pattern : str
        How the text is cut, as in `cut`; pairs don't reach across.

    Returns
    -------
    list of tuple of bytes
        The merges in their order, each the two tokens that become one.

    Raises
    ------
    ConfigError
        If count is below 0 or the pattern can't be used.
    DTypeError
        If the text is no str and has others than str, or count is no whole number.

    Notes
    -----
    Of equal counts, the pair of the lowest ids comes first; ids are the bytes in the order of
    `BYTE_ORDER`, then the tokens as they were made. So does the trainer of ``tokenizers``. A merge
    only changes the counts of the pairs beside it, and those wait in a heap: the time grows with
    the text's different pieces, not with their product with the merges.

    References
    ----------
    sennrich2016bpe, algorithm 1

    Examples
    --------
    >>> learn_merges("aaabdaaabac", 3)
    [(b'a', b'a'), (b'a', b'b'), (b'aa', b'ab')]
    """
    pieces = _pieces(text, pattern)
    tokens = [bytes([byte]) for byte in BYTE_ORDER]
    ids = {token: at for at, token in enumerate(tokens)}
    wanted = len(tokens) + _checked(count)
    words = [[ids[token[:1]] for token in _bytes_of(piece)] for piece in pieces]
    weights = list(pieces.values())
    counts, places = _counted(words, weights)
    heap = [(-number, pair) for pair, number in counts.items()]
    heapify(heap)
    merges: list[tuple[bytes, bytes]] = []
    while heap and len(tokens) < wanted:
        number, pair = heappop(heap)
        if counts[pair] != -number:  # it has lost some since it was pushed
            if counts[pair] > 0:
                heappush(heap, (-counts[pair], pair))
            continue
        left, right = tokens[pair[0]], tokens[pair[1]]
        made = ids.setdefault(left + right, len(tokens))
        if made == len(tokens):
            tokens.append(left + right)
        merges.append((left, right))
        changed: set[Pair] = set()
        for at in places.pop(pair):
            for other, change in _replaced(words[at], pair, made):
                counts[other] += change * weights[at]
                if change > 0:
                    places[other].add(at)
                    changed.add(other)
        counts[pair] = 0
        for other in changed:
            if counts[other] > 0:
                heappush(heap, (-counts[other], other))
    return merges


def _checked(count: int) -> int:
    try:
        whole = operator.index(count)
    except TypeError:
        raise DTypeError(f"count must be a whole number, got {count!r:.60}") from None
    if whole < 0:
        raise ConfigError(f"count must be 0 or more, got {whole}")
    return whole


def _pieces(text: str | Iterable[str], pattern: str) -> Counter[str]:
    """Count each piece."""
    found: Counter[str] = Counter()
    if not isinstance(text, Iterable):
        raise DTypeError(f"text must be a str or several, got {text!r:.60}")
    for part in (text,) if isinstance(text, str) else text:
        found.update(cut(part, pattern))
    return found


def _bytes_of(piece: str) -> list[bytes]:
    return [bytes([byte]) for byte in whole_characters(piece).encode()]


def _counted(
    words: list[list[int]], weights: list[int]
) -> tuple[defaultdict[Pair, int], defaultdict[Pair, set[int]]]:
    """Count each pair, and list the words that have it."""
    counts: defaultdict[Pair, int] = defaultdict(int)
    places: defaultdict[Pair, set[int]] = defaultdict(set)
    for at, word in enumerate(words):
        for pair in pairwise(word):
            counts[pair] += weights[at]
            places[pair].add(at)
    return counts, places


def _replaced(word: list[int], pair: Pair, made: int) -> list[tuple[Pair, int]]:
    """Merge a pair in a word, from left to right, and say which pairs came and went."""
    changes, kept, at = [], [], 0
    while at < len(word):
        if at + 1 == len(word) or (word[at], word[at + 1]) != pair:
            kept.append(word[at])
            at += 1
            continue
        if kept:
            changes += [((kept[-1], pair[0]), -1), ((kept[-1], made), 1)]
        if at + 2 < len(word):
            changes += [((pair[1], word[at + 2]), -1), ((made, word[at + 2]), 1)]
        kept.append(made)
        at += 2
    word[:] = kept
    return changes
