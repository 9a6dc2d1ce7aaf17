"""Write the count of an attention layer's FLOPs, part by part."""

from __future__ import annotations

from itertools import combinations

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


def _counts(inputs: Inputs, *, shared: bool = True) -> np.ndarray:
    n, d, heads, kv_heads, size = (
        inputs[key] for key in ("seq", "d_model", "n_heads", "n_kv_heads", "head_dim")
    )
    kv_heads = kv_heads if shared else heads
    pairs = cost.visible_pairs(n, n) if inputs["causal"] else n * n
    return np.array([
        2 * n * d * size * (heads + 2 * kv_heads), 2 * pairs * heads * size,
        2 * pairs * heads * size, 2 * n * heads * size * d,
    ], dtype=np.int64)  # fmt: skip


def _guesses(inputs: Inputs) -> list[tuple[np.ndarray, tuple[int, ...], str]]:
    """What the counts would be with one idea missing, and the parts that it is about."""
    counts, n, heads = _counts(inputs), inputs["seq"], inputs["n_heads"]
    full = _counts({**inputs, "causal": False})
    half, no_diagonal = full.copy(), full.copy()
    if inputs["causal"]:
        half[1:3] //= 2
        no_diagonal[1:3] = full[1:3] // n * (n - 1) // 2
    narrow = counts.copy()
    square = n * inputs["d_model"] ** 2
    narrow[[0, 3]] = 6 * square, 2 * square
    one_head = counts.copy()
    one_head[1:3] //= heads
    widened = counts.copy()
    widened[1:3] *= heads
    every, pairs = (0, 1, 2, 3), (1, 2)
    return [
        (counts // 2, every, "Half is missing: a multiply-add is 2 FLOPs."),
        (counts.astype(np.int32), every,
         "The number is too large for 32 bits and wrapped round: use 64-bit whole numbers."),
        (one_head, pairs,
         "The scores and the weighted sum are those of one head: there are n_heads."),
        (widened, pairs, "The heads are counted twice in the pairs' part: all heads together have "
         "n_heads · head_dim numbers a token."),
        (full, pairs, "With causal=True only visible pairs count: the query at place i (from 1) "
         "sees i keys."),
        (half, pairs,
         "Half of the square splits the diagonal: 1 + 2 + … + n is n (n + 1) / 2."),
        (no_diagonal, pairs, "The diagonal is missing: a token sees itself, so there are "
         "n (n + 1) / 2 pairs."),
        (_counts(inputs, shared=False), (0,),
         "Keys and values have n_kv_heads heads, and only the queries n_heads."),
        (_counts({**inputs, "n_heads": inputs["n_kv_heads"]}), every,
         "Queries have n_heads heads: each needs its own scores, shared keys or not."),
        (narrow, (0, 3), "The width of the heads together is n_heads · head_dim. It need not be "
         "d_model, and keys may have fewer heads."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The four counts."""
    return _counts(inputs)


def slips(inputs: Inputs) -> Slips:
    """The counts with one idea missing, in all parts that it is about or in some of them."""
    counts, found = right(inputs), []
    for slip, about, idea in _guesses(inputs):
        for size in range(len(about), 0, -1):
            for parts in combinations(about, size):
                found.append((np.where(np.isin(np.arange(4), parts), slip, counts), idea))
    return found


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Which parts are wrong."""
    wrong = [PARTS[i] for i in np.flatnonzero(outputs["flops"] != right(inputs))]
    return f"Wrong here: {', '.join(wrong)}."


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
    symptom=symptom,
)
