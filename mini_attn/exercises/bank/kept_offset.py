"""Find the bugs: a cache that forgets keys, and takes its rows for positions in the text."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.comparing import wrong_along
from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
This is attention of one head for a chunk of new tokens, after a cache that keeps some keys of the
sequence and has forgotten the others. `q`, `k`, `v` of the chunk are `(new, head_dim)` and not
rotated yet. `k_held` `(held, head_dim)` are keys rotated to their positions, `held_positions`
`(held,)`, in growing order; `v_held` are their values. `seen` tokens came before the chunk, and the
cache may have dropped the latest of them, too. A token of the chunk attends to all
held keys, to itself and to the tokens of the chunk before it. Until a key has been forgotten the
function is right; then the text falls apart. Repair it, so that the output `(new, head_dim)` is
always what rotary embeddings of the true positions give, for chunks of any length.
"""
STARTER = '''
def after_forgetting(q, k, v, k_held, v_held, held_positions, seen):
    """Attention of a chunk over the keys that are held and its own."""
    def rotated(x, positions):
        half = x.shape[1] // 2
        angles = positions[:, None] * 1e4 ** (-np.arange(half) / half)
        cos, sin = np.cos(angles), np.sin(angles)
        a, b = x[:, :half], x[:, half:]
        return np.hstack([a * cos - b * sin, b * cos + a * sin])

    held, new = len(k_held), len(q)
    positions = held + np.arange(new)
    q, k = rotated(q, positions), rotated(k, positions)
    keys = np.concatenate([k_held, k])  # (held + new, head_dim)
    scores = q @ keys.T / np.sqrt(q.shape[1])
    scores[np.arange(held + new) > positions[:, None]] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    return weights @ np.concatenate([v_held, v])
'''

Array = np.ndarray


def _rotated(x: Array, positions: Any) -> Array:
    """Half layout, base 10,000."""
    inv_freq, _, _ = ma.rope_frequencies(x.shape[1])
    cos, sin = ma.rope_table(np.asarray(positions), inv_freq, dtype="float64")
    return np.asarray(ma.apply_rope(x[None, None], cos, sin, layout="half")[0, 0])


def _case(rng: np.random.Generator, held: list[int], seen: int, new: int, size: int) -> Inputs:
    """A chunk after a text of which the cache holds keys at some positions."""
    q, k, v = rng.standard_normal((3, new, size))
    keys, values = rng.standard_normal((2, len(held), size))
    at = np.array(held, dtype=np.int64)
    return {
        "q": 2 * q, "k": k, "v": v, "k_held": _rotated(2 * keys, at), "v_held": values,
        "held_positions": at, "seen": seen,
    }  # fmt: skip


def _some(rng: np.random.Generator, seen: int, held: int) -> list[int]:
    """Positions that stayed, the latest not among them."""
    return sorted(int(p) for p in rng.permutation(seen - 2)[:held])


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one key of four has gone. The property: the newest have gone as well."""
    hand = _case(np.random.default_rng(5), [0, 1, 3], 4, 3, 2)
    return {
        "by hand": [hand],
        "random": [_case(rng, [0, 1, 17, 18, 19], 20, 2, 4), _case(rng, [3, 40, 41], 42, 3, 6)],
        "property": [_case(rng, _some(rng, 30, 6), 30, 3, 4),
                     _case(rng, _some(rng, 90, 5), 90, 2, 6)],
        "edges": [_case(rng, [0, 1, 2, 3], 4, 3, 4), _case(rng, [0], 50, 1, 4)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A row for each new token."""
    return {"out": (inputs["q"].shape, "f")}


def _attend(
    inputs: Inputs,
    *,
    start: str = "seen",
    steps: bool = True,
    query: str = "start",
    key: str = "start",
    old: str = "as they are",
    sees: str = "chunk",
    value: str = "as it is",
    scaled: bool = True,
) -> Array:
    """Attention by the true positions, or what another choice gives."""
    q, k, held = inputs["q"], inputs["k"], inputs["held_positions"]
    rows, seen = len(held), inputs["seen"]
    starts = {"seen": seen, "rows": rows, "newest": int(held.max()) + 1, "one more": seen + 1,
              "one fewer": seen - 1, "both": seen + rows}  # fmt: skip
    at = starts[start] + np.arange(len(q)) * steps
    places = {"start": at, "rows": rows + np.arange(len(q)), "none": 0 * at}
    q, k = _rotated(q, places[query]), _rotated(k, places[key])
    k_held = inputs["k_held"]
    if old == "again":
        k_held = _rotated(k_held, held)
    elif old == "closed up":
        k_held = _rotated(k_held, np.arange(len(held)) - held)
    elif old == "numbered":
        k_held = _rotated(k_held, np.arange(len(held)))
    v = inputs["v"] if value == "as it is" else _rotated(inputs["v"], at)
    keys, values = np.concatenate([k_held, k]), np.concatenate([inputs["v_held"], v])
    scores = q @ keys.T * (q.shape[1] ** -0.5 if scaled else 1.0)
    last = {"chunk": rows, "rows": seen, "all": len(keys), "not itself": rows - 1, "square": 0}
    mask = np.tri(len(q), len(keys), last[sees], dtype=bool)
    return np.asarray(ma.softmax(np.where(mask, scores, -np.inf)) @ values)


