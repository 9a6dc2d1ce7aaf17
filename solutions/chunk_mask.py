"""The mask of a chunk: positions decide."""

import numpy as np


def chunk_mask(q_positions, kv_positions):
    # A chunk begins anywhere and a slot may be empty or out of order,
    # so a slot's place in the array says nothing. Positions do: a query
    # sees keys at its own or an earlier one. An empty slot has the
    # position -1.
    q, kv = q_positions[:, None], kv_positions[None, :]
    return (kv >= 0) & (kv <= q)


REFERENCE = chunk_mask


def _top_left(q_positions, kv_positions):
    return np.tril(np.ones((len(q_positions), len(kv_positions)), dtype=bool))


def _bottom_right(q_positions, kv_positions):
    q_len, kv_len = len(q_positions), len(kv_positions)
    return np.tril(np.ones((q_len, kv_len), dtype=bool), kv_len - q_len)


def _empty_slots(q_positions, kv_positions):
    return kv_positions[None, :] <= q_positions[:, None]


def _not_itself(q_positions, kv_positions):
    return (kv_positions >= 0) & (kv_positions < q_positions[:, None])


def _upside_down(q_positions, kv_positions):
    return ~chunk_mask(q_positions, kv_positions)


def _future(q_positions, kv_positions):
    return np.broadcast_to(kv_positions >= 0, (len(q_positions), len(kv_positions)))


def _everything(q_positions, kv_positions):
    return np.ones((len(q_positions), len(kv_positions)), dtype=bool)


def _turned(q_positions, kv_positions):
    return (kv_positions >= 0) & (kv_positions >= q_positions[:, None])


def _additive(q_positions, kv_positions):
    return np.where(chunk_mask(q_positions, kv_positions), 0.0, -np.inf)


def _transposed(q_positions, kv_positions):
    return chunk_mask(q_positions, kv_positions).T


def _list(q_positions, kv_positions):
    return chunk_mask(q_positions, kv_positions).tolist()


def _counted(q_positions, kv_positions):
    filled = kv_positions >= 0
    return filled & ((np.cumsum(filled) - 1)[None, :] <= q_positions[:, None])


def _never_empty(q_positions, kv_positions):
    mask = chunk_mask(q_positions, kv_positions)
    return mask | ~mask.any(axis=1, keepdims=True)


def _zero_hidden(q_positions, kv_positions):
    return (kv_positions > 0) & (kv_positions <= q_positions[:, None])


def _moved_triangle(q_positions, kv_positions):
    whole = np.ones((len(q_positions), len(kv_positions)), dtype=bool)
    return np.tril(whole, int(q_positions[0])) & (kv_positions >= 0)


def _sorted(q_positions, kv_positions):
    return chunk_mask(q_positions, np.sort(kv_positions))


def _last_rows(q_positions, kv_positions):
    start = (kv_positions >= 0).sum() - len(q_positions)
    return chunk_mask(start + np.arange(len(q_positions)), kv_positions)


def _dropped(q_positions, kv_positions):
    return chunk_mask(q_positions, kv_positions[kv_positions >= 0])


def _not_itself_nor_filled(q_positions, kv_positions):
    return kv_positions < q_positions[:, None]


def _first_row(q_positions, kv_positions):
    return np.repeat(chunk_mask(q_positions[:1], kv_positions), len(q_positions), axis=0)


def _nothing(q_positions, kv_positions):
    return np.zeros((len(q_positions), len(kv_positions)), bool)


WRONG = [
    ("starter: top left", _top_left, "by hand", "top left"),
    ("bottom right", _bottom_right, "random", "triangle to the end"),
    ("empty slots seen", _empty_slots, "random", "position -1"),
    ("itself unseen", _not_itself, "by hand", "doesn't attend to itself"),
    ("upside down", _upside_down, "by hand", "inverted"),
    ("nothing is seen", _nothing, "by hand", "should attend to the key at position 0"),
    ("the future", _future, "random", "later tokens"),
    ("everything", _everything, "random", "attend to everything"),
    ("turned around", _turned, "by hand", "reversed"),
    ("slots counted", _counted, "property", "counted filled slots from the left"),
    ("no row may be empty", _never_empty, "edges", "row of False"),
    ("additive", _additive, "dtype", "boolean"),
    ("transposed", _transposed, "shape", "shape"),
    ("a list", _list, "type", "NumPy array"),
    ("position 0 hidden", _zero_hidden, "by hand", "only -1 marks"),
    ("a moved triangle", _moved_triangle, "random", "slot's number"),
    ("slots sorted", _sorted, "random", "sorted the columns"),
    ("queries taken for the last", _last_rows, "property", "own positions"),
    ("empty slots dropped", _dropped, "shape", "shape"),
    ("itself unseen, empty slots seen", _not_itself_nor_filled, "by hand", "Two things"),
    ("the first row for all", _first_row, "random", "row of the first"),
]
