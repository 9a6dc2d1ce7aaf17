"""Ends that nobody holds, the least used first; a parent may become an end."""

import numpy as np


def evict_order(parents, holders, uses, count):
    n = len(parents)
    gone, behind = [], np.bincount(parents[parents >= 0], minlength=n)
    ends = {i for i in range(n) if not behind[i] and not holders[i]}
    while ends and len(gone) < count:
        block = min(ends, key=lambda i: (uses[i], i))
        ends.remove(block)
        gone.append(block)
        parent = parents[block]
        if parent >= 0:
            behind[parent] -= 1
            if not behind[parent] and not holders[parent]:
                ends.add(parent)
    return np.array(gone + [-1] * (count - len(gone)), dtype=int)


REFERENCE = evict_order


def _starter(parents, holders, uses, count):
    raise NotImplementedError


def _by_branch(parents, holders, uses, count):
    """A block's uses and those of all before it decide."""
    total = uses.copy()
    for i in range(len(uses)):
        j = parents[i]
        while j >= 0:
            total[i] += uses[j]
            j = parents[j]
    return evict_order(parents, holders, total, count)


def _by(may=None, rank=lambda uses, i: (uses, i), held=True, fill=-1):
    """One block after the other, by another rule."""

    def answer(parents, holders, uses, count):
        known, gone = set(range(len(parents))), [fill] * count
        for step in range(count):
            ends = known - {parents[j] for j in known}
            here = may(known, parents) if may else ends
            here = [j for j in here if not (held and holders[j])]
            if not here:
                break
            gone[step] = min(here, key=lambda j: rank(uses[j], j))
            known.discard(gone[step])
        return np.array(gone, dtype=int)

    return answer


def _first_ends(known, parents):
    return known & (set(range(len(parents))) - set(parents.tolist()))


def _roots(known, parents):
    return {j for j in known if parents[j] not in known}


def _sorted_once(parents, holders, uses, count):
    order = [i for i in np.argsort(uses, kind="stable") if not holders[i]][:count]
    return np.array(order + [-1] * (count - len(order)), dtype=int)


def _deepest(parents, holders, uses, count):
    def before(i):
        return 1 + before(parents[i]) if parents[i] >= 0 else 0

    known, gone = set(range(len(parents))), [-1] * count
    for step in range(count):
        ends = [j for j in known - {parents[j] for j in known} if not holders[j]]
        if not ends:
            break
        gone[step] = min(ends, key=lambda j: (-before(j), uses[j], j))
        known.discard(gone[step])
    return np.array(gone, dtype=int)


def _taken_off(parents, holders, uses, count):
    known, gone, uses = set(range(len(parents))), [-1] * count, uses.copy()
    for step in range(count):
        ends = [j for j in known - {parents[j] for j in known} if not holders[j]]
        if not ends:
            break
        block = gone[step] = min(ends, key=lambda j: (uses[j], j))
        known.discard(block)
        if parents[block] >= 0:
            uses[parents[block]] -= uses[block]
    return np.array(gone, dtype=int)


def _short(parents, holders, uses, count):
    return evict_order(parents, holders, uses, count)[:1]


def _floats(parents, holders, uses, count):
    return evict_order(parents, holders, uses, count) / 1


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("sorted by uses", _sorted_once, "random", "comes after it"),
    ("the whole branch", _by_branch, "by hand", "lose its own uses"),
    ("held ones go", _by(held=False), "property", "running sequence holds"),
    ("ends of the beginning", _by(may=_first_ends), "by hand", "is a leaf itself"),
    ("first blocks first", _by(may=_roots), "by hand", "first blocks first"),
    ("the most used", _by(rank=lambda uses, i: (-uses, i)), "by hand", "the ones to keep"),
    ("by number", _by(rank=lambda uses, i: i), "by hand", "ignore uses"),
    ("the higher number", _by(rank=lambda uses, i: (uses, -i)), "random", "lower number"),
    ("deepest first", _deepest, "random", "most before them"),
    ("uses taken off", _taken_off, "random", "does not change"),
    ("0 for none", _by(fill=0), "edges", "0 is a block"),
    (
        "all at once, held too",
        _by(may=lambda known, parents: known, held=False),
        "random",
        "Two things",
    ),
    ("short", _short, "shape", "shape"),
    ("floats", _floats, "dtype", "whole numbers"),
]
