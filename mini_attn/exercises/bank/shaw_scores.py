"""Write attention scores with Shaw's relative vectors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Compute the scores of equation {eq}`eq-position-shaw` for one head, without a mask. `q` and `k`
have the shape `(seq, head_dim)`, `table` the shape `(2 * most + 1, head_dim)`. Its rows
are in the order of the paper, by key minus query: the first is the vector of keys `most` or more
positions before their query ($r$ = `most`), the last that of keys as far after it ($r$ = `-most`).
Return an array `(seq, seq)`, one row for each query.
"""
STARTER = '''
def shaw_scores(q, k, table):
    """Scores with a vector for each distance: (seq, seq)."""
    raise NotImplementedError
'''

Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two tokens of one number. The property: far keys share the last vector."""

    def drawn(n: int, head_dim: int, most: int) -> Inputs:
        q, k = rng.standard_normal((2, n, head_dim))
        return {"q": q, "k": k, "table": rng.standard_normal((2 * most + 1, head_dim))}

    hand = {
        "q": np.array([[1.0], [2.0]]),
        "k": np.array([[3.0], [5.0]]),
        "table": np.array([[10.0], [20.0], [40.0]]),
    }
    return {
        "by hand": [hand],
        "random": [drawn(4, 6, 3), drawn(5, 4, 4)],
        "property": [drawn(7, 4, 2), drawn(9, 2, 1)],
        "edges": [drawn(1, 3, 2), drawn(3, 5, 8)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A score for each query and key."""
    return {"scores": ((len(inputs["q"]), len(inputs["k"])), "f")}


def _scores(
    inputs: Inputs,
    *,
    ahead: str = "key − query",
    middle: bool = True,
    far: str = "clipped",
    words: float = 0.5,
    place: float = 0.5,
    content: bool = True,
    by: str = "query",
    hidden: bool = False,
) -> Array:
    """The scores, or what they become by another choice."""
    q, k, table = inputs["q"], inputs["k"], inputs["table"]
    most, size, n = len(table) // 2, q.shape[1], np.arange(len(q))
    apart = n[None] - n[:, None]
    apart = {
        "key − query": apart, "query − key": -apart, "size": abs(apart), "minus size": -abs(apart),
        "behind": np.minimum(apart, 0), "of the query": np.broadcast_to(n[:, None], apart.shape),
    }[ahead]  # fmt: skip
    narrow = most - 1 if far == "early" else most
    rows = np.clip(apart, -narrow, narrow) + most * middle
    if far == "wrapped":
        rows = np.mod(apart + most * middle, len(table))
    vectors = table[rows] * (1 if far != "nothing" else (abs(apart) <= most)[..., None])
    part = {
        "query": np.einsum("id,ijd->ij", q, vectors), "key": np.einsum("jd,ijd->ij", k, vectors),
        "sum": vectors.sum(axis=2),
    }[by]  # fmt: skip
    scores = content * size**-words * (q @ k.T) + size**-place * part
    return np.where(hidden & (n[None] > n[:, None]), -np.inf, scores)


def slips(inputs: Inputs) -> Slips:
    """Return what the scores would be with one idea missing, or two."""
    q, k = inputs["q"], inputs["k"]
    return [
        (q @ k.T / q.shape[1] ** 0.5, "You don't use the vectors of the distances."),
        (_scores(inputs, words=0.0, place=0.0), "You left out the scale 1 / √head_dim."),
        (_scores(inputs, words=1.0, place=1.0),
         "You divided the scores by head_dim. Divide by its square root instead."),
        *with_pairs(partial(_scores, inputs), MISTAKES),
        (np.asarray(ma.softmax(right(inputs))),
         "You took a softmax. Return the scores before it."),
    ]  # fmt: skip


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"ahead": "query − key"},
     "Your distance has the wrong sign. Key j and query i use the vector of j − i."),
    ({"middle": False},
     "You start at distance 0. Row 0 of the table is the vector of −most, and distance 0 is in "
     "the middle."),
    ({"far": "wrapped"},
     "You let distances beyond the table start again at its other end. They share its last row."),
    ({"ahead": "behind"}, "You give all keys ahead the vector of distance 0."),
    ({"ahead": "minus size"},
     "You give keys ahead the vectors of keys behind. The two sides of the table differ."),
    ({"place": 0.0}, "You left the scale out of the part of the distances."),
    ({"words": 0.0}, "You left the scale out of the part of the words, q · k."),
    ({"by": "key"},
     "You multiply the vectors with the keys. Multiply them with the query."),
    ({"by": "sum"}, "You sum the vectors up. Take their dot product with the query instead."),
    ({"content": False},
     "Your q · k is missing. The vector of the distance is added to the key. It doesn't replace "
     "it."),
    ({"hidden": True}, "You hide keys ahead. There's no mask here, so all pairs have a score."),
    ({"far": "early"},
     "You clip distances one too early. −most and most have their own rows, the first and the "
     "last of the table."),
    ({"far": "nothing"},
     "You give distances beyond the table no vector. They share its first or last row."),
    ({"ahead": "size"},
     "You give keys behind the vectors of keys ahead. Your distance has lost its sign."),
    ({"ahead": "of the query"},
     "You choose the row of the table by the query's position alone. Every pair has its own "
     "distance."),
]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """By the package, with the scale put in afterwards."""
    q, k, table = inputs["q"], inputs["k"], inputs["table"]
    shaw = ma.RelativePositions(q.shape[1], len(table) // 2, dtype="float64")
    shaw.keys = table
    places, scale = np.arange(len(q)), q.shape[1] ** -0.5
    bias = shaw.score_bias(q[None, None], places, places, scale=scale)[0, 0]
    return np.asarray(scale * q @ k.T + bias)


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Say whether only keys ahead are wrong."""
    if close(np.tril(outputs["scores"]), np.tril(right(inputs))):
        return "Only keys ahead are wrong. There's no mask here, so all pairs have a score."
    return None


EXERCISE = Exercise(
    id="shaw_scores",
    page="position",
    title="A vector for every distance",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="Shaw: a vector for each distance",
    text=TEXT,
    letters=(
        "$s_{ij}$ is the score of query $i$ for key $j$, $a_r$ the vector of the distance "
        "$r = i - j$, $D$ is `most`, and $d_k$ is `head_dim`."
    ),
    starter=STARTER,
    hints=(
        "The score is scale · q_i · (k_j + a), where a is the table's row for key minus query, "
        "j − i. Which row is that, when row 0 belongs to −most?",
        "An array of j − i, shape (seq, seq); np.clip it to −most … most and add most. Either "
        "look the vectors up and sum over head_dim, or compute q @ table.T once and pick from it "
        "with np.take_along_axis.",
    ),
    common_errors=(
        "The table is read the other way round, by i − j.",
        "Leaving out the shift by most. NumPy takes negative indices and says nothing.",
        "Forgetting to clip: near tokens look right, far ones raise an error or wrap around.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
