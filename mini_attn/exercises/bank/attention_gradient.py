"""Write the backward pass of attention whose keys are its values, with learned temperatures."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
In some layers, one row serves twice, and sharpness is learned. Here `c`, `(kv_len, size)`, holds
the keys *and* the values, and each query has its own temperature in `t`, `(q_len,)`. With `q` of
shape `(q_len, size)`, the scores are q · c over the root of `size`, and row i is also divided by
`t[i]`. `d_out`, `(q_len, size)`, is the gradient of the loss with respect to the output. There's no
mask. Return `(d_q, d_c, d_t)` in the shapes of `q`, `c` and `t`.
"""
STARTER = '''
def attention_gradient(q, c, t, d_out):
    """Gradients of the loss with respect to q, c and t."""
    raise NotImplementedError
'''


def _case(rng: np.random.Generator, q_len: int, kv_len: int, size: int) -> Inputs:
    shapes = {"q": (q_len, size), "c": (kv_len, size), "d_out": (q_len, size)}
    drawn = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    return {"q": drawn["q"], "c": drawn["c"], "t": rng.uniform(0.4, 2.5, q_len),
            "d_out": drawn["d_out"]}  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one query between two rows. The property: a saturated row."""
    by_hand = {
        "q": np.array([[8.0, 0.0, 0.0, 4.0]]), "c": np.array([[1.0, 0, 0, 0], [0, 0, 1.0, 0]]),
        "t": np.array([2.0]), "d_out": np.array([[1.0, 0.0, 0.0, 0.0]]),
    }  # fmt: skip
    saturated = _case(rng, 3, 4, 5)
    scores = saturated["q"] @ saturated["c"].T / np.sqrt(5) / saturated["t"][:, None]
    # Of every row the largest score is 2000, whatever was drawn: no exponential holds it.
    top = scores[[0, 1, 2], np.abs(scores).argmax(axis=1)]
    saturated["q"] = saturated["q"] * (2000 / top)[:, None]
    return {
        "by hand": [by_hand],
        "random": [_case(rng, 3, 5, 4), _case(rng, 6, 2, 9)],
        "property": [saturated],
        "edges": [_case(rng, 1, 1, 4), _case(rng, 2, 3, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A gradient for each input but the last, in its shape."""
    return {f"d_{name}": (inputs[name].shape, "f") for name in "qct"}


def _ways_back(d_weights: np.ndarray, weights: np.ndarray) -> list[tuple[np.ndarray, str]]:
    """Return what the gradient with respect to the scores would be with one idea missing."""
    product = d_weights * weights
    diagonal = (
        "You let each score move its own weight only. The weights of a row share one sum, so if "
        "one rises, the others fall."
    )
    return [
        (product * (1 - weights), diagonal),
        (product, diagonal),
        (d_weights,
         "You use the gradient of the weights as that of the scores. The softmax lies between."),
        (product - weights * product.sum(axis=0, keepdims=True),
         "In the softmax's gradient, you take the weighted mean over the queries. The weights of "
         "a query sum to 1, so take it in each row, over the keys."),
        (product - weights * d_weights.mean(axis=1, keepdims=True),
         "In the softmax's gradient, you subtract a plain mean. Subtract the weighted mean."),
        (product - weights * d_weights.sum(axis=1, keepdims=True),
         "In the softmax's gradient, you subtract a plain sum. Subtract the weighted mean."),
        (product - weights * product.mean(axis=1, keepdims=True),
         "You average the weighted gradients of a row. Weights sum to 1, so add them up."),
        (product - product.sum(axis=1, keepdims=True),
         "You subtract the weighted mean too late. Subtract it from the gradient of the weights "
         "first, then multiply by the weight."),
        (weights * product.sum(axis=1, keepdims=True) - product,
         "Your sign is reversed. If a weight's gradient is above the mean, raising its score "
         "raises the loss."),
    ]  # fmt: skip


