"""Reorder a projection's rows, so that the other layout turns the same pairs."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
`weight` has the shape `(n_heads * head_dim, d_model)`: one row for each number of each head. It
belongs to the interleaved layout. Return the same rows in the order that the half layout needs,
head by head, as in the formula under [Converting weights](#converting-weights).
"""
STARTER = '''
def to_half(weight, n_heads):
    """Rows of a query or key projection, reordered for the half layout."""
    raise NotImplementedError
'''

Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one head of four. The property: each head by itself, keys having fewer heads."""

    def drawn(n_heads: int, head_dim: int, d_model: int) -> Inputs:
        return {"weight": rng.standard_normal((n_heads * head_dim, d_model)), "n_heads": n_heads}

    hand = {"weight": np.array([[0.0], [1.0], [2.0], [3.0]]), "n_heads": 1}
    return {
        "by hand": [hand],
        "random": [drawn(1, 6, 3), drawn(1, 8, 8)],
        "property": [drawn(2, 4, 5), drawn(3, 6, 4)],
        "edges": [drawn(3, 2, 4), drawn(1, 2, 1), drawn(4, 10, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """The same rows in another order."""
    return {"weight": (inputs["weight"].shape, "f")}


def _order(rows: int, n_heads: int) -> Array:
    """Old row of each new row: per head the even ones, then the odd ones."""
    per_head = np.arange(rows).reshape(n_heads, -1, 2)
    return np.asarray(per_head.swapaxes(1, 2).reshape(rows))


def slips(inputs: Inputs) -> Slips:
    """What the weight would be with one idea missing."""
    weight, n_heads = inputs["weight"], inputs["n_heads"]
    rows, columns = weight.shape
    order = _order(rows, n_heads)
    head_dim = rows // n_heads
    halves = np.arange(rows).reshape(n_heads, 2, head_dim // 2)
    swapped = halves[:, ::-1].reshape(rows)
    return [
        (weight, "No row has moved."),
        (weight[_order(rows, 1)],
         "The rows are sorted over all heads together. Each head keeps its own rows: number 0 of "
         "head 1 must not become a row of head 0."),
        (weight[np.argsort(order)],
         "That is the way back, from half to interleaved: row i of the first half should be the "
         "old row 2i."),
        (weight[swapped], "The halves of each head are exchanged; no pair was taken apart."),
        (weight[np.arange(rows).reshape(-1, 2)[:, ::-1].reshape(rows)],
         "Neighbours are exchanged. They have to move apart, by half a head."),
        (weight[::-1], "The rows are turned upside down."),
        (weight[np.arange(rows).reshape(n_heads, -1, 2)[..., ::-1].swapaxes(1, 2).reshape(rows)],
         "Odd rows come first: the first number of a pair belongs to the first half."),
        (weight[:, _order(columns, 1)] if columns % 2 == 0 else weight,
         "The columns were sorted. A number of the head is a row: weights are stored (out, in)."),
    ]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Per head the even rows, then the odd ones."""
    weight = inputs["weight"]
    return np.asarray(weight[_order(len(weight), inputs["n_heads"])])


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first row that is another one than it should be."""
    n_heads, rows = inputs["n_heads"], len(inputs["weight"])
    i = int((outputs["weight"] != right(inputs)).any(axis=1).argmax())
    heads = f"{n_heads} {'head' if n_heads == 1 else 'heads'} of {rows // n_heads}"
    return f"With {heads}, row {i} should be the old row {_order(rows, n_heads)[i]}."


EXERCISE = Exercise(
    id="rope_layout",
    page="rope",
    title="Weights for the other layout",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    assessed=True,
    section="Converting weights",
    text=TEXT,
    standalone=(
        "the formula under [Converting weights](#converting-weights)",
        "equation {eq}`eq-rope-convert`",
    ),
    letters="$d$ is `head_dim`.",
    starter=STARTER,
    hints=(
        "Each row of the weight makes one number of one head. Which two rows make a pair before, "
        "and where must these two stand afterwards?",
        "Cut the rows into (n_heads, pairs, 2, d_model). The axis of length 2 says which of a "
        "pair it is; in the half layout that axis comes before the axis of pairs.",
    ),
    common_errors=(
        "Sorting over all heads at once. With one head it looks right.",
        "Applying the way back: with heads of four the two are the same.",
        "Using the number of query heads for the key projection of a model that shares keys.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=np.array_equal,
    symptom=symptom,
)
