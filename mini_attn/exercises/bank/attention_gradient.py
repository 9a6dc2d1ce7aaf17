"""Write the backward pass of attention."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
Write the backward pass of one head without a mask. `q` is `(q_len, head_dim)`, `k` is `(kv_len,
head_dim)`, `v` is `(kv_len, v_head_dim)`, and `d_out`, the gradient of the loss with respect to
the output, is `(q_len, v_head_dim)`. The scale is one over the root of `head_dim`. Return `(d_q,
d_k, d_v)` in the shapes of `q`, `k` and `v`.
"""
STARTER = '''
def attention_gradient(q, k, v, d_out):
    """Gradients of the loss by q, k and v."""
    raise NotImplementedError
'''


def _case(rng: np.random.Generator, q_len: int, kv_len: int, size: int, v_size: int) -> Inputs:
    shapes = {"q": (q_len, size), "k": (kv_len, size), "v": (kv_len, v_size),
              "d_out": (q_len, v_size)}  # fmt: skip
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one query between two keys. The property: a saturated row."""
    by_hand = {
        "q": np.array([[0.0, 2.0, 0.0, 1.0]]), "k": np.array([[1.0, 0, 0, 0], [0, 0, 1.0, 0]]),
        "v": np.array([[1.0, 0.0], [0.0, 1.0]]), "d_out": np.array([[1.0, 0.0]]),
    }  # fmt: skip
    saturated = _case(rng, 3, 4, 5, 5)
    scores = saturated["q"] @ saturated["k"].T / np.sqrt(5)
    # Of every row the largest score is 2000, whatever was drawn: no exponential holds it.
    top = scores[[0, 1, 2], np.abs(scores).argmax(axis=1)]
    saturated["q"] = saturated["q"] * (2000 / top)[:, None]
    return {
        "by hand": [by_hand],
        "random": [_case(rng, 3, 5, 4, 6), _case(rng, 6, 2, 9, 3)],
        "property": [saturated],
        "edges": [_case(rng, 1, 1, 4, 4), _case(rng, 2, 3, 1, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A gradient for each input, in its shape."""
    return {f"d_{name}": (inputs[name].shape, "f") for name in "qkv"}


def _right(inputs: Inputs) -> dict[str, np.ndarray]:
    arrays = [inputs[name][None, None] for name in ("d_out", "q", "k", "v")]
    return {f"d_{n}": g[0, 0] for n, g in zip("qkv", ma.attention_backward(*arrays), strict=True)}


def _ways_back(d_weights: np.ndarray, weights: np.ndarray) -> list[tuple[np.ndarray, str]]:
    """What the gradient by the scores would be with one idea missing."""
    product = d_weights * weights
    diagonal = (
        "Each score is taken to move its own weight only. The weights of a row share one sum: when "
        "one rises, the others fall."
    )
    return [
        (product * (1 - weights), diagonal),
        (product, diagonal),
        (d_weights,
         "The gradient of the weights is used as that of the scores: the softmax lies between."),
        (product - weights * product.sum(axis=0, keepdims=True),
         "In the softmax's gradient the weighted mean is taken over the queries. The weights of a "
         "query sum to 1, so it is taken in each row, over the keys."),
        (product - weights * d_weights.mean(axis=1, keepdims=True),
         "In the softmax's gradient a plain mean is subtracted. It is a mean by weight."),
        (product - weights * d_weights.sum(axis=1, keepdims=True),
         "In the softmax's gradient a plain sum is subtracted. It is a mean by weight."),
        (product - weights * product.mean(axis=1, keepdims=True),
         "The weighted gradients of a row are averaged. Weights sum to 1: add them up."),
        (product - product.sum(axis=1, keepdims=True),
         "The weighted mean is subtracted behind the weight. Subtract it from the gradient of the "
         "weights first, then multiply by the weight."),
        (weights * product.sum(axis=1, keepdims=True) - product,
         "The sign is turned round: more of a weight whose gradient is above the mean raises the "
         "loss."),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """What a gradient would be with one idea missing."""
    q, k, v, d_out = (inputs[name] for name in ("q", "k", "v", "d_out"))
    scale = q.shape[1] ** -0.5
    weights = ma.softmax(q @ k.T * scale)
    d_weights = d_out @ v.T
    d_scores = ma.softmax_backward(d_weights, weights)
    root, ways = f"1/√{q.shape[1]}", _ways_back(d_weights, weights)
    both = [
        (d_scores, f"The scale is missing: the scores were q·k times {root}, so their gradients "
         "have that factor too."),
        (d_scores * scale**2, f"The scale is there twice: one factor {root} is enough."),
        (d_scores / scale, f"The root of head_dim multiplies. The scale {root} divides by it, on "
         "the way back too."),
        *((scale * way, idea) for way, idea in ways),
        (0 * d_scores, "It is 0, as if the weights were given. They come from q and k, through the "
         "scores."),
        *((way, f"Two things. The scale {root} is missing. And: {idea}") for way, idea in ways),
    ]  # fmt: skip
    return [
        ({"d_v": weights @ v if q.shape == v.shape else weights[: len(v)].T @ v[: len(q)]},
         "d_v is built from v. The value of a key collects d_out from all queries, by weight."),
        ({"d_v": np.broadcast_to(d_out.sum(axis=0), v.shape)},
         "Every value gets the whole of d_out. It gets as much as its weight lets through."),
        *(({"d_q": way @ k, "d_k": way.T @ q}, idea) for way, idea in both),
        *(({"d_q": way @ k}, f"In d_q: {idea}") for way, idea in both),
        *(({"d_k": way.T @ q}, f"d_q is right; in d_k: {idea}") for way, idea in both),
        ({"d_k": scale * weights.T @ q},
         "d_k is built from the weights. It takes the gradient of the scores."),
    ]  # fmt: skip


def right(inputs: Inputs) -> dict[str, np.ndarray]:
    """The gradients, values first, because theirs is the simplest."""
    arrays = [inputs[name][None, None] for name in ("d_out", "q", "k", "v")]
    d_q, d_k, d_v = (gradient[0, 0] for gradient in ma.attention_backward(*arrays))
    return {"d_v": d_v, "d_q": d_q, "d_k": d_k}


EXERCISE = Exercise(
    id="attention_gradient",
    page="attention",
    title="The way back",
    kind="write",
    groups={"random": 2, "property": 2, "edges": 1},
    minutes=25,
    difficulty=4,
    assessed=True,
    section="The way back: gradients",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Go back one step at a time: output, weights, scores, queries and keys. A product's "
        "gradient is a product with the other factor, transposed.",
        "d_v = weights.T @ d_out. d_weights = d_out @ v.T. For each row, d_scores = weights times "
        "(d_weights minus the weighted mean of d_weights). d_q = scale * d_scores @ k, "
        "d_k = scale * d_scores.T @ q.",
    ),
    common_errors=(
        "Taking w (1 − w) for the whole derivative of the softmax: it is only its diagonal.",
        "Forgetting the scale on the way back, or applying it twice.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
