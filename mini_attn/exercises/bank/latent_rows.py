"""Find the bugs: what latent attention puts into its cache."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
This function makes the two vectors that each token leaves in the cache. `both` `(seq, kv_lora_rank
+ qk_rope_head_dim)` is `x @ W_a` and `x @ W_r` side by side, `norm_weight` `(kv_lora_rank,)`
belongs to the RMS norm (`eps` is 1e-6), `positions` `(seq,)` holds the positions of the tokens,
`inv_freq` one angle per pair, and neighbors are pairs. The function has two bugs. Find and fix
them. Return `latent` and `rope_key`.
"""
STARTER = '''
def latent_rows(both, norm_weight, positions, inv_freq):
    """The normed latents and the rotated keys of some tokens."""
    rank = len(norm_weight)
    mean_square = np.mean(both**2, axis=-1, keepdims=True)
    normed = both / np.sqrt(mean_square + 1e-6)
    latent, key = normed[:, :rank] * norm_weight, both[:, rank:]
    angles = np.arange(len(both))[:, None] * inv_freq
    even, odd = key[:, 0::2], key[:, 1::2]
    first = even * np.cos(angles) - odd * np.sin(angles)
    second = even * np.sin(angles) + odd * np.cos(angles)
    return latent, np.stack([first, second], axis=-1).reshape(key.shape)


latent_rows(np.eye(2, 4), np.ones(2), np.arange(2), np.ones(1))
'''

EPS = 1e-6


