"""Invent: in which order the blocks of a tree of prefixes may go."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Known blocks form a tree: `parents[i]` is the block before block `i`, −1 for a first block. A prompt
finds block `i` only if it finds all blocks before it. `uses[i]` says how many prompts have found
block `i` so far, and does not change here; `holders[i]` says how many running sequences hold it,
and whoever holds a block holds all before it. Blocks that are held stay. Others go, one at a time,
until `count` have gone or no more may go. Each time, every block that is then still known must be
one that a prompt can find, and the sum of `uses` over these blocks must be as large as it can be.
Where two choices are equally good, the lower number goes. Return the blocks in the order in which
they go, an integer array `(count,)`, with −1 behind the last that may go.
"""
STARTER = '''
def evict_order(parents, holders, uses, count):
    """Blocks that go, in their order (count,), -1 behind the last."""
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
         "A block goes while another stands behind it. That one is still known, and no prompt can "
         "find it."),
        ({"held": "go"}, "A block goes that a running sequence holds."),
        ({"tree": "first ends"},
         "Only blocks go that were ends at the beginning. Once all behind a block are gone, it is "
         "an end itself."),
        ({"tree": "roots"},
         "The first blocks go first. Whatever stands behind a block that has gone can never be "
         "found again."),
        ({"best": "most"}, "The blocks with the most uses go. They are the ones to keep."),
        ({"best": "number"},
         "uses is not looked at: of those that may go, the one with the fewest goes."),
        ({"tie": "highest"}, "Of two with equally many uses the lower number goes."),
        ({"best": "deepest"},
         "The blocks with the most before them go first, whatever their uses. Of the blocks that "
         "may go, the one with the fewest uses goes."),
        ({"counted": "taken off"},
         "When a block goes, its uses are taken off the block before. `uses` does not change: a "
         "prompt that found both counts for both."),
        ({"fill": 0}, "Behind the last block that may go −1 is asked: 0 is a block."),
    ]  # fmt: skip
    return with_pairs(partial(_order, inputs), mistakes)


def right(inputs: Inputs) -> Array:
    """Of the ends that nobody holds, always the one with the fewest uses."""
    return _order(inputs)


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say what is wrong with the first block that should not go."""
    gone, wanted = outputs["blocks"].tolist(), right(inputs).tolist()
    i = next(i for i, (one, other) in enumerate(zip(gone, wanted, strict=True)) if one != other)
    block, rest = gone[i], set(gone[: i + 1])
    if not 0 <= block < len(inputs["parents"]):
        return f"At index {i} stands {block}, but there is a block that may go."
    if inputs["holders"][block]:
        return f"Block {block} goes, and a running sequence holds it."
    if behind := [j for j, p in enumerate(inputs["parents"]) if p == block and j not in rest]:
        return f"Block {block} goes while block {behind[0]} stands behind it."
    return f"Block {block} goes as number {i + 1}; another would leave more uses."


EXERCISE = Exercise(
    id="evict_order",
    page="paged",
    title="Who may go",
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
        "Draw the tree of the first case. Which of its blocks could go first at all?",
        "A block that has gone may leave its parent without anything behind it. A prompt that "
        "found a block has found its parent, so no block has more uses than its parent.",
    ),
    common_errors=(
        "Sorting all blocks by their uses once: the parent of a block may come before it.",
        "Computing the ends of the tree once.",
        "Looking at parents alone, and not at who holds a block.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
