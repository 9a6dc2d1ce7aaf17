"""Find the bug: a causal mask that forgets where the chunk stands."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
This function should say which keys each query of a chunk can see. It passed the one test below
it. Find out when it is wrong, and repair it. `q_positions` and `kv_positions` are
integer arrays, one position per query and per key; a key at position -1 is an empty slot, and
slots need not be in order. Return a boolean array `(q_len, kv_len)`, True where the query may
attend.
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
    """By hand: one query after three tokens. The property: slots may stand in any order."""
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
         "A slot's number is taken for the position of its key. The positions say where a key "
         "really stands."),
        (slots <= q,
         "Two things. A slot's number is taken for the position of its key. And: empty slots are "
         "seen."),
        ((kv >= 0) & (kv <= rows),
         "The queries are counted from 0, as if they were the first tokens. Their positions are "
         "given."),
        (kv <= rows,
         "Two things. The queries are counted from 0, as if they were the first tokens. And: empty "
         "slots are seen."),
        ((kv > 0) & (kv <= q),
         "The token at position 0 is hidden. It is the first token; only -1 marks an empty slot."),
        (kv < q, "Two things. A token does not see itself. And: empty slots are seen."),
        (np.broadcast_to((kv >= 0) & (kv <= q[:1]), (len(q), kv.size)),
         "Every query gets the row of the first. Each has a position of its own."),
        ((in_order >= 0) & (in_order <= q),
         "The columns are sorted by position. Column j belongs to slot j, wherever its token "
         "stands in the text."),
        ((kv >= 0) & (kv <= last),
         "The queries are taken for the last tokens that are there. Their own positions say where "
         "they stand."),
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
         "The triangle starts at the top left: it takes the first query for token 0. It stands at "
         f"position {q[0, 0]}. Compare positions, not indices of the array."),
        (np.tril(np.ones((q_len, kv_len), bool), kv_len - q_len),
         "The triangle is aligned to the end of the array. That holds while slots are in order and "
         "all filled; only the positions say where a key really stands."),
        ((kv >= 0) & (place <= q),
         "Filled slots are counted from the left, as if they stood in the order of the text. A "
         "cache may put a new token in an old slot: compare the positions themselves."),
        ((kv >= 0) & np.tril(np.ones((q_len, kv_len), bool)),
         "The triangle starts at the top left: it takes the first query for token 0. It stands at "
         f"position {q[0, 0]}. Compare positions, not indices of the array."),
        ((kv >= 0) & np.tril(np.ones((q_len, kv_len), bool), kv_len - q_len),
         "The triangle is aligned to the end of the array. That holds while slots are in order and "
         "all filled; only the positions say where a key really stands."),
        (before, "A slot at position -1 holds no token and may never be seen, but it is smaller "
         "than every position."),
        ((kv >= 0) & (kv < q), "A token does not see itself here: its own position is allowed."),
        (~((kv >= 0) & before), "The mask is upside down: True means that the query may attend."),
        (np.broadcast_to(kv >= 0, (q_len, kv_len)),
         "Later tokens are seen: a query may look at its own position and at smaller ones only."),
        (seen | ~seen.any(axis=1, keepdims=True),
         "A query with nothing to attend to gets a row of False. Its output is zeros, by the rule "
         "for empty rows; letting it see everything would mix in slots that hold no token."),
        (np.ones((q_len, kv_len), bool), "Everything is seen, the future and empty slots too."),
        ((kv >= 0) & (kv >= q), "The comparison is reversed: keys after the query are seen."),
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
    verb = "should" if wanted[i, j] else "must not"
    q, kv = inputs["q_positions"][i], inputs["kv_positions"][j]
    return f"The query at position {q} {verb} see the key at position {kv}."


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
    text=TEXT,
    starter=STARTER,
    hints=(
        "Ask of each pair: where does this query stand in the text, and where does this key?",
        "Put the query positions in a column and the key positions in a row, and compare. Then "
        "take out the slots that hold nothing.",
    ),
    common_errors=(
        "Testing with a whole prompt only, where both alignments are the same triangle.",
        "Moving the triangle to the bottom right: better, and still wrong when slots are empty or "
        "out of order.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
