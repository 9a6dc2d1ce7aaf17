"""Find the bug: a chunk that overwrites keys before its own queries have read them."""

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
This is attention of a chunk of new tokens, for one head, with a ring that holds what came before.
`q`, `k` and `v` have the shape `(new, head_dim)`, `k_ring` and `v_ring` have the shape `(window,
head_dim)`, and `ring_positions` says which position is in each slot, −1 for none. The chunk begins
at position `start` and can be longer than the window. The function was tested with single tokens
and is right for them. Repair it, so that the output `(new, head_dim)` is right for every chunk.
"""
STARTER = '''
def chunk_attention(q, k, v, k_ring, v_ring, ring_positions, start):
    """Windowed attention of a chunk after what the ring holds."""
    window = len(k_ring)
    k_ring, v_ring = k_ring.copy(), v_ring.copy()
    at = ring_positions.copy()
    for i in range(len(q)):
        slot = (start + i) % window
        k_ring[slot], v_ring[slot], at[slot] = k[i], v[i], start + i

    here = start + np.arange(len(q))
    distance = here[:, None] - at  # (new, window)
    seen = (at >= 0) & (distance >= 0) & (distance < window)
    scores = np.where(seen, q @ k_ring.T / np.sqrt(q.shape[1]), -1e30)
    weights = np.exp(scores - scores.max(1, keepdims=True)) * seen
    total = np.maximum(weights.sum(axis=1), 1e-30)
    return weights @ v_ring / total[:, None]
'''

Array = np.ndarray


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


def _attend(
    inputs: Inputs,
    *,
    window: int | None = None,
    ring: str = "as it is",
    chunk_at: str = "start",
    keys_at: str = "start",
    sees: str = "earlier and itself",
    scaled: bool = True,
) -> Array:
    """Attention of the chunk over what was held and itself, by positions."""
    slots, chunk, start = inputs["ring_positions"], np.arange(len(inputs["q"])), inputs["start"]
    held = _written(inputs) if ring == "written" else (slots, inputs["k_ring"], inputs["v_ring"])
    at = {"in order": np.arange(start - len(slots), start), "left out": 0 * slots - 1}
    old = at.get(ring, held[0])
    here = chunk if chunk_at == "0" else start + chunk
    at_keys = np.concatenate([old, chunk if keys_at == "0" else here])
    k, v = (np.concatenate([x, inputs[n]]) for n, x in zip("kv", held[1:], strict=True))
    behind = here[:, None] - at_keys
    mask = (at_keys >= 0) | (ring == "empty seen")
    mask = mask & (behind < (len(slots) if window is None else window))
    mask = mask & ((behind >= (sees == "earlier")) | (sees == "all"))
    return _mixed(inputs["q"], k, v, mask, k.shape[1] ** -0.5 if scaled else 1.0)


def _mixed(q: Array, k: Array, v: Array, mask: Array, scale: float) -> Array:
    """The values, mixed for each query by what it sees."""
    return np.asarray(ma.softmax(np.where(mask, q @ k.T * scale, -np.inf)) @ v)


def _written(inputs: Inputs) -> tuple[Array, Array, Array]:
    """Positions, keys and values of the ring with the chunk in it."""
    window = len(inputs["k_ring"])
    at, k, v = (inputs[n].copy() for n in ("ring_positions", "k_ring", "v_ring"))
    here = inputs["start"] + np.arange(len(inputs["q"]))
    last = slice(max(0, len(here) - window), None)
    slots = here[last] % window
    at[slots], k[slots], v[slots] = here[last], inputs["k"][last], inputs["v"][last]
    return at, k, v


def _overwritten(inputs: Inputs) -> Array:
    """Everything is written first; queries see what is left."""
    at, k, v = _written(inputs)
    behind = (inputs["start"] + np.arange(len(inputs["q"])))[:, None] - at
    mask = (at >= 0) & (behind >= 0) & (behind < len(k))
    return _mixed(inputs["q"], k, v, mask, k.shape[1] ** -0.5)


def _in_pieces(inputs: Inputs) -> Array:
    """The same for each piece of the chunk, as long as the window."""
    window, rest, rows = len(inputs["k_ring"]), dict(inputs), []
    for first in range(0, len(inputs["q"]), window):
        piece = {n: inputs[n][first : first + window] for n in "qkv"}
        rest |= {**piece, "start": inputs["start"] + first}
        rows.append(_overwritten(rest))
        rest["ring_positions"], rest["k_ring"], rest["v_ring"] = _written(rest)
    return np.concatenate(rows)


def _mistakes(inputs: Inputs) -> list[tuple[dict[str, Any], str]]:
    """Return what can be done wrong once ring and chunk stand side by side."""
    window = len(inputs["k_ring"])
    return [
        ({"ring": "left out"},
         "Your chunk attends to itself only. The tokens in the ring come before it and belong to "
         "the windows of its first queries."),
        ({"window": window + 1},
         f"One key too many. A window of {window} counts the token's own key."),
        ({"window": window - 1},
         f"One key too few. A window of {window} counts the token's own key."),
        ({"window": inputs["start"] + len(inputs["q"]) + 1},
         "The window is missing. Each query attends to all keys at hand."),
        ({"sees": "all"}, "New tokens attend to later ones. Inside the chunk, the mask is causal."),
        ({"sees": "earlier"},
         "A query does not attend to its own token. It looks before its key is there."),
        ({"ring": "empty seen"}, "You give weight to empty slots. A slot with −1 holds nothing, "
         "and its zeros must not get weight."),
        ({"ring": "in order"},
         "You took the slots to be in the order of the text. In a ring, ring_positions says which "
         "position is in each slot."),
        ({"ring": "written"},
         "The chunk is there twice: written into the ring, where it overwrites what its first "
         "queries need, and next to it."),
        ({"chunk_at": "0"},
         "You counted the tokens of the chunk from 0. The first is at position start."),
        ({"keys_at": "0"},
         "You counted the keys of the chunk from 0. The first is at position start."),
        ({"scaled": False}, "You left out the division by the square root of head_dim."),
    ]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Attention over the ring as it was and the chunk."""
    return _attend(inputs)


