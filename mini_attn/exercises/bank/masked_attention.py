"""Write scaled dot-product attention with a mask."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
Write attention for one head in NumPy. `q` is `(q_len, head_dim)`, `k` is `(kv_len, head_dim)`,
`v` is `(kv_len, v_head_dim)`, and `mask` is a boolean array `(q_len, kv_len)`, True where the
query may attend. Return `out` of shape `(q_len, v_head_dim)`. Scores may be large, a hidden key
may have any score, and a query that sees nothing gets zeros.
"""
STARTER = '''
def masked_attention(q, k, v, mask):
    """Scaled dot-product attention of one head."""
    raise NotImplementedError
'''


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two keys along the axes. The property: hidden keys with huge scores."""
    by_hand = {
        "q": np.array([[0.0, 2.0], [2.0, 0.0]]), "k": np.array([[2.0, 0.0], [1.0, 1.0]]),
        "v": np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]]),
        "mask": np.array([[True, True], [True, False]]),
    }  # fmt: skip
    drawn: Cases = {"by hand": [by_hand], "random": [], "property": [], "edges": []}
    for group, sizes in (("random", [(3, 5, 4, 4), (6, 6, 8, 3)]), ("property", [(4, 4, 4, 4)])):
        for q_len, kv_len, size, v_size in sizes:
            q = rng.standard_normal((q_len, size)) + 0.2
            k, v = rng.standard_normal((kv_len, size)), rng.standard_normal((kv_len, v_size))
            mask = np.tril(np.ones((q_len, kv_len), bool), kv_len - q_len)
            drawn[group].append({"q": q, "k": k, "v": v, "mask": mask})
    huge = drawn["property"][0]
    huge["q"], huge["k"][-1] = np.abs(huge["q"]) + 1, 2e10  # a hidden score of billions
    seen_huge = {**drawn["random"][0], "q": 3000 * drawn["random"][0]["q"]}
    drawn["property"].append(seen_huge)
    empty = {name: array.copy() for name, array in drawn["random"][1].items()}
    empty["mask"][2] = False
    one = {name: drawn["random"][0][name][:1] for name in ("q", "k", "v")}
    drawn["edges"] = [empty, {**one, "mask": np.array([[True]])}]
    return drawn


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One output row for each query."""
    return {"out": ((len(inputs["q"]), inputs["v"].shape[1]), "f")}


def _out(
    inputs: Inputs,
    *,
    scale: float | None = None,
    hide: str = "before",
    axis: int = 1,
    empty: str = "zeros",
    shift: str = "visible",
) -> np.ndarray:
    """The output, or what it becomes by another choice in one of the steps."""
    q: np.ndarray = inputs["q"]
    mask: np.ndarray = inputs["mask"]
    scores = q @ inputs["k"].T * (q.shape[1] ** -0.5 if scale is None else scale)
    seen: np.ndarray = {"not": np.ones_like(mask), "upside down": ~mask}.get(hide, mask)
    hidden = np.where(seen, scores, 0.0 if hide == "zero" else -np.inf)
    with np.errstate(all="ignore"):
        top = (scores if shift == "all" or hide == "after" else hidden).max(axis, keepdims=True)
        powers = np.exp(hidden - np.where(np.isfinite(top) & (shift != "none"), top, 0))
        total = powers.sum(axis, keepdims=True)
        if hide == "after":
            total = np.exp(scores - top).sum(axis, keepdims=True)
        weights = powers / np.where((total == 0) & (empty != "nan"), 1, total)
        none = ~seen.any(axis, keepdims=True)
        weights = np.where(none & (empty == "mean"), 1 / mask.shape[1], weights)
        return np.asarray(weights @ inputs["v"])


