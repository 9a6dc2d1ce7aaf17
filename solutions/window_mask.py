"""The mask of a window: how far behind, by positions."""

import numpy as np


def window_mask(q_positions, kv_positions, window):
    behind = q_positions[:, None] - kv_positions  # (q_len, kv_len)
    return (kv_positions >= 0) & (behind >= 0) & (behind < window)


REFERENCE = window_mask


def _behind(q_positions, kv_positions):
    return q_positions[:, None] - kv_positions


def _starter(q_positions, kv_positions, window):
    past = len(kv_positions) - len(q_positions)
    mask = np.tril(np.ones((len(q_positions), len(kv_positions)), dtype=bool), past)
    return mask & ~np.tril(mask, past - window - 1)


def _places(q_positions, kv_positions, window):
    past = len(kv_positions) - len(q_positions)
    mask = np.tril(np.ones((len(q_positions), len(kv_positions)), dtype=bool), past)
    return mask & ~np.tril(mask, past - window)


def _too_many(q_positions, kv_positions, window):
    behind = _behind(q_positions, kv_positions)
    return (kv_positions >= 0) & (behind >= 0) & (behind <= window)


def _too_few(q_positions, kv_positions, window):
    return window_mask(q_positions, kv_positions, window - 1)


def _not_itself(q_positions, kv_positions, window):
    behind = _behind(q_positions, kv_positions)
    return (kv_positions >= 0) & (behind > 0) & (behind <= window)


def _empty_slots(q_positions, kv_positions, window):
    behind = _behind(q_positions, kv_positions)
    return (behind >= 0) & (behind < window)


def _future(q_positions, kv_positions, window):
    return (kv_positions >= 0) & (_behind(q_positions, kv_positions) < window)


def _no_window(q_positions, kv_positions, window):
    return (kv_positions >= 0) & (_behind(q_positions, kv_positions) >= 0)


def _upside_down(q_positions, kv_positions, window):
    return ~window_mask(q_positions, kv_positions, window)


def _transposed(q_positions, kv_positions, window):
    return window_mask(q_positions, kv_positions, window).T


def _additive(q_positions, kv_positions, window):
    return np.where(window_mask(q_positions, kv_positions, window), 0.0, -np.inf)


def _not_itself_one_fewer(q_positions, kv_positions, window):
    behind = _behind(q_positions, kv_positions)
    return (kv_positions >= 0) & (behind > 0) & (behind < window)


def _zero_is_empty(q_positions, kv_positions, window):
    return window_mask(q_positions, kv_positions, window) & (kv_positions > 0)


def _sorted(q_positions, kv_positions, window):
    return window_mask(q_positions, np.sort(kv_positions), window)


def _places_of_tokens(q_positions, kv_positions, window):
    return _places(q_positions, kv_positions, window) & (kv_positions >= 0)


WRONG = [
    ("starter", _starter, "by hand", "one key too many"),
    ("one too many", _too_many, "by hand", "One key too many"),
    ("places", _places, "property", "made from indices"),
    ("one too few", _too_few, "by hand", "One key too few"),
    ("itself unseen", _not_itself, "by hand", "does not attend to itself"),
    ("empty slots", _empty_slots, "edges", "position -1"),
    ("the future", _future, "random", "Later tokens"),
    ("no window", _no_window, "by hand", "window is missing"),
    ("upside down", _upside_down, "by hand", "upside down"),
    ("transposed", _transposed, "shape", "shape"),
    ("additive", _additive, "dtype", "boolean"),
    ("itself unseen, one fewer", _not_itself_one_fewer, "by hand", "does not attend to itself"),
    ("position 0 empty", _zero_is_empty, "random", "position −1 is empty"),
    ("sorted", _sorted, "property", "slots in their order"),
    ("places of tokens", _places_of_tokens, "property", "made from indices"),
    (
        "by rows",
        lambda q_positions, kv_positions, window: window_mask(
            np.arange(len(q_positions)) + len(kv_positions) - len(q_positions), kv_positions, window
        ),
        "property",
        "placed the queries by their rows",
    ),
    (
        "one too many, empty slots",
        lambda q_positions, kv_positions, window: _empty_slots(
            q_positions, kv_positions, window + 1
        ),
        "by hand",
        "Two things",
    ),
]
