"""Build a head that looks a fixed number of tokens back."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs

TEXT = """
Every token of a text has the same `key`, shape `(head_dim,)`. Return one query of the same shape
that, given to every token, scores highest on the key that stands `back` places before it. Query
and key are then turned as in exercise 1, with base `theta`. A negative `back` means ahead, and 0
the token itself.
"""
STARTER = '''
def look_back(key, back, theta):
    """A query (head_dim,) that finds the key `back` places before it."""
    raise NotImplementedError
'''

REACH = 40  # tokens on either side of the query that are tried
Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one plane, one token back. The property: any distance, any base."""

    def drawn(back: int, head_dim: int, theta: float) -> Inputs:
        return {"key": rng.standard_normal(head_dim), "back": back, "theta": theta}

    hand = {"key": np.array([1.0, 0.0]), "back": 1, "theta": 10000.0}
    return {
        "by hand": [hand],
        "random": [drawn(1, 4, 10000.0), drawn(1, 8, 10000.0)],
        "property": [drawn(3, 8, 10000.0), drawn(7, 16, 500.0), drawn(20, 32, 10000.0)],
        "edges": [drawn(0, 8, 10000.0), drawn(2, 2, 10000.0), drawn(-1, 8, 10000.0)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A query as long as the key."""
    return {"query": (inputs["key"].shape, "f")}


def _turned(x: Array, positions: Array, theta: float) -> Array:
    """The same vector at each of these positions, (positions, head_dim)."""
    cos, sin = ma.rope_table(
        positions, ma.rope_frequencies(len(x), theta=theta)[0], dtype="float64"
    )
    rows = np.broadcast_to(x, (1, 1, len(positions), len(x)))
    return np.asarray(ma.apply_rope(rows, cos, sin, layout="interleaved")[0, 0])


def _where(inputs: Inputs, query: Array) -> tuple[int, float]:
    """How far back the best key stands, and by how much it beats the others."""
    positions = np.arange(2 * REACH + 1)
    keys = _turned(inputs["key"], positions, inputs["theta"])
    scores = keys @ _turned(query, positions[REACH : REACH + 1], inputs["theta"])[0]
    best = int(scores.argmax())
    return REACH - best, float(scores[best] - np.delete(scores, best).max())


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """Where this query looks instead."""
    key, back, query = inputs["key"], inputs["back"], outputs["query"]
    found, lead = _where(inputs, query)
    if found == back and lead > 1e-9 * np.square(key).sum():
        return None
    if not query.any():
        return "The query is zero: it likes all keys alike."
    wanted = f"meant is {back} back"
    if found == 0:
        return f"The query likes the key at its own place best; {wanted}."
    if found == -back:
        return (
            f"The query looks {abs(back)} {'place' if abs(back) == 1 else 'places'} in the other "
            "direction: query and key both turn forward with their positions, so the query has to "
            "be turned back beforehand."
        )
    where = f"{found} back" if found >= 0 else f"{-found} ahead"
    much = "The angles are not those of the planes." if abs(found - back) > 1 else "One off."
    return (
        f"The best key stands {where}; {wanted}. {much} Pair by pair, the query should be what "
        "the key would be at position −back."
    )


EXERCISE = Exercise(
    id="rope_look_back",
    page="rope",
    title="A head that looks back",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    assessed=False,
    section="A head that needs no clock",
    text=TEXT,
    standalone=(
        "Query and key are then turned as in exercise 1, with base `theta`.",
        "Query and key are then turned to their positions: neighbours make a pair, $(2i, 2i+1)$, "
        "and pair $i$ turns by `theta ** (-2i / head_dim)` radians a position.",
    ),
    starter=STARTER,
    hints=(
        "After turning, the best key is the one whose hands all point the way the query's hands "
        "point. By which angle is the key's hand behind, `back` places earlier?",
        "Turn each pair of the key by −back times its frequency, theta ** (−2i / head_dim). That "
        "is the query.",
    ),
    common_errors=(
        "Turning by + back: that head looks ahead.",
        "Turning the halves of the head instead of neighbours.",
        "Turning all pairs by the same angle: only the first pair agrees then.",
    ),
    cases=cases,
    expected=expected,
    judge=judge,
)
