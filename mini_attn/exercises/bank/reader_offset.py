"""Find the bug: a layer that reads another's cache, and takes its length for a position."""

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
This is one head of a layer that has no keys and values and reads those of an earlier layer. In each
step the earlier layer runs first, on the same new tokens. `q` `(new, head_dim)` holds the queries
of the new tokens, not rotated yet. `k_kept` `(kept, head_dim)` holds the keys that the earlier
layer has when this one runs, rotated to their positions, which begin at 0; `v_kept` holds their
values. A token attends to itself and to all tokens before it. Written word by word, the model's
text is almost right. Given as a whole, the same prompt continues differently. Repair the function,
so that the output `(new, head_dim)` is right for any number of new tokens.
"""
STARTER = '''
def read_kept(q, k_kept, v_kept):
    """Attention of a layer that reads what another layer keeps."""
    def rotated(x, positions):
        half = x.shape[1] // 2
        angles = positions[:, None] * 1e4 ** (-np.arange(half) / half)
        cos, sin = np.cos(angles), np.sin(angles)
        a, b = x[:, :half], x[:, half:]
        return np.hstack([a * cos - b * sin, b * cos + a * sin])

    kept, new = len(k_kept), len(q)
    positions = kept + np.arange(new)
    scores = rotated(q, positions) @ k_kept.T / np.sqrt(q.shape[1])
    scores[np.arange(kept) > positions[:, None]] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    return weights @ v_kept
'''

Array = np.ndarray


def _rotated(x: Array, positions: Any) -> Array:
    """Half layout, base 10,000."""
    inv_freq, _, _ = ma.rope_frequencies(x.shape[1])
    cos, sin = ma.rope_table(np.asarray(positions), inv_freq, dtype="float64")
    return np.asarray(ma.apply_rope(x[None, None], cos, sin, layout="half")[0, 0])


def _case(rng: np.random.Generator, before: int, new: int, size: int) -> Inputs:
    """So many tokens were there before the new ones."""
    kept = before + new
    keys, values = rng.standard_normal((2, kept, size))
    return {
        "q": 2 * rng.standard_normal((new, size)),
        "k_kept": _rotated(2 * keys, np.arange(kept)),
        "v_kept": values,
    }


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two tokens after two. The property: chunks of any length, whole prompts too."""
    return {
        "by hand": [_case(np.random.default_rng(3), 2, 2, 2)],
        "random": [_case(rng, 7, 3, 4), _case(rng, 20, 4, 6)],
        "property": [_case(rng, 0, 6, 4), _case(rng, 3, 9, 4)],
        "edges": [_case(rng, 12, 1, 4), _case(rng, 0, 1, 2)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A row for each new token."""
    return {"out": (inputs["q"].shape, "f")}


def _attend(
    inputs: Inputs,
    *,
    start: str = "before",
    steps: bool = True,
    sees: str = "before",
    keys: str = "as they are",
    values: str = "as they are",
    scaled: bool = True,
) -> Array:
    """Attention by the true positions, or what another choice gives."""
    q, k, v = inputs["q"], inputs["k_kept"], inputs["v_kept"]
    kept, new = len(k), len(q)
    before = kept - new
    starts = {"before": before, "kept": kept, "newest": kept - 1, "zero": 0,
              "one more": before + 1, "one fewer": before - 1, "none": 0}  # fmt: skip
    at = starts[start] + np.arange(new) * steps
    q = _rotated(q, at) if start != "none" else q
    places = np.arange(kept)
    if keys == "again":
        k = _rotated(k, places)
    if values == "rotated":
        v = _rotated(v, places)
    scores = q @ k.T * (q.shape[1] ** -0.5 if scaled else 1.0)
    last = {"before": before, "all": kept, "not itself": before - 1, "square": 0,
            "one more": before + 1}  # fmt: skip
    mask = np.tri(new, kept, last[sees], dtype=bool)
    return np.asarray(ma.softmax(np.where(mask, scores, -np.inf)) @ v)


def right(inputs: Inputs) -> Array:
    """By true positions."""
    return _attend(inputs)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"start": "kept", "sees": "all"}, "You place the new tokens behind all keys. When this layer "
     "runs, which tokens' keys are among them already?"),
    ({"sees": "all"}, "Your rotations are right, but tokens of a chunk attend to later ones."),
    ({"start": "kept"}, "Your mask is right, but the queries are rotated as if their own keys "
     "weren't among the kept ones yet."),
    ({"start": "newest"}, "You place the first new token where the last one is. That's right for "
     "a single token, not for a chunk."),
    ({"start": "newest", "sees": "all"}, "You place the first new token where the last one is. "
     "That's right for a single token. In a chunk, tokens also attend to later ones now."),
    ({"start": "zero"}, "You rotate the new tokens as if the text began with them. There may be "
     "others before."),
    ({"start": "zero", "sees": "square"}, "You count positions from the first new token. Tokens "
     "that came before it are kept too, and they come first."),
    ({"start": "one more"}, "You're one position too far. Positions begin at 0."),
    ({"start": "one more", "sees": "one more"}, "You're one position too far, so each token also "
     "attends to the one after it. Positions begin at 0."),
    ({"start": "one fewer"}, "You rotate each new token by the position of the one before it."),
    ({"start": "one fewer", "sees": "not itself"}, "You give each new token the position of the "
     "one before it, so it doesn't attend to itself."),
    ({"start": "none"}, "You don't rotate the queries."),
    ({"steps": False}, "You rotate all new tokens by the position of the first."),
    ({"sees": "not itself"}, "In your mask a token doesn't attend to itself."),
    ({"sees": "square"}, "Your mask forgets the tokens before the new ones. Their keys come "
     "first, and every new token attends to them."),
    ({"keys": "again"}, "You rotate the kept keys once more. They were rotated already."),
    ({"values": "rotated"}, "You rotate the values. RoPE rotates queries and keys only."),
    ({"scaled": False}, "You lost the division by the square root of head_dim."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the rows would be with one idea missing, or two."""
    return with_pairs(partial(_attend, inputs), MISTAKES)


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first row that is wrong, and what decides it."""
    i = wrong_along(outputs["out"], right(inputs))[0]
    return (
        f"Row {i} of the new tokens is wrong. Check two things separately: the position that its "
        "query is rotated by, and which keys it attends to."
    )


EXERCISE = Exercise(
    id="reader_offset",
    page="shared-layers",
    title="A reader's position",
    kind="bug",
    groups={"edges": 4},
    minutes=12,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="Layers that read another layer's cache",
    complaint=Complaint(
        "positions",
        "A prompt given at once and the same prompt given word by word continue differently.",
        "[mlx-lm, issue 1805](https://github.com/ml-explore/mlx-lm/issues/1805): in Gemma 3n, a "
        "layer that reads another's cache rotated its queries by the cache's length, after the "
        "other layer had already added the new tokens.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Give it a whole prompt: then there are as many queries as keys. By which position is the "
        "first query rotated, and which is its own key?",
        "The keys of the new tokens are the last ones of k_kept. How many are before them? Then "
        "change the last key of a chunk of three: which rows of the output can change?",
    ),
    common_errors=(
        "Subtracting 1, which is right for single tokens only.",
        "Repairing the rotation and not the mask, or the mask and not the rotation.",
        "Testing one token at a time.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
