"""Reorder a projection's rows, so that the other layout rotates the same pairs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
`weight` has the shape `(n_heads * head_dim, d_model)`: one row for each dimension of each head. It
belongs to the interleaved layout. Return the same rows in the order that the half layout needs,
head by head, as in the formula under [Converting weights](#converting-weights).
"""
STARTER = '''
def to_half(weight, n_heads):
    """Rows of a projection, reordered for the half layout."""
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


def _order(rows: int, n_heads: int, by: str = "even rows first") -> Array:
    """Old row of each new row: per head the even ones, then the odd ones, or another order."""
    number = np.arange(rows)
    pairs, halves = number.reshape(n_heads, -1, 2), number.reshape(n_heads, 2, -1)
    orders = {
        "even rows first": pairs.swapaxes(1, 2), "odd rows first": pairs[..., ::-1].swapaxes(1, 2),
        "back": halves.swapaxes(1, 2), "halves": halves[:, ::-1], "neighbors": pairs[..., ::-1],
        "upside down": number.reshape(n_heads, -1)[:, ::-1],
        "odd rows back": np.concatenate([pairs[..., 0], pairs[:, ::-1, 1]], axis=1),
    }  # fmt: skip
    return np.asarray(orders[by].reshape(rows))


def _moved(inputs: Inputs, *, by: str = "even rows first", heads: str = "each") -> Array:
    """The weight with its rows in an order, head by head or otherwise."""
    weight, n_heads = inputs["weight"], inputs["n_heads"]
    order = _order(len(weight), n_heads if heads == "each" else 1, by)
    if heads == "dealt out":
        order = np.arange(len(weight)).reshape(-1, n_heads).T.ravel()
        order = order[_order(len(weight), n_heads, by)]
    return np.asarray(weight[order])


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"heads": "together"},
     "You sort the rows over all heads together. Each head keeps its own rows: dimension 0 of "
     "head 1 mustn't become a row of head 0."),
    ({"heads": "dealt out"},
     "You treat every n_heads-th row as a row of one head. The rows of a head are contiguous."),
    ({"by": "back"},
     "You convert the other way, from half to interleaved. Row i of the first half should be the "
     "old row 2i."),
    ({"by": "halves"}, "You swap the halves of each head, so no pair was taken apart."),
    ({"by": "neighbors"}, "You swap neighbors. They have to move apart, by half a head."),
    ({"by": "odd rows first"},
     "You put odd rows first. The first of each pair belongs in the first half."),
    ({"by": "odd rows back"},
     "Your odd rows are in reverse order. Both halves keep the order of the pairs."),
    ({"by": "upside down"}, "You turn the rows upside down."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the weight would be with one idea missing, or two."""
    weight, n_heads = inputs["weight"], inputs["n_heads"]
    rows, columns = np.arange(len(weight)), np.arange(weight.shape[1])
    order, head_dim = _order(len(weight), n_heads), len(weight) // n_heads
    first = rows % head_dim < head_dim // 2
    fours = rows.copy()
    whole = len(rows) // 4 * 4
    fours[:whole] = fours[:whole].reshape(-1, 2, 2).swapaxes(1, 2).ravel()
    return [
        (weight, "You return the weight. No row has moved."),
        *with_pairs(partial(_moved, inputs), MISTAKES),
        (weight[::-1], "You turn the rows upside down."),
        (weight[:, np.argsort(columns % 2, kind="stable")],
         "You sort the columns. A dimension of the head is a row: weights are stored (out, in)."),
        (weight[np.where(rows < head_dim, order, rows)],
         "You reorder only head 0. Every head needs it, in the same way."),
        (weight[fours],
         "That's only right for heads of dimension 4. Whatever its size, a head has all its even "
         "rows first, then all odd ones."),
        (weight[np.where(first, order, rows)],
         "Your first halves are right, but you didn't change the second ones. Odd rows go there."),
        (weight[order] * np.where(first, 1.0, -1.0)[:, None],
         "You changed the sign of the second halves. Rows only move; their signs stay."),
    ]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Per head the even rows, then the odd ones."""
    weight = inputs["weight"]
    return np.asarray(weight[_order(len(weight), inputs["n_heads"])])


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first row that is another one than it should be."""
    n_heads, rows = inputs["n_heads"], len(inputs["weight"])
    i = int((outputs["weight"] != right(inputs)).any(axis=1).argmax())
    heads = f"{n_heads} {'head' if n_heads == 1 else 'heads'} of dimension {rows // n_heads}"
    return f"With {heads}, your row {i} should be the old row {_order(rows, n_heads)[i]}."


EXERCISE = Exercise(
    id="rope_layout",
    page="rope",
    title="Weights for the other layout",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="transfer",
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
        "Each row of the weight makes one dimension of one head. Which two rows make a pair "
        "before, and where do these two have to be afterwards?",
        "Reshape the rows to (n_heads, pairs, 2, d_model). The axis of length 2 says which of a "
        "pair it is. In the half layout, that axis comes before the axis of pairs.",
    ),
    common_errors=(
        "Sorting over all heads at once. With one head it looks right.",
        "Converting in the other direction: with heads of dimension 4, the two are the same.",
        "Using the number of query heads for the key projection of a model that shares keys.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