def slips(inputs: Inputs) -> Slips:
    """Return what the rows would be with one idea missing, or two."""
    return [
        (_overwritten(inputs),
         "You write the chunk into the ring before its queries look. The last new tokens have "
         "overwritten keys that the first ones still need."),
        (_in_pieces(inputs),
         "You write a piece of the chunk into the ring before its queries look. Its last tokens "
         "overwrite keys that its first tokens still need."),
        *with_pairs(partial(_attend, inputs), _mistakes(inputs)),
    ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first row that is wrong, and what it should see."""
    window, start = len(inputs["k_ring"]), inputs["start"]
    i = wrong_along(outputs["out"], right(inputs))[0]
    return (
        f"Row {i} of the chunk (position {start + i}) is wrong. It should attend to the keys from "
        f"position {max(0, start + i - window + 1)} to its own."
    )


EXERCISE = Exercise(
    id="ring_chunk",
    page="sliding-window",
    title="A chunk through the ring",
    kind="bug",
    groups={"edges": 4},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="A prompt that is longer than the ring",
    complaint=Complaint(
        "caches",
        "Token by token, the answers are right. When the prompt comes in chunks, they aren't.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Take a window of 3 and a chunk of two. Which keys does the first new token need, and "
        "which of them are left when both new tokens have been written?",
        "Let the chunk attend to what the ring held before, together with the chunk itself. The "
        "positions of both make the mask. The order does not matter.",
    ),
    common_errors=(
        "Testing only with chunks of one token, where writing first is right.",
        "Making the ring larger instead. Some chunk will be longer again.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
