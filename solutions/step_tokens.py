"""Two numbers carried along: what is left of the budget, and of the free blocks."""

import numpy as np


def step_tokens(done, left, budget, free, block_size):
    # Sequences that decode go first: one token each, and someone waits
    # for it. What's left of the budget goes to prompts.
    tokens = np.zeros(len(done), dtype=int)
    order = [*np.flatnonzero(left == 1), *np.flatnonzero(left > 1)]
    for i in order:
        n = min(left[i], budget)
        # Only blocks that are newly begun count, so it's a difference
        # of two round-ups.
        blocks = -(-(done[i] + n) // block_size) - -(-done[i] // block_size)
        # Both or nothing: tokens without a block have no place for
        # their keys.
        if blocks <= free:
            tokens[i] = n
            budget, free = budget - n, free - blocks
    return tokens


REFERENCE = step_tokens


def _starter(done, left, budget, free, block_size):
    raise NotImplementedError


def _by(rank=lambda left: left > 1, chunks=True, need=None, stop=False, part=False, keep=False,
        free_decode=False):  # fmt: skip
    """A step with one rule changed."""

    def answer(done, left, budget, free, block_size):
        tokens = np.zeros(len(done), dtype=int)
        for i in sorted(range(len(done)), key=lambda i: rank(left[i])):
            n = min(left[i], budget)
            if n < left[i] and not chunks:
                continue
            held = -(-done[i] // block_size)
            blocks = -(-(done[i] + n) // block_size) - held
            if need:
                blocks = need(done[i], n, left[i], block_size)
            if blocks > free:
                if stop:
                    break
                if not part:
                    continue
                n = max(0, min(n, (held + free) * block_size - done[i]))
                blocks = free if n else 0
            tokens[i] = n
            budget -= 0 if free_decode and left[i] == 1 else n
            free -= 0 if keep else blocks
        return tokens

    return answer


def _all(done, left, budget, free, block_size):
    return left + 0


def _begun(done, left, budget, free, block_size):
    order = [*np.flatnonzero(done > 0), *np.flatnonzero(done == 0)]
    return _served(order)(done, left, budget, free, block_size)


def _served(order):
    def answer(done, left, budget, free, block_size):
        tokens = np.zeros(len(done), dtype=int)
        for i in order:
            n = min(left[i], budget)
            blocks = -(-(done[i] + n) // block_size) - -(-done[i] // block_size)
            if blocks <= free:
                tokens[i] = n
                budget, free = budget - n, free - blocks
        return tokens

    return answer


def _charged(done, left, budget, free, block_size):
    tokens = np.zeros(len(done), dtype=int)
    for i in [*np.flatnonzero(left == 1), *np.flatnonzero(left > 1)]:
        n = min(left[i], budget)
        budget -= n
        blocks = -(-(done[i] + n) // block_size) - -(-done[i] // block_size)
        if blocks <= free:
            tokens[i] = n
            free -= blocks
    return tokens


def _as_served(done, left, budget, free, block_size):
    order = [*np.flatnonzero(left == 1), *np.flatnonzero(left > 1)]
    return step_tokens(done, left, budget, free, block_size)[order]


def _one(done, left, budget, free, block_size):
    return step_tokens(done, left, budget, free, block_size).sum()


def _floats(done, left, budget, free, block_size):
    return step_tokens(done, left, budget, free, block_size) / 1


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("as they came", _by(rank=lambda left: 0), "by hand", "in the order in which they came"),
    ("whole prompts", _by(chunks=False), "by hand", "does not fit into the step waits"),
    ("no blocks", _by(need=lambda d, n, left, b: 0), "property", "don't count blocks"),
    ("no room", _by(need=lambda d, n, left, b: -(-n // b)), "property", "space in its last block"),
    ("rounded down", _by(need=lambda d, n, left, b: (d + n) // b - d // b), "property",
     "round up"),
    ("one more", _by(need=lambda d, n, left, b: (d + n) // b + 1 - -(-d // b) if n else 0),
     "property", "one block too many"),
    ("all blocks again", _by(need=lambda d, n, left, b: -(-(d + n) // b)), "property", "again"),
    ("blocks for all that is left",
     _by(need=lambda d, n, left, b: -(-(d + left) // b) - -(-d // b)), "property",
     "for these tokens alone"),
    ("stops", _by(stop=True), "property", "You stop where"),
    ("runs a part", _by(part=True), "property", "run a part"),
    ("blocks stay free", _by(keep=True), "property", "not free for the next"),
    ("decoding costs nothing", _by(free_decode=True), "by hand", "counts in the budget"),
    ("shortest first", _by(rank=lambda left: left), "random", "order in which they came counts"),
    ("prompts first", _by(rank=lambda left: left == 1), "by hand", "serve prompts first"),
    ("begun first", _begun, "random", "all that have begun"),
    ("charged all the same", _charged, "property", "charge the budget"),
    ("in the order of service", _as_served, "by hand", "order of service"),
    ("everything", _all, "by hand", "the budget is"),
    ("as they came, whole", _by(rank=lambda left: 0, chunks=False), "by hand", "Two things"),
    ("one number", _one, "shape", "shape"),
    ("floats", _floats, "dtype", "whole numbers"),
]  # fmt: skip
