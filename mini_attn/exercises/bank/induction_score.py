"""Write the induction score: how much of its weight a head puts behind earlier copies."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips
from mini_attn.exercises.trained import block_row, maps_of, story_row

TEXT = """
From a word, an induction head looks at whatever came right after earlier copies of that word.
`ids` (seq,) are the ids of the words of any text, and `weights` (n_heads, seq, seq) are the causal
weights of a layer's heads for it. For each head, take the total weight that a word puts on
positions right after earlier copies of itself, and average it over the words that have an earlier
copy. If no word has one, return zeros. Return (n_heads,). Copies may be any distance apart.
"""
STARTER = '''
def induction_score(weights, ids):
    """Each head's mean weight on what followed earlier copies."""
    raise NotImplementedError
'''

Array = np.ndarray


def _random(rng: np.random.Generator, n_heads: int, ids: list[int]) -> Inputs:
    """Heads that look anywhere in the past, for given words."""
    seq = len(ids)
    parts = np.tril(rng.random((n_heads, seq, seq)) ** 3) + 1e-3 * np.eye(seq)
    return {"weights": parts / parts.sum(axis=-1, keepdims=True), "ids": np.array(ids)}


def _trained(rng: np.random.Generator, stories: bool) -> Inputs:
    """Heads of a trained model, which has learned to copy."""
    ids = story_row(rng, 60) if stories else block_row(rng, 9, 3)
    return {"weights": maps_of(ids)[1], "ids": ids}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: five words, two of which come again. The property: heads of a trained model."""
    weights = np.array([[
        [1, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0.25, 0.25, 0.5, 0, 0],
        [0.1, 0.6, 0.2, 0.1, 0], [0.1, 0.1, 0.3, 0.4, 0.1],
    ]])  # fmt: skip
    return {
        "by hand": [{"weights": weights, "ids": np.array([7, 4, 9, 7, 4])}],
        "random": [
            _random(rng, 3, [5, 2, 5, 8, 2, 5, 1]),
            _random(rng, 2, [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]),
        ],
        "property": [_trained(rng, stories=False), _trained(rng, stories=True)],
        "edges": [
            _random(rng, 2, [6, 1, 3, 8]), _random(rng, 3, [2]), _random(rng, 2, [4, 4, 1, 4]),
        ],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One score for each head."""
    return {"scores": ((len(inputs["weights"]),), "f")}


def _mean(weights: Array, where: Any, rows: Any) -> Array:
    """Weight on ``where`` in each row, averaged over some rows; zeros where there are none."""
    if not rows.any():
        return np.zeros(len(weights))
    return np.asarray((weights * where).sum(axis=-1)[:, rows].mean(axis=-1))


def _places(ids: Array) -> dict[str, Array]:
    """Return where each word may look, by each idea of an induction head; (seq, seq) each."""
    seq = len(ids)
    same = np.tril(np.equal.outer(ids, ids), -1)  # earlier copies
    behind = np.pad(same, ((0, 0), (1, 0)))[:, :seq]  # one further on
    ahead = np.pad(same, ((0, 0), (0, 1)))[:, 1:]
    last = np.zeros_like(behind)
    first = np.zeros_like(behind)
    for i in np.flatnonzero(behind.any(axis=1)):
        found = np.flatnonzero(behind[i])
        first[i, found[0]] = last[i, found[-1]] = True
    further = np.pad(behind, ((0, 0), (1, 0)))[:, :seq] & np.tri(seq, dtype=bool)
    spread = behind / np.maximum(behind.sum(axis=1), 1)[:, None]
    more = {"strict": np.tril(behind, -1), "further": further, "spread": spread}
    return more | {"right": behind, "same": same, "ahead": ahead, "last": last, "first": first}


def _score(inputs: Inputs, *, where: str = "right", rows: str = "copies") -> Array:
    """The score with other places, or with another mean."""
    weights, ids = inputs["weights"], inputs["ids"]
    places = _places(ids)
    behind = places["right"]
    chosen = {
        "copies": behind.any(axis=1), "all": np.ones(len(ids), bool),
        "later": np.equal.outer(ids, ids).sum(axis=1) > 1, "sum": behind.any(axis=1),
    }[rows]  # fmt: skip
    if where == "exchanged":
        return _mean(weights.swapaxes(1, 2), behind, chosen)
    found = _mean(weights, places[where], chosen)
    return found * chosen.sum() if rows == "sum" else found


ONE_COPY = ("copy. A word may have several earlier copies, and a head may split its weight among "
            "what followed them.")  # fmt: skip
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"where": "same"},
     "You took the weight on the earlier copies themselves. An induction head looks one "
     "position later, at what followed them."),
    ({"where": "ahead"},
     "You took the weight on the words before the copies. Take the words after them."),
    ({"rows": "all"},
     "You averaged over all words. A word without an earlier copy can't look behind one, so "
     "leave it out of the mean."),
    ({"rows": "later"},
     "You included words that come again only later. They have no earlier copy yet, so leave "
     "them out of the mean."),
    ({"where": "last"}, f"You counted only the latest {ONE_COPY}"),
    ({"where": "first"}, f"You counted only the first {ONE_COPY}"),
    ({"where": "strict"},
     "You left out a word's weight on itself. If its copy comes right before it, the word itself "
     "is what followed the copy, so its weight on itself counts."),
    ({"where": "spread"},
     "You averaged a word's weight over the places behind its copies. Add it up there; only the "
     "words are averaged."),
    ({"where": "further"}, "You went two positions past each copy. Take the word right after "
     "it."),
    ({"where": "exchanged"},
     "You swapped rows and columns: weights[h, i, j] is what word i, which looks, gives to "
     "word j."),
    ({"rows": "sum"}, "You summed over the words. Take their mean."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the scores would be with one idea missing, or two."""
    weights, ids, scores = inputs["weights"], inputs["ids"], right(inputs)
    behind, seq = _places(ids)["right"], len(ids)
    rows, half = behind.any(axis=1), seq // 2
    one = np.where(behind, weights, 0)
    most = one.max(axis=-1)[:, rows].mean(axis=-1) if rows.any() else scores
    hits = behind[np.arange(seq), weights.argmax(axis=-1)]  # (n_heads, seq)
    return [
        *with_pairs(partial(_score, inputs), MISTAKES),
        (one.sum(axis=(1, 2)) / max(1, behind.sum()),
         "You averaged over single cells. First add up a word's weight over all its copies, then "
         "average over the words."),
        (most,
         "You took the largest weight of each word. Add up its weight behind all its copies."),
        (hits[:, rows].mean(axis=-1) if rows.any() else scores,
         "You counted the words whose largest weight is behind a copy. The score averages the "
         "weight itself."),
        (scores if rows.any() else np.full_like(scores, np.nan),
         "You take a mean of nothing: no word of this text has an earlier copy. Return zeros "
         "then."),
        (_mean(weights, np.eye(seq, k=1 - half), np.arange(seq) >= max(half, 1)),
         "You assume that copies are half a text apart. They may be any distance apart, and the "
         "ids tell you where they are."),
    ]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """The mean weight behind earlier copies."""
    where = _places(inputs["ids"])["right"]
    return _mean(inputs["weights"], where, where.any(axis=1))


EXERCISE = Exercise(
    id="induction_score",
    page="model",
    title="The induction score",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=20,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="Which head does what",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Make a table of True and False that says which positions each word should look at. It "
        "compares two ids: that of the word that looks, and that of the word before the position.",
        "behind[i, j] is True where ids[j - 1] equals ids[i], with 1 <= j <= i. Multiply the "
        "weights by it, add up each row, and average the rows in which anything is True.",
    ),
    common_errors=(
        "Comparing ids[j] with ids[i]. Those are the copies, not what followed them.",
        "Also averaging over words that occur for the first time.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
