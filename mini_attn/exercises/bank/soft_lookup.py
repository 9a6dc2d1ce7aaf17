"""Find the bug: a soft lookup that shares out the wrong thing."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
This soft lookup takes `queries` of shape `(q_len, size)`, `keys` of shape `(kv_len, size)` and
`values` of shape `(kv_len, width)`, and returns one mixture of the values for each query. It was
tested with one query and one key. Find out what is wrong with more of them, and repair it.
"""
STARTER = '''
def soft_lookup(queries, keys, values):
    """Each query's mixture of the values, (q_len, width)."""
    scores = queries @ keys.T  # (q_len, kv_len)
    powers = np.exp(scores - scores.max(axis=0))
    return powers / powers.sum(axis=0) @ values


one = np.ones((1, 2))
soft_lookup(one, one, np.array([[3.0, 4.0]]))  # one key: its value, as it should be
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
         "The largest score is no longer subtracted, and large scores overflow. The function did "
         "so; only the axis was wrong."),
        *((weights @ v,
           "All weights together add up to 1. Each query has a whole of its own to share out.")
          for weights in (powers / powers.sum(), stable / stable.sum())),
        *((weights @ v, "The powers are used as weights. They have to add up to 1.")
          for weights in (powers, stable, np.exp(scores - scores.max(axis=1, keepdims=True)))),
        (alike(mixed[:1]),
         "All queries get the mixture of the first one. Each has scores of its own."),
        (scores @ v, "The scores are used as weights: the softmax is missing."),
        (scores / scores.sum(axis=1, keepdims=True) @ v,
         "The scores are divided by their sum, without the power of e."),
        (v[scores.argmax(axis=1)],
         "Each query takes one value whole: that is the hard lookup. A soft one mixes them."),
        (alike(v.mean(axis=0)), "Every key gets the same weight: the scores have no effect."),
        (mixed * len(k), "The weights of a query add up to the number of keys instead of to 1."),
        (mixed / len(k), "The weights of a query add up to 1 over the number of keys, not to 1."),
        (alike(_mixed({**inputs, "queries": q.mean(axis=0, keepdims=True)})),
         "The queries are averaged before the lookup. Each has scores of its own."),
        (alike(mixed.mean(axis=0)),
         "All queries get the same mixture, their mean. Each has its own."),
    ]  # fmt: skip


_SCALED = (
    "The scores are divided by the root of the key's size. That comes with the next chapter; here "
    "the dot products are used as they are."
)
_COSINES = (
    "The vectors are divided by their lengths: that makes cosines. Here the dot products are used "
    "as they are."
)
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"top": 0, "total": 0},
     "The weights of each key add up to 1 over the queries: the softmax runs over axis 0. Each "
     "query makes a choice among the keys, so its own row adds up to 1."),
    ({"top": 0},
     "The sum is taken over the keys, as it should, and the largest score still over the queries: "
     "then another number is subtracted for each key, and the weights change."),
    ({"total": 0},
     "The largest score is taken over the keys, as it should, and the sum still over the queries: "
     "so the weights of a query do not add up to 1."),
    ({"scale": -1.0}, "The least similar key gets the most weight: the sign is reversed."),
    ({"scale": float(np.log(2.0))}, "The base of the powers is e, not 2."),
    ({"by": "keys of length 1"}, _COSINES),
    ({"by": "cosines"}, _COSINES),
    ({"by": "distances"},
     "Distances are compared here. The scores are dot products, in which a long key counts for "
     "more."),
]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The values mixed by the softmax of the dot products."""
    return _mixed(inputs)


EXERCISE = Exercise(
    id="soft_lookup",
    page="start",
    title="The lookup that shared out the wrong thing",
    kind="bug",
    groups={"edges": 3},
    minutes=10,
    difficulty=2,
    stage="transfer",
    assessed=True,
    section="A soft lookup",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Print the weights and add them up, along each of the two axes. Which sums are 1, and "
        "which should be?",
        "A query chooses among keys. So in the table of scores, with a row for each query, every "
        "row has to add up to 1: both the largest score and the sum are taken along the last axis.",
    ),
    common_errors=(
        "Testing with one query and one key, or with a square table: the shapes fit either way.",
        "Changing the axis of the sum and leaving that of the largest score.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
