"""Write one step of linear attention: a past of fixed size."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = r"""
Causal linear attention can run like a cache that never grows. Write one step of it for one head,
following equation {eq}`eq-attention-cost-linear`. `q` and `k` are the new token's features
$\varphi(q)$ and $\varphi(k)$, of shape `(features,)`, and `v` is `(v_head_dim,)`. The two sums over
the previous tokens are `state`, of shape `(features, v_head_dim)`, and `total`, of shape
`(features,)`. Return `out` of shape `(v_head_dim,)`, the new `state` and the new `total`. A token
attends to itself. Don't change the arrays that were passed in.
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
    """By hand: one token before, integers. The property: a long past. Edge: no past."""
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
    again = "You apply φ a second time. q and k are already features."
    return [
        ({"state": old}, "Your state is the old one. Add the new token's k and v to it."),
        ({"state": np.outer(k, v)},
         "Your state holds the new token only. It's a sum over all tokens so far."),
        ({"state": old + np.outer(q, v)},
         "Your state took q for k. A query is used once; keys stay for later queries."),
        ({"state": (old + np.outer(k, v)) / (old_total + k)[:, None]},
         "Your state is divided by the total. It stays a sum. Only the output is divided, once per "
         "query."),
        ({"state": old + np.outer(k + 1, v)}, again),
        ({"state": old + np.outer(np.exp(k), v)}, again),
        ({"total": old_total + q}, "Your total took q for k. It's the sum of the keys."),
        ({"total": old_total + 1}, "Your total counts the tokens. It's the sum of their keys."),
        ({"total": old_total}, "Your total is the old one. It sums the keys, including the "
                               "new one."),
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
     "Your output isn't normalized. Divide by the sum of the weights q·k."),
    ({"above": "old", "below": "old"},
     "Your token doesn't attend to itself. Add it to the sums before you compute the output."),
    ({"below": "old"}, "The new token is in your numerator, but not in the sum of the weights."),
    ({"below": "old, if any"},
     "The new token is in your numerator, but not in the sum of the weights."),
    ({"above": "old"}, "The new token isn't in your numerator. Its value is missing there."),
    ({"below": "all"}, "You divide by the sum of total. The sum of the weights is q · total."),
    ({"below": "k"}, "You compute the sum of the weights with k. Use the query: q · total."),
    ({"below": "one"},
     "You divide by the weight of the new token alone. The weights of all tokens have to sum to "
     "1."),
    ({"below": "root"}, "You divide by the square root of the number of features. Divide by "
     "the sum of the weights instead."),
    ({"below": "itself"}, "You divide the output by its own sum. Its weights have to sum to 1, not "
     "its values."),
    *(({"more": more}, "You add something to the sum of the weights. Divided by more than their "
       "sum, they don't sum to 1.") for more in (1.0, 1e-3)),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the sums, or the output, would be with one idea missing, or two."""
    q, k = inputs["q"], inputs["k"]
    state, total, _ = right(inputs).values()
    outs = [
        (k @ state / (k @ total), "You multiply the state by k. Use the query."),
        *with_pairs(partial(_out, inputs), MISTAKES),
        (_out(inputs, more=len(q) ** 0.5), MISTAKES[-1][1]),
    ]
    return [*_of_sums(inputs), *(({"out": out}, idea) for out, idea in outs)]


SHOULD_BE = {
    "state": "The state should be the sum of k vᵀ, features in rows, values in columns.",
    "total": "The total should be the sum of all keys so far, one value per feature.",
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
        "Write out = Σ (q·k_j) v_j / Σ q·k_j and pull q out of both sums. What's left doesn't "
        "depend on the query.",
        "Add the outer product of k and v to the state and k to the total. Then q @ state, divided "
        "by q @ total.",
    ),
    common_errors=(
        "Computing the output before the new token is in the sums: a token attends to itself.",
        "Forgetting the division: without it, these aren't weights.",
        "Changing the arrays that were passed in, with +=.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=SHOULD_BE,
    keeps_inputs=True,
)
