"""Write attention whose query heads share key/value heads."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.comparing import wrong_along
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Write attention for any number of key/value heads, without a mask and without a loop over heads. `q`
has the shape `(batch, n_heads, q_len, head_dim)`, `k` and `v` have `(batch, n_kv_heads, kv_len,
head_dim)`, and `n_kv_heads` divides `n_heads`. Query head `h` reads key/value head `h // (n_heads
// n_kv_heads)`. Divide the scores by the square root of `head_dim`; they can be large. Return an
array of the shape of `q`. Copying `k` and `v` for each query head isn't wrong, but try to do
without it.
"""
STARTER = '''
def grouped_attention(q, k, v):
    """Attention whose query heads share key/value heads in groups."""
    raise NotImplementedError
'''

Array = np.ndarray


def _drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> Inputs:
    """Inputs of random numbers: batch, query heads, key/value heads, queries, keys, size."""
    batch, heads, kv_heads, q_len, kv_len, size = shape
    return {
        "q": rng.standard_normal((batch, heads, q_len, size)),
        "k": rng.standard_normal((batch, kv_heads, kv_len, size)),
        "v": rng.standard_normal((batch, kv_heads, kv_len, size)),
    }


def cases(rng: np.random.Generator) -> Cases:
    """By hand: four query heads on two. The property: a group reads its head and no other."""
    q = np.array([[[[2.0, 0.0]], [[0.0, 2.0]], [[1.0, 1.0]], [[2.0, 0.0]]]])
    k = np.array([[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 3.0], [1.0, 0.0]]]])
    v = np.array([[[[1.0, 0.0], [0.0, 1.0]], [[5.0, 0.0], [0.0, 7.0]]]])
    shapes = {
        "random": [(1, 6, 2, 3, 5, 4), (2, 8, 4, 1, 6, 3), (1, 6, 3, 4, 4, 8)],
        "property": [(1, 4, 1, 2, 5, 4), (2, 4, 4, 2, 5, 4)],  # the two ends of the family
        "edges": [(1, 1, 1, 1, 1, 1), (2, 3, 1, 1, 1, 2), (1, 2, 2, 1, 7, 1)],
    }
    return {
        "by hand": [{"q": q, "k": k, "v": v}],
        **{group: [_drawn(rng, shape) for shape in rows] for group, rows in shapes.items()},
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One output row per query head and query."""
    return {"out": (inputs["q"].shape, "f")}


def _attend(
    inputs: Inputs, *, keys: Array | None = None, values: Array | None = None,
    scale: float | None = None, axis: int = -1,
) -> Array:  # fmt: skip
    """The output when query heads read the key/value heads of these numbers."""
    q, k, v = (inputs[name] for name in "qkv")
    own = np.arange(q.shape[1]) // (q.shape[1] // k.shape[1])
    rows = q @ k[:, own if keys is None else keys].swapaxes(-1, -2)
    powers = np.exp(rows * (q.shape[3] ** -0.5 if scale is None else scale))
    weights = powers / powers.sum(axis=axis, keepdims=True)
    return np.asarray(weights @ v[:, own if values is None else values])


def _more_slips(inputs: Inputs) -> Slips:
    """Return what the output would be with the wrong heads put together."""
    q, k, v = (inputs[name] for name in "qkv")
    (batch, heads, q_len, size), kv_heads, kv_len = q.shape, k.shape[1], k.shape[2]
    attend, group = ma.scaled_dot_product_attention, heads // kv_heads
    scores = q.reshape(batch, kv_heads, group, q_len, size) @ k[:, :, None].swapaxes(-1, -2)
    powers = np.exp(scores * size**-0.5)
    shares = powers / powers.sum(axis=(2, 4), keepdims=True)
    averaged = q.reshape(batch, kv_heads, group, q_len, size).mean(axis=2)
    none = np.zeros(heads, int)
    causal = "You used a causal mask. There's none here: every query sees every key."
    ends = right(inputs) if kv_heads == heads else _attend(inputs, keys=none, values=none)
    return [
        (ends,
         "You're right where all query heads share one head or each has its own, but not in "
         f"between. Each group of {group} reads its own key/value head."),
        (np.repeat(attend(averaged, k, v), group, axis=1),
         "You averaged the queries of a group. They only share keys and values; each query head "
         "has its own weights."),
        ((shares @ v[:, :, None]).reshape(q.shape),
         "You ran one softmax over a whole group. Each query head has its own softmax, over the "
         "keys."),
        (right(inputs).swapaxes(1, 2).reshape(q.shape),
         "Your heads are right, but their order isn't. Bring the axes back to (batch, n_heads, "
         "q_len, head_dim) before the last reshape."),
        (attend(q, k, v, mask=np.tril(np.ones((q_len, kv_len), bool), kv_len - q_len)), causal),
        (attend(q, k, v, mask=np.tril(np.ones((q_len, kv_len), bool))), causal),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the output would be with one idea missing, or two."""
    heads, kv_heads, size = inputs["q"].shape[1], inputs["k"].shape[1], inputs["q"].shape[3]
    group, number = heads // kv_heads, np.arange(heads)
    dealt, first, divided = number % kv_heads, 0 * number, number // kv_heads % kv_heads
    pooled = {**inputs, **{name: inputs[name].mean(axis=1, keepdims=True) for name in "kv"}}
    rows = inputs["q"] @ inputs["k"][:, number // group].swapaxes(-1, -2) * size**-0.5
    parts: list[tuple[dict[str, Any], str]] = [
        ({"keys": dealt, "values": dealt},
         f"You assigned the key/value heads round-robin: head h reads h mod {kv_heads}. Neighbors "
         f"share, so head h reads h // {group}."),
        ({"values": dealt},
         "You read the keys from the right heads, but not the values. Both follow the same rule."),
        ({"keys": dealt},
         "You read the values from the right heads, but not the keys. Both follow the same rule."),
        ({"keys": first, "values": first},
         f"Every query head reads key/value head 0, so that's one head for all. Here there are "
         f"{kv_heads}."),
        ({"keys": divided, "values": divided},
         f"Head h reads h // {kv_heads}, so you divided by the number of key/value heads. Divide "
         f"by the query heads that share one, {heads} / {kv_heads} = {group}."),
        ({"scale": 1.0},
         f"You didn't scale the scores. Divide q·k by the square root of head_dim = {size}."),
        ({"scale": (size * heads) ** -0.5},
         "You scaled by the width of all heads together. Use one head's, head_dim."),
        ({"axis": -2},
         "The weights of each query should sum to 1. Run the softmax over the keys, the last "
         "axis of the scores."),
        ({"axis": 1}, "You ran the softmax over the heads. Run it over the keys, the last axis."),
    ]  # fmt: skip
    return [
        *with_pairs(partial(_attend, inputs), parts),
        (ma.scaled_dot_product_attention(pooled["q"], pooled["k"], pooled["v"]),
         f"You averaged the {kv_heads} key/value heads into one. Each group reads its own."),
        (rows @ inputs["v"][:, number // group],
         "You used the scores as weights. The softmax is missing."),
        *_more_slips(inputs),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """Attention of each query head on its key/value head."""
    return np.asarray(ma.scaled_dot_product_attention(inputs["q"], inputs["k"], inputs["v"]))


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say which heads are wrong."""
    out, wanted, kv_heads = outputs["out"], right(inputs), inputs["k"].shape[1]
    wrong = map(str, wrong_along(out, wanted, axis=1))
    return f"Of {out.shape[1]} query heads on {kv_heads}, these are wrong: {', '.join(wrong)}."


EXERCISE = Exercise(
    id="grouped_attention",
    page="mqa-gqa",
    title="Attention with shared heads",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=2,
    stage="warm-up",
    assessed=False,
    section="Groups between the ends",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Cut the query heads into as many groups as there are key/value heads. Within a group, "
        "nothing differs from attention with one head.",
        "Reshape q to (batch, n_kv_heads, group, q_len, head_dim), give k and v an axis of length "
        "1 where the group is, and let NumPy's products broadcast over it. Scale, softmax "
        "over the last axis, times the values, reshape back.",
    ),
    common_errors=(
        "Repeating the key/value heads with `np.tile`, which assigns them round-robin.",
        "Dividing the head's index by the number of key/value heads instead of the group's size.",
        "Repeating k and v: the result is right, but it moves more bytes than separate heads do.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
