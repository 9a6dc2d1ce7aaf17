"""Write the count of an attention layer's FLOPs, part by part."""

from __future__ import annotations

from itertools import product

import numpy as np

from mini_attn import cost
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Count the FLOPs of one attention layer. Return an array of four integers: projections, scores,
weighted sum, output projection. Queries have `n_heads` heads, keys and values `n_kv_heads`. All
heads have dimension `head_dim`, and `n_heads * head_dim` doesn't have to equal `d_model`. With
`causal=True` count visible pairs only, with `causal=False` the full square. A multiply-add is
2 FLOPs.
"""
STARTER = '''
def layer_flops(seq, d_model, n_heads, n_kv_heads, head_dim, causal):
    """np.array of FLOPs: [projections, scores, sum, output]."""
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
    """By hand: the running example. The property: heads that are shared, its own width."""
    drawn: Cases = {"by hand": [_sizes(4, 8, 2, 2, 4, False)], "random": []}
    for causal in (False, True, True):
        seq, heads, size = (int(n) for n in rng.integers([6, 3, 5], [40, 9, 17]))
        drawn["random"].append(_sizes(seq, heads * size, heads, heads, size, causal))
    drawn["property"] = [_sizes(7, 30, 4, 4, 16, False), _sizes(10, 48, 6, 2, 8, True)]
    drawn["edges"] = [_sizes(1, 8, 1, 1, 8, True), _sizes(200_000, 8192, 64, 8, 128, True)]
    return drawn


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Four integers."""
    return {"flops": ((4,), "i")}


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


Guess = tuple[np.ndarray, tuple[int, ...], str]