def _mistakes(inputs: Inputs) -> list[tuple[dict[str, Any], str]]:
    """Return what can be done wrong in one step."""
    size = inputs["q"].shape[1]
    return [
        ({"scale": 1.0},
         f"Your scores aren't scaled. Divide q·k by the square root of head_dim = {size}."),
        ({"scale": 1.0 / size},
         f"You divided the scores by head_dim = {size}. Divide by its square root instead."),
        ({"scale": len(inputs["k"]) ** -0.5},
         "You scaled the scores by the number of keys. They grow with head_dim, the number of "
         "terms in each dot product."),
        ({"scale": inputs["v"].shape[1] ** -0.5},
         "Your scale is taken from v. A score adds up head_dim products of q and k."),
        ({"hide": "not"}, "Your mask has no effect: hidden keys keep their weight."),
        ({"hide": "upside down"},
         "Your mask is upside down. True means that the query may attend."),
        ({"hide": "after"},
         "You set weights to 0 after the softmax, so a row no longer sums to 1: the hidden keys "
         "have already taken their share. Hide the scores before the softmax."),
        ({"hide": "zero"},
         "You set hidden scores to 0, and e to the 0 is 1, so they still get weight. The score "
         "that gives weight 0 is minus infinity."),
        ({"shift": "all"},
         "You subtract the largest score of all, hidden ones too. If a hidden score is huge, the "
         "exponentials of the others vanish. Hide scores before you look for the largest."),
        ({"shift": "none"},
         "An exponential overflows, because these scores are large. Only their differences "
         "count, so you can shift each row first."),
        ({"empty": "mean"},
         "A query that sees nothing gets the average of all values. By the rule for empty rows, "
         "its output is zeros."),
        ({"empty": "nan"},
         "A query that sees nothing comes out as NaN, because you divide 0 by 0. By the rule for "
         "empty rows, its output is zeros."),
        ({"axis": 0},
         "Your softmax runs over the queries. The weights of each query sum to 1, so run it over "
         "the keys, the last axis."),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the output would be with one idea missing, or two."""
    mask, v = inputs["mask"], inputs["v"]
    scores = inputs["q"] @ inputs["k"].T * inputs["q"].shape[1] ** -0.5
    some = mask.any(axis=1, keepdims=True)
    return [
        *with_pairs(partial(_out, inputs), _mistakes(inputs)),
        (np.where(mask, scores, 0) @ v, "You used the scores as weights. The softmax is missing."),
        (_out(inputs, scale=1.0) * inputs["q"].shape[1] ** -0.5,
         "You scaled the output in place of the scores. Scale the scores, because their size "
         "decides how sharp the softmax is."),
        (_out(inputs, hide="zero") * some,
         "You set hidden scores to 0, and e to the 0 is 1, so they still get weight. The score "
         "that gives weight 0 is minus infinity."),
        (_out({**inputs, "mask": mask.any(axis=0) & np.ones_like(mask)}) * some,
         "You hide a key only if no query can see it. Each query has its own row of the mask."),
        *((ma.softmax(np.where(mask, scores, scores - less)) @ v * rows,
           "You subtract a large number from hidden scores, and a hidden score may be larger "
           "still. "
           "Which score gives weight 0, whatever it was before?")
          for less in (1e4, 1e9) for rows in (1, some)),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The softmax of the scaled, masked scores times the values."""
    q, k, v = (inputs[name][None, None] for name in "qkv")
    return np.asarray(ma.scaled_dot_product_attention(q, k, v, mask=inputs["mask"]))[0, 0]


EXERCISE = Exercise(
    id="masked_attention",
    page="attention",
    title="Attention with a mask",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=20,
    difficulty=2,
    stage="warm-up",
    assessed=False,
    section="Hiding the future",
    text=TEXT,
    starter=STARTER,
    hints=(
        "There are four steps: dot products, scale, softmax over the keys, weighted sum of the "
        "values. The mask belongs before the softmax.",
        "Divide q @ k.T by the root of head_dim, and put -inf where the mask is False. Subtract "
        "the largest score of each row, or 0 if that is -inf. Take exponentials and divide by "
        "their sum, or by 1 if the sum is 0. Then multiply by v.",
    ),
    common_errors=(
        "You mask after the softmax, so the rows no longer sum to 1.",
        "You don't subtract the row's maximum, so large scores overflow.",
        "You forget rows of nothing but -inf: -inf minus -inf is NaN, and so is 0 / 0.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
