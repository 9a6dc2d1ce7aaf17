"""Write where to cut a text so that parts of different lengths are the same work."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
Some systems don't pass keys around. Every rank gets all keys and values by one all-gather, and
computes the causal attention of its own queries, which are one contiguous part of the text. Then
the parts may have different lengths. Query `i`, counted from 0, compares itself with `i + 1` keys,
and the work of a part is the number of these pairs. Return `ends` `(ranks,)`, integers: `ends[r]`
is the smallest number of tokens such that the first `ends[r]` tokens have at least
`(r + 1) / ranks` of the pairs of all `n` tokens. `n` goes up to a million, so don't build anything
with `n * n` entries. Cuts must be exact.
"""
STARTER = '''
def even_cuts(n, ranks):
    """Tokens up to the end of each part (ranks,)."""
    raise NotImplementedError
'''

Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: ten tokens. The property: large texts; edges: ties, and one rank."""

    def of(*pairs: tuple[int, int]) -> list[Inputs]:
        return [{"n": n, "ranks": ranks} for n, ranks in pairs]

    some = [(int(n), int(r)) for n, r in zip(rng.integers(20, 400, 4), rng.integers(2, 9, 4),
                                             strict=True)]  # fmt: skip
    return {
        "by hand": of((10, 2), (8, 4)),
        "random": of(*some),
        "property": of((4096, 8), (1_000_000, 64), (137_903, 2)),
        "edges": of((7, 1), (3, 2), (20, 3), (5, 5), (13, 4), (14, 5), (35, 10)),
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """An end for each rank."""
    return {"ends": ((inputs["ranks"],), "i")}


def _ends(inputs: Inputs, own: int = 1, side: Any = "left") -> Array:
    """Search the sums of pairs, by whole numbers."""
    n, ranks = inputs["n"], inputs["ranks"]
    tokens = np.arange(1, n + 1, dtype=np.int64)
    pairs = tokens * (tokens - 1 + 2 * (own == 1)) // 2
    wanted = np.arange(1, ranks + 1, dtype=np.int64) * pairs[-1]
    return np.asarray(np.searchsorted(pairs * ranks, wanted, side=side) + 1)


def right(inputs: Inputs) -> Array:
    """The first place where the pairs so far reach each share."""
    return _ends(inputs)


def slips(inputs: Inputs) -> Slips:
    """Other cuts."""
    n, ranks = inputs["n"], inputs["ranks"]
    ends, places = right(inputs), np.arange(1, ranks + 1)
    roots = n * np.sqrt(places / ranks)
    exact = (np.sqrt(1 + 4 * n * (n + 1) * places / ranks) - 1) / 2
    pairs = np.cumsum(np.arange(1, n + 1, dtype=np.int64))
    down = np.searchsorted(pairs, places * pairs[-1] // ranks) + 1
    fractions = np.searchsorted(np.cumsum(np.arange(1.0, n + 1) / pairs[-1]), places / ranks) + 1
    above = ends * (ends + 1) // 2 * ranks - places * pairs[-1]
    nearest = ends - (above > ends * ranks - above)
    greedy, done = [], 0
    for _ in places:
        greedy.append(min(int(np.searchsorted(pairs, done - (-pairs[-1] // ranks))) + 1, n))
        done = int(pairs[greedy[-1] - 1])
    return [
        (down, "You round the shares down. A part needs at least its exact share."),
        (np.minimum(fractions, n), "You compare fractions in floating point. Where a share is "
         "reached exactly, they're sometimes off. Whole numbers aren't."),
        (nearest, "You take the nearest cut, also from below. Take the first that reaches the "
         "share."),
        (np.array(greedy), "You begin each part's share at the cut before. What a part has too "
         "much is then missing from the last one: count from the beginning of the text."),
        (np.ceil(places * n / ranks).astype(int), "Your parts have the same length. The last one "
         "then has the most pairs."),
        (places * n // ranks, "Your parts have the same length. The last one then has the most "
         "pairs."),
        (np.diff(ends, prepend=0), "Those are the lengths of the parts. Return where each ends."),
        (ends - np.diff(ends, prepend=0), "Those are the beginnings of the parts. Return where "
         "each ends."),
        (ends - 1, "You return the last token of each part. Return how many tokens there are up "
         "to its end."),
        (n - np.append(ends[::-1][1:], 0), "You cut from the back. The queries at the back have "
         "the most keys, so the last parts are the shortest."),
        (np.floor(exact).astype(int), "You stop before a share is reached. The first tokens up to "
         "the cut need *at least* that share."),
        (np.floor(roots).astype(int), "Your square roots are close, but rounded down, and a query "
         "also compares itself with its own key."),
        (np.round(roots).astype(int), "Your square roots are close. The cut is the first place "
         "that reaches the share, with each query's own key counted."),
        (np.ceil(roots).astype(int), "Your square roots are close. A query also compares itself "
         "with its own key: n tokens have n(n + 1)/2 pairs."),
        (_ends(inputs, own=0), "Each query also compares itself with its own key."),
        (np.round(exact).astype(int), "You round to the nearest cut. Take the first that reaches "
         "the share."),
        (np.minimum(_ends(inputs, side="right"), n), "Where a share is reached exactly, you go "
         "one token too far."),
    ]  # fmt: skip


EXERCISE = Exercise(
    id="even_cuts",
    page="devices",
    title="Parts of the same work",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=15,
    difficulty=4,
    stage="invent",
    assessed=False,
    section="Split the tokens: a ring",
    text=TEXT,
    starter=STARTER,
    hints=(
        "How many pairs do the first m tokens have? The shares you want are equal steps of that "
        "sum.",
        "m(m + 1)/2 · ranks ≥ (r + 1) · n(n + 1)/2, in whole numbers. `np.searchsorted` finds the "
        "first place in a sorted array that reaches a value.",
    ),
    common_errors=(
        "Parts of the same length.",
        "Rounding a square root: it's sometimes one token off.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=lambda inputs, outputs: (
        "Add up the pairs before each of your cuts, and compare with the share that it should "
        "reach."
    ),
)
