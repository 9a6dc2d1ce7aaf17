"""Attend to a cache of codes without rebuilding a key or a value."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips
from mini_attn.exercises.trained import trained_heads

TEXT = """
The cache of one head holds integer codes. The key of token `j` is `k_zero + k_scale * k_codes[j]`,
with a scale and a zero for each channel. Its value is `v_zero[j] + v_scale[j] * v_codes[j]`, with a
scale and a zero for each token. `q` has the shape `(head_dim,)`, the codes have the shape
`(tokens, head_dim)`, and the query attends to every token. Write the step without rebuilding a
single key or value. Return `folded` `(head_dim,)`, the query for which `k_codes @ folded` can go
into the softmax, and `out` `(head_dim,)`. You don't need one of the four arrays of scales and
zeros. Which one?
"""
STARTER = '''
def code_attention(
    q, k_codes, k_scale, k_zero, v_codes, v_scale, v_zero
):
    """A decode step on codes: (folded, out)."""
    raise NotImplementedError
'''

Array = np.ndarray


def _codes(x: Array, axis: int, bits: int) -> tuple[Array, Array, Array]:
    """Codes, scale and zero of numbers, by channel (axis 0) or by token (axis 1)."""
    zero = x.min(axis=axis, keepdims=True)
    scale = (x.max(axis=axis, keepdims=True) - zero) / (2**bits - 1)
    scale[scale == 0] = 1.0
    return np.rint((x - zero) / scale).astype(np.int64), scale.squeeze(axis), zero.squeeze(axis)


def _case(q: Array, k: Array, v: Array, bits: int) -> Inputs:
    inputs: Inputs = {"q": q}
    for name, x, axis in (("k", k, 0), ("v", v, 1)):
        parts = zip(("codes", "scale", "zero"), _codes(x, axis, bits), strict=True)
        inputs |= {f"{name}_{part}": array for part, array in parts}
    return inputs


def _trained(rng: np.random.Generator, tokens: int, bits: int) -> Inputs:
    """A head of the trained decoder at the last word of a story."""
    q, k, v = trained_heads(rng, tokens)
    head = int(rng.integers(len(q)))
    return _case(q[head, -1], k[head], v[head], bits)


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two tokens of four channels. The property: zeros of keys that are far off."""
    hand: dict[str, Any] = {
        "q": np.array([2.0, 0.0, -2.0, 0.0]), "k_codes": np.array([[3, 0, 1, 1], [1, 2, 0, 0]]),
        "k_scale": np.array([0.5, 1.0, 0.25, 2.0]), "k_zero": np.array([1.0, 0.0, -1.0, 0.0]),
        "v_codes": np.array([[1, 2, 3, 0], [0, 3, 0, 1]]), "v_scale": np.array([0.5, 2.0]),
        "v_zero": np.array([1.0, -2.0]),
    }  # fmt: skip
    far = _trained(rng, 24, 4)
    far["k_zero"] = far["k_zero"] + 3e3 * rng.standard_normal(far["k_zero"].shape)
    return {
        "by hand": [hand],
        "random": [_trained(rng, 40, 4), _trained(rng, 64, 2)],
        "property": [far],
        "edges": [_trained(rng, 1, 4), _trained(rng, 2, 8)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A query and an output of one head."""
    return {"folded": (inputs["q"].shape, "f"), "out": (inputs["q"].shape, "f")}


def _softmax(scores: Array) -> Array:
    weights: Array = np.exp(scores - scores.max())
    return weights / weights.sum()


def _weights(inputs: Inputs, folded: Array) -> Array:
    return _softmax(inputs["k_codes"] @ folded)


def _folded(inputs: Inputs) -> Array:
    return np.asarray(inputs["q"] * inputs["k_scale"] * inputs["q"].size ** -0.5)


def _foldings(inputs: Inputs) -> list[tuple[Array, str]]:
    """Queries with one idea missing."""
    q, scale, zero = (inputs[name] for name in ("q", "k_scale", "k_zero"))
    root = q.size**-0.5
    added = (
        "You added the zero to the query. Multiply q · key out: you get a sum with the codes and a "
        "sum without. Compare the second one for two different tokens."
    )
    return [
        (q * root,
         "You left the query unchanged, but it meets codes now. One code is worth k_scale in its "
         "channel, so scale the query by that."),
        (q * scale,
         f"You've left out the scale of the scores, 1/√head_dim = 1/√{q.size}."),
        (q / scale * root,
         "You divided the query by the scale of the keys. In q · key, the scale can go to either "
         "factor, so multiply."),
        (q * (scale + zero) * root,
         "You added the zero to the scale. But a code doesn't multiply the zero."),
        (q * scale * root + zero, added),
        ((q * scale + zero) * root, added),
    ]  # fmt: skip


def _outs(inputs: Inputs, weights: Array) -> list[tuple[Array, str]]:
    """Outputs of the right weights with one idea missing."""
    codes, scale, zero = (inputs[f"v_{name}"] for name in ("codes", "scale", "zero"))
    shares = weights * scale
    least = max(float(shares.sum()), 1e-300)
    early = _softmax(inputs["k_codes"] @ _folded(inputs) * scale)
    return [
        (weights @ codes,
         "You averaged codes, not values. Each token's codes have their own v_scale and v_zero."),
        (shares @ codes,
         "You've left out the zeros of the values. Weight them like the values and add the sum to "
         "every channel."),
        (weights @ codes + weights @ zero,
         "You've used the zeros of the values, but not v_scale."),
        (shares @ codes + zero.sum(),
         "You added up the zeros of the values without their weights."),
        (shares @ codes + zero.mean(),
         "You averaged the zeros of the values evenly. Each has the weight of its token."),
        (shares @ codes + shares @ zero,
         "You multiplied the zeros of the values by v_scale too. A value is zero + scale · code."),
        ((shares / least) @ codes + weights @ zero,
         "You normalized the weights times v_scale again. Only the weights have to sum to 1."),
        (weights @ codes * scale.mean() + weights @ zero,
         "You used the mean of v_scale for all tokens. Each token has its own. Multiply its weight "
         "by it."),
        (early @ codes + early @ zero,
         "You multiplied v_scale into the scores. It belongs to the values, so multiply the "
         "weights by it, after the softmax."),
    ]  # fmt: skip


def right(inputs: Inputs) -> dict[str, Array]:
    """The folded query, then the output."""
    folded = _folded(inputs)
    weights = _weights(inputs, folded)
    values = inputs["v_scale"][:, None] * inputs["v_codes"]
    return {"folded": folded, "out": weights @ values + weights @ inputs["v_zero"]}


def slips(inputs: Inputs) -> Slips:
    """Return the folded query, or the right one's output, with one idea missing."""
    weights = _weights(inputs, _folded(inputs))
    folded = [({"folded": one}, idea) for one, idea in _foldings(inputs)]
    return folded + [({"out": one}, idea) for one, idea in _outs(inputs, weights)]


SHOULD_BE = {
    "folded": "k_codes @ folded should be the scaled scores, up to a number that all tokens share. "
    "Multiply q · (k_zero + k_scale · code) out.",
    "out": "out should be the sum of the values, each with its weight from the softmax of "
    "k_codes @ folded.",
}


EXERCISE = Exercise(
    id="code_attention",
    page="kv-cache",
    title="Attention on codes",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="Which half can be rounded",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Put the formula of a key into q · key and multiply out. One part contains the codes, and "
        "the other is the same for every token. What does a softmax do if you add a number to "
        "all its scores?",
        "folded is q times k_scale times 1/√head_dim, elementwise. For the output, multiply the "
        "weights by v_scale before they meet the codes, and add the weighted sum of v_zero.",
    ),
    common_errors=(
        "Leaving out the zeros of the values, just because those of the keys can be left out.",
        "Normalizing again after multiplying the weights by the scales.",
        "Forgetting the scale of the scores.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=SHOULD_BE,
)
