"""Write the count of an attention layer's FLOPs, part by part."""

from __future__ import annotations

import numpy as np

from mini_attn import cost
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Write the FLOPs of one attention layer as an array of four whole numbers: projections, scores,
weighted sum, output projection. Keys and values have `n_kv_heads` heads, queries `n_heads`; all
heads have size `head_dim`, and `n_heads * head_dim` need not be `d_model`. With `causal=True`
count visible pairs only, with `causal=False` the full square. A multiply-add is 2 FLOPs.
"""
STARTER = '''
def layer_flops(seq, d_model, n_heads, n_kv_heads, head_dim, causal):
    """FLOPs of the four products: np.array([projections, scores, sum, output])."""
    raise NotImplementedError
'''

PARTS = ("the projections", "the scores", "the weighted sum", "the output projection")


def _sizes(
    seq: int, d_model: int, n_heads: int, n_kv_heads: int, head_dim: int, causal: bool
) -> Inputs:
    return {
        "seq": seq, "d_model": d_model, "n_heads": n_heads, "n_kv_heads": n_kv_heads,
        "head_dim": head_dim, "causal": causal,
    }  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: the running example. The property: heads that are shared, a width of its own."""
    drawn: Cases = {"by hand": [_sizes(4, 8, 2, 2, 4, False)], "random": []}
    for causal in (False, True, True):
        seq, heads, size = (int(n) for n in rng.integers([6, 3, 5], [40, 9, 17]))
        drawn["random"].append(_sizes(seq, heads * size, heads, heads, size, causal))
    drawn["property"] = [_sizes(7, 30, 4, 4, 16, False), _sizes(10, 48, 6, 2, 8, True)]
    drawn["edges"] = [_sizes(1, 8, 1, 1, 8, True), _sizes(200_000, 8192, 64, 8, 128, True)]
    return drawn


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Four whole numbers."""
    return {"flops": ((4,), "iu")}


def _right(inputs: Inputs, *, shared: bool = True) -> np.ndarray:
    n, d, heads, kv_heads, size = (
        inputs[key] for key in ("seq", "d_model", "n_heads", "n_kv_heads", "head_dim")
    )
    kv_heads = kv_heads if shared else heads
    pairs = cost.visible_pairs(n, n) if inputs["causal"] else n * n
    return np.array([
        2 * n * d * size * (heads + 2 * kv_heads), 2 * pairs * heads * size,
        2 * pairs * heads * size, 2 * n * heads * size * d,
    ], dtype=np.int64)  # fmt: skip


def _of_pairs(inputs: Inputs) -> list[tuple[np.ndarray, str]]:
    """What the counts would be with one idea about heads and pairs missing."""
    counts, n, heads = _right(inputs), inputs["seq"], inputs["n_heads"]
    full = _right({**inputs, "causal": False})
    half, diagonal, one, wide, few = (counts.copy() for _ in range(5))
    if inputs["causal"]:
        half[1:3] = full[1:3] // 2
        diagonal[1:3] = full[1:3] // n * (n - 1) // 2
    one[1:3] //= heads
    wide[1:3] *= heads
    few[1:3] = counts[1:3] // heads * inputs["n_kv_heads"]
    own = "Queries have n_heads heads: each needs its own scores, shared keys or not."
    return [
        (one, "The scores and the weighted sum are those of one head: there are n_heads."),
        (wide, "The heads are counted twice in the pairs' part: all heads together have "
         "n_heads · head_dim numbers a token."),
        (full, "With causal=True only visible pairs count: the query at place i (from 1) sees i "
         "keys."),
        (half, "Half of the square splits the diagonal: 1 + 2 + … + n is n (n + 1) / 2."),
        (diagonal, "The diagonal is missing: a token sees itself, so there are n (n + 1) / 2 "
         "pairs."),
        (_right({**inputs, "causal": not inputs["causal"]}),
         "causal is taken the wrong way round: with True only visible pairs count."),
        (few, own),
        (_right({**inputs, "n_heads": inputs["n_kv_heads"]}), own),
    ]  # fmt: skip


def _of_weights(inputs: Inputs) -> list[tuple[np.ndarray, str]]:
    """What the counts would be with one idea about the projections missing."""
    counts, n, d = _right(inputs), inputs["seq"], inputs["d_model"]
    kv = 2 * n * d * inputs["n_kv_heads"] * inputs["head_dim"]
    square, pairs = 2 * n * d**2, counts[1] // (inputs["n_heads"] * inputs["head_dim"]) * d
    narrow = counts.copy()
    narrow[[0, 3]] = 3 * square, square
    less, more = counts.copy(), counts.copy()
    less[0] -= kv
    more[0] += counts[3]
    width = ("The width of the heads together is n_heads · head_dim. It need not be d_model, and "
             "keys may have fewer heads.")  # fmt: skip
    return [
        (_right(inputs, shared=False),
         "Keys and values have n_kv_heads heads, and only the queries n_heads."),
        (narrow, width),
        (np.array([3 * square, pairs, pairs, square]), width),
        (np.array([square + 2 * kv, pairs, pairs, square]), width),
        (less, "One projection is missing: queries, keys and values are all projected."),
        (more, "The output projection is counted among the projections too. It is the fourth "
         "number, and nothing else."),
        (counts.astype(np.int32).astype(np.int64),
         "The count does not fit into 32 bits: it has wrapped round."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The four counts."""
    return _right(inputs)


def slips(inputs: Inputs) -> Slips:
    """Counts with one idea missing; of the scores and the sum it may be missing in one alone."""
    counts, pairs = _right(inputs), _of_pairs(inputs)
    half = (counts // 2, "Half of everything is missing: a multiply-add is 2 FLOPs.")
    alone = [
        (np.where(np.arange(4) == part, wrong, counts), f"In {PARTS[part]} alone: {idea}")
        for wrong, idea in pairs
        for part in (1, 2)
    ]
    return [half, *pairs, *_of_weights(inputs), *alone]


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """How far the first wrong part is off."""
    flops, counts = outputs["flops"], _right(inputs)
    i = int(np.argmax(flops != counts))
    return f"FLOPs of {PARTS[i]}: {float(flops[i]) / float(counts[i]):.3g} times the right count."


EXERCISE = Exercise(
    id="layer_flops",
    page="attention-cost",
    title="Count a layer",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=2,
    assessed=False,
    section="A layer, part by part",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Four matrix products. For each: how many rows, how many columns, how many terms in a sum?",
        "Projections: seq rows, d_model terms, head_dim · (n_heads + 2 n_kv_heads) columns. Scores "
        "and weighted sum: one head_dim of multiply-adds for each pair and query head. Output: "
        "n_heads · head_dim terms, d_model columns. Twice all that.",
    ),
    common_errors=(
        "Multiplying by the heads where the width already holds them.",
        "Taking half of the square for the visible pairs: the diagonal is whole.",
        "Counting key/value heads in the scores: every query head has its own.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=np.array_equal,
    symptom=symptom,
)
