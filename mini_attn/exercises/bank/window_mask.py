"""Find the bug: a window that sees one key too many, and trusts the order of the slots."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
This function should say which keys each query can attend to: causally, at most `window` keys
counting its own, and never an empty slot. `q_positions` and `kv_positions` are integer arrays. A
key at position −1 is an empty slot, and the keys are in the order of a ring. Find out what is
wrong, and repair it. Return a boolean array `(q_len, kv_len)`.
"""
STARTER = '''
def window_mask(q_positions, kv_positions, window):
    """True where a query may attend to a key, within the window."""
    past = len(kv_positions) - len(q_positions)
    shape = len(q_positions), len(kv_positions)
    causal = np.tri(*shape, past, dtype=bool)
    too_old = np.tri(*shape, past - window - 1, dtype=bool)
    return causal & ~too_old


window_mask(np.arange(6), np.arange(6), 2).astype(int)  # it runs
'''


def _case(q: list[int], kv: list[int], window: int) -> Inputs:
    return {"q_positions": np.array(q), "kv_positions": np.array(kv), "window": window}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: the newest of five tokens, a window of 2. The property: keys lie as in a ring."""
    drawn = []
    for _ in range(5):
        past, chunk, window = (int(n) for n in rng.integers([2, 1, 2], [7, 4, 5]))
        tokens = list(range(past + chunk))
        drawn.append(_case(tokens[past:], tokens, window))
    order = [int(position) for position in rng.permutation(6)]
    return {
        "by hand": [_case([4], [0, 1, 2, 3, 4], 2)],
        "random": drawn,
        "property": [_case([6], [4, 5, 6, 3], 3), _case([5], [4, 5, -1, 3], 2),
                     _case([4, 5], order, 3)],
        # Empty slots, a text shorter than the window, padding that asks, a window of 1.
        "edges": [_case([0], [0, -1, -1], 3), _case([0, 1], [0, 1], 5), _case([-1, 0], [-1, 0], 2),
                  _case([3], [0, 1, 2, 3], 1)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One truth value for each query and key."""
    return {"mask": ((len(inputs["q_positions"]), len(inputs["kv_positions"])), "b")}


def _mask(
    inputs: Inputs,
    *,
    nearest: int = 0,
    keys: float = 0,
    empty: int = 0,
    by: str = "positions",
    far: bool = False,
) -> np.ndarray:
    """The mask, or what it becomes by another choice."""
    q, kv = inputs["q_positions"], inputs["kv_positions"]
    past = len(kv) - len(q)
    rows, slots = np.arange(len(q)) + past, np.arange(len(kv))
    q, held = {"positions": (q, kv), "places": (rows, slots), "rows": (rows, kv),
               "sorted": (q, np.sort(kv))}[by]  # fmt: skip
    behind = q[:, None] - held
    distance = abs(behind) if far else behind
    filled = (np.sort(kv) if by == "sorted" else kv) >= empty
    return np.asarray(filled & (distance >= nearest) & (distance < inputs["window"] + keys))


def slips(inputs: Inputs) -> Slips:
    """Return what the mask would be with one idea missing, or two."""
    window = inputs["window"]
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"keys": 1},
         f"One key too many. The window of {window} counts the token's own key, so the key "
         f"{window} positions back is outside."),
        ({"empty": -1},
         "You attend to an empty slot. A key at position -1 holds no token."),
        ({"by": "places"},
         "Your mask is made from indices of the array. A ring puts new tokens in old slots, so "
         "compare the positions of queries and keys."),
        ({"nearest": 1}, "The token does not attend to itself. Its own key belongs to the window."),
        ({"empty": 1}, "You hide the token at position 0. Only a slot at position −1 is empty."),
        ({"by": "sorted"},
         "You sorted the keys. Column j belongs to the key in slot j, wherever it is in the text, "
         "so leave the slots in their order."),
        ({"by": "rows"},
         "You placed the queries by their rows, as the last ones of the array. Use their "
         "positions, as for the keys."),
        ({"keys": -1}, f"One key too few. There are {window}, the token's own included."),
        ({"nearest": -(10**6)}, "Later tokens are visible. The mask is causal as well."),
        ({"keys": np.inf}, "The window is missing, so far keys are visible too."),
        ({"far": True},
         "Your window reaches ahead. A query attends only to keys at its own position and before."),
    ]  # fmt: skip
    places = mistakes[2][1]
    return [
        (_mask(inputs, by="places", empty=-1), places),  # nor does it look for empty slots
        *with_pairs(partial(_mask, inputs), mistakes),
        (_mask(inputs, by="places", keys=1, empty=-1),
         f"Two things. {places} And one key too many is visible: the window counts the token's own "
         "key."),
        (~right(inputs), "Your mask is upside down. True means that the query may attend."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """Keys that are there, not ahead, and inside the window."""
    kv = inputs["kv_positions"]
    behind = inputs["q_positions"][:, None] - kv
    return np.asarray((kv >= 0) & (behind >= 0) & (behind < inputs["window"]))


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first pair that is wrong."""
    wanted, q, kv = right(inputs), inputs["q_positions"], inputs["kv_positions"]
    i, j = np.argwhere(outputs["mask"] != wanted)[0]
    verb = "should" if wanted[i, j] else "must not"
    return (
        f"With a window of {inputs['window']}, the query at position {q[i]} {verb} attend to the "
        f"key at position {kv[j]}."
    )


EXERCISE = Exercise(
    id="window_mask",
    page="sliding-window",
    title="The mask of a ring",
    kind="bug",
    groups={"edges": 3},
    minutes=10,
    difficulty=2,
    stage="transfer",
    assessed=False,
    section="One key too many",
    complaint=Complaint(
        "masks",
        "The model was trained with a window of 4,096. With your mask, it's a little worse than "
        "it should be, and much worse once the cache wraps.",
        "[transformers, issue 39408](https://github.com/huggingface/transformers/issues/39408): "
        "the window passed to FlashAttention was one key too large.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "How many keys does the last query attend to? And what does the mask say when the keys are "
        "in another order?",
        "The difference of their positions says how far a key is behind a query. The key is "
        "visible if that is 0 or more and below the window, and if the slot holds a token.",
    ),
    common_errors=(
        "`<=` where `<` belongs. The token's own key is one of the window's.",
        "Fixing the count and leaving the triangle, which is right until the ring wraps.",
        "Forgetting slots that hold no token yet.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
