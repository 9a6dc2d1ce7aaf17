"""Find the size of a latent that keys and values of a trained layer can be made from."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips
from mini_attn.exercises.trained import trained_heads

TEXT = """
`k` and `v` have the shape `(n_heads, tokens, head_dim)`: what a layer without latents makes of a
text, keys before their rotation. Instead each token is to leave one vector of `rank` numbers, from
which fixed matrices make the keys and values of all heads. Matrices can be chosen for this text,
and what they lose is measured as a part of the sum of the squares of all keys and values. For each
number in `shares` `(n,)`, return the smallest rank that keeps at least this share of the sum:
whole numbers `(n,)`. Shares lie between 0 and 1.
"""
STARTER = '''
def latent_rank(k, v, shares):
    """The smallest size of a latent that keeps each share, (n,)."""
    raise NotImplementedError
'''

Array = np.ndarray
SHARES = np.array([0.5, 0.8, 0.9, 0.99])


def _trained(rng: np.random.Generator, layer: int) -> Inputs:
    _, k, v = trained_heads(rng, 128, layer=layer, rotated=False)
    return {"k": k, "v": v, "shares": rng.uniform(0.6, 0.97, 4)}


def _drawn(rng: np.random.Generator, rank: int, shares: Array) -> Inputs:
    """Three heads of 4 that are made from a latent, with a mean that is not 0."""
    latent = (rng.standard_normal((20, rank)) + 1) * 0.7 ** np.arange(rank)
    both = latent @ rng.standard_normal((2, 3, rank, 4))
    return {"k": both[0], "v": both[1], "shares": shares}


def _hand() -> Inputs:
    """Small whole numbers, chosen so that no mistake gives the ranks of another."""
    rng = np.random.default_rng(9)
    latent, made = rng.integers(-2, 4, (8, 3)), []
    for _ in range(2):
        rows = latent @ rng.integers(-2, 3, (3, 4)) + rng.integers(-1, 2, (8, 4))
        made.append(rows.reshape(8, 2, 2).swapaxes(0, 1).astype(float))
    return {"k": made[0], "v": made[1], "shares": np.array([0.5, 0.7, 0.8, 0.9, 0.95, 0.99])}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two heads of 2, eight tokens. The property: layers that were trained."""
    one = {"k": rng.standard_normal((2, 1, 3)), "v": rng.standard_normal((2, 1, 3))}
    return {
        "by hand": [_hand()],
        "random": [_drawn(rng, 7, SHARES), _drawn(rng, 5, SHARES)],
        "property": [_trained(rng, 0), _trained(rng, 1)],
        "edges": [
            _drawn(rng, 3, np.array([1 - 1e-9, 1e-9])),
            one | {"shares": np.array([0.3, 0.9999])},
            _drawn(rng, 4, np.array([0.9])),
        ],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A rank for each share."""
    return {"rank": (inputs["shares"].shape, "i")}


def _rows(x: Array) -> Array:
    """What the heads of each token hold side by side, (tokens, n_heads * head_dim)."""
    return np.asarray(x.swapaxes(0, 1).reshape(x.shape[1], -1))


def _kept(rows: Array, power: int = 2) -> Array:
    """The part of the whole that so many directions keep, from none on."""
    s = np.linalg.svd(rows, compute_uv=False) ** power
    parts = np.concatenate([[0.0], np.cumsum(s)])
    return np.asarray(parts / max(parts[-1], 1e-300))


def _least(kept: Array, shares: Array) -> Array:
    """The smallest rank that keeps each share, or all of them."""
    return np.asarray(np.minimum(np.searchsorted(kept, shares), len(kept) - 1))


def _matrix(inputs: Inputs, of: str) -> Array:
    """What is to be made from few numbers: rows of what a token leaves, or others."""
    k, v = inputs["k"], inputs["v"]
    tokens, size = k.shape[1:]
    if of in ("heads", "heads below"):
        return np.concatenate([x.reshape(-1, size) for x in (k, v)], axis=int(of == "heads"))
    if of == "mixed":
        return np.concatenate([x.reshape(tokens, -1) for x in (k, v)], axis=1)
    rows = [_rows(x) for x in (k, v)]
    if of == "added":
        return rows[0] + rows[1]
    if of in ("keys", "values", "below"):
        return {"keys": rows[0], "values": rows[1], "below": np.concatenate(rows)}[of]
    both = np.concatenate(rows, axis=1)
    return both - both.mean(axis=0) if of == "centred" else both


def _rank(inputs: Inputs, *, of: str = "tokens", power: int = 2, more: int = 0) -> Array:
    """The ranks, or those of another matrix or another sum."""
    matrix = _matrix(inputs, of)
    return np.asarray((_least(_kept(matrix, power), inputs["shares"]) + more) * matrix.any())


IN_ONE_ROW = ("Each head of a token has a row of its own. A token leaves one latent for all of "
              "them: they stand in one row.")  # fmt: skip
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"more": -1}, "That is one too few: the last square that is needed has to be counted."),
    ({"more": 1}, "That is one too many: the squares before it are enough."),
    ({"power": 1},
     "Singular values are added up as they are. The sum of the squares of all numbers is the "
     "sum of their squares."),
    ({"of": "keys"}, "That is enough for the keys. The same latent has to make the values."),
    ({"of": "values"}, "That is enough for the values. The same latent has to make the keys."),
    ({"of": "centred"},
     "The mean of the tokens was taken away first. Nothing in the task says so: the latent has "
     "to make the whole key, the mean included."),
    ({"of": "below"},
     "Keys and values stand below each other, as if they were more tokens. For each token they "
     "stand side by side: one latent makes both."),
    ({"of": "added"}, "Keys and values are added. They stand side by side: the latent makes both."),
    ({"of": "mixed"},
     "A reshape alone mixes the tokens, as the heads come first. Each row should hold what one "
     "token leaves: move the axis of the tokens to the front."),
    ({"of": "heads"}, IN_ONE_ROW),
    ({"of": "heads below"}, IN_ONE_ROW),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Ranks with one idea missing, or two."""
    shares, heads = inputs["shares"], len(inputs["k"])
    keys, values = (_rank(inputs, of=name) for name in ("keys", "values"))
    each = [np.concatenate([x, y], axis=1) for x, y in zip(inputs["k"], inputs["v"], strict=True)]
    by_head = [_least(_kept(x), shares) for x in each]
    centred = _least(_kept(_matrix(inputs, "centred")), shares)
    squares = np.diff(_kept(_matrix(inputs, "tokens")))
    beside = [[int((s >= (1 - x) * s[0]).sum()) for x in shares] for s in (squares, squares**0.5)]
    return [
        *with_pairs(partial(_rank, inputs), MISTAKES),
        (centred, MISTAKES[5][1]),
        (keys + values, "Keys and values get a latent each. One latent for both can be smaller, "
         "where they have directions in common."),
        (np.maximum(keys, values), "That is enough for keys and for values, each alone. One latent "
         "has to make both."),
        (sum(by_head), f"Each of the {heads} heads gets a latent of its own. One for all heads can "
         "be smaller."),
        (np.max(by_head, axis=0), "That is enough for each head alone. One latent has to make "
         "them all, and heads look at different directions."),
        *((np.array(ranks),
           "Each direction is compared with the largest. Add the squares up, the largest first, "
           "until they reach the share.") for ranks in beside),
        (np.ceil(shares * len(squares)).astype(int),
         "That is a share of the number of directions. Some hold far more of the sum than others."),
    ]  # fmt: skip


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """Whether each rank is enough, and one less is not."""
    rank, shares = outputs["rank"], inputs["shares"]
    both = np.concatenate([_rows(inputs["k"]), _rows(inputs["v"])], axis=1)
    kept = _kept(both)
    if ((rank >= 1) & (rank < len(kept))).all():
        enough = kept[rank] >= shares - 1e-12
        if (enough & (kept[rank - 1] < shares + 1e-12)).all():
            return None
    right = _least(kept, shares)
    at = int((rank != right).argmax())
    return (
        f"To keep {shares[at]:.4g} of the sum of squares, a token has to leave "
        f"{right[at]} {'number' if right[at] == 1 else 'numbers'}; this says {rank[at]}."
    )


EXERCISE = Exercise(
    id="latent_rank",
    page="mla",
    title="How many numbers would do?",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=15,
    difficulty=3,
    assessed=False,
    section="Why so few numbers can be enough",
    text=TEXT,
    starter=STARTER,
    hints=(
        "One latent makes everything that a token leaves. So put all that it leaves, over heads "
        "and over keys and values, into one row; how well can such rows be made from a few numbers "
        "each?",
        "Singular values of the matrix (tokens, 2 * n_heads * head_dim): the best matrices of rank "
        "r keep the sum of the r largest squares. Add the squares up, divide by their sum, and "
        "count how many are needed for each share.",
    ),
    common_errors=(
        "Adding singular values in place of their squares.",
        "A latent for each head, or one for keys and another for values.",
        "Subtracting the mean, as principal components do.",
    ),
    cases=cases,
    expected=expected,
    slips=slips,
    judge=judge,
)
