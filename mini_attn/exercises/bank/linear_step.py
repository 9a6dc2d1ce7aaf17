"""Write one step of linear attention: a past of fixed size."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = r"""
Causal linear attention can run like a cache that never grows. Write one step of it for one head,
after equation {eq}`eq-attention-cost-linear`. `q` and `k` are the new token's features
$\varphi(q)$ and $\varphi(k)$, of shape `(features,)`; `v` is `(v_head_dim,)`; `state` of shape
`(features, v_head_dim)` and `total` of shape `(features,)` are the two sums over the tokens
before. Return `out` of shape `(v_head_dim,)`, the new `state` and the new `total`. A token sees
itself. Leave the arrays that were passed in as they are.
"""
STARTER = '''
def linear_step(q, k, v, state, total):
    """One step of linear attention: (out, state, total)."""
    raise NotImplementedError
'''


def _after(rng: np.random.Generator, past: int, features: int, v_size: int) -> Inputs:
    """A step after some tokens; features are positive, as a feature map makes them."""
    q, new_k = 0.1 + rng.random(features), 0.1 + rng.random(features)
    keys, values = 0.1 + rng.random((past, features)), rng.standard_normal((past, v_size))
    return {
        "q": q, "k": new_k, "v": rng.standard_normal(v_size),
        "state": keys.T @ values, "total": keys.sum(axis=0),
    }  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one token before, whole numbers. The property: a long past. Edge: no past."""
    by_hand = {
        "q": np.array([1.0, 2.0]), "k": np.array([2.0, 0.0]), "v": np.array([1.0, 5.0, 0.0]),
        "state": np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 6.0]]), "total": np.array([0.0, 3.0]),
    }  # fmt: skip
    return {
        "by hand": [by_hand],
        "random": [_after(rng, 3, 4, 2), _after(rng, 6, 3, 5)],
        "property": [_after(rng, 2000, 4, 3)],
        "edges": [_after(rng, 0, 3, 2), _after(rng, 1, 1, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """The output row, and the two sums with the new token in them."""
    return {
        "out": (inputs["v"].shape, "f"),
        "state": (inputs["state"].shape, "f"),
        "total": (inputs["total"].shape, "f"),
    }


def right(inputs: Inputs) -> dict[str, np.ndarray]:
    """The two sums with the new token in them, then the output."""
    q, k, v = (inputs[key] for key in ("q", "k", "v"))
    state, total = inputs["state"] + np.outer(k, v), inputs["total"] + k
    return {"state": state, "total": total, "out": q @ state / (q @ total)}


def _of_sums(inputs: Inputs) -> Slips:
    """Return what the sums would be with one idea missing."""
    q, k, v, old, old_total = (inputs[key] for key in ("q", "k", "v", "state", "total"))
    again = "φ is applied a second time. q and k are features already."
    return [
        ({"state": old}, "The state is the old one: the new token's k and v have to go into it."),
        ({"state": np.outer(k, v)},
         "The state holds the new token only: it is a sum over all tokens so far."),
        ({"state": old + np.outer(q, v)},
         "The state took q for k. A query is used once; keys stay for later queries."),
        ({"state": (old + np.outer(k, v)) / (old_total + k)[:, None]},
         "The state is divided by the total. It stays a sum: only the output is divided, once for "
         "each query."),
        ({"state": old + np.outer(k + 1, v)}, again),
        ({"state": old + np.outer(np.exp(k), v)}, again),
        ({"total": old_total + q}, "The total took q for k: it is the sum of the keys."),
        ({"total": old_total + 1}, "The total counts the tokens. It is the sum of their keys."),
        ({"total": old_total}, "The total is the old one: it sums the keys, the new one included."),
    ]  # fmt: skip


def _out(
    inputs: Inputs, *, above: str = "new", below: str = "new", more: float = 0.0
) -> np.ndarray:
    """The output, or what another numerator or divisor makes of it."""
    q, k, old = inputs["q"], inputs["k"], {"state": inputs["state"], "total": inputs["total"]}
    new = {"state": old["state"] + np.outer(k, inputs["v"]), "total": old["total"] + k}
    top = q @ (old if above == "old" else new)["state"]
    sums = {"new": q @ new["total"], "old": max(q @ old["total"], 1e-300), "nothing": 1.0,
            "old, if any": q @ old["total"] or 1.0, "all": new["total"].sum(),
            "k": k @ new["total"], "itself": top.sum(), "one": q @ k,
            "root": len(q) ** 0.5}  # fmt: skip
    return np.asarray(top / (sums[below] + more))


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"below": "nothing"},
     "The output is not normalised: weights q·k have to be divided by their sum."),
    ({"above": "old", "below": "old"},
     "The token does not see itself: put it into the sums before the output is taken."),
    ({"below": "old"}, "The new token is in the numerator and not in the sum of the weights."),
    ({"below": "old, if any"},
     "The new token is in the numerator and not in the sum of the weights."),
    ({"above": "old"}, "The new token is not in the numerator: its value is missing there."),
    ({"below": "all"}, "The sum of the weights is q · total, not the sum of total."),
    ({"below": "k"}, "The sum of the weights is asked for with k. The query asks: q · total."),
    ({"below": "one"},
     "The divisor is the weight of the new token alone. The weights of all tokens have to sum to "
     "1."),
    ({"below": "root"}, "The output is divided by the root of the number of features. What has to "
     "divide it is the sum of the weights."),
    ({"below": "itself"}, "The output is divided by its own sum. Its weights have to sum to 1, not "
     "its numbers."),
    *(({"more": more}, "Something is added to the sum of the weights. Divided by more than their "
       "sum they do not sum to 1.") for more in (1.0, 1e-3)),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the sums, or the output, would be with one idea missing, or two."""
    q, k = inputs["q"], inputs["k"]
    state, total, _ = right(inputs).values()
    outs = [
        (k @ state / (k @ total), "The state is asked with k. The query asks."),
        *with_pairs(partial(_out, inputs), MISTAKES),
        (_out(inputs, more=len(q) ** 0.5), MISTAKES[-1][1]),
    ]
    return [*_of_sums(inputs), *(({"out": out}, idea) for out, idea in outs)]


SHOULD_BE = {
    "state": "The state should be the sum of k vᵀ, features in rows, values in columns.",
    "total": "The total should be the sum of all keys so far, one number for each feature.",
    "out": "The output should be q times the state, divided by q times the total.",
}


EXERCISE = Exercise(
    id="linear_step",
    page="attention-cost",
    title="A past of fixed size",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="Another order: linear attention",
    text=TEXT,
    letters="The sums run over the keys $j$ that query $i$ can see.",
    starter=STARTER,
    hints=(
        "Write out = Σ (q·k_j) v_j / Σ q·k_j and pull q out of both sums. What is left does not "
        "depend on the query.",
        "Add the outer product of k and v to the state and k to the total. Then q @ state, divided "
        "by q @ total.",
    ),
    common_errors=(
        "Taking the output before the new token is in: a token sees itself.",
        "Forgetting the division: without it these are no weights.",
        "Changing the arrays that were passed in, with +=.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=SHOULD_BE,
    keeps_inputs=True,
)
