"""Invent: in which order the blocks of a tree of prefixes may go."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Cached blocks form a tree: `parents[i]` is the block before block `i`, −1 for a first block. A
prompt finds block `i` only if it finds all blocks before it. `uses[i]` is the number of prompts
that have found block `i` so far, and doesn't change here. `holders[i]` is the number of running
sequences that hold it, and a sequence that holds a block holds all blocks before it. Held blocks
stay. Evict others, one at a time, until `count` are gone or no more can go. After each eviction, a
prompt must still be able to find every cached block, and the sum of `uses` over them must be as
large as possible. If two choices are equally good, evict the lower number. Return the blocks in the
order of eviction, an integer array `(count,)`, with −1 after the last one that can go.
"""
STARTER = '''
def evict_order(parents, holders, uses, count):
    """Return the evicted blocks in order (count,), then -1."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(parents: list[int], holders: list[int], uses: list[int], count: int) -> Inputs:
    return {
        "parents": np.array(parents), "holders": np.array(holders), "uses": np.array(uses),
        "count": count,
    }  # fmt: skip


def _drawn(rng: np.random.Generator, n: int, held: int, count: int) -> Inputs:
    """A tree whose blocks have any numbers, with some that are held up to their roots."""
    above = [-1] + [int(rng.integers(-1, i)) for i in range(1, n)]
    uses, holders = [0] * n, [0] * n
    for ends, amount in ((rng.integers(0, n, 3 * n), uses), (rng.integers(0, n, held), holders)):
        for end in ends.tolist():
            while end >= 0:
                amount[end] += 1
                end = above[end]
    name = rng.permutation(n)  # the tree's block i gets the number name[i]
    parents, numbers = np.full(n, -1), np.argsort(name)
    parents[name] = [-1 if p < 0 else name[p] for p in above]
    return _case(
        parents.tolist(), np.array(holders)[numbers].tolist(), np.array(uses)[numbers].tolist(),
        count,
    )  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two prompts with a common first block. The property: chains, forks and holders."""
    return {
        "by hand": [_case([-1, 0, 0, 2], [0, 0, 0, 0], [5, 3, 2, 1], 3)],
        "random": [_drawn(rng, 8, 0, 5), _drawn(rng, 12, 0, 8), _drawn(rng, 10, 0, 6),
                   _case([-1, 0, 1, -1], [0] * 4, [2, 2, 2, 3], 2)],
        "property": [
            _drawn(rng, 10, 2, 6), _drawn(rng, 14, 3, 9),
            _case([-1, 0, 1, 0], [1, 0, 0, 1], [4, 2, 2, 4], 2),
            _case([-1, 0, 1, 2, -1], [0] * 5, [2, 2, 2, 2, 3], 4),
            _case([-1, 0, 0], [1, 0, 1], [3, 2, 1], 1),
        ],
        "edges": [
            _case([-1, 0, 1], [1, 1, 0], [3, 2, 1], 3), _case([-1], [0], [0], 1),
            _case([-1, 0], [2, 2], [5, 4], 2), _case([3, 0, 1, -1], [0] * 4, [1] * 4, 4),
            _case([-1, -1, -1], [0, 0, 0], [2, 1, 2], 2),
        ],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A block, or -1, for each that should go."""
    return {"blocks": ((inputs["count"],), "i")}


def _depth(parents: Array, block: int) -> int:
    """Blocks before a block."""
    return 1 + _depth(parents, parents[block]) if parents[block] >= 0 else 0


def _branch(parents: list[int], uses: list[int], block: int) -> int:
    """Uses of a block and of all before it."""
    before = parents[block]
    return uses[block] + (_branch(parents, uses, before) if before >= 0 else 0)


def _order(
    inputs: Inputs,
    *,
    tree: str = "ends",
    best: str = "fewest",
    tie: str = "lowest",
    held: str = "stay",
    fill: int = -1,
    counted: str = "as given",
) -> Array:
    """Return which blocks go, or would by another rule."""
    parents, uses = inputs["parents"].tolist(), inputs["uses"].tolist()
    holders, gone = inputs["holders"].tolist(), [fill] * inputs["count"]
    known = set(range(len(parents)))
    ends = known - set(parents)
    for i in range(len(gone)):
        here = {
            "ends": known - {parents[j] for j in known}, "any": known, "first ends": ends & known,
            "roots": {j for j in known if parents[j] not in known},
        }[tree]  # fmt: skip
        open_ = [j for j in here if held == "go" or not holders[j]]
        if not open_:
            break
        worth: dict[str, Callable[[int], Any]] = {
            "fewest": lambda j: uses[j], "most": lambda j: -uses[j], "number": lambda j: 0,
            "branch": lambda j: _branch(parents, uses, j),
            "deepest": lambda j: (-_depth(inputs["parents"], j), uses[j]),
        }  # fmt: skip
        gone[i] = min(open_, key=lambda j: (worth[best](j), j if tie == "lowest" else -j))
        known.discard(gone[i])
        if counted == "taken off" and parents[gone[i]] >= 0:
            uses[parents[gone[i]]] -= uses[gone[i]]
    return np.array(gone, int)


def slips(inputs: Inputs) -> Slips:
    """Return which would go with one idea missing, or two."""
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"tree": "any"},
         "You evict a block while another comes after it. That one is still cached, but no prompt "
         "can find it."),
        ({"held": "go"}, "You evict a block that a running sequence holds."),
        ({"tree": "first ends"},
         "You evict only blocks that were leaves at the start. Once all blocks after it are gone, "
         "a "
         "block is a leaf itself."),
        ({"tree": "roots"},
         "You evict first blocks first. No prompt can find what comes after an evicted block."),
        ({"best": "most"}, "You evict the blocks with the most uses. They are the ones to keep."),
        ({"best": "number"},
         "You ignore uses. Of the blocks that can go, evict the one with the fewest."),
        ({"tie": "highest"}, "Of two blocks with equally many uses, you evict the higher. Evict "
             "the lower number."),
        ({"best": "deepest"},
         "You evict the blocks with the most before them first, whatever their uses. Of the blocks "
         "that can go, evict the one with the fewest uses."),
        ({"best": "branch"},
         "You count the uses of the blocks before a block as well. Those stay, so you only lose "
         "its own uses."),
        ({"counted": "taken off"},
         "You subtract an evicted block's uses from the block before. `uses` does not change: a "
         "prompt that found both counts for both."),
        ({"fill": 0}, "You return 0 after the last block that can go. Return −1: 0 is a block."),
    ]  # fmt: skip
    return with_pairs(partial(_order, inputs), mistakes)


def right(inputs: Inputs) -> Array:
    """Of the leaves that no sequence holds, always the one with the fewest uses."""
    return _order(inputs)


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say what is wrong with the first block that should not go."""
    gone, wanted = outputs["blocks"].tolist(), right(inputs).tolist()
    i = next(i for i, (one, other) in enumerate(zip(gone, wanted, strict=True)) if one != other)
    block, rest = gone[i], set(gone[: i + 1])
    if not 0 <= block < len(inputs["parents"]):
        return f"You return {block} at index {i}, but there's a block that can go."
    if inputs["holders"][block]:
        return f"You evict block {block}, but a running sequence holds it."
    if behind := [j for j, p in enumerate(inputs["parents"]) if p == block and j not in rest]:
        return f"You evict block {block} while block {behind[0]} comes after it."
    return f"You evict block {block} as number {i + 1}; another would leave more uses."


EXERCISE = Exercise(
    id="evict_order",
    page="paged",
    title="Which block to evict",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 2},
    minutes=15,
    difficulty=4,
    stage="invent",
    assessed=False,
    section="Evictable cached blocks",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Draw the tree of the first case. Which of its blocks could go first?",
        "An evicted block may leave its parent without a child. A prompt that found a block has "
        "found its parent, so no block has more uses than its parent.",
    ),
    common_errors=(
        "Sorting all blocks by their uses once: the parent of a block may come before it.",
        "Computing the leaves of the tree only once.",
        "Checking only parents, and not the holders of a block.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
