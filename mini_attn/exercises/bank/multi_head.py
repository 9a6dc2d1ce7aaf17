"""Write multi-head attention from its four matrices."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
Write causal multi-head attention in NumPy, for one text. `x` is `(seq, d_model)`; `W_q`, `W_k`,
`W_v` are `(d_model, n_heads * head_dim)` and `W_o` is `(n_heads * head_dim, d_model)`. Return
`(seq, d_model)`. Note that `head_dim` isn't always `d_model // n_heads`, and that scores may be
large.
"""
STARTER = '''
def multi_head(x, W_q, W_k, W_v, W_o, n_heads):
    """Causal multi-head attention of one text."""
    raise NotImplementedError
'''


def _case(
    rng: np.random.Generator, seq: int, d_model: int, n_heads: int, size: int, large: float = 1.0
) -> Inputs:
    W_q, W_k, W_v = rng.standard_normal((3, d_model, n_heads * size))
    W_o = rng.standard_normal((n_heads * size, d_model))
    x = large * rng.standard_normal((seq, d_model))
    return {"x": x, "W_q": W_q, "W_k": W_k, "W_v": W_v, "W_o": W_o, "n_heads": n_heads}


def _far_apart(inputs: Inputs) -> Inputs:
    """The case with W_q such that the first token scores a later one far above itself."""
    x, size = inputs["x"], inputs["W_q"].shape[1] // inputs["n_heads"]
    row = x[0] @ inputs["W_q"][:, :size] @ (x @ inputs["W_k"][:, :size]).T * size**-0.5
    above, below = (row[1:] - row[0]).max(), (row[0] - row[1:]).max()
    sign = 1 if above >= below else -1
    return inputs | {"W_q": sign * max(1.0, 2000 / max(above, below)) * inputs["W_q"]}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two heads of size 2. The property: head_dim is its own number."""
    eye = np.eye(4)
    by_hand = {
        "x": np.array([[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.5, 0.0], [2.0, 1.0, 0.0, 0.0]]),
        "W_q": eye, "W_k": eye[[1, 0, 3, 2]], "W_v": eye,
        "W_o": eye[[0, 2, 3, 1]] + eye, "n_heads": 2,
    }  # fmt: skip
    return {
        "by hand": [by_hand],
        "random": [_case(rng, 4, 6, 3, 2), _case(rng, 5, 8, 2, 4), _case(rng, 3, 4, 4, 1)],
        "property": [_case(rng, 4, 6, 2, 5), _case(rng, 5, 4, 3, 3)],
        "edges": [
            _case(rng, 1, 4, 2, 2),
            _case(rng, 3, 4, 1, 4),
            _far_apart(_case(rng, 3, 4, 2, 2, 1e3)),
        ],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One row for each token."""
    return {"out": (inputs["x"].shape, "f")}


def _rows(x: np.ndarray, n_heads: int, cut: str) -> np.ndarray:
    """Projected tokens as (1, n_heads, seq, head_dim), by the right cut or a wrong one."""
    seq, size = len(x), x.shape[1] // n_heads
    if cut == "reshaped":
        return x.reshape(1, n_heads, seq, size)
    if cut == "dealt out":
        return x.reshape(1, seq, size, n_heads).transpose(0, 3, 1, 2)
    return np.asarray(ma.split_heads(x[None], n_heads))


def _weights(scores: np.ndarray, hide: str) -> np.ndarray:
    """The softmax of each query over the keys up to its own, or what becomes of it."""
    seen = np.tril(np.ones(scores.shape[-2:], bool))
    if hide in ("itself", "all but the first"):
        seen = np.tril(seen, -1) | (np.arange(len(seen)) == 0) & seen & (hide != "itself")
    if hide in ("not", "late"):
        return np.asarray(ma.softmax(scores) * (seen | (hide == "not")))
    hidden = np.where(seen, scores, 0.0 if hide == "zero" else -np.inf)
    if hide in ("no shift", "shift of all"):
        top = scores.max(axis=-1, keepdims=True) if hide == "shift of all" else 0.0
        with np.errstate(all="ignore"):
            powers = np.exp(hidden - top)
            return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
    return np.asarray(ma.softmax(hidden, axis=-2 if hide == "over queries" else -1))


def _layer(
    inputs: Inputs,
    *,
    n_heads: int | None = None,
    cut: str = "right",
    merge: str = "right",
    scale: float | None = None,
    hide: str = "right",
    roles: str = "qkv",
) -> np.ndarray:
    """All heads' results side by side, (seq, n_heads * head_dim)."""
    n_heads, x = n_heads or inputs["n_heads"], inputs["x"]
    q, k, v = (_rows(x @ inputs[f"W_{n}"], n_heads, cut) for n in roles)
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    out = _weights(scores, hide) @ v
    if merge == "right":
        return np.asarray(ma.merge_heads(out)[0])
    if merge == "reshaped":
        return np.asarray(out.reshape(len(x), -1))
    return np.asarray(out[0].transpose(1, 2, 0).reshape(len(x), -1))


