"""Find the key that adds most to an output, which need not be the one with the most weight."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips
from mini_attn.exercises.trained import trained_heads

TEXT = """
The darkest cell of a row is not always what the output is made of. `weights`, `(q_len, kv_len)`,
are one head's weights and `v`, `(kv_len, head_dim)`, its values; some cases are heads of the
trained decoder. An output is a sum with one part per key. For each query return the number of the
key whose part is the longest vector, as whole numbers `(q_len,)`. Keys that a query does not see
have weight 0.
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
        (weights.argmax(axis=1), "These keys have the most weight. A part is the weight times the "
         "value, and a large weight on a short value adds little."),
        (np.full(len(weights), lengths.argmax()), "These are the longest values. A query takes of "
         "each only the share that its weight says."),
        ((weights * np.abs(v.sum(axis=1))).argmax(axis=1), "The numbers of a value were added up "
         "before their size was taken. What is positive and what is negative cancel then."),
        ((weights * v.sum(axis=1)).argmax(axis=1), "The numbers of a value were added up. A value "
         "of negative numbers is as long as one of positive numbers."),
        ((weights * v.max(axis=1)).argmax(axis=1), "The largest number of a value is not its "
         "length: negative numbers count too, and all of them."),
        ((weights * lengths).argmin(axis=1), "These are the smallest parts."),
        ((out @ v.T).argmax(axis=1), "These values are most like the output. The question "
         "is which of its parts is the longest."),
        ((weights * sizes.sum(axis=1)).argmax(axis=1), "The sizes of a value's numbers were added "
         "up. The length of a vector is the root of the sum of their squares."),
        ((weights * sizes.max(axis=1)).argmax(axis=1), "Only the largest number of each value "
         "counts here. The length of a vector takes all its numbers."),
        ((weights * lengths**2).argmax(axis=1), "The weights were multiplied by squared lengths, "
         "which favours long values. Take the root first: the part of a key is as long as weight "
         "times length."),
        ((weights * (out @ v.T)).argmax(axis=1), "These parts point furthest along the output. "
         "The question is which part is the longest, whatever its direction."),
        (np.linalg.norm(out[:, None] - v, axis=2).argmin(axis=1), "These values are the closest "
         "to the output. The question is which of its parts is the longest."),
        (np.full(len(weights), right(inputs)[-1]), "Every query gets the key of the last one. "
         "Each has weights of its own."),
        (np.full(len(weights), right(inputs)[0]), "Every query gets the key of the first one. "
         "Each has weights of its own."),
        ((weights + lengths).argmax(axis=1), "Weight and length were added. A part is the weight "
         "times the value: its length is their product."),
        ((weights**2 * lengths).argmax(axis=1), "The weight counts twice here. A part is the "
         "weight, once, times the value."),
        ((weights * sizes[:, 0]).argmax(axis=1), "Only the first number of each value counts here. "
         "The length of a vector takes all its numbers."),
        (right(inputs) + 1, "Keys are counted from 0, not from 1."),
    ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first query with another key."""
    got, wanted, count = outputs["key"], right(inputs), len(inputs["v"])
    query = int((got != wanted).argmax())
    if not 0 <= got[query] < count:
        return f"There is no key {got[query]}: keys count from 0 to {count - 1}."
    return f"For query {query} the part of key {wanted[query]} is longer than that of {got[query]}."


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
        "The output of a query is the sum of weight times value over the keys. How long is one "
        "term of this sum?",
        "Multiply each column of the weights by the length of its value, "
        "np.linalg.norm(v, axis=1), and take the largest of each row.",
    ),
    common_errors=(
        "Taking the largest weight: a trained head may park it on a short value.",
        "Adding up a value's numbers instead of taking its length.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