def _parts(inputs: Inputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, weights and the gradient with respect to the weights: (q_len, kv_len) each."""
    q, c, t = inputs["q"], inputs["c"], inputs["t"]
    scores = q @ c.T * c.shape[1] ** -0.5 / t[:, None]
    return scores, np.asarray(ma.softmax(scores)), inputs["d_out"] @ c.T


def _gradients(
    inputs: Inputs,
    d_scores: np.ndarray,
    *,
    root: float = 1.0,
    warmth: float = 1.0,
    roles: str = "both",
    sign: float = -1.0,
    over: float = 1.0,
    by: str = "sum",
) -> dict[str, np.ndarray]:
    """All three from the gradient of the scores, with a power or a part of something chosen."""
    q, c, t = inputs["q"], inputs["c"], inputs["t"]
    scores, weights, _ = _parts(inputs)
    back = d_scores * c.shape[1] ** (-0.5 * root) / t[:, None] ** warmth
    keys, values = back.T @ q, weights.T @ inputs["d_out"]
    d_c = {"both": keys + values, "keys": keys, "values": values, "mean": (keys + values) / 2}
    each = d_scores * scores
    d_t = {"sum": each.sum(axis=1), "mean": each.mean(axis=1)}[by]
    return {"d_q": back @ c, "d_c": d_c[roles], "d_t": sign * d_t / t**over}


def right(inputs: Inputs) -> dict[str, np.ndarray]:
    """The package's gradients for keys and values, added up; t from the scores."""
    q, c, t, d_out = (inputs[name] for name in ("q", "c", "t", "d_out"))
    cooled = (q / t[:, None])[None, None]
    d_cooled, d_k, d_v = (
        gradient[0, 0]
        for gradient in ma.attention_backward(
            d_out[None, None], cooled, c[None, None], c[None, None]
        )
    )
    # A temperature divides its query, so what reaches it comes through that query.
    return {"d_q": d_cooled / t[:, None], "d_c": d_k + d_v,
            "d_t": -(d_cooled * q).sum(axis=1) / t**2}  # fmt: skip


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"roles": "values"},
     "Your d_c holds only what comes back through the values. c is used as keys too, so add both."),
    ({"roles": "keys"},
     "Your d_c holds only what comes back through the keys. c is used as values too, so add both."),
    ({"roles": "mean"},
     "Your d_c averages what comes back through keys and values. Add the two up."),
    ({"root": 0.0}, "In your backward pass, the root of the size is missing. Every score has that "
     "factor, so the gradients do too."),
    ({"root": 2.0}, "In your backward pass, the root of the size is there twice."),
    ({"warmth": 0.0}, "q and c get their gradients as if all temperatures were 1. A temperature "
     "divides the scores of its row, so it divides what comes back too."),
    ({"warmth": -1.0}, "In the gradients of q and c, your temperature multiplies. It divides, as "
     "in "
     "the forward pass."),
    ({"warmth": 2.0}, "In the gradients of q and c, the temperature is there twice."),
    ({"sign": 1.0}, "The sign of d_t is wrong. A higher temperature brings scores closer to 0."),
    ({"over": 0.0}, "Your d_t isn't divided by t. The score is something over t, and the slope of "
     "1/t is minus 1/t²."),
    ({"over": 2.0}, "You divide d_t by t once too often. The scores hold one division already."),
    ({"by": "mean"}, "In d_t, you average over the keys. A temperature reaches all scores of its "
     "row, so add them up."),
]  # fmt: skip


