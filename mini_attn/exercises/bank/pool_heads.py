"""Write the pooling of a multi-head checkpoint to fewer key/value heads."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Write the pooling of equation {eq}`eq-gqa-pool` for one projection. `weight` has the shape
`(d_model, n_heads * head_dim)` (a layer keeps the transposed one), the columns of head 0 first.
Return `(d_model, n_kv_heads * head_dim)`, where each new head is the mean of the neighboring heads
whose queries will share it.
"""
STARTER = '''
def pool_heads(weight, n_heads, n_kv_heads):
    """The key or value projection with fewer heads."""
    raise NotImplementedError
'''


def _case(rng: np.random.Generator, d_model: int, heads: int, size: int, kv_heads: int) -> Inputs:
    weight = rng.standard_normal((d_model, heads * size))
    return {"weight": weight, "n_heads": heads, "n_kv_heads": kv_heads}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: four heads of two become two. The property: equal neighbors don't change."""
    weight = np.array([[1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0]])
    same = rng.standard_normal((5, 2, 1, 3))
    equal = np.broadcast_to(same, (5, 2, 2, 3)).reshape(5, 12).copy()
    return {
        "by hand": [{"weight": weight, "n_heads": 4, "n_kv_heads": 2}],
        "random": [_case(rng, 6, 6, 3, 2), _case(rng, 4, 8, 2, 4), _case(rng, 3, 6, 4, 3)],
        "property": [{"weight": equal, "n_heads": 4, "n_kv_heads": 2}],
        "edges": [_case(rng, 3, 4, 2, 4), _case(rng, 3, 4, 2, 1), _case(rng, 1, 1, 1, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """As many columns as the key/value heads need."""
    d_model, width = inputs["weight"].shape
    return {"weight": ((d_model, width // inputs["n_heads"] * inputs["n_kv_heads"]), "f")}


def _blocks(inputs: Inputs) -> np.ndarray:
    """The weight as (d_model, key/value head, head of the group, size)."""
    weight, heads, kv_heads = (inputs[name] for name in ("weight", "n_heads", "n_kv_heads"))
    return np.asarray(weight.reshape(weight.shape[0], kv_heads, heads // kv_heads, -1))


def _flat(blocks: np.ndarray) -> np.ndarray:
    return blocks.reshape(blocks.shape[0], -1)


def _pooled(
    inputs: Inputs, *, group: str = "neighbours", by: str = "mean", columns: str = "by head"
) -> np.ndarray:
    """The pooled weight, with other groups, another value of each, or other columns."""
    blocks, kv_heads = _blocks(inputs), inputs["n_kv_heads"]
    d_model, _, size, head_dim = blocks.shape
    if group == "apart":
        blocks = inputs["weight"].reshape(d_model, size, kv_heads, head_dim).swapaxes(1, 2)
    elif group == "columns":
        blocks = inputs["weight"].reshape(d_model, kv_heads, head_dim, size).swapaxes(2, 3)
    elif group == "all":
        every = inputs["weight"].reshape(d_model, 1, kv_heads * size, head_dim)
        blocks = np.broadcast_to(every, (d_model, kv_heads, kv_heads * size, head_dim))
    total, n = blocks.sum(axis=2), blocks.shape[2]
    made = {
        "mean": total / n, "sum": total, "root": total / n**0.5,
        "first": blocks[:, :, 0], "last": blocks[:, :, -1],
        "largest": blocks.max(axis=2), "median": np.median(blocks, axis=2),
        "twice": total / n**2, "ends": (blocks[:, :, 0] + blocks[:, :, -1]) / 2,
        "all heads": total / inputs["n_heads"], "new heads": total / kv_heads,
    }[by]  # fmt: skip
    return _flat(made if columns == "by head" else made.swapaxes(1, 2))


def _mistakes(inputs: Inputs) -> list[tuple[dict[str, Any], str]]:
    """Return what can be done wrong in one step."""
    heads, kv_heads = inputs["n_heads"], inputs["n_kv_heads"]
    group = heads // kv_heads
    part = "of each group and dropped the others. The mean keeps a part of each."
    return [
        ({"group": "apart"},
         f"You pooled heads that are {kv_heads} apart. Neighbors will share, so pool neighbors: "
         f"heads 0 to {group - 1} become head 0."),
        ({"group": "columns"},
         "You averaged neighboring columns, which belong to one head. Average whole heads: the "
         "same column of each head in the group."),
        ({"group": "all"},
         f"You averaged all {heads} heads into one. Make {kv_heads}, each from its own group."),
        ({"by": "sum"},
         f"You added the heads. That makes keys {group} times too long and the softmax too sharp. "
         "Take the mean."),
        ({"by": "first"}, f"You kept the first head {part}"),
        ({"by": "last"}, f"You kept the last head {part}"),
        ({"by": "largest"}, "You took the largest value of each group. Take the mean."),
        ({"by": "median"}, "You took the median of each group. Take the mean."),
        ({"by": "twice"}, "You divided the mean by the size of the group once more."),
        ({"by": "root"},
         "You divided by the root of the group's size; the mean divides by the size."),
        ({"by": "ends"},
         "You averaged only the first and the last head of each group. The mean takes all of "
         "them."),
        ({"by": "all heads"},
         "You divided the sum of a group by the number of all heads. Divide by the size of the "
         "group."),
        ({"by": "new heads"},
         "You divided the sum of a group by the number of new heads. Divide by the size of the "
         "group."),
        ({"columns": "mixed"},
         "You mixed up the columns of the new heads. Those of head 0 come first, then those of "
         "the next."),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what comes out with one idea missing, or two."""
    width = inputs["weight"].shape[1] // inputs["n_heads"] * inputs["n_kv_heads"]
    return [
        (inputs["weight"][:, :width],
         "You kept the first heads and dropped the others. Each new head is the mean of a group "
         "of neighbors."),
        *with_pairs(partial(_pooled, inputs), _mistakes(inputs)),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The mean of each group of heads."""
    return _flat(_blocks(inputs).mean(axis=2))


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say what each new head is the mean of."""
    group = inputs["n_heads"] // inputs["n_kv_heads"]
    return f"Each new head should be the mean of {group} neighbors, column by column."


EXERCISE = Exercise(
    id="pool_heads",
    page="mqa-gqa",
    title="From many heads to few",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=10,
    difficulty=2,
    stage="warm-up",
    assessed=False,
    section="Fewer heads from a trained model",
    text=TEXT,
    letters="$H$ is `n_heads`, $H_{kv}$ is `n_kv_heads`, and $W_v$ is pooled like $W_k$.",
    starter=STARTER,
    hints=(
        "The columns of one head are side by side, and so are the heads of a group. Give each of "
        "these levels its own axis.",
        "Reshape to (d_model, n_kv_heads, group, head_dim), take the mean over the group's axis, "
        "and put the rest back into (d_model, n_kv_heads * head_dim).",
    ),
    common_errors=(
        "Averaging neighboring columns, which mixes the values of one head.",
        "Adding instead of averaging: the scores grow with the group.",
        "Pooling heads that aren't neighbors, although neighbors will read the result.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
