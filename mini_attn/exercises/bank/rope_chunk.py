"""Find the bug: a chunk that is turned as if no text came before it."""

from __future__ import annotations

from functools import partial

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
`chunk_scores` is meant to give the scores of a chunk of new tokens over all keys, before any
mask. `q` and `k` have the shape `(new, head_dim)` and are not turned yet. `k_cache` has the shape
`(past, head_dim)`; its rows were turned when they came in, to positions 0 to `past` − 1. The
function was tested with an empty cache only. Find out what is wrong, and repair it. `turn_rows`
is right.
"""
STARTER = '''
def turn_rows(x, positions):
    """Rows of x, turned to their positions, neighbours as pairs."""
    power = np.arange(0, x.shape[1], 2) / x.shape[1]
    angles = positions[:, None] * 10000.0**-power  # (seq, pairs)
    cos, sin, out = np.cos(angles), np.sin(angles), np.empty_like(x)
    out[:, 0::2] = x[:, 0::2] * cos - x[:, 1::2] * sin
    out[:, 1::2] = x[:, 0::2] * sin + x[:, 1::2] * cos
    return out


def chunk_scores(q, k, k_cache):
    """Scores of new queries over cached and new keys: (new, past + new)."""
    keys = np.concatenate([k_cache, k])
    q = turn_rows(q, np.arange(len(q)))
    keys = turn_rows(keys, np.arange(len(keys)))
    return q @ keys.T / np.sqrt(q.shape[1])
'''

TOLERANCE = 1e-6
Array = np.ndarray
_close = partial(np.allclose, rtol=0, atol=TOLERANCE)


def _turn(x: Array, positions: Array) -> Array:
    cos, sin = ma.rope_table(positions, ma.rope_frequencies(x.shape[1])[0], dtype="float64")
    return np.asarray(ma.apply_rope(x[None, None], cos, sin, layout="interleaved")[0, 0])


def _case(q: Array, k: Array, past: int) -> Inputs:
    """The chunk's queries and keys, and the turned keys of the tokens before it."""
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


def _scores(inputs: Inputs, q_at: Array, k_at: Array, again: Array | None = None) -> Array:
    """Scores with queries, new keys and, once more, cached keys turned to these positions."""
    cache = inputs["k_cache"]
    old = cache if again is None else _turn(cache, again)
    keys = np.concatenate([old, _turn(inputs["k"], k_at)])
    return np.asarray(_turn(inputs["q"], q_at) @ keys.T * inputs["q"].shape[1] ** -0.5)


def slips(inputs: Inputs) -> Slips:
    """What the scores would be with one idea missing."""
    past, new = len(inputs["k_cache"]), len(inputs["q"])
    start, here, all_old = np.arange(new), past + np.arange(new), np.arange(past)
    still = np.zeros(new, dtype=int)
    double = "The cached keys were turned when they came in; here they are turned again."
    from_0 = "as if the text began with this chunk: it begins after the tokens in the cache."
    return [
        (_scores(inputs, start, here, all_old),
         f"Two things. The queries are turned {from_0} And: {double}"),
        (_scores(inputs, here, here, all_old), double),
        (_scores(inputs, start, here), f"The queries are turned {from_0}"),
        (_scores(inputs, here, start), f"The new keys are turned {from_0}"),
        (_scores(inputs, start, start), f"Queries and new keys are turned {from_0}"),
        (np.where(here[:, None] < np.arange(past + new), -np.inf, _scores(inputs, here, here)),
         "Later keys are hidden. The scores are asked for before any mask."),
        (_scores(inputs, here + 1, here),
         "The queries stand one place too far: the first new token follows position past − 1."),
        (_scores(inputs, here, still), "The new keys are not turned, the cached ones are."),
        (_scores(inputs, still, here), "The queries are not turned. Keys alone are not enough."),
        (_scores(inputs, here, here) * inputs["q"].shape[1] ** 0.5,
         "The division by the square root of head_dim got lost."),
    ]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Queries and new keys turned to where they stand in the text."""
    here = len(inputs["k_cache"]) + np.arange(len(inputs["q"]))
    return _scores(inputs, here, here)


EXERCISE = Exercise(
    id="rope_chunk",
    page="rope",
    title="The chunk that began at 0",
    kind="bug",
    groups={"edges": 4},
    minutes=12,
    difficulty=3,
    assessed=True,
    section="With a cache",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Ask of each row that is turned: where does this token stand in the text, and has it been "
        "turned already?",
        "The cache holds as many tokens as it has rows, so the chunk's positions begin there. "
        "Turn its queries and its keys to these positions, and put the cached keys in front as "
        "they are.",
    ),
    common_errors=(
        "Testing with an empty cache only, where both faults are invisible.",
        "Repairing the queries and leaving the cached keys to be turned in every step again.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
)
