"""Find the bug: a chunk is rotated as if no text came before it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
`chunk_scores` should return the scores of a chunk of new tokens against all keys, before any
mask. `q` and `k` have the shape `(new, head_dim)` and aren't rotated yet. `k_cache` has the shape
`(past, head_dim)`; its rows were rotated when they came in, to positions 0 to `past` − 1. The
function was tested with an empty cache only. Find out what's wrong, and repair it. `rotate_rows`
is right.
"""
STARTER = '''
def rotate_rows(x, positions):
    """Rows of x, rotated to their positions, neighbors as pairs."""
    power = np.arange(0, x.shape[1], 2) / x.shape[1]
    angles = positions[:, None] * 10000.0**-power  # (seq, pairs)
    cos, sin, out = np.cos(angles), np.sin(angles), np.empty_like(x)
    out[:, 0::2] = x[:, 0::2] * cos - x[:, 1::2] * sin
    out[:, 1::2] = x[:, 0::2] * sin + x[:, 1::2] * cos
    return out


def chunk_scores(q, k, k_cache):
    """Scores over cached and new keys: (new, past + new)."""
    keys = np.concatenate([k_cache, k])
    q = rotate_rows(q, np.arange(len(q)))
    keys = rotate_rows(keys, np.arange(len(keys)))
    return q @ keys.T / np.sqrt(q.shape[1])
'''

Array = np.ndarray


def _turn(x: Array, positions: Array) -> Array:
    cos, sin = ma.rope_table(positions, ma.rope_frequencies(x.shape[1])[0], dtype="float64")
    return np.asarray(ma.apply_rope(x[None, None], cos, sin, layout="interleaved")[0, 0])


def _case(q: Array, k: Array, past: int) -> Inputs:
    """The chunk's queries and keys, and the rotated keys of the tokens before it."""
    new = k[past:]
    return {"q": q[: len(new)], "k": new, "k_cache": _turn(k[:past], np.arange(past))}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two tokens after two others, all (1, 0). The property: any cut gives one result."""

    def drawn(past: int, new: int, head_dim: int) -> Inputs:
        q, k = rng.standard_normal((2, past + new, head_dim))
        return _case(q, k, past)

    alike = np.array([[1.0, 0.0]] * 4)
    return {
        "by hand": [_case(alike, alike, 2)],
        "random": [drawn(4, 2, 4), drawn(2, 3, 6)],
        "property": [drawn(past, 6 - past, 4) for past in (1, 3, 5)],
        "edges": [drawn(0, 3, 4), drawn(0, 1, 2), drawn(300, 1, 4)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A score for each new query and each key."""
    new = len(inputs["q"])
    return {"scores": ((new, len(inputs["k_cache"]) + new), "f")}


def _scores(
    inputs: Inputs,
    *,
    q_at: str = "here",
    k_at: str = "here",
    cache: str = "kept",
    scaled: bool = True,
    sign: int = 1,
) -> Array:
    """Scores with queries, new keys or cached keys rotated to these places."""
    past, new = len(inputs["k_cache"]), np.arange(len(inputs["q"]))
    places = {
        "here": past + new, "short": past + new - 1, "late": past + new + 1,
        "start": new, "still": 0 * new,
        "first": past + 0 * new, "last": past + 0 * new + len(new) - 1,
    }  # fmt: skip
    old, before = inputs["k_cache"], np.arange(past)
    if cache != "kept":
        old = _turn(old, before if cache == "again" else before + past)
    keys = np.concatenate([old, _turn(inputs["k"], sign * places[k_at])])
    scores = _turn(inputs["q"], sign * places[q_at]) @ keys.T
    return np.asarray(scores * inputs["q"].shape[1] ** -0.5 if scaled else scores)


FROM_0 = "as if the text began with this chunk. It begins after the tokens in the cache."
ONE_PLACE = "Each has its own position."
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"q_at": "start"}, f"You rotate the queries {FROM_0}"),
    ({"cache": "again"},
     "The cached keys were rotated when they came in. You rotate them again."),
    ({"k_at": "start"}, f"You rotate the new keys {FROM_0}"),
    ({"q_at": "late"},
     "Your queries are one position too far. The first new token follows position past − 1."),
    ({"k_at": "still"}, "You don't rotate the new keys. The cached ones are rotated."),
    ({"q_at": "still"}, "You don't rotate the queries. Rotating keys alone isn't enough."),
    ({"q_at": "last"}, f"You rotate all queries to the last position. {ONE_PLACE}"),
    ({"q_at": "first"}, f"You rotate all queries to the chunk's first position. {ONE_PLACE}"),
    ({"cache": "moved"}, "You rotate the cached keys by another `past` positions. They "
     "are at 0 to past − 1 and were rotated there."),
    ({"scaled": False}, "You lost the division by the square root of head_dim."),
]  # fmt: skip


def _elsewhere(inputs: Inputs) -> Slips:
    """Return the scores if the whole chunk were elsewhere, or some were hidden."""
    past, new = len(inputs["k_cache"]), len(inputs["q"])
    scores = _scores(inputs)
    later = np.arange(past + new) > past + np.arange(new)[:, None]
    masked = "You hide the scores of later keys. Return them before any mask."
    return [
        (_scores(inputs, q_at="start", k_at="start"), f"You rotate queries and new keys {FROM_0}"),
        (_scores(inputs, q_at="late", k_at="late"),
         "Your chunk is one position too far. Its first token follows position past − 1."),
        (_scores(inputs, q_at="short", k_at="short"),
         "Your chunk is one position too near. The last cached key is at position past − 1."),
        (_scores(inputs, sign=-1),
         "You rotate the chunk backwards. The cached keys were rotated forwards."),
        (np.roll(scores, new, axis=1),
         "Your new keys come before the cached ones. Columns follow the text: the cache first."),
        *((np.where(later, hidden, scores), masked) for hidden in (0.0, -np.inf, -1e9, -1e30)),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the scores would be with one idea missing, or two."""
    return [*_elsewhere(inputs), *with_pairs(partial(_scores, inputs), MISTAKES)]


def right(inputs: Inputs) -> Array:
    """Queries and new keys rotated to their positions in the text."""
    return _scores(inputs)


EXERCISE = Exercise(
    id="rope_chunk",
    page="rope",
    title="The chunk that began at 0",
    kind="bug",
    groups={"edges": 4},
    minutes=12,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="With a cache",
    complaint=Complaint(
        "positions",
        "The first message is answered well. From the second one on, the model mixes up who said "
        "what.",
        "[moeut, pull request 6](https://github.com/RobertCsordas/moeut/pull/6), still open when "
        "we read it: it reports that cached decoding could rotate queries as if they were at "
        "position 0.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Ask for each row you rotate: where is this token in the text, and has it been rotated "
        "already?",
        "The cache holds as many tokens as it has rows, so the chunk's positions start there. "
        "Rotate its queries and its keys to these positions, and put the cached keys in front, "
        "unchanged.",
    ),
    common_errors=(
        "Testing with an empty cache only, where both faults are invisible.",
        "Repairing the queries, but still rotating the cached keys again in every step.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
