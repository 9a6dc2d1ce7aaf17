"""Find the bug: a soft lookup that normalizes over the wrong axis."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
This soft lookup takes `queries` of shape `(q_len, size)`, `keys` of shape `(kv_len, size)` and
`values` of shape `(kv_len, width)`, and returns one mixture of the values for each query. It was
tested with one query and one key. Find out what's wrong with more of them, and repair it.
"""
STARTER = '''
def soft_lookup(queries, keys, values):
    """Each query's mixture of the values, (q_len, width)."""
    scores = queries @ keys.T  # (q_len, kv_len)
    powers = np.exp(scores - scores.max(axis=0))
    return powers / powers.sum(axis=0) @ values


one = np.ones((1, 2))
soft_lookup(one, one, np.array([[3.0, 4.0]]))  # one key: its value
'''


def _drawn(rng: np.random.Generator, q_len: int, kv_len: int, size: int, width: int) -> Inputs:
    return {
        "queries": rng.normal(size=(q_len, size)),
        "keys": rng.normal(size=(kv_len, size)),
        "values": rng.normal(size=(kv_len, width)),
    }


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one query, three keys. The property: a query's answer does not depend on others."""
    hand = {
        "queries": np.array([[1.0, 0.0]]),
        "keys": np.array([[np.log(2.0), 5.0], [0.0, -5.0], [0.0, 1.0]]),
        "values": np.array([[4.0, 0.0], [0.0, 4.0], [4.0, 4.0]]),
    }
    many = _drawn(rng, 5, 4, 3, 2)
    large = {  # scores up to 900, which overflow as powers
        "queries": np.array([[30.0, 0.0], [0.0, 2.0]]),
        "keys": np.array([[30.0, 0.0], [0.0, 1.0], [10.0, 0.0]]),
        "values": np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]),
    }
    return {
        "by hand": [hand],
        "random": [_drawn(rng, 4, 6, 3, 5), _drawn(rng, 3, 3, 2, 3)],
        "property": [{**many, "queries": many["queries"][:1]}, many],
        "edges": [_drawn(rng, 1, 1, 1, 1), _drawn(rng, 2, 1, 4, 3), large],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One mixture of the values for each query."""
    return {"mixed": ((len(inputs["queries"]), inputs["values"].shape[1]), "f")}


def _mixed(
    inputs: Inputs,
    *,
    top: int = 1,
    total: int | None = 1,
    scale: float = 1.0,
    by: str = "products",
) -> np.ndarray:
    """The lookup, or what it becomes by another choice of axes or of the scores."""
    q, k = inputs["queries"], inputs["keys"]
    products = q @ k.T * scale
    lengths = np.linalg.norm(k, axis=1)
    scores = {
        "products": products,
        "keys of length 1": products / lengths,
        "cosines": products / lengths / np.linalg.norm(q, axis=1, keepdims=True),
        "distances": -np.square(q[:, None] - k).sum(axis=2),
    }[by]
    powers = np.exp(scores - scores.max(axis=top, keepdims=True))
    return np.asarray(powers / powers.sum(axis=total, keepdims=True) @ inputs["values"])


def slips(inputs: Inputs) -> Slips:
    """Return what the answer would be with one idea missing, or two."""
    q, k, v = inputs["queries"], inputs["keys"], inputs["values"]
    scores, mixed = q @ k.T, _mixed(inputs)
    powers, stable = np.exp(scores), np.exp(scores - scores.max())

    def alike(row: np.ndarray) -> np.ndarray:
        return np.broadcast_to(row, mixed.shape)

    return [
        *with_pairs(partial(_mixed, inputs), [*MISTAKES, ({"scale": q.shape[1] ** -0.5}, _SCALED)]),
        (powers / powers.sum(axis=1, keepdims=True) @ v,
         "You no longer subtract the largest score, so large scores overflow. The function did "
         "subtract it; only the axis was wrong."),
        *((weights @ v,
           "All your weights together sum to 1. The weights of each query should sum to 1.")
          for weights in (powers / powers.sum(), stable / stable.sum())),
        *((weights @ v, "You used the exponentials as weights. Weights have to sum to 1.")
          for weights in (powers, stable, np.exp(scores - scores.max(axis=1, keepdims=True)))),
        (alike(mixed[:1]),
         "All your queries get the mixture of the first one. Each has its own scores."),
        (scores @ v, "You used the scores as weights. The softmax is missing."),
        (scores / scores.sum(axis=1, keepdims=True) @ v,
         "You divided the scores by their sum, without the exponential."),
        (v[scores.argmax(axis=1)],
         "Each query takes a single value, which is the hard lookup. A soft one mixes them."),
        (alike(v.mean(axis=0)), "Every key gets the same weight, so your scores have no effect."),
        (mixed * len(k), "A query's weights sum to the number of keys. They should sum to 1."),
        (mixed / len(k), "A query's weights sum to 1 over the number of keys. They should sum to "
         "1."),
        (alike(_mixed({**inputs, "queries": q.mean(axis=0, keepdims=True)})),
         "You averaged the queries before the lookup. Each has its own scores."),
        (alike(mixed.mean(axis=0)),
         "All your queries get the same mixture, their mean. Each has its own."),
    ]  # fmt: skip


_SCALED = (
    "You divided the scores by the root of the key's dimension. That comes in the next chapter. "
    "Here, use the dot products as they are."
)
_COSINES = (
    "You divided by the vectors' lengths, which makes cosines. Here, use the dot products as they "
    "are."
)
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"top": 0, "total": 0},
     "Your weights of each key sum to 1 over the queries, because the softmax runs over axis 0. "
     "Each query chooses among the keys, so its own row should sum to 1."),
    ({"top": 0},
     "Your sum runs over the keys, as it should, but the largest score still over the queries. "
     "So you subtract another number for each key, and the weights change."),
    ({"total": 0},
     "Your largest score runs over the keys, as it should, but the sum still over the queries. "
     "So a query's weights don't sum to 1."),
    ({"scale": -1.0}, "Your least similar key gets the most weight. The sign is reversed."),
    ({"scale": float(np.log(2.0))}, "You took powers of 2. The base of the exponentials is e."),
    ({"by": "keys of length 1"}, _COSINES),
    ({"by": "cosines"}, _COSINES),
    ({"by": "distances"},
     "You compare distances. The scores are dot products, in which a long key counts for more."),
]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The values mixed by the softmax of the dot products."""
    return _mixed(inputs)


EXERCISE = Exercise(
    id="soft_lookup",
    page="start",
    title="The lookup with the wrong sum",
    kind="bug",
    groups={"edges": 3},
    minutes=10,
    difficulty=2,
    stage="transfer",
    assessed=True,
    section="A soft lookup",
    complaint=Complaint(
        "softmax",
        "One query at a time, it's right. When I look up two at once, each answer depends on the "
        "other query.",
        "[labml's annotated papers, issue 146]("
        "https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/146): "
        "a self-attention took its softmax over the queries.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Print the weights and add them up, along each of the two axes. Which sums are 1, and "
        "which should be?",
        "A query chooses among keys. So with a row for each query, every row of weights has to sum "
        "to 1. Take both the largest score and the sum along the last axis.",
    ),
    common_errors=(
        "You test with one query and one key, or a square array. The shapes fit either way.",
        "You change the axis of the sum, but not the axis of the largest score.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
