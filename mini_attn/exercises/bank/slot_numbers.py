"""Write the slot of each token, through a table of blocks."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
The slots of a pool are numbered: block `b` has the slots `b * block_size` to
`b * block_size + block_size - 1`. `block_table` is an integer array `(batch, blocks)` with the
blocks of each row, in the order of its tokens, and `lengths` `(batch,)` says how many tokens each
row has. Return an integer array `(batch, seq)` with the slot of each token, where `seq` is the
largest length, and −1 where a row has no token. Behind a row's last block its table may hold
anything.
"""
STARTER = '''
def slot_numbers(block_table, lengths, block_size):
    """Slot of each token (batch, seq), -1 where a row has none."""
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
        "wrapped": p % size % table.shape[1],
    }[column]  # fmt: skip
    blocks = table[:, np.clip(columns, 0, table.shape[1] - 1)]
    starts = {
        "block": blocks * size, "number": blocks, "own": 0 * blocks + p // size * size,
        "columns": blocks * table.shape[1],
    }  # fmt: skip
    slots = (
        starts[first] + {"remainder": p % size, "quotient": p // size, "p": p, "0": 0 * p}[offset]
    )
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
         "Where a row has no token, −1 is asked: what its table holds there is not its own."),
        ({"empty": 0}, "Where a row has no token, −1 is asked. Slot 0 is a slot like any other."),
        ({"first": "number"},
         f"Block b begins at slot b times {size}, not at slot b."),
        ({"first": "own"},
         "The table is not used: those are the positions. A row's first block may lie anywhere."),
        ({"offset": "p"},
         "The position is added to the start of its block. Inside a block slots are counted from "
         "0 again."),
        ({"offset": "0"}, "Those are the first slots of the blocks. Which slot inside the block?"),
        ({"column": "remainder", "offset": "quotient"},
         "Quotient and remainder are exchanged: position p lies in the block p // block_size of "
         "the table, at p % block_size in it."),
        ({"column": "wrapped", "offset": "quotient"},
         "Quotient and remainder are exchanged: position p lies in the block p // block_size of "
         "the table, at p % block_size in it."),
        ({"there": "one more"},
         "A row of n tokens has the positions 0 to n − 1. Here position n gets a slot, too."),
        ({"there": "blocks"},
         "The last block of a row need not be full. Behind the last token its slots hold none, "
         "so −1 is asked there."),
        ({"there": "table"},
         "Whether a row has a token is read from its table. Behind its last block the table may "
         "hold anything: `lengths` says where a row ends."),
        ({"first": "columns"},
         "Block b begins at slot b times block_size. Here it is b times the number of columns of "
         "the table."),
        ({"column": "up"},
         "The block's place in the table is rounded up. Position p lies in column p // "
         "block_size."),
        ({"shift": 1}, "Positions are counted from 1. The first token stands at position 0."),
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
        return f"The length of row {row} is {length}: position {p} has no token, so −1 is asked."
    return f"The token at position {p} of row {row} is said to lie in another slot than it does."


EXERCISE = Exercise(
    id="slot_numbers",
    page="paged",
    title="Where a token lies",
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
        "Take blocks of 4 and the token at position 9. How many whole blocks lie before it, and "
        "how many slots of its own block?",
        "For the positions 0 to seq − 1: column `p // block_size` of the table gives the block; "
        "times `block_size`, plus `p % block_size`. Then compare positions with lengths.",
    ),
    common_errors=(
        "Reading the table where a row has ended: what stands there belongs to somebody else.",
        "Adding the whole position to the start of the block.",
        "Looping over tokens and forgetting that rows differ in length.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