def _of_pairs(inputs: Inputs) -> list[Guess]:
    """Counts with one idea about heads and pairs missing, and the parts that it is about."""
    counts, n, heads = _counts(inputs), inputs["seq"], inputs["n_heads"]
    full = _counts({**inputs, "causal": False})
    half, diagonal, double = full.copy(), full.copy(), full.copy()
    whole = full.copy()  # the same half, with the odd pair dropped
    if inputs["causal"]:
        half[1:3] //= 2
        whole[1:3] = full[1:3] // n**2 * (n**2 // 2)
        double[1:3] = full[1:3] // n * (n + 1)
        diagonal[1:3] = full[1:3] // n * (n - 1) // 2
    own = "Every query head needs its own scores, even if keys are shared. There are n_heads."
    found = [
        (counts // heads,
         "You counted the scores and the weighted sum of one head. There are n_heads."),
        (counts * heads, "You counted the heads twice in the pairs: all heads together have "
         "n_heads · head_dim values per token."),
        (counts // inputs["head_dim"], "You left out head_dim. A score is a sum of head_dim "
                                       "products, and "
         "a row of the weighted sum has head_dim values."),
        (full, "You counted the full square. With causal=True only visible pairs count: "
         "query number i, from 1, attends to i keys."),
        *((slip, "You took half of the square, but the diagonal is whole: 1 + 2 + … + n is n "
                 "(n + 1) / 2.") for slip in (half, whole)),
        (diagonal, "You left out the diagonal. A token attends to itself, so there are "
         "n (n + 1) / 2 pairs."),
        (double, "You forgot to halve: with causal=True there are n (n + 1) / 2 pairs."),
        (counts * inputs["d_model"] // (heads * inputs["head_dim"]),
         "You used d_model as the width of all heads. It's n_heads · head_dim."),
        (_counts({**inputs, "causal": not inputs["causal"]}),
         "You have causal the wrong way around. With True only visible pairs count."),
        (counts // heads * inputs["n_kv_heads"], own),
    ]  # fmt: skip
    every = (_counts({**inputs, "n_heads": inputs["n_kv_heads"]}), (0, 1, 2, 3), own)
    return [every, *((slip, (1, 2), idea) for slip, idea in found)]


def _of_weights(inputs: Inputs) -> list[Guess]:
    """Counts with one idea about the projections missing, and the parts that it is about."""
    counts, n, d = _counts(inputs), inputs["seq"], inputs["d_model"]
    kv = 2 * n * d * inputs["n_kv_heads"] * inputs["head_dim"]
    square, pairs = 2 * n * d**2, counts[1] // (inputs["n_heads"] * inputs["head_dim"]) * d
    first, fourth = np.array([1, 0, 0, 0]), np.array([0, 0, 0, 1])
    width = ("You used d_model as the width of all heads. It's n_heads · head_dim, and keys may "
             "have fewer heads.")  # fmt: skip
    return [
        (_counts(inputs, shared=False), (0,),
         "You gave keys and values n_heads heads. They have n_kv_heads."),
        (np.array([3 * square, pairs, pairs, square]), (0, 3), width),
        (square + 2 * kv * np.ones_like(first), (0,), width),
        (np.array([3 * square, pairs, pairs, square]), (0, 1, 2, 3), width),
        (np.array([square + 2 * kv, pairs, pairs, square]), (0, 1, 2, 3), width),
        (counts - 2 * kv * first, (0,),
         "You projected the queries only. Keys and values need projections too."),
        (counts * np.array([3, 1, 1, 1]), (0,),
         "You counted the projections three times: n_heads + 2 n_kv_heads heads already cover "
         "queries, keys and values."),
        (counts // n, (0, 3),
         "You counted the projections of one token. There are seq."),
        (counts - kv * first, (0,),
         "You left out one projection. Queries, keys and values are all projected."),
        (counts + counts[3] * first, (0,),
         "You counted the output projection among the projections too. It's only the fourth "
         "number."),
        (kv * fourth, (3,), "You used n_kv_heads in the output projection. It takes n_heads "
                            "heads in."),
        (counts.astype(np.int32).astype(np.int64), (0, 1, 2, 3),
         "The number is too large for 32 bits and wrapped around. Use 64-bit integers."),
    ]  # fmt: skip


def _parts(counts: np.ndarray, *changes: tuple[np.ndarray, tuple[int, ...]]) -> np.ndarray:
    """The counts with some parts as slips would have them."""
    made = counts.copy()
    for slip, about in changes:
        made[list(about)] = slip[list(about)]
    return made


def right(inputs: Inputs) -> np.ndarray:
    """The four counts."""
    return _counts(inputs)


def slips(inputs: Inputs) -> Slips:
    """The counts with one idea missing, in all parts that it is about or in one, or with two."""
    counts, pairs, weights = right(inputs), _of_pairs(inputs), _of_weights(inputs)
    once = "a multiply-add is 2 FLOPs."
    single = [(_parts(counts, (slip, about)), idea) for slip, about, idea in pairs + weights]
    some = [
        (_parts(counts, (slip, (part,))), f"In {PARTS[part]} alone: {idea}")
        for slip, about, idea in pairs
        if about == (1, 2)
        for part in about
    ]
    some += [
        (
            _parts(counts, (counts // 2, parts)),
            f"In {' and '.join(PARTS[i] for i in parts)}: {once}",
        )
        for parts in ((0, 3), (1, 2), (0,), (1,), (2,), (3,))
    ]
    both = [
        (_parts(counts, (slip, about), (other, where)), f"Two things. {idea} And: {also}")
        for (slip, about, idea), (other, where, also) in product(pairs, weights)
        if not set(about) & set(where)
    ]
    halves = [(slip // 2, f"Two things. {idea} And: {once}") for slip, idea in single]
    half = (counts // 2, f"Half of everything is missing: {once}")
    return [half, *single, *some, *both, *halves]


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say which parts are wrong."""
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
    stage="warm-up",
    assessed=False,
    section="A layer, part by part",
    text=TEXT,
    starter=STARTER,
    hints=(
        "For each of the four matrix products: how many rows, how many columns, and how many "
        "terms in each sum?",
        "Projections: seq rows, d_model terms, head_dim · (n_heads + 2 n_kv_heads) columns. Scores "
        "and weighted sum: one head_dim of multiply-adds per pair and query head. Output: "
        "n_heads · head_dim terms, d_model columns. Twice all that.",
    ),
    common_errors=(
        "Multiplying by the heads where the width already includes them.",
        "Taking half of the square for the visible pairs: the diagonal is whole.",
        "Counting key/value heads in the scores: every query head has its own.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
