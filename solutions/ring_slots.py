"""The last tokens, each in its slot."""

import numpy as np


def ring_slots(n_tokens, window):
    positions = np.full(window, -1)
    # the last of the text
    held = np.arange(max(0, n_tokens - window), n_tokens)
    positions[held % window] = held
    return positions


REFERENCE = ring_slots


def _starter(n_tokens, window):
    raise NotImplementedError


def _short_loop(n_tokens, window):
    positions = np.full(window, -1)
    for p in range(min(n_tokens, 1000)):
        positions[p % window] = p
    return positions


def _negative(n_tokens, window):
    slots = np.arange(window)
    return n_tokens - 1 - (n_tokens - 1 - slots) % window


def _empty_is_0(n_tokens, window):
    return np.maximum(ring_slots(n_tokens, window), 0)


def _remainders(n_tokens, window):
    positions = ring_slots(n_tokens, window)
    return np.where(positions < 0, -1, positions % window)


def _first(n_tokens, window):
    return np.where(np.arange(window) < n_tokens, np.arange(window), -1)


def _one_more(n_tokens, window):
    return ring_slots(n_tokens + 1, window)


def _one_less(n_tokens, window):
    return ring_slots(max(n_tokens - 1, 0), window)


def _full_rounds(n_tokens, window):
    if n_tokens % window == 0:
        return ring_slots(n_tokens, window)[::-1]
    return ring_slots(n_tokens, window)


def _one_round(n_tokens, window):
    slots = np.arange(window)
    return np.where(
        slots < n_tokens - window, slots + window, np.where(slots < n_tokens, slots, -1)
    )


def _whole_rounds(n_tokens, window):
    slots = np.arange(window)
    at = (n_tokens // window) * window + slots
    return np.where(at < n_tokens, at, -1)


def _rotated_other_way(n_tokens, window):
    if n_tokens <= window:
        return np.where(np.arange(window) < n_tokens, np.arange(window), -1)
    return np.roll(np.arange(n_tokens - window, n_tokens), -(n_tokens % window))


def _slot_of_position(n_tokens, window):
    at = np.full(window, -1)
    for i, p in enumerate(range(max(0, n_tokens - window), n_tokens)):
        at[i] = p % window
    return at


def _loop(n_tokens, window):
    at = np.full(window, -1)
    for t in range(n_tokens):
        at[t % window] = t
    return at


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("the text's order", lambda n_tokens, window: np.sort(ring_slots(n_tokens, window)),
     "by hand", "order of the text"),
    ("one more", _one_more, "by hand", "One token too many"),
    ("one less", _one_less, "by hand", "One token is missing"),
    ("the first tokens", _first, "by hand", "Those are the first tokens"),
    ("remainders", _remainders, "by hand", "Those are the"),
    ("wrong after full rounds", _full_rounds, "property", "the newest first"),
    ("other negative numbers", _negative, "edges", "another negative number"),
    ("empty is 0", _empty_is_0, "edges", "into an empty slot"),
    ("at most 1,000", _short_loop, "edges", "should be"),
    ("fractions", lambda n_tokens, window: ring_slots(n_tokens, window) / 1, "dtype",
     "whole numbers"),
    ("held only", lambda n_tokens, window: np.arange(max(0, n_tokens - window), n_tokens)[:2],
     "shape", "shape"),
    ("wraps once only", _one_round, "random", "at most once"),
    ("this round only", _whole_rounds, "by hand", "round before"),
    ("turned the other way", _rotated_other_way, "random", "the wrong way"),
    ("slots of positions", _slot_of_position, "by hand", "slots of the last tokens"),
    ("loop over all tokens", _loop, "runs", "too slow"),
    ("rounds", lambda n_tokens, window: np.where(
        np.arange(window) < n_tokens, (n_tokens - 1 - np.arange(window)) // window, -1), "by hand",
     "rounds of the ring"),
    ("one more and negative", lambda n_tokens, window: _negative(n_tokens + 1, window), "by hand",
     "One token too many, and"),
]  # fmt: skip