def _one_at_a_time(inputs: Inputs, d_scores: np.ndarray) -> list[tuple[dict[str, Any], str]]:
    """Return what one gradient would be without, or with too much of, what the other has right."""
    found: list[tuple[dict[str, Any], str]] = []
    choices: list[tuple[dict[str, Any], str]] = [
        ({"warmth": 0.0}, "the temperatures are missing"),
        ({"warmth": 2.0}, "the temperatures divide twice"),
        ({"root": 0.0}, "the root of the size is missing"),
        ({"root": 2.0}, "the root of the size is there twice"),
    ]
    for name, where in (("d_q", "In d_q"), ("d_c", "d_q is right; in d_c")):
        for choice, idea in choices:
            wrong = _gradients(inputs, d_scores, **choice)[name]
            found.append(({name: wrong}, f"{where} {idea}."))
        wrong = -_gradients(inputs, d_scores)[name]
        found.append(({name: wrong}, f"{where} the sign is wrong."))
    twice, none = 2 * _gradients(inputs, d_scores)["d_c"], np.zeros_like(inputs["c"])
    found.append(({"d_c": twice}, "d_q is right, but d_c is twice as large as it should be."))
    found.append(({"d_c": none}, "d_q is right, but d_c is 0, and c is used twice."))
    return found


def _multiplied(inputs: Inputs) -> dict[str, np.ndarray]:
    """The gradients of a layer whose scores are multiplied by t."""
    other = right({**inputs, "t": 1 / inputs["t"]})
    return {**other, "d_t": -other["d_t"] / inputs["t"] ** 2}


def slips(inputs: Inputs) -> Slips:
    """Return what the gradients would be with one idea missing, or two."""
    scores, weights, d_weights = _parts(inputs)
    d_scores, t = np.asarray(ma.softmax_backward(d_weights, weights)), inputs["t"]
    ways = _ways_back(d_weights, weights)
    return [
        *((_gradients(inputs, way), idea) for way, idea in ways),
        *with_pairs(partial(_gradients, inputs, d_scores), MISTAKES),
        ({"d_t": -(d_weights * weights * scores).sum(axis=1) / t},
         "In d_t, you use the gradient of the weights as that of the scores. The softmax lies "
         "between."),
        ({"d_t": -(d_weights * scores).sum(axis=1) / t},
         "In d_t, you use the gradient of the weights as that of the scores. The softmax lies "
         "between."),
        ({"d_t": np.zeros_like(t)},
         "Your d_t is 0. The gradients of a row's scores cancel if all count the same, but a "
         "temperature moves each score in proportion to that score."),
        ({"d_t": -(d_scores * scores).sum(axis=1) / t * inputs["c"].shape[1] ** 0.5},
         "In d_t, you don't divide the scores by the root of the size."),
        ({"d_t": (d_scores * scores).sum(axis=1) * t},
         "That's the gradient with respect to 1/t."),
        *_one_at_a_time(inputs, d_scores),
        (_multiplied(inputs), "Your temperature multiplies the scores. Divide by it instead."),
        ({"d_t": np.full_like(t, -(d_scores * scores / t[:, None]).sum())},
         "Your d_t holds one number for all. Each query has its own temperature."),
    ]  # fmt: skip


EXERCISE = Exercise(
    id="attention_gradient",
    page="attention",
    title="One row serves twice",
    kind="write",
    groups={"random": 2, "property": 2, "edges": 1},
    minutes=30,
    difficulty=4,
    stage="invent",
    assessed=True,
    section="The way back: gradients",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Go back one step at a time: output, weights, scores, then q, c and t. If something is "
        "used "
        "in several places, it gets a gradient from each, and they add up.",
        "c gets weights.T @ d_out for its part as values. With d_scores as in the chapter and "
        "scale = 1 / (√size · t), one factor for each row: d_q = scale * d_scores @ c, and c gets "
        "(scale * d_scores).T @ q for its part as keys. A score is something over t, so its slope "
        "with respect to t is minus the score over t; add up each row.",
    ),
    common_errors=(
        "You return only one of the two gradients of c, through the keys or through the values.",
        "You forget that the temperature divides in the backward pass too.",
        "You take w (1 − w) for the whole derivative of the softmax. It's only the diagonal.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
