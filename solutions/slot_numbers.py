"""The block's start and the place in it, for all positions at once."""

import numpy as np


def slot_numbers(block_table, lengths, block_size):
    p = np.arange(lengths.max())  # (seq,)
    # (batch, seq)
    blocks = block_table[:, p // block_size]
    slots = blocks * block_size + p % block_size
    return np.where(p < lengths[:, None], slots, -1)


REFERENCE = slot_numbers


def _starter(block_table, lengths, block_size):
    raise NotImplementedError


def _everywhere(block_table, lengths, block_size):
    p = np.arange(lengths.max())
    return block_table[:, p // block_size] * block_size + p % block_size


def _zero(block_table, lengths, block_size):
    return np.maximum(slot_numbers(block_table, lengths, block_size), 0)


def _number(block_table, lengths, block_size):
    p = np.arange(lengths.max())
    slots = block_table[:, p // block_size] + p % block_size
    return np.where(p < lengths[:, None], slots, -1)


def _positions(block_table, lengths, block_size):
    p = np.arange(lengths.max())
    return np.where(p < lengths[:, None], p, -1)


def _whole_position(block_table, lengths, block_size):
    p = np.arange(lengths.max())
    slots = block_table[:, p // block_size] * block_size + p
    return np.where(p < lengths[:, None], slots, -1)


def _starts(block_table, lengths, block_size):
    p = np.arange(lengths.max())
    slots = block_table[:, p // block_size] * block_size + 0 * p
    return np.where(p < lengths[:, None], slots, -1)


def _exchanged(block_table, lengths, block_size):
    p = np.arange(lengths.max())
    columns = np.minimum(p % block_size, block_table.shape[1] - 1)
    slots = block_table[:, columns] * block_size + p // block_size
    return np.where(p < lengths[:, None], slots, -1)


def _from_one(block_table, lengths, block_size):
    p = np.arange(lengths.max()) + 1
    columns = np.minimum(p // block_size, block_table.shape[1] - 1)
    slots = block_table[:, columns] * block_size + p % block_size
    return np.where(p <= lengths[:, None], slots, -1)


def _number_everywhere(block_table, lengths, block_size):
    p = np.arange(lengths.max())
    return block_table[:, p // block_size] + p % block_size


def _inside(there):
    """Slots where something else says that a row has a token."""

    def answer(block_table, lengths, block_size):
        p = np.arange(lengths.max())
        blocks = block_table[:, p // block_size]
        slots = blocks * block_size + p % block_size
        return np.where(there(p, lengths[:, None], block_size, blocks), slots, -1)

    return answer


def _wrapped(block_table, lengths, block_size):
    p = np.arange(lengths.max())
    columns = p % block_size % block_table.shape[1]
    slots = block_table[:, columns] * block_size + p // block_size
    return np.where(p < lengths[:, None], slots, -1)


def _columns(block_table, lengths, block_size):
    p = np.arange(lengths.max())
    slots = block_table[:, p // block_size] * block_table.shape[1] + p % block_size
    return np.where(p < lengths[:, None], slots, -1)


def _first_block(block_table, lengths, block_size):
    p = np.arange(lengths.max())
    return np.where(p < lengths[:, None], block_table[:, :1] * block_size + p, -1)


def _in_turn(block_table, lengths, block_size):
    p, n = np.arange(lengths.max()), block_table.shape[1]
    return np.where(p < lengths[:, None], block_table[:, p % n] * block_size + p // n, -1)


def _first_row(block_table, lengths, block_size):
    p = np.arange(lengths.max())
    slots = block_table[:1, p // block_size] * block_size + p % block_size
    return np.where(p < lengths[:, None], slots, -1)


def _pairs(block_table, lengths, block_size):
    p = np.arange(lengths.max())
    return np.stack([block_table[:, p // block_size], 0 * block_table[:, p // block_size]], -1)


def _floats(block_table, lengths, block_size):
    return slot_numbers(block_table, lengths, block_size) / 1


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("read where a row has ended", _everywhere, "random", "not its own"),
    ("slot 0 for none", _zero, "random", "a slot like any other"),
    ("the block's number", _number, "by hand", "not at slot b"),
    ("no table", _positions, "by hand", "don't use the table"),
    ("the whole position", _whole_position, "by hand", "count from 0 again"),
    ("first slots", _starts, "by hand", "first slots of the blocks"),
    ("exchanged", _exchanged, "by hand", "swapped"),
    ("exchanged and wrapped", _wrapped, "by hand", "swapped"),
    ("one more", _inside(lambda p, n, size, blocks: p <= n), "random", "0 to n − 1"),
    ("whole blocks", _inside(lambda p, n, size, blocks: p // size < -(-n // size)), "random",
     "need not be full"),
    ("the table says", _inside(lambda p, n, size, blocks: blocks >= 0), "random",
     "read from the table"),
    ("on from the first block", _first_block, "by hand", "first block and count on"),
    ("blocks in turn", _in_turn, "by hand", "block in turn"),
    ("times the columns", _columns, "by hand", "number of columns"),
    ("positions from 1", _from_one, "by hand", "count positions from 1"),
    ("number, and everywhere", _number_everywhere, "by hand", "not at slot b"),
    ("the first row for all", _first_row, "random", "into another slot"),
    ("pairs", _pairs, "shape", "shape"),
    ("floats", _floats, "dtype", "whole numbers"),
]  # fmt: skip
