"""Find the bug: a reference for empty tiles that outlives them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.comparing import wrong_along
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Attention of one head over blocks of keys, the last block first. `q` is `(q_len, head_dim)`, `k`
`(kv_len, head_dim)`, `v` `(kv_len, v_head_dim)`; `seen` `(q_len, kv_len)` is true where a query may
attend, and a query that sees no key gets zeros. The same lines were in a public kernel, where
[some heads of some tokens came out as zeros](https://github.com/Dao-AILab/flash-attention/issues/2082)
although those tokens saw keys. Find out when that happens, and repair the function. Scores may be
large, of either sign.
"""
STARTER = '''
def block_attention(q, k, v, seen, block):
    """Attention of one head, from the last block of keys to the first."""
    top = np.full(len(q), -np.inf)
    total, out = np.zeros(len(q)), np.zeros((len(q), v.shape[1]))
    for start in reversed(range(0, len(k), block)):
        some = slice(start, start + block)
        scores = q @ k[some].T / np.sqrt(q.shape[1])
        scores = np.where(seen[:, some], scores, -np.inf)
        higher = np.maximum(top, scores.max(axis=1))
        higher = np.where(np.isneginf(higher), 0.0, higher)
        keep = np.exp(top - higher)
        weights = np.exp(scores - higher[:, None])
        total = keep * total + weights.sum(axis=1)
        out = keep[:, None] * out + weights @ v[some]
        top = higher
    return out / np.where(total == 0, 1.0, total)[:, None]


keys = np.array([[3.0], [2.0], [1.0], [0.0]])      # four keys, and their values
block_attention(np.ones((4, 1)), keys, keys, np.tri(4, dtype=bool), 2)  # fine
'''

Array = np.ndarray


def _case(q: Array, k: Array, v: Array, seen: Array, block: int) -> Inputs:
    return {"q": q, "k": k, "v": v, "seen": seen, "block": block}


def _drawn(
    rng: np.random.Generator, q_len: int, kv_len: int, block: int, height: float = 0.0
) -> Inputs:
    """Causal attention of the last queries; scores about as high as asked."""
    size = 4
    q, k = (rng.standard_normal((n, size)) for n in (q_len, kv_len))
    q[:, 0], k[:, 0] = 2.0, k[:, 0] + height
    seen = np.tri(q_len, kv_len, kv_len - q_len, dtype=bool)
    return _case(q, k, rng.standard_normal((kv_len, 3)), seen, block)


