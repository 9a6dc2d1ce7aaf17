"""Find the bugs: what latent attention puts into its cache."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
This function makes the two rows that each token leaves in the cache. `both` `(seq, kv_lora_rank +
qk_rope_head_dim)` is `x @ W_a` and `x @ W_r` side by side, `norm_weight` `(kv_lora_rank,)` belongs
to the RMS norm (`eps` is 1e-6), `positions` `(seq,)` holds the positions of the tokens, `inv_freq`
one angle per pair, and neighbours are pairs. It has two faults. Find and repair them. Return
`latent` and `rope_key`.
"""
STARTER = '''
def latent_rows(both, norm_weight, positions, inv_freq):
    """The normed latents and the rotated keys of some tokens."""
    rank = len(norm_weight)
    normed = both / np.sqrt(np.mean(both**2, axis=-1, keepdims=True) + 1e-6)
    latent, key = normed[:, :rank] * norm_weight, both[:, rank:]
    angles = np.arange(len(both))[:, None] * inv_freq
    even, odd = key[:, 0::2], key[:, 1::2]
    first = even * np.cos(angles) - odd * np.sin(angles)
    second = even * np.sin(angles) + odd * np.cos(angles)
    return latent, np.stack([first, second], axis=-1).reshape(key.shape)


latent_rows(np.eye(2, 4), np.ones(2), np.arange(2), np.ones(1))  # it runs
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
    """By hand: a prompt of two. The property: a chunk after a past stands where it stands."""
    by_hand = {
        "both": np.array([[3.0, 1.0, 1.0, 0.0], [0.0, 2.0, 0.0, 2.0]]),
        "norm_weight": np.array([1.0, 1.0]),
        "positions": np.array([0, 1]),
        "inv_freq": np.array([1.0]),
    }
    single = _case(rng, 0, 1, 3, 2)
    apart = {**_case(rng, 3, 4, 4, 4), "positions": np.array([3, 4, 9, 20])}
    return {
        "by hand": [by_hand],
        "random": [_case(rng, 0, 4, 3, 4), _case(rng, 0, 6, 8, 6)],
        "property": [_case(rng, 5, 3, 4, 4), _case(rng, 9, 1, 4, 2), apart],
        "edges": [single, _case(rng, 0, 2, 1, 2)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A latent and a rotated key for each token."""
    (seq, width), rank = inputs["both"].shape, len(inputs["norm_weight"])
    return {"latent": ((seq, rank), "f"), "rope_key": ((seq, width - rank), "f")}


def _normed(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.sqrt((rows**2).mean(axis=-1, keepdims=True) + EPS))


def _turned(rows: np.ndarray, angles: np.ndarray, *, half: bool = False) -> np.ndarray:
    """Pairs rotated by their angles, neighbours or halves apart."""
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
         "The mean square is taken over the latent and the rotated key together. The norm belongs "
         f"to the latent alone: its {rank} numbers."),
        (raw * weight, "The latent is multiplied by the norm's weight, but not normalised."),
        (raw, "The latent is cached before its norm. What stands in the cache is the normed one."),
        (_normed(raw), "The norm's weight is missing. A latent of all ones hides it."),
        (raw / np.linalg.norm(raw, axis=-1, keepdims=True) * weight,
         "Divide by the root of the mean of the squares; this divides by the root of their sum."),
        (raw / np.sqrt((raw**2).sum(axis=-1, keepdims=True) + EPS) * weight,
         "Divide by the root of the mean of the squares; this divides by the root of their sum."),
        (raw / (np.abs(raw).mean(axis=-1, keepdims=True) + EPS) * weight,
         "Divide by the root of the mean of the squares; this divides by the mean of the absolute "
         "values."),
        (raw / ((raw**2).mean(axis=-1, keepdims=True) + EPS) * weight,
         "Divide by the root of the mean square, not by the mean square."),
        (_normed(raw - raw.mean(axis=-1, keepdims=True)) * weight,
         "The mean is subtracted first: that is layer norm. An RMS norm only divides."),
        (raw / np.sqrt((raw**2).mean(axis=0) + EPS) * weight,
         "The mean square is taken over the tokens. Each token is normalised by itself, over the "
         "numbers of its latent."),
        (raw / np.sqrt((raw**2).mean() + EPS) * weight,
         "There is one mean square for all tokens. Each token is normalised by itself."),
    ]  # fmt: skip
    fits = 2 * len(inputs["inv_freq"]) == rank
    turned = _turned(_normed(raw) * weight, angles) if fits else None
    idea = "The latent is rotated. Only the rotated key has a position."
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
         f"Positions are counted from 0 in each chunk. The first token of this one stands at "
         f"{positions[0]}: a key rotated to the wrong position stays wrong in the cache for good."),
        (raw, "The key is cached before it is rotated. It would have to be rotated again in every "
         "step; rotated once, it can stay."),
        (_turned(raw, -angles), "The key is rotated backwards. Queries rotate by plus the angle, "
         "and keys must rotate the same way."),
        (_turned(raw, angles, half=True),
         "Pairs are taken half the width apart. Here neighbours are pairs: 0 with 1, 2 with 3."),
        (halves, "Neighbours are rotated, but then all first numbers stand before all second ones. "
         "The two of a pair go back to where they came from."),
        (_turned(raw, (positions - positions[0])[:, None] * inv_freq),
         "Positions are counted from the first token of the chunk. It does not stand at 0: "
         "`positions` says where each token stands in the text."),
        (_turned(raw, counted + inv_freq),
         "Positions are counted from 1 in each chunk. `positions` says where each token stands in "
         "the text."),
        (_turned(raw, angles + inv_freq), "The key is rotated one position too far: token 0 is not "
         "rotated at all."),
        (_turned(raw, onward),
         "The positions are counted on from that of the first token. Tokens need not be "
         "neighbours: `positions` has that of each."),
        (_turned(_normed(raw), angles), "The rotated key is normalised too; only the latent is."),
        (_turned(_normed(inputs["both"])[:, -raw.shape[1] :], angles),
         "The rotated key is divided by the norm of the whole row; only the latent is normalised."),
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
    order = "The two come in the other order: first the latent, then the rotated key."
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
    section="What is cached",
    definition="What is cached",
    text=TEXT,
    starter=STARTER,
    hints=(
        "There are two faults. One shows on every input, the other only when a cache already "
        "holds something.",
        "Ask of each line: which numbers does the norm run over? And where does the first token "
        "of this chunk stand in the text?",
    ),
    common_errors=(
        "Testing with whole prompts, where counting from 0 is right.",
        "Normalising the whole row of the projection, as it comes out of one matrix.",
        "Caching the latent before its norm, so that every step has to normalise all of them.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
