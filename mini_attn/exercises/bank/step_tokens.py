"""Write one step of a scheduler: who runs how many tokens."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Plan one step. Sequence `i` has `done[i]` tokens in its blocks and `left[i]` tokens to run, at least
one. Sequences are in the order in which they arrived. First come those with one token left, in that
order, whether they decode or finish their prompt; then the others. Each runs all that it has left,
or as much as is left of `budget`, the most tokens per step. For that it takes new blocks if its
`ceil(done[i] / block_size)` blocks don't have enough space. `free` blocks are free at the start.
Unlike `Scheduler`, this step preempts no sequence: if fewer blocks are free than a sequence needs
for the tokens it would run, it runs nothing and uses up nothing, and we still serve those after it.
Return how many tokens each runs, an integer array `(n,)` in the order of the sequences.
"""
STARTER = '''
def step_tokens(done, left, budget, free, block_size):
    """Return the tokens that each sequence runs in this step (n,)."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(done: list[int], left: list[int], budget: int, free: int, block_size: int) -> Inputs:
    return {
        "done": np.array(done), "left": np.array(left), "budget": budget, "free": free,
        "block_size": block_size,
    }  # fmt: skip


def _drawn(rng: np.random.Generator, n: int, budget: int, free: int) -> Inputs:
    done = rng.integers(0, 20, n)
    left = np.where(rng.random(n) < 0.5, 1, rng.integers(2, 14, n))
    return _case(done.tolist(), left.tolist(), budget, free, 4)


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a prompt that came before one who decodes. The property: blocks are short."""
    return {
        "by hand": [_case([0, 5], [9, 1], 6, 10, 4)],
        "random": [_drawn(rng, 6, 14, 40), _drawn(rng, 7, 20, 50), _drawn(rng, 5, 9, 30)],
        "property": [
            _case([4, 6, 0], [1, 1, 7], 12, 2, 4), _case([4, 8, 3], [1, 1, 1], 9, 1, 4),
            _case([2, 0, 7], [5, 9, 1], 20, 2, 4), _drawn(rng, 8, 25, 3), _drawn(rng, 8, 30, 4),
            _case([2, 5], [6, 6], 9, 2, 4), _case([2, 0], [5, 20], 8, 2, 4),
            _case([4, 3], [8, 5], 8, 1, 4), _case([0, 5, 9], [7, 5, 1], 8, 9, 4),
        ],
        "edges": [
            _case([8, 8], [1, 1], 1, 5, 4), _case([7], [3], 8, 0, 4), _case([6], [2], 8, 0, 4),
            _case([3, 3], [2, 2], 3, 9, 1), _case([0, 0, 0], [4, 4, 4], 4, 9, 16),
            _case([6, 9, 3], [1, 5, 4], 9, 2, 3),
            _drawn(rng, 9, 1, 2), _drawn(rng, 1, 30, 9),
        ],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A count for each sequence."""
    return {"tokens": (inputs["done"].shape, "i")}


def _planned(
    inputs: Inputs,
    *,
    order: str = "decoding first",
    pieces: bool = True,
    pays: str = "all",
    needs: str = "beyond its room",
    short: str = "goes on",
    takes: bool = True,
    returned: str = "as they came",
) -> Array:
    """Return how many tokens each runs, or would by another rule."""
    done, left, size = inputs["done"].tolist(), inputs["left"].tolist(), inputs["block_size"]
    budget, free, tokens = inputs["budget"], inputs["free"], [0] * len(done)
    ranks = {
        "decoding first": lambda i: left[i] > 1, "as they came": lambda i: 0,
        "shortest first": lambda i: left[i], "prompts first": lambda i: left[i] == 1,
        "begun first": lambda i: done[i] == 0,
    }  # fmt: skip
    served = sorted(range(len(done)), key=ranks[order])
    for i in served:
        n = min(left[i], budget)
        if n < left[i] and not pieces:
            continue
        held = -(-done[i] // size)
        ends = -(-(done[i] + n) // size)
        need = {
            "beyond its room": ends - held, "for its tokens": -(-n // size), "all again": ends,
            "for all that is left": -(-(done[i] + left[i]) // size) - held, "none": 0,
            "one more": (done[i] + n) // size + 1 - held if n else 0,
            "rounded down": (done[i] + n) // size - done[i] // size,
        }[needs]  # fmt: skip
        if need > free:
            if short == "stops":
                break
            n = max(0, min(n, (held + free) * size - done[i])) if short == "runs a part" else 0
            need = free if n else 0
        tokens[i] = n
        asked = min(left[i], budget) if pays == "all, run or not" else n
        budget -= 0 if pays == "prompts" and left[i] == 1 else asked
        free -= need if takes else 0
    return np.array(tokens if returned == "as they came" else [tokens[i] for i in served], int)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"order": "as they came"},
     "You serve all in the order in which they came. Those with one token left are first, so "
     "no prompt makes them wait."),
    ({"pieces": False},
     "With you, a prompt that does not fit into the step waits. It can run as many tokens as "
     "the budget leaves, and the rest later."),
    ({"needs": "none"}, "You don't count blocks: a sequence whose blocks are full needs a free "
         "one."),
    ({"needs": "for its tokens"},
     "You don't use the space in its last block. It needs new blocks only beyond the "
     "ceil(done / block_size) that it has."),
    ({"needs": "rounded down"},
     "You round blocks down. A sequence takes a whole block even for one token: round up."),
    ({"needs": "one more"},
     "If the tokens end at the end of a block, you ask for one block too many."),
    ({"needs": "all again"}, "You count the blocks that a sequence has as if it took them "
     "again."),
    ({"needs": "for all that is left"},
     "You take blocks for all that a sequence has left. This step runs some of it and needs "
     "blocks for these tokens alone."),
    ({"short": "stops"},
     "You stop where one sequence can't get its blocks. Serve those after it: some need none."),
    ({"short": "runs a part"},
     "You run a part of a sequence that can't get all the blocks it needs. It runs nothing in "
     "this step."),
    ({"takes": False}, "You forget that blocks one sequence takes are not free for the next."),
    ({"pays": "prompts"},
     "You decode for free. Each decoding sequence runs a token, and it counts in the budget."),
    ({"order": "shortest first"},
     "You serve prompts by their length. Among them, the order in which they came counts."),
    ({"order": "prompts first"},
     "You serve prompts first. Those with one token left come before them."),
    ({"order": "begun first"},
     "You serve first all that have begun. It doesn't matter what is done: those with one token "
     "left come before those with more."),
    ({"pays": "all, run or not"},
     "A sequence that finds too few blocks runs nothing, but you charge the budget. What it "
     "doesn't run is left for those after it."),
    ({"returned": "as served"},
     "You return the numbers in the order of service. Return them in the order of the "
     "sequences."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what would run with one idea missing, or two."""
    return with_pairs(partial(_planned, inputs), MISTAKES)


def right(inputs: Inputs) -> Array:
    """Decoding first, then prompts in pieces, each with its blocks."""
    return _planned(inputs)


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say what the step does that it may not, or the first sequence that is served wrongly."""
    tokens, wanted = outputs["tokens"], right(inputs)
    if tokens.sum() > inputs["budget"]:
        return f"You run {tokens.sum()} tokens; the budget is {inputs['budget']}."
    i = int(np.flatnonzero(tokens != wanted)[0])
    return f"Sequence {i} should run {wanted[i]} tokens in this step, not {tokens[i]}."


EXERCISE = Exercise(
    id="step_tokens",
    page="paged",
    title="One step",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="Continuous batching, step by step",
    text=TEXT,
    starter=STARTER,
    hints=(
        "First decide on the order of the sequences. Then keep two numbers: what's left of the "
        "budget, and of the free blocks.",
        "For each: `n = min(left, budget)`. It needs `ceil((done + n) / block_size) − ceil(done / "
        "block_size)` blocks. Only if they are free, take both.",
    ),
    common_errors=(
        "Letting a long prompt that came first take the whole step.",
        "Taking a block for every token, or forgetting the space in the last block.",
        "Stopping at the first sequence that can't get its blocks.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
