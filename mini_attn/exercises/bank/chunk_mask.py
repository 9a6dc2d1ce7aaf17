"""Find the bug: a causal mask that forgets where the chunk is."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
This function should say which keys each query of a chunk may attend to. It passed the one test
below it. Find out when it's wrong, and fix it. `q_positions` and `kv_positions` are integer arrays
with one position per query and per key. A key at position -1 is an empty slot, and slots may be in
any order. Return a boolean array `(q_len, kv_len)`, True where the query may attend.
"""
STARTER = '''
def chunk_mask(q_positions, kv_positions):
    """True where a query may attend to a key, causally."""
    q_len, kv_len = len(q_positions), len(kv_positions)
    return np.tril(np.ones((q_len, kv_len), dtype=bool))


chunk_mask(np.arange(4), np.arange(4)).astype(int)  # looks right
'''


def _pair(q_positions: list[int], kv_positions: list[int]) -> Inputs:
    return {"q_positions": np.array(q_positions), "kv_positions": np.array(kv_positions)}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one query after three tokens. The property: slots may come in any order."""
    # A chunk after a past, with padding before and a free slot behind: here all slips differ.
    drawn = [_pair([2, 3], [-1, 0, 1, 2, 3, -1])]
    for _ in range(6):
        past, chunk, padding, free = rng.integers([0, 1, 0, 0], [6, 5, 4, 3])
        tokens = list(range(past + chunk))
        drawn.append(_pair(tokens[past:], [-1] * padding + tokens + [-1] * free))
    order = [int(position) for position in rng.permutation(7)]
    prompt = list(range(int(rng.integers(4, 9))))
    return {
        "by hand": [_pair([3], [0, 1, 2, 3])],
        "random": drawn,
        "property": [_pair([2, 3], [2, 3, -1, 0, 1]), _pair([6], [4, 5, 6, 3]),
                     _pair([4, 5, 6], order)],
        # A query that is padding itself, no token at all, a whole prompt, a single token.
        "edges": [
            _pair([-1, 0, 1], [-1, 0, 1]), _pair([2, 3], [-1, -1]),
            _pair(prompt, prompt), _pair([0], [0]),
        ],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One truth value for each query and key."""
    return {"mask": ((len(inputs["q_positions"]), len(inputs["kv_positions"])), "b")}


def _more_slips(inputs: Inputs) -> Slips:
    """Return what the mask would be if slots, the first, the last or the order meant positions."""
    q, kv = inputs["q_positions"][:, None], inputs["kv_positions"][None, :]
    slots, rows = np.arange(kv.size)[None, :], np.arange(len(q))[:, None]
    last, in_order = (kv >= 0).sum() - len(q) + rows, np.sort(kv)
    return [
        ((kv >= 0) & (slots <= q),
         "You took a slot's number for the position of its key. Compare kv_positions instead."),
        (slots <= q,
         "Two things. You took a slot's number for the position of its key. And: you let queries "
         "attend to empty slots."),
        ((kv >= 0) & (kv <= rows),
         "You counted the queries from 0, as if they were the first tokens. Use q_positions."),
        (kv <= rows,
         "Two things. You counted the queries from 0, as if they were the first tokens. And: you "
         "let queries attend to empty slots."),
        ((kv > 0) & (kv <= q),
         "You've hidden position 0. That's the first token; only -1 marks an empty slot."),
        (kv < q,
         "Two things. Your token doesn't attend to itself. And: you let queries attend to empty "
         "slots."),
        (np.broadcast_to((kv >= 0) & (kv <= q[:1]), (len(q), kv.size)),
         "You gave every query the row of the first. Each has its own position."),
        ((in_order >= 0) & (in_order <= q),
         "You sorted the columns by position. Column j belongs to slot j, wherever its token is in "
         "the sequence."),
        ((kv >= 0) & (kv <= last),
         "You took the queries for the last tokens in the cache. Use their own positions."),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the mask would be with one idea missing."""
    q, kv = inputs["q_positions"][:, None], inputs["kv_positions"][None, :]
    q_len, kv_len = len(inputs["q_positions"]), len(inputs["kv_positions"])
    before = kv <= q
    seen = (kv >= 0) & before
    place = np.cumsum(kv >= 0, axis=1) - 1
    return [
        (np.tril(np.ones((q_len, kv_len), bool)),
         "Your triangle starts at the top left, so it takes the first query for token 0. It's at "
         f"position {q[0, 0]}. Compare positions, not array indices."),
        (np.tril(np.ones((q_len, kv_len), bool), kv_len - q_len),
         "You aligned the triangle to the end of the array. That's right only while all slots are "
         "filled and in order. Compare positions instead."),
        ((kv >= 0) & (place <= q),
         "You counted filled slots from the left, as if they were in order. But a cache may put a "
         "new token in an old slot, so compare the positions themselves."),
        ((kv >= 0) & np.tril(np.ones((q_len, kv_len), bool)),
         "Your triangle starts at the top left, so it takes the first query for token 0. It's at "
         f"position {q[0, 0]}. Compare positions, not array indices."),
        ((kv >= 0) & np.tril(np.ones((q_len, kv_len), bool), kv_len - q_len),
         "You aligned the triangle to the end of the array. That's right only while all slots are "
         "filled and in order. Compare positions instead."),
        (before, "You let queries attend to empty slots. Their position -1 is smaller than every "
         "query's position, so exclude it."),
        ((kv >= 0) & (kv < q), "Your token doesn't attend to itself. Allow its own position too."),
        (~((kv >= 0) & before), "Your mask is inverted. True means that the query may attend."),
        (np.broadcast_to(kv >= 0, (q_len, kv_len)),
         "You let queries attend to later tokens. Allow only their own position and smaller ones."),
        (seen | ~seen.any(axis=1, keepdims=True),
         "You let a query without any key attend to everything, empty slots included. Give it a "
         "row of False, and its output is zeros."),
        (np.ones((q_len, kv_len), bool),
         "You let every query attend to everything, later tokens and empty slots included."),
        ((kv >= 0) & (kv >= q),
         "You've reversed the comparison. Your queries attend to the keys after them."),
        *_more_slips(inputs),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """Keys that are there and not ahead."""
    q, kv = inputs["q_positions"][:, None], inputs["kv_positions"][None, :]
    return np.asarray((kv >= 0) & (kv <= q))


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first pair that is wrong."""
    wanted = right(inputs)
    i, j = np.argwhere(outputs["mask"] != wanted)[0]
    verb = "should" if wanted[i, j] else "mustn't"
    q, kv = inputs["q_positions"][i], inputs["kv_positions"][j]
    return f"The query at position {q} {verb} attend to the key at position {kv}."


EXERCISE = Exercise(
    id="chunk_mask",
    page="kv-cache",
    title="The mask of a chunk",
    kind="bug",
    groups={"edges": 4},
    minutes=10,
    difficulty=2,
    stage="transfer",
    assessed=True,
    section="Prompts, chunks and batches",
    complaint=Complaint(
        "masks",
        "A prompt in one piece works. The same prompt in two pieces gets a different answer.",
        "[onnx, pull request 8068](https://github.com/onnx/onnx/pull/8068): the causal mask of "
        "the Attention operator was aligned to the top left, even for a chunk that follows a "
        "cache.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "For each pair, ask where this query is in the sequence, and where this key is.",
        "Put the query positions in a column and the key positions in a row, and compare. Then "
        "exclude the empty slots.",
    ),
    common_errors=(
        "Testing with a whole prompt only, where both alignments give the same triangle.",
        "Moving the triangle to the bottom right. That's better, but still wrong when slots are "
        "empty or out of order.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
