"""Write multi-head attention from its four matrices."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
Write causal multi-head attention in NumPy, for one text. `x` is `(seq, d_model)`; `W_q`, `W_k`,
`W_v` are `(d_model, n_heads * head_dim)` and `W_o` is `(n_heads * head_dim, d_model)`. Return
`(seq, d_model)`. Mind that `head_dim` is not always `d_model // n_heads`, and that scores may be
large.
"""
STARTER = '''
def multi_head(x, W_q, W_k, W_v, W_o, n_heads):
    """Causal multi-head attention of one text."""
    raise NotImplementedError
'''

TOLERANCE = 1e-6


def _case(
    rng: np.random.Generator, seq: int, d_model: int, n_heads: int, size: int, large: float = 1.0
) -> Inputs:
    W_q, W_k, W_v = rng.standard_normal((3, d_model, n_heads * size))
    W_o = rng.standard_normal((n_heads * size, d_model))
    x = large * rng.standard_normal((seq, d_model))
    return {"x": x, "W_q": W_q, "W_k": W_k, "W_v": W_v, "W_o": W_o, "n_heads": n_heads}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two heads of 2. The property: head_dim is its own number."""
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
        "edges": [_case(rng, 1, 4, 2, 2), _case(rng, 3, 4, 1, 4), _case(rng, 3, 4, 2, 2, 1e3)],
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


def _layer(
    inputs: Inputs,
    *,
    n_heads: int | None = None,
    cut: str = "right",
    scale: float | None = None,
    causal: bool = True,
    merged: bool = False,
) -> np.ndarray:
    """All heads' results side by side, (seq, n_heads * head_dim)."""
    n_heads = n_heads or inputs["n_heads"]
    q, k, v = (_rows(inputs["x"] @ inputs[f"W_{n}"], n_heads, cut) for n in "qkv")
    out = ma.scaled_dot_product_attention(q, k, v, causal=causal, scale=scale)
    if cut == "right" or merged:
        return np.asarray(ma.merge_heads(out)[0])
    if cut == "reshaped":
        return np.asarray(out.reshape(len(inputs["x"]), -1))
    return np.asarray(out[0].transpose(1, 2, 0).reshape(len(inputs["x"]), -1))


def slips(inputs: Inputs) -> Slips:
    """What the output would be with one idea missing."""
    x, W_o, n_heads = inputs["x"], inputs["W_o"], inputs["n_heads"]
    size = len(W_o) // n_heads
    side = _layer(inputs)
    swapped = side.reshape(len(x), n_heads, size).swapaxes(0, 1)
    return [
        (_layer(inputs, causal=False) @ W_o,
         "Tokens look ahead: the mask is missing. Token i sees tokens 0 to i."),
        (_layer(inputs, n_heads=1) @ W_o,
         "There is one softmax over the whole width: the scores of all heads were added before "
         f"it. Cut q, k and v into {n_heads} heads first."),
        (_layer(inputs, n_heads=1, scale=size**-0.5) @ W_o,
         "There is one softmax over the whole width: the scores of all heads were added before "
         f"it. Cut q, k and v into {n_heads} heads first."),
        (_layer(inputs, scale=1.0) @ W_o,
         f"The scores are not scaled: divide them by the square root of head_dim = {size}."),
        (_layer(inputs, scale=(n_heads * size) ** -0.5) @ W_o,
         f"The scale is that of all heads together. A head's scores sum over head_dim = {size} "
         "products."),
        (_layer(inputs, scale=(x.shape[1] // n_heads or 1) ** -0.5) @ W_o,
         "The scale is taken from d_model // n_heads. head_dim is a number of its own: the "
         f"width of W_q divided by n_heads, here {size}."),
        (_layer(inputs, cut="reshaped") @ W_o,
         "A reshape alone cut the heads: it deals the numbers out in memory order, so that a "
         "head gets whole tokens instead of its columns of every token. Move the axes too."),
        (_layer(inputs, cut="reshaped", merged=True) @ W_o,
         "The results are put together well, but q, k and v were cut by a reshape alone: a head "
         "gets whole tokens instead of its columns of every token. Move the axes there too."),
        (swapped.reshape(len(x), -1) @ W_o,
         "The heads are right, but putting them side by side by a reshape alone mixes the "
         "tokens: move the axis of the heads next to the last one first."),
        (_layer(inputs, cut="dealt out") @ W_o,
         "Head h took every n_heads-th column. Its columns stand together: h * head_dim to "
         "(h + 1) * head_dim."),
        (side @ W_o / n_heads,
         "The heads are averaged. They are added up, each through its own rows of W_o."),
        (side if side.shape == x.shape else right(inputs),
         "The heads stand side by side, but W_o has not been applied."),
    ]  # fmt: skip


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    bound = TOLERANCE * max(1.0, float(np.abs(b).max(initial=0)))
    return bool(np.allclose(a, b, rtol=0, atol=bound))


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
    assessed=False,
    section="From one head to many",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Each head is attention of its own, on its own columns of the projected tokens. Only at "
        "the end, in the product with W_o, do the heads meet.",
        "Project with W_q, W_k, W_v. Reshape to (seq, n_heads, head_dim) and swap the first two "
        "axes. Scores per head, times head_dim ** -0.5, mask, softmax, times v. Swap back, "
        "reshape to (seq, n_heads * head_dim), times W_o.",
    ),
    common_errors=(
        "Cutting the heads by a reshape to (n_heads, seq, head_dim) without moving axes.",
        "Taking head_dim for d_model // n_heads: here it is the width of W_q over n_heads.",
        "Scaling by the root of the whole width.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
)
