"""Write attention scores with Shaw's relative vectors."""

from __future__ import annotations

from functools import partial

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Compute the scores of equation {eq}`eq-position-shaw` for one head, without a mask. `q` and `k`
have the shape `(seq, head_dim)`, `table` has the shape `(2 * most + 1, head_dim)`; its first row
belongs to the distance `-most`, its last to `most`, where the distance is the key's place minus
the query's. Return an array `(seq, seq)`, one row for each query.
"""
STARTER = '''
def shaw_scores(q, k, table):
    """Scores with a vector for each distance: (seq, seq)."""
    raise NotImplementedError
'''

TOLERANCE = 1e-6
Array = np.ndarray
_close = partial(np.allclose, rtol=0, atol=TOLERANCE)


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


def slips(inputs: Inputs) -> Slips:
    """What the scores would be with one idea missing."""
    q, k, table = inputs["q"], inputs["k"], inputs["table"]
    most, n, scale = len(table) // 2, len(q), q.shape[1] ** -0.5
    ahead = np.arange(n)[None] - np.arange(n)[:, None]  # j − i
    clipped = np.clip(ahead, -most, most)

    def score(index: Array, by: Array = q, words: float = scale, place: float = scale) -> Array:
        part = np.einsum("id,ijd->ij", q, table[index])
        if by is k:
            part = np.einsum("jd,ijd->ij", k, table[index])
        return np.asarray(words * q @ k.T + place * part)

    return [
        (scale * q @ k.T, "The vectors of the distances are not used."),
        (np.where(ahead > 0, -np.inf, score(most + clipped)),
         "Keys ahead are hidden. There is no mask here: all pairs have a score."),
        (score(most - clipped),
         "The distance has the wrong sign: the vector of key j and query i is that of j − i."),
        (score(clipped),
         "Row 0 of the table is the vector of −most. Distance 0 has the row in the middle."),
        (score(np.mod(ahead + most, 2 * most + 1)),
         "Distances beyond the table start again at its other end. They share its last row."),
        (score(np.clip(ahead + most, 0, most)), "All keys ahead get the vector of distance 0."),
        (score(most - np.minimum(abs(ahead), most)),
         "Keys ahead get the vectors of keys behind: the two sides of the table differ."),
        (score(most + clipped, place=1.0), "The scale is missing in the part of the distances."),
        (score(most + clipped, words=1.0, place=1.0),
         "The scale 1 / √head_dim is missing."),
        (score(most + clipped, by=k),
         "The keys meet the vectors here. It is the query that is multiplied with them."),
        (score(most + clipped, place=0.0) + scale * table[most + clipped].sum(axis=2),
         "The vectors are summed up instead of being multiplied with the query."),
        (score(most + clipped, words=0.0),
         "Only the distances score here: q · k is missing. The vector of the distance is added to "
         "the key, it does not replace it."),
        (np.where(ahead > 0, -np.inf, score(most + clipped)),
         "Keys ahead are hidden. There is no mask here: all pairs have a score."),
        (score(most + np.clip(ahead, 1 - most, most - 1)),
         "Distances are clipped one too early: −most and most have rows of their own, the first "
         "and the last of the table."),
        (score(most + abs(clipped)),
         "Keys behind get the vectors of keys ahead: the distance has lost its sign."),
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
    """Whether only keys ahead are wrong."""
    if _close(np.tril(outputs["scores"]), np.tril(right(inputs))):
        return "Only keys ahead are wrong. There is no mask here: all pairs have a score."
    return None


EXERCISE = Exercise(
    id="shaw_scores",
    page="position",
    title="A vector for every distance",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    assessed=True,
    section="Shaw: a vector for each distance",
    text=TEXT,
    letters=(
        "$s_{ij}$ is the score of query $i$ for key $j$, $a_r$ the vector of the distance $r$, "
        "$m$ is `most`, and $d_k$ is `head_dim`."
    ),
    starter=STARTER,
    hints=(
        "The score is scale · q_i · (k_j + a), where a is the table's row for j − i. Which row is "
        "that, when row 0 belongs to −most?",
        "An array of distances, shape (seq, seq); np.clip it to −most … most and add most. Either "
        "look the vectors up and sum over head_dim, or compute q @ table.T once and pick from it "
        "with np.take_along_axis.",
    ),
    common_errors=(
        "The distance the other way round: i − j.",
        "Leaving out the shift by most. NumPy takes negative indices and says nothing.",
        "Forgetting to clip: near tokens look right, far ones raise an error or wrap around.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
    symptom=symptom,
)
