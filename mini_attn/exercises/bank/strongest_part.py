"""Find the key that adds most to an output, which isn't always the one with the most weight."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips
from mini_attn.exercises.trained import trained_heads

TEXT = """
The darkest cell of a row doesn't always add most to the output. `weights`, `(q_len, kv_len)`, are
one head's weights and `v`, `(kv_len, head_dim)`, its values; some cases are heads of the trained
decoder. An output is a sum with one part per key. For each query, return the index of the key
whose part is the longest vector, as integers `(q_len,)`. Keys that a query can't see have weight 0.
"""
STARTER = '''
def strongest_part(weights, v):
    """For each query the key that adds most to its output: (q_len,)."""
    raise NotImplementedError
'''
Array = np.ndarray


def _real(rng: np.random.Generator, head: int) -> Inputs:
    """Weights and values of a trained head on a story."""
    q, k, v = (part[None, head : head + 1] for part in trained_heads(rng, 48))
    _, weights = ma.scaled_dot_product_attention(q, k, v, causal=True, return_weights=True)
    return {"weights": weights[0, 0], "v": v[0, 0].copy()}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: much weight on a small value. The property: real heads, one of which parks."""

    def drawn(q_len: int, kv_len: int, size: int) -> Inputs:
        weights = ma.softmax(rng.standard_normal((q_len, kv_len)))
        v = rng.standard_normal((kv_len, size)) * np.exp(0.5 * rng.standard_normal((kv_len, 1)))
        return {"weights": weights, "v": v}

    hand = {"weights": np.array([[0.45, 0.35, 0.2], [0.5, 0.1, 0.4], [0.36, 0.6, 0.04]]),
            "v": np.array([[0.0, 1.0], [-2.5, 0.4], [2.0, 2.0]])}  # fmt: skip
    silent = drawn(4, 5, 3)
    silent["v"][2] = 0
    silent["weights"] = np.full((4, 5), 0.1) + 0.5 * np.eye(5)[2]
    return {
        "by hand": [hand],
        "random": [drawn(12, 6, 3), drawn(9, 5, 4)],
        "property": [_real(rng, 3), _real(rng, 0)],
        "edges": [silent, drawn(3, 1, 2), drawn(1, 7, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A key for each query."""
    return {"key": ((len(inputs["weights"]),), "i")}


def right(inputs: Inputs) -> np.ndarray:
    """The key with the longest part."""
    return np.asarray((inputs["weights"] * np.linalg.norm(inputs["v"], axis=1)).argmax(axis=1))


def slips(inputs: Inputs) -> Slips:
    """Return which keys would be chosen with one idea missing."""
    weights, v = inputs["weights"], inputs["v"]
    lengths, out = np.linalg.norm(v, axis=1), weights @ v
    sizes = np.abs(v)
    return [
        (weights.argmax(axis=1), "You chose the keys with the most weight. A part is the weight "
         "times "
         "the value, and a large weight on a short value adds little."),
        (np.full(len(weights), lengths.argmax()), "You chose the longest values. Multiply each by "
         "its weight first."),
        ((weights * np.abs(v.sum(axis=1))).argmax(axis=1), "You added up the entries of a "
         "value before taking the size. Positive and negative entries cancel then."),
        ((weights * v.sum(axis=1)).argmax(axis=1), "You added up the entries of a value. A value "
         "of negative numbers is as long as one of positive numbers."),
        ((weights * v.max(axis=1)).argmax(axis=1), "You took the largest entry of a value. Its "
         "length counts negative entries too, and all of them."),
        ((weights * lengths).argmin(axis=1), "You chose the smallest parts."),
        ((out @ v.T).argmax(axis=1), "You chose the values most like the output. Which of its "
         "parts is the longest?"),
        ((weights * sizes.sum(axis=1)).argmax(axis=1), "You added up the sizes of a value's "
         "entries. A vector's length is the root of the sum of their squares."),
        ((weights * sizes.max(axis=1)).argmax(axis=1), "You only count the largest entry of "
         "each value. A vector's length takes all its entries."),
        ((weights * lengths**2).argmax(axis=1), "You multiplied the weights by squared lengths, "
         "which favors long values. Take the root first, because a part is as long as the weight "
         "times the length."),
        ((weights * (out @ v.T)).argmax(axis=1), "You chose the parts that point farthest along "
         "the output. Choose the longest part, whatever its direction."),
        (np.linalg.norm(out[:, None] - v, axis=2).argmin(axis=1), "You chose the values "
         "closest to the output. Which of its parts is the longest?"),
        (np.full(len(weights), right(inputs)[-1]), "Every query gets the key of the last one. "
         "Each has its own weights."),
        (np.full(len(weights), right(inputs)[0]), "Every query gets the key of the first one. "
         "Each has its own weights."),
        ((weights + lengths).argmax(axis=1), "You added weight and length. A part is the weight "
         "times the value, so its length is their product."),
        ((weights**2 * lengths).argmax(axis=1), "Your weight counts twice. A part is the "
         "weight, once, times the value."),
        ((weights * sizes[:, 0]).argmax(axis=1), "You only count the first entry of each value. "
         "A vector's length takes all its entries."),
        (right(inputs) + 1, "Count keys from 0, not from 1."),
    ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first query with another key."""
    got, wanted, count = outputs["key"], right(inputs), len(inputs["v"])
    query = int((got != wanted).argmax())
    if not 0 <= got[query] < count:
        return f"There's no key {got[query]}. Keys count from 0 to {count - 1}."
    return (
        f"For query {query}, the part of key {wanted[query]} is longer than that of {got[query]}."
    )


EXERCISE = Exercise(
    id="strongest_part",
    page="attention",
    title="What the output is made of",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=8,
    difficulty=2,
    stage="transfer",
    assessed=False,
    section="A head that was trained",
    text=TEXT,
    starter=STARTER,
    hints=(
        "A query's output is the sum of weight times value over the keys. How long is one term of "
        "that sum?",
        "Multiply each column of the weights by the length of its value, "
        "np.linalg.norm(v, axis=1). Then take the largest of each row.",
    ),
    common_errors=(
        "You take the largest weight. A trained head may put it on a short value.",
        "You add up a value's entries instead of taking its length.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
