"""Merging neighbors by lowest rank: a heap of pairs and a linked list of what is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush

Pair = tuple[int, int]
Merges = Mapping[Pair, "tuple[int, int] | None"]  # rank and new id of each pair that merges


class Known(dict[Pair, "tuple[int, int] | None"]):
    """Merges that a list holds; any other pair has none."""

    def __missing__(self, pair: Pair) -> None:
        return None


class ByRank(dict[Pair, "tuple[int, int] | None"]):
    """Merges of two tokens whose bytes together are a token: its id is their rank."""

    def __init__(self, ids: Mapping[bytes, int], tokens: Mapping[int, bytes]) -> None:
        self.ids, self.tokens = ids, tokens

    def __missing__(self, pair: Pair) -> tuple[int, int] | None:
        made = self.ids.get(self.tokens[pair[0]] + self.tokens[pair[1]])
        return None if made is None else (made, made)


def steps(ids: list[int], merges: Merges) -> Iterator[int]:
    """Merge in place and yield each merge's rank; an id that was merged away is -1.

    The pair with the lowest rank is next, the leftmost of equal ones. Each merge makes at most
    two new pairs, so that n ids take at most 3 n entries of the heap.
    """
    length = len(ids)
    before, after = list(range(-1, length - 1)), list(range(1, length + 1))
    heap = []
    for at in range(length - 1):
        pair = ids[at], ids[at + 1]
        if (merge := merges[pair]) is not None:
            heap.append((merge[0], at, pair, merge[1]))
    heapify(heap)
    while heap:
        rank, at, pair, made = heappop(heap)
        gone = after[at]
        if gone == length or (ids[at], ids[gone]) != pair:
            continue  # one of the two has been merged since
        ids[at], ids[gone] = made, -1
        following = after[at] = after[gone]
        if following < length:
            before[following] = at
        for left, right in ((before[at], at), (at, following)):
            if left >= 0 and right < length:
                pair = ids[left], ids[right]
                if (merge := merges[pair]) is not None:
                    heappush(heap, (merge[0], left, pair, merge[1]))
        yield rank


def merged(ids: list[int], merges: Merges) -> list[int]:
    """The ids that are left when no neighbors merge any more; the list given is used up."""
    for _ in steps(ids, merges):
        pass
    return [token for token in ids if token >= 0]
