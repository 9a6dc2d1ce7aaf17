"""Build a head that looks a fixed number of tokens back."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Every token of a text has the same `key`, shape `(head_dim,)`. Return one query of the same shape
that, given to every token, scores highest on the key that stands `back` positions before it. Query
and key are then turned as in exercise 1, with base `theta`. A negative `back` means ahead, and 0
the token itself.
"""
STARTER = '''
def look_back(key, back, theta):
    """A query (head_dim,) that finds the key `back` positions before it."""
    raise NotImplementedError
'''

REACH = 40  # tokens on either side of the query that are tried
Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one plane, one token back. The property: any distance, any base."""

    def drawn(back: int, head_dim: int, theta: float) -> Inputs:
        return {"key": rng.standard_normal(head_dim), "back": back, "theta": theta}

    hand = {"key": np.array([1.0, 0.0]), "back": 1, "theta": 10000.0}
    found = {
        "by hand": [hand],
        "random": [drawn(1, 4, 10000.0), drawn(1, 8, 10000.0)],
        "property": [drawn(3, 8, 10000.0), drawn(7, 16, 500.0), drawn(20, 32, 10000.0)],
        "edges": [drawn(0, 8, 10000.0), drawn(2, 2, 10000.0), drawn(-1, 8, 10000.0)],
    }
    # Bases so small that all pairs are fast: with angles of another base another key is the best.
    found["property"] += [drawn(20, 16, 3.0), drawn(13, 8, 2.0), drawn(17, 32, 5.0)]
    return found


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


def _query(
    inputs: Inputs,
    *,
    sign: int = -1,
    power: float = 1.0,
    base: float | None = None,
    halves: bool = False,
    more: int = 0,
    minus: bool = True,
    fresh: bool = False,
    unit: float = 1.0,
) -> Array:
    """The key turned back, or what it becomes by another choice."""
    key, pairs = inputs["key"], len(inputs["key"]) // 2
    theta = inputs["theta"] if base is None else base
    angles = unit * sign * (inputs["back"] + more) * theta ** (-power * np.arange(pairs) / pairs)
    a, b = (key[:pairs], key[pairs:]) if halves else (key[0::2], key[1::2])
    cos, sin = np.cos(angles), np.sin(angles)
    first = a * cos - b * sin if minus else a * cos + b * sin
    turned = first, (first if fresh else a) * sin + b * cos
    return np.concatenate(turned) if halves else np.stack(turned, axis=-1).reshape(key.shape)


def slips(inputs: Inputs) -> Slips:
    """What the query would be with one idea missing, or two."""
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"sign": 1},
         "It is turned in the other direction: query and key both turn forward with their "
         "positions, so the query has to be turned back beforehand."),
        ({"base": 10000.0},
         "The base is fixed at 10,000: it is the theta that is given."),
        ({"halves": True},
         "The two halves of the head are turned together. Here neighbours make a pair: (2i, "
         "2i + 1)."),
        ({"power": 0.0},
         "All pairs are turned by the same angle. Pair i turns by theta ** (-2i / head_dim) "
         "radians a position."),
        ({"power": -1.0},
         "The angles grow with i. The exponent is negative: later pairs turn more slowly."),
        ({"power": 0.5}, "The exponent of pair i is −2i / head_dim; half of that is used."),
        ({"power": 2.0}, "The exponent of pair i is −2i / head_dim; twice that is used."),
        ({"fresh": True},
         "The second number of a pair is computed from the first after that was overwritten. Both "
         "need the old pair."),
        ({"unit": np.pi / 180},
         "The angles are taken for degrees. They are radians, as np.cos expects them."),
        ({"minus": False},
         "The two sines have the same sign. In a turn one is subtracted: a cos − b sin, a sin + "
         "b cos."),
        ({"more": 1}, "One off: it is turned one place too far back."),
        ({"more": -1}, "One off: it is turned one place too few back."),
    ]  # fmt: skip
    return [
        (inputs["key"], "That is the key as it is: it finds the key at its own place."),
        *with_pairs(partial(_query, inputs), mistakes),
        (
            _query({**inputs, "back": abs(inputs["back"])}),
            "The sign of `back` is lost: a negative one means ahead.",
        ),
        (_query({**inputs, "back": 1}), "It looks one place back, whatever `back` says."),
    ]


def _same(query: Array, other: Array, moved: float = 0.0) -> bool:
    """Whether two queries point the same way: their lengths change no order."""
    lengths = float(np.linalg.norm(query)), float(np.linalg.norm(other))
    if min(lengths) == 0:
        return max(lengths) == 0
    return close(query / lengths[0], other / lengths[1], moved)


def _place(back: int) -> str:
    """Where a key stands, seen from the query."""
    return f"{back} back" if back > 0 else f"{-back} ahead" if back else "at its own place"


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """Where this query looks instead."""
    key, back, query = inputs["key"], inputs["back"], outputs["query"]
    found, lead = _where(inputs, query)
    if found == back and lead > 1e-9 * np.square(key).sum():
        return None
    if not query.any():
        return "The query is zero: it likes all keys alike."
    wanted = f"with back = {back} and theta = {inputs['theta']:g} it should be"
    if found == back:
        return "The query likes several keys alike; one should be the best."
    return f"The best key is the one {_place(found)}; {wanted} the one {_place(back)}."


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
        "point. By which angle is the key's hand behind, `back` positions earlier?",
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
    slips=slips,
    same=_same,
    judge=judge,
)