def right(inputs: Inputs) -> Array:
    """By true positions."""
    return _attend(inputs)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"start": "rows"}, "You rotate the new tokens as if they came after as many tokens as rows "
     "are held. Forgotten tokens still count: your distances to the kept keys are too short."),
    ({"start": "newest"}, "You place the new tokens after the newest key that is held. The cache "
         "may "
     "have dropped later ones; `seen` counts the tokens before the chunk."),
    ({"start": "one more"}, "You're one position too far: positions count from 0, so the first new "
     "token is at `seen`."),
    ({"start": "one fewer"}, "You give the first new token the position of the one before it."),
    ({"steps": False}, "You give all tokens of the chunk the position of the first."),
    ({"sees": "rows"}, "Your positions are right now, but tokens of the chunk attend to later "
         "ones: "
     "the mask compares row numbers with positions and lets too many rows pass."),
    ({"sees": "all"}, "Your tokens of the chunk attend to later ones."),
    ({"sees": "not itself"}, "In your mask a token of the chunk doesn't attend to itself."),
    ({"sees": "square"}, "Your mask forgets that the held keys come first: a token attends to all "
     "of them, and in the chunk to itself and those before it."),
    ({"query": "none"}, "You don't rotate the queries."),
    ({"key": "none"}, "You don't rotate the keys of the chunk."),
    ({"key": "rows"}, "You rotate the queries by their positions, but the keys of the chunk by row "
     "numbers. A token's query and key have one position."),
    ({"query": "rows"}, "You rotate the keys of the chunk by their positions, but the queries by "
         "row "
     "numbers. A token's query and key have one position."),
    ({"start": "both"}, "You add the rows held to the tokens seen. The held keys are among those "
     "tokens and count once."),
    ({"value": "rotated"}, "You rotate the values, too. RoPE rotates queries and keys only."),
    ({"old": "again"}, "You rotate the held keys once more. They were rotated already."),
    ({"old": "numbered"}, "You rotate the held keys once more, by their rows. They were rotated "
     "already, by their positions."),
    ({"scaled": False}, "You lost the division by the square root of head_dim."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the rows would be with one idea missing, or two."""
    return [
        *with_pairs(partial(_attend, inputs), MISTAKES),
        (_attend(inputs, old="closed up", start="rows"),
         "You move the kept keys together and rotate them to their new places. That's consistent, "
         "but another function: the task asks for the true positions."),
    ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first row that is wrong, and what decides it."""
    i = wrong_along(outputs["out"], right(inputs))[0]
    return (
        f"Row {i} of the chunk is wrong. Check three things separately: the positions of its query "
        "and of the keys, which keys it attends to, and which values you add up."
    )


EXERCISE = Exercise(
    id="kept_offset",
    page="fewer-keys",
    title="After forgetting",
    kind="bug",
    groups={"edges": 4},
    minutes=12,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="A key keeps its position",
    complaint=Complaint(
        "caches",
        "It's fine until the cache is full. Soon after the first key is dropped, the text falls "
        "apart.",
        "[VeloxQuant-MLX, issue 389](https://github.com/rajveer43/VeloxQuant-MLX/issues/389): "
        "four caches reported the number of rows they kept as the position of the next token.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Try it with a cache that has forgotten nothing, and then without one key in the middle. "
        "Which number in the function changes, and should it?",
        "A score depends on the difference of two positions. The kept keys are already rotated to "
        "theirs. What's the position of the first new token? Then try a chunk of three and change "
        "its last token: which rows of the output can change?",
    ),
    common_errors=(
        "Placing the chunk after the newest held key.",
        "Rotating keys that are already rotated.",
        "Testing with a cache that hasn't forgotten anything yet, or with chunks of one token.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
