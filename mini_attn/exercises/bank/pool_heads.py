"""Write the pooling of a multi-head checkpoint to fewer key/value heads."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Write the pooling of equation {eq}`eq-gqa-pool` for one projection. `weight` has the shape
`(d_model, n_heads * head_dim)`, the columns of head 0 first. Return `(d_model, n_kv_heads *
head_dim)`, in which each new head is the mean of the neighbouring heads that will share it.
"""
STARTER = '''
def pool_heads(weight, n_heads, n_kv_heads):
    """The key or value projection with fewer heads."""
    raise NotImplementedError
'''

TOLERANCE = 1e-9


def _case(rng: np.random.Generator, d_model: int, heads: int, size: int, kv_heads: int) -> Inputs:
    weight = rng.standard_normal((d_model, heads * size))
    return {"weight": weight, "n_heads": heads, "n_kv_heads": kv_heads}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: four heads of two become two. The property: equal neighbours stay as they are."""
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


def slips(inputs: Inputs) -> Slips:
    """What comes out with one idea missing."""
    weight, heads, kv_heads = (inputs[name] for name in ("weight", "n_heads", "n_kv_heads"))
    blocks = _blocks(inputs)
    d_model, _, group, size = blocks.shape
    dealt = weight.reshape(d_model, group, kv_heads, size)
    columns = weight.reshape(d_model, kv_heads * size, group)
    return [
        (_flat(dealt.mean(axis=1)),
         f"Heads that stand {kv_heads} apart are pooled. Neighbours will share, so neighbours are "
         f"pooled: heads 0 to {group - 1} become head 0."),
        (columns.mean(axis=2),
         "Neighbouring columns are averaged, numbers of one head with each other. Average whole "
         "heads: the same column of each head in the group."),
        (_flat(blocks.sum(axis=2)),
         f"The heads are added. That makes keys {group} times too long and the softmax too sharp; "
         "take the mean."),
        (_flat(blocks[:, :, 0]),
         "The first head of each group is kept and the others are dropped. The mean keeps a "
         "part of each."),
        (_flat(blocks[:, :, -1]),
         "The last head of each group is kept and the others are dropped. The mean keeps a "
         "part of each."),
        (_flat(blocks.max(axis=2)),
         "The largest number of each group is taken. Take the mean."),
        (_flat(blocks.mean(axis=2)) / group,
         "The mean is divided by the size of the group once more."),
        (_flat(blocks.mean(axis=2)) * group**0.5,
         "The sum is divided by the root of the group's size; the mean divides by the size."),
        (np.tile(weight.reshape(d_model, heads, size).mean(axis=1), (1, kv_heads)),
         f"All {heads} heads are averaged into one. There are {kv_heads} to make, each from its "
         "own group."),
    ]  # fmt: skip


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.allclose(a, b, rtol=0, atol=TOLERANCE)


def right(inputs: Inputs) -> np.ndarray:
    """The mean of each group of heads."""
    return _flat(_blocks(inputs).mean(axis=2))


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """What each new head is the mean of."""
    group = inputs["n_heads"] // inputs["n_kv_heads"]
    return f"Each new head should be the mean of {group} neighbours, column by column."


EXERCISE = Exercise(
    id="pool_heads",
    page="mqa-gqa",
    title="From many heads to few",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=10,
    difficulty=2,
    assessed=False,
    section="Fewer heads from a trained model",
    text=TEXT,
    letters="$H$ is `n_heads`, $H_{kv}$ is `n_kv_heads`, and $W_v$ is pooled as $W_k$ is.",
    starter=STARTER,
    hints=(
        "The columns of one head lie side by side, and so do the heads of a group. Give each of "
        "these levels an axis of its own.",
        "Reshape to (d_model, n_kv_heads, group, head_dim), take the mean over the group's axis, "
        "and put the rest back into (d_model, n_kv_heads * head_dim).",
    ),
    common_errors=(
        "Averaging neighbouring columns, which mixes numbers of one head.",
        "Adding instead of averaging: the scores grow with the group.",
        "Pooling heads that stand apart, while neighbours will read the result.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
    same=_close,
)
