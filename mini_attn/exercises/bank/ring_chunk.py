"""Find the bug: a chunk that overwrites keys before its own queries have read them."""

from __future__ import annotations

from functools import partial

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Attention of a chunk of new tokens, one head, with a ring that holds what came before. `q`, `k`,
`v` have the shape `(new, head_dim)`; `k_ring` and `v_ring` have the shape `(window, head_dim)`,
and `ring_positions` says which position lies in each slot, −1 for none. The chunk begins at
position `start` and may be longer than the window. This version was tested with single tokens and
is right for them. Repair it, so that the output `(new, head_dim)` is right for every chunk.
"""
STARTER = '''
def chunk_attention(q, k, v, k_ring, v_ring, ring_positions, start):
    """Windowed attention of a chunk after what the ring holds."""
    window = len(k_ring)
    k_ring, v_ring, at = k_ring.copy(), v_ring.copy(), ring_positions.copy()
    for i in range(len(q)):
        slot = (start + i) % window
        k_ring[slot], v_ring[slot], at[slot] = k[i], v[i], start + i

    distance = (start + np.arange(len(q)))[:, None] - at  # (new, window)
    seen = (at >= 0) & (distance >= 0) & (distance < window)
    scores = np.where(seen, q @ k_ring.T / np.sqrt(q.shape[1]), -1e30)
    weights = np.exp(scores - scores.max(1, keepdims=True)) * seen
    return weights @ v_ring / np.maximum(weights.sum(axis=1), 1e-30)[:, None]
'''

TOLERANCE = 1e-6
Array = np.ndarray
_close = partial(np.allclose, rtol=0, atol=TOLERANCE)


def _case(rng: np.random.Generator, past: int, new: int, window: int, size: int) -> Inputs:
    """A chunk after some tokens, of which the ring holds the last."""
    q, k, v = rng.standard_normal((3, past + new, size))
    at = np.full(window, -1)
    held = np.arange(max(0, past - window), past)
    at[held % window] = held
    rings = np.zeros((2, window, size))
    rings[:, held % window] = np.stack([k, v])[:, held]
    return {
        "q": q[past:], "k": k[past:], "v": v[past:], "k_ring": rings[0], "v_ring": rings[1],
        "ring_positions": at, "start": past,
    }  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two tokens after three, a window of 3. The property: chunks of any length."""
    hand = _case(np.random.default_rng(3), past=3, new=2, window=3, size=2)
    return {
        "by hand": [hand],
        "random": [_case(rng, 6, 2, 4, 4), _case(rng, 9, 3, 5, 3)],
        "property": [_case(rng, 7, new, 4, 3) for new in (1, 4, 6, 9)],
        "edges": [_case(rng, 0, 1, 3, 2), _case(rng, 0, 7, 3, 4), _case(rng, 5, 3, 1, 2)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A row for each new token."""
    return {"out": ((len(inputs["q"]), inputs["v"].shape[1]), "f")}


def _attend(inputs: Inputs, window: int, *, held: bool = True, causal: bool = True) -> Array:
    """Attention of the chunk over what was held and itself, by positions."""
    keep = inputs["ring_positions"] >= 0 if held else np.zeros(len(inputs["k_ring"]), bool)
    k = np.concatenate([inputs["k_ring"][keep], inputs["k"]])
    v = np.concatenate([inputs["v_ring"][keep], inputs["v"]])
    here = inputs["start"] + np.arange(len(inputs["q"]))
    at = np.concatenate([inputs["ring_positions"][keep], here])
    behind = here[:, None] - at
    mask = (behind < window) & ((behind >= 0) | (not causal))
    scores = inputs["q"] @ k.T * k.shape[1] ** -0.5
    return np.asarray(ma.softmax(np.where(mask, scores, -np.inf)) @ v)


def _overwritten(inputs: Inputs) -> Array:
    """Everything is written first; queries see what is left."""
    window, rest = len(inputs["k_ring"]), dict(inputs)
    at, k, v = (inputs[n].copy() for n in ("ring_positions", "k_ring", "v_ring"))
    here = inputs["start"] + np.arange(len(inputs["q"]))
    last = slice(max(0, len(here) - window), None)
    slots = here[last] % window
    at[slots], k[slots], v[slots] = here[last], inputs["k"][last], inputs["v"][last]
    behind = here[:, None] - at
    scores = rest["q"] @ k.T * k.shape[1] ** -0.5
    mask = (at >= 0) & (behind >= 0) & (behind < window)
    return np.asarray(ma.softmax(np.where(mask, scores, -np.inf)) @ v)


def right(inputs: Inputs) -> Array:
    """Attention over the ring as it was and the chunk."""
    return _attend(inputs, len(inputs["k_ring"]))


def slips(inputs: Inputs) -> Slips:
    """What the rows would be with one idea missing."""
    window = len(inputs["k_ring"])
    return [
        (_overwritten(inputs),
         "The chunk is written into the ring before its queries look: the last new tokens have "
         "overwritten keys that the first new tokens still see."),
        (_attend(inputs, window, held=False),
         "The chunk sees itself only: the tokens in the ring come before it and belong to the "
         "windows of its first queries."),
        (_attend(inputs, window + 1),
         f"One key too many: a window of {window} counts the token's own key."),
        (_attend(inputs, inputs["start"] + len(inputs["q"])),
         "The window is missing: each query sees all keys at hand."),
        (_attend(inputs, window, causal=False),
         "New tokens see later ones: inside the chunk the mask is causal."),
    ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first row that is wrong, and what it should see."""
    window, start = len(inputs["k_ring"]), inputs["start"]
    wrong = ~np.isclose(outputs["out"], right(inputs), rtol=0, atol=TOLERANCE).all(axis=1)
    i = int(wrong.argmax())
    return (
        f"Row {i} of the chunk (position {start + i}) is wrong: it sees the keys from "
        f"position {max(0, start + i - window + 1)} to its own."
    )


EXERCISE = Exercise(
    id="ring_chunk",
    page="sliding-window",
    title="Written too early",
    kind="bug",
    groups={"edges": 4},
    minutes=15,
    difficulty=3,
    assessed=True,
    section="A prompt that is longer than the ring",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Take a window of 3 and a chunk of two. Which keys does the first new token need, and "
        "which of them are left when both new tokens have been written?",
        "Let the chunk attend to what the ring held before, put together with the chunk itself. "
        "The positions of both together say who sees whom; the order does not matter.",
    ),
    common_errors=(
        "Testing with chunks of one token, where writing first is right.",
        "Making the ring larger instead: then some chunk is longer again.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
    symptom=symptom,
)