def cases(rng: np.random.Generator) -> Cases:
    """By hand: the second block is hidden from two queries. The property: scores far from 0."""
    hand = _case(
        np.ones((3, 1)), np.array([[-900.0], [-901.0], [-902.0], [-900.0]]),
        np.array([[1.0], [2.0], [4.0], [8.0]]),
        np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]], bool), 2,
    )  # fmt: skip
    holes = _drawn(rng, 5, 8, 2, -1500.0)
    holes["seen"] &= rng.random((5, 8)) < 0.6
    holes["seen"][:, 0] = True
    blind = _drawn(rng, 4, 6, 2, -1200.0)
    blind["seen"][1] = False
    apart = _drawn(rng, 4, 8, 2)
    apart["q"][:, 0] = [2000.0, -2000.0, 300.0, -300.0]
    apart["k"][:, 0] = np.abs(apart["k"][:, 0]) + 1
    near, far = _drawn(rng, 6, 6, 2, -720.0), _drawn(rng, 5, 6, 2, -30_000.0)
    return {
        "by hand": [hand],
        "random": [_drawn(rng, 6, 6, 2), _drawn(rng, 4, 9, 3)],
        "property": [_drawn(rng, 6, 6, 2, -1000.0), holes, _drawn(rng, 5, 5, 2, 1000.0), near],
        "edges": [blind, apart, far, _drawn(rng, 3, 7, 3, -1000.0), _drawn(rng, 2, 3, 8, -1000.0),
                  _drawn(rng, 1, 1, 1, -1000.0)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One output row for each query."""
    return {"out": ((len(inputs["q"]), inputs["v"].shape[1]), "f")}


def _walk(
    inputs: Inputs,
    *,
    saved: str = "the maximum",
    begin: float = -np.inf,
    mask: str = "hidden",
    keep: str = "both",
    scaled: bool = True,
) -> Array:
    """The loop, with one thing or another done otherwise."""
    q, k, v, seen, block = (inputs[name] for name in ("q", "k", "v", "seen", "block"))
    top, total = np.full(len(q), begin), np.zeros(len(q))
    out = np.zeros((len(q), v.shape[1]))
    for start in reversed(range(0, len(k), block)):
        some = slice(start, start + block)
        scores = q @ k[some].T * (q.shape[1] ** -0.5 if scaled else 1.0)
        hidden = {"hidden": -np.inf, "zero": 0.0, "-1e9": -1e9}
        scores = scores if mask == "none" else np.where(seen[:, some], scores, hidden[mask])
        best = scores.max(axis=1)
        higher = np.maximum(top, best)
        shift = np.where(np.isneginf(higher), 0.0, higher)
        if saved == "one for all":
            shift = np.full_like(shift, shift.max())
        with np.errstate(all="ignore"):
            shrink = np.exp(top - shift)
            weights = np.exp(scores - shift[:, None])
            grown = {"both": shrink, "neither": np.ones_like(shrink), "last": np.zeros_like(shrink)}
            total = grown[keep] * total + weights.sum(axis=1)
            out = grown[keep][:, None] * out + weights @ v[some]
        top = shift if saved in ("the guard", "one for all") else higher
    whole = np.where(total == 0, 1.0, total)
    return np.asarray(out / whole[:, None])


def _mistakes() -> list[tuple[dict[str, Any], str]]:
    return [
        ({"saved": "the guard"},
         "A row whose first tile is hidden has 0 as its largest score from then on. No score of "
         "its own need be that high, and beside it all its exponentials vanish. What stands in for "
         "the maximum in the exponent must not become the maximum."),
        ({"begin": -1e4},
         "The maximum begins at −10,000, which no key has. Where all scores lie below, every "
         "exponential vanishes."),
        ({"begin": -500.0},
         "The maximum begins at a number that no key has. Where all scores lie below, every "
         "exponential vanishes."),
        ({"saved": "one for all"},
         "All queries share one maximum. Where a query's own scores lie far below it, its weights "
         "vanish."),
        ({"mask": "none"}, "Hidden keys are seen: the mask is lost."),
        ({"mask": "zero"},
         "Hidden keys get the score 0 in place of none, and with it a weight. Where scores are "
         "negative they get all of it."),
        ({"mask": "-1e9"},
         "A query that sees no key gets zeros. Here it gets the mean of the values, as if hidden "
         "keys had a low score in place of none."),
        ({"keep": "neither"},
         "Old sums stay as they are when a larger score comes. They have to shrink."),
        ({"keep": "last"},
         "Only the last tile of the walk is left: tiles before it have been thrown away."),
        ({"scaled": False}, "The scale 1 / √head_dim is lost."),
    ]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """The loop, with the guard in the exponent alone."""
    return _walk(inputs)


def slips(inputs: Inputs) -> Slips:
    """What the rows would be with one idea missing, or two."""
    return with_pairs(partial(_walk, inputs), _mistakes())


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first row that is wrong, and what it sees."""
    i = wrong_along(outputs["out"], right(inputs))[0]
    keys = np.flatnonzero(inputs["seen"][i]).tolist()
    scores = inputs["q"][i] @ inputs["k"][keys].T * inputs["q"].shape[1] ** -0.5
    spread = f", with scores from {scores.min():.0f} to {scores.max():.0f}" if keys else ""
    return f"Row {i} is wrong. It sees the keys {keys}{spread}; blocks have {inputs['block']} keys."


EXERCISE = Exercise(
    id="silent_rows",
    page="flash",
    title="Rows that fell silent",
    kind="bug",
    groups={"edges": 5},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="Where the maximum begins",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Take one query that does not see the last block, with scores of −900 in the first. Print "
        "top, total and out after each turn of the loop.",
        "Two things are needed of a row without a key so far: a number that can be subtracted "
        "without NaN, and a maximum that any score exceeds. One variable cannot be both.",
    ),
    common_errors=(
        "Testing with small scores, for which any reference near 0 is good enough.",
        "Beginning at a very low number instead: then some scores lie below that.",
        "Removing the guard: the walk begins with tiles that are hidden whole.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