def _mistakes(inputs: Inputs) -> list[tuple[dict[str, Any], str]]:
    """Return what can be done wrong in one step, and in another one too."""
    width, n_heads, d_model = len(inputs["W_o"]), inputs["n_heads"], inputs["x"].shape[1]
    size = width // n_heads
    of_model = ("Your scale is taken from d_model // n_heads. Take head_dim from the width of W_q "
                f"divided by n_heads, here {size}.")  # fmt: skip
    return [
        ({"hide": "not"}, "Your tokens look ahead, because the mask is missing. Token i sees "
         "tokens 0 to i."),
        ({"scale": 1.0},
         f"Your scores aren't scaled. Divide them by the square root of head_dim = {size}."),
        ({"scale": 1 / size},
         f"You divided the scores by head_dim = {size}. Divide them by its square root."),
        ({"scale": width**-0.5},
         "Your scale is that of all heads together. A head's scores sum over "
         f"head_dim = {size} products."),
        ({"scale": (d_model // n_heads or 1) ** -0.5}, of_model),
        ({"scale": (d_model / n_heads) ** -0.5}, of_model),
        ({"cut": "reshaped"},
         "You cut q, k and v by a reshape alone, so a head gets whole tokens instead of its "
         "columns of every token. Move the axes there too."),
        ({"merge": "reshaped"},
         "You merge the heads by a reshape alone, which mixes the tokens. First move the axis of "
         "the heads next to the last one."),
        ({"hide": "late"},
         "You set weights to 0 after the softmax, so a query's weights no longer sum to 1: later "
         "tokens have already taken their share."),
        ({"hide": "no shift"},
         "With large scores, an exponential overflows. Subtract the largest visible score of each "
         "row first."),
    ]  # fmt: skip


def _singles(inputs: Inputs) -> list[tuple[dict[str, Any], str]]:
    """Return what is done wrong alone."""
    n_heads = inputs["n_heads"]
    size = len(inputs["W_o"]) // n_heads
    one = ("You take one softmax over the whole width, so the scores of all heads are added before "
           f"it. Cut q, k and v into {n_heads} heads first.")  # fmt: skip
    itself = "In your layer, a token doesn't see itself. The diagonal is visible too."
    dealt = ("Your head h takes every n_heads-th column. Its columns are next to each other: "
             "h * head_dim to (h + 1) * head_dim.")  # fmt: skip
    return [
        ({"n_heads": 1}, one),
        ({"n_heads": 1, "scale": size**-0.5}, one),
        ({"cut": "reshaped", "merge": "reshaped"},
         "You cut the heads by a reshape alone. It keeps memory order, so a head gets whole "
         "tokens instead of its columns of every token. Move the axes too."),
        ({"cut": "dealt out"}, dealt),
        ({"cut": "dealt out", "merge": "dealt out"}, dealt),
        ({"hide": "itself"}, itself),
        ({"hide": "all but the first"}, itself),
        ({"hide": "zero"},
         "Your hidden scores are 0, and e to the 0 is 1, so later tokens still get a share."),
        ({"hide": "shift of all"},
         "You look for the largest score of a row among later tokens too. If one is far above the "
         "others, all visible exponentials vanish."),
        ({"hide": "over queries"},
         "Your softmax runs over the queries. The weights of each query should sum to 1."),
        ({"roles": "qvk"}, "Your W_k and W_v changed places. Queries meet keys, and weights add "
         "values."),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the output would be with one idea missing, or two."""
    W_o, side = inputs["W_o"], _layer(inputs)
    singles = [(_layer(inputs, **wrong), idea) for wrong, idea in _singles(inputs)]
    made = singles + with_pairs(partial(_layer, inputs), _mistakes(inputs))
    return [(rows @ W_o, idea) for rows, idea in made] + [
        (side @ W_o / inputs["n_heads"],
         "You averaged the heads. Add them up, each through its own rows of W_o."),
        (side if side.shape == inputs["x"].shape else right(inputs),
         "Your heads are side by side, but you haven't applied W_o."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """Each head's attention, merged and projected."""
    return _layer(inputs) @ inputs["W_o"]


EXERCISE = Exercise(
    id="multi_head",
    page="multihead",
    title="Many heads",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=20,
    difficulty=2,
    stage="warm-up",
    assessed=False,
    section="From one head to many",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Each head does its own attention on its own columns of the projected tokens. The heads "
        "only meet at the end, in the product with W_o.",
        "Project with W_q, W_k and W_v. Reshape to (seq, n_heads, head_dim) and swap the first two "
        "axes. For each head, take scores times head_dim ** -0.5, mask, softmax, times v. Swap "
        "back, reshape to (seq, n_heads * head_dim), and multiply by W_o.",
    ),
    common_errors=(
        "You cut the heads by a reshape to (n_heads, seq, head_dim) without moving axes.",
        "You take head_dim for d_model // n_heads. Here it's the width of W_q over n_heads.",
        "You scale by the root of the whole width.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