def _case(rng: np.random.Generator, first: int, seq: int, rank: int, rope: int) -> Inputs:
    return {
        "both": rng.standard_normal((seq, rank + rope)) * 2,
        "norm_weight": rng.uniform(0.5, 2.0, rank),
        "positions": np.arange(first, first + seq),
        "inv_freq": 10.0 ** -np.linspace(0.0, 1.0, rope // 2),
    }


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a prompt of two. The property: a chunk after a past keeps its positions."""
    by_hand = {
        "both": np.array([[3.0, 1.0, 1.0, 0.0], [0.0, 2.0, 0.0, 2.0]]),
        "norm_weight": np.array([1.0, 1.0]),
        "positions": np.array([0, 1]),
        "inv_freq": np.array([1.0]),
    }
    single = _case(rng, 0, 1, 3, 2)
    apart = {**_case(rng, 3, 4, 4, 4), "positions": np.array([3, 4, 9, 20])}
    small = _case(rng, 2, 3, 4, 2)
    small["both"] /= 1000.0  # so small that eps counts
    return {
        "by hand": [by_hand],
        "random": [_case(rng, 0, 4, 3, 4), _case(rng, 0, 6, 8, 6)],
        "property": [_case(rng, 5, 3, 4, 4), _case(rng, 9, 1, 4, 2), apart],
        "edges": [single, _case(rng, 0, 2, 1, 2), small],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A latent and a rotated key for each token."""
    (seq, width), rank = inputs["both"].shape, len(inputs["norm_weight"])
    return {"latent": ((seq, rank), "f"), "rope_key": ((seq, width - rank), "f")}


def _normed(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.sqrt((rows**2).mean(axis=-1, keepdims=True) + EPS))


def _turned(rows: np.ndarray, angles: np.ndarray, *, half: bool = False) -> np.ndarray:
    """Pairs rotated by their angles, neighbors or halves apart."""
    middle = rows.shape[-1] // 2
    a, b = (rows[:, :middle], rows[:, middle:]) if half else (rows[:, ::2], rows[:, 1::2])
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = a * cos - b * sin, a * sin + b * cos
    if half:
        return np.concatenate([first, second], axis=-1)
    return np.stack([first, second], axis=-1).reshape(rows.shape)


def _latents(inputs: Inputs) -> list[tuple[np.ndarray | None, str]]:
    """Return what the latent would be with one idea missing."""
    both, weight = inputs["both"], inputs["norm_weight"]
    rank = len(weight)
    raw = both[:, :rank]
    angles = inputs["positions"][:, None] * inputs["inv_freq"]
    guesses: list[tuple[np.ndarray, str]] = [
        (_normed(both)[:, :rank] * weight,
         "You took the mean square over the latent and the rotated key together. The norm belongs "
         f"to the latent alone, to its {rank} values."),
        (raw * weight, "You multiplied the latent by the norm's weight but didn't normalize it."),
        (raw, "You cached the latent before its norm. The cache holds the normed one."),
        (_normed(raw), "You left out the norm's weight. A weight of all ones would hide it."),
        (raw / np.linalg.norm(raw, axis=-1, keepdims=True) * weight,
         "You divided by the root of the sum of squares. Divide by the root of their mean."),
        (raw / np.sqrt((raw**2).sum(axis=-1, keepdims=True) + EPS) * weight,
         "You divided by the root of the sum of squares. Divide by the root of their mean."),
        (raw / (np.abs(raw).mean(axis=-1, keepdims=True) + EPS) * weight,
         "You divided by the mean of the absolute values. Divide by the root of the mean of the "
         "squares."),
        (raw / (np.sqrt((raw**2).mean(axis=-1, keepdims=True)) + EPS) * weight,
         "You add eps to the root. It belongs under it, to the mean square, which it can "
         "outweigh."),
        (raw / np.sqrt((raw**2).mean(axis=-1, keepdims=True)) * weight,
         "You left out eps. It's added to the mean square, and for small latents it counts."),
        (raw / ((raw**2).mean(axis=-1, keepdims=True) + EPS) * weight,
         "You divided by the mean square. Divide by its root."),
        (_normed(raw - raw.mean(axis=-1, keepdims=True)) * weight,
         "You subtracted the mean first, which is layer norm. An RMS norm only divides."),
        (raw / np.sqrt((raw**2).mean(axis=0) + EPS) * weight,
         "You took the mean square over the tokens. Normalize each token by itself, over the "
         "values of its latent."),
        (raw / np.sqrt((raw**2).mean() + EPS) * weight,
         "You used one mean square for all tokens. Normalize each token by itself."),
    ]  # fmt: skip
    fits = 2 * len(inputs["inv_freq"]) == rank
    turned = _turned(_normed(raw) * weight, angles) if fits else None
    idea = "You rotated the latent. Only the rotated key has a position."
    return [*guesses, (turned, idea)]


def _keys(inputs: Inputs) -> list[tuple[np.ndarray, str]]:
    """Return what the rotated key would be with one idea missing."""
    raw = inputs["both"][:, len(inputs["norm_weight"]) :]
    positions, inv_freq = inputs["positions"], inputs["inv_freq"]
    angles = positions[:, None] * inv_freq
    counted = np.arange(len(positions))[:, None] * inv_freq
    onward = counted + positions[0] * inv_freq
    halves = _turned(raw, angles).reshape(len(raw), -1, 2).swapaxes(1, 2).reshape(raw.shape)
    return [
        (_turned(raw, counted),
         f"You counted positions from 0 in each chunk. The first token of this one is at "
         f"{positions[0]}, and a key rotated to the wrong position stays wrong in the cache."),
        (raw, "You cached the key before rotating it. Then every step has to rotate it again. "
         "Rotated once, it can stay."),
        (_turned(raw, -angles), "You rotated the key backwards. Queries rotate by plus the angle, "
         "and keys must rotate the same way."),
        (_turned(raw, angles, half=True),
         "You took pairs half the width apart. Here neighbors are pairs: 0 with 1, 2 with 3."),
        (halves, "You rotated neighbors, but then put all first values before all second ones. "
         "Put the two of a pair back where they came from."),
        (_turned(raw, (positions - positions[0])[:, None] * inv_freq),
         "You counted positions from the first token of the chunk. It isn't at 0: `positions` has "
         "the position of each token in the text."),
        (_turned(raw, counted + inv_freq),
         "You counted positions from 1 in each chunk. `positions` has the position of each token "
         "in the text."),
        (_turned(raw, angles + inv_freq), "You rotated the key one position too far. Token 0 isn't "
         "rotated at all."),
        (_turned(raw, onward),
         "You counted on from the first token's position. Tokens don't have to be neighbors: "
         "`positions` has that of each."),
        (_turned(_normed(raw), angles),
         "You normalized the rotated key too. Normalize only the latent."),
        (_turned(_normed(inputs["both"])[:, -raw.shape[1] :], angles),
         "You divided the rotated key by the norm of the whole row. Normalize only the latent."),
    ]  # fmt: skip


def right(inputs: Inputs) -> dict[str, np.ndarray]:
    """The normed latent and the rotated key."""
    both, weight = inputs["both"], inputs["norm_weight"]
    angles = inputs["positions"][:, None] * inputs["inv_freq"]
    latent, raw = both[:, : len(weight)], both[:, len(weight) :]
    return {"latent": _normed(latent) * weight, "rope_key": _turned(raw, angles)}


def slips(inputs: Inputs) -> Slips:
    """Return what one of the two rows would be with one idea missing."""
    latent, rope_key = right(inputs).values()
    swapped = {"latent": rope_key, "rope_key": latent} if latent.shape == rope_key.shape else None
    order = "You returned them in the other order: first the latent, then the rotated key."
    latents = [(one if one is None else {"latent": one}, idea) for one, idea in _latents(inputs)]
    keys = [({"rope_key": one}, idea) for one, idea in _keys(inputs)]
    return [(swapped, order), *latents, *keys]


EXERCISE = Exercise(
    id="latent_rows",
    page="mla",
    title="What goes into the cache",
    kind="bug",
    groups={"edges": 4},
    minutes=12,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="What the cache holds",
    definition="What the cache holds",
    complaint=Complaint(
        "caches",
        "My cached latents never match the reference. The keys do at first, but not from the "
        "second chunk on.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "There are two bugs. One shows on every input, the other only when a cache already holds "
        "something.",
        "Check each line: which values does the norm run over? And which position does the first "
        "token of this chunk have in the text?",
    ),
    common_errors=(
        "Testing with whole prompts, where counting from 0 is right.",
        "Normalizing the whole row of the projection, because it comes out of one matrix.",
        "Caching the latent before its norm, so that every step has to normalize all of them.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
