"""Write the slot of each token, through a table of blocks."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
The slots of a pool are numbered: block `b` has the slots `b * block_size` to `b * block_size +
block_size - 1`. `block_table` is an integer array `(batch, blocks)` with each row's blocks, in the
order of its tokens, and `lengths` `(batch,)` gives the number of tokens of each row. Return an
integer array `(batch, seq)` with the slot of each token, where `seq` is the largest length, and −1
where a row has no token. After a row's last block, its table may hold anything.
"""
STARTER = '''
def slot_numbers(block_table, lengths, block_size):
    """Return the slot of each token (batch, seq), -1 for none."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(table: list[list[int]], lengths: list[int], block_size: int) -> Inputs:
    return {
        "block_table": np.array(table), "lengths": np.array(lengths), "block_size": block_size,
    }  # fmt: skip


def _drawn(rng: np.random.Generator, lengths: list[int], block_size: int) -> Inputs:
    """Rows that hold blocks of a pool in any order, and anything behind them."""
    width = -(-max(lengths) // block_size) + 1
    blocks = rng.permutation(len(lengths) * width).reshape(len(lengths), width)
    return _case(blocks.tolist(), lengths, block_size)


def cases(rng: np.random.Generator) -> Cases:
    """By hand: five tokens in blocks of two. The property: a block that two rows share."""
    return {
        "by hand": [_case([[3, 0, 5]], [5], 2)],
        "random": [_drawn(rng, [7, 4, 10], 4), _drawn(rng, [9, 8], 3)],
        "property": [_case([[6, 2, 9], [6, 2, 4]], [9, 10], 4), _drawn(rng, [5, 11, 16], 5)],
        "edges": [_case([[4, -1], [1, 7]], [1, 4], 3), _case([[2], [-1]], [1, 0], 8),
                  _case([[5, 3, 1]], [3], 1)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A slot for each token of the longest row."""
    return {"slots": ((len(inputs["lengths"]), int(inputs["lengths"].max())), "i")}


def _slots(
    inputs: Inputs,
    *,
    column: str = "quotient",
    offset: str = "remainder",
    first: str = "block",
    empty: int | None = -1,
    shift: int = 0,
    there: str = "lengths",
) -> Array:
    """The slots, or what they become by another choice."""
    table, size = inputs["block_table"], inputs["block_size"]
    p = np.arange(int(inputs["lengths"].max())) + shift
    columns = {
        "quotient": p // size, "remainder": p % size, "up": -(-p // size),
        "wrapped": p % size % table.shape[1], "first": 0 * p, "in turn": p % table.shape[1],
    }[column]  # fmt: skip
    blocks = table[:, np.clip(columns, 0, table.shape[1] - 1)]
    starts = {
        "block": blocks * size, "number": blocks, "own": 0 * blocks + p // size * size,
        "columns": blocks * table.shape[1],
    }  # fmt: skip
    inner = {
        "remainder": p % size, "quotient": p // size, "p": p, "0": 0 * p,
        "rounds": p // table.shape[1],
    }  # fmt: skip
    slots = starts[first] + inner[offset]
    i, lengths = np.arange(len(p)), inputs["lengths"][:, None]
    inside = {
        "lengths": i < lengths, "one more": i <= lengths, "table": blocks >= 0,
        "blocks": i // size < -(-lengths // size),
    }[there]  # fmt: skip
    return np.asarray(slots if empty is None else np.where(inside, slots, empty))


def slips(inputs: Inputs) -> Slips:
    """Return what the slots would be with one idea missing, or two."""
    size = inputs["block_size"]
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"empty": None},
         "You read the table where a row has ended. Those blocks are not its own: return −1."),
        ({"empty": 0}, "You return 0 where a row has no token. Return −1: slot 0 is a slot like "
             "any other."),
        ({"first": "number"},
         f"Block b begins at slot b times {size}, not at slot b."),
        ({"first": "own"},
         "You don't use the table, so you return positions. A row's first block can be anywhere."),
        ({"offset": "p"},
         "You add the whole position to the start of its block. Inside a block, slots count from 0 "
         "again."),
        ({"offset": "0"}, "You return the first slots of the blocks. Which slot inside the block?"),
        ({"column": "remainder", "offset": "quotient"},
         "You swapped quotient and remainder: position p is in block p // block_size of the table, "
         "at p % block_size in it."),
        ({"column": "wrapped", "offset": "quotient"},
         "You swapped quotient and remainder: position p is in block p // block_size of the table, "
         "at p % block_size in it."),
        ({"column": "first", "offset": "p"},
         "You only use a row's first block and count on from it. Its next tokens are in the blocks "
         "that follow in the table, and those can be anywhere."),
        ({"column": "in turn", "offset": "rounds"},
         "You put one token into each block in turn. Fill a block before you go to the next."),
        ({"there": "one more"},
         "You give position n a slot, too. A row of n tokens has the positions 0 to n − 1."),
        ({"there": "blocks"},
         "You fill a row's last block, but it need not be full. Return −1 after the last token."),
        ({"there": "table"},
         "You read from the table whether a row has a token. After its last block the table may "
         "hold anything: `lengths` says where a row ends."),
        ({"first": "columns"},
         "You multiply b by the number of columns of the table. Block b begins at slot b times "
         "block_size."),
        ({"column": "up"},
         "You round the block's place in the table up. Position p is in column p // block_size."),
        ({"shift": 1}, "You count positions from 1. The first token is at position 0."),
    ]  # fmt: skip
    return with_pairs(partial(_slots, inputs), mistakes)


def right(inputs: Inputs) -> Array:
    """Through the table, token by token."""
    return _slots(inputs)


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first slot that is wrong."""
    wanted = right(inputs)
    row, p = np.argwhere(outputs["slots"] != wanted)[0]
    length = inputs["lengths"][row]
    if p >= length:
        return f"Row {row} has length {length}, so position {p} has no token. Return −1 there."
    return f"You put the token at position {p} of row {row} into another slot."


EXERCISE = Exercise(
    id="slot_numbers",
    page="paged",
    title="The slot of a token",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=10,
    difficulty=2,
    stage="warm-up",
    assessed=False,
    section="Blocks and a table",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Take blocks of 4 and the token at position 9. How many full blocks come before it, and "
        "how many slots of its own block?",
        "For the positions 0 to seq − 1: column `p // block_size` of the table gives the block; "
        "times `block_size`, plus `p % block_size`. Then compare positions with lengths.",
    ),
    common_errors=(
        "Reading the table where a row has ended: those blocks belong to another sequence.",
        "Adding the whole position to the start of the block.",
        "Looping over tokens and forgetting that rows have different lengths.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
