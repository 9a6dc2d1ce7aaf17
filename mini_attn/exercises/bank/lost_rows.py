"""Find the bug: heads put side by side in the wrong order of axes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
This function was tested with one head, and there it's right. Find out what it does with two, and
repair it. `q`, `k`, `v` are `(batch, n_heads, seq, head_dim)`, and there's no mask. Return `(batch,
seq, n_heads * head_dim)`, the heads of each token side by side, head 0 first.
"""
STARTER = '''
def attend_all_heads(q, k, v):
    """Attention of every head, the results side by side."""
    scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    out = weights @ v
    batch, n_heads, seq, head_dim = out.shape
    return out.reshape(batch, seq, n_heads * head_dim)
'''


def _case(rng: np.random.Generator, batch: int, n_heads: int, seq: int, size: int) -> Inputs:
    q, k, v = rng.standard_normal((3, batch, n_heads, seq, size))
    return {"q": q, "k": k, "v": v}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: values that say which token and head they come from."""
    q = np.zeros((1, 2, 3, 2))
    eye = 50.0 * np.eye(3)[:, :2]
    k = np.broadcast_to(eye, (1, 2, 3, 2)).copy()
    q[...] = eye
    token, head = np.arange(3.0)[:, None], np.arange(2.0)[:, None, None]
    v = np.broadcast_to(10 * head + token + np.array([0.0, 0.5]), (2, 3, 2))[None].copy()
    return {
        "by hand": [{"q": q, "k": k, "v": v}],
        "random": [_case(rng, 1, 3, 4, 2), _case(rng, 1, 2, 5, 4), _case(rng, 1, 4, 3, 3)],
        "property": [_case(rng, 2, 2, 3, 4), _case(rng, 3, 4, 2, 2)],
        "edges": [_case(rng, 1, 1, 4, 3), _case(rng, 2, 3, 1, 2), _case(rng, 2, 2, 2, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A row of all heads for each token."""
    batch, n_heads, seq, size = inputs["v"].shape
    return {"out": ((batch, seq, n_heads * size), "f")}


def _heads(inputs: Inputs, how: str = "right") -> np.ndarray:
    """The results of the heads, or of another attention."""
    q, k, v = (inputs[name] for name in "qkv")
    if how == "across":
        swapped = (x.swapaxes(1, 2) for x in (q, k, v))
        return np.asarray(ma.scaled_dot_product_attention(*swapped).swapaxes(1, 2))
    scales = {"wide": (q.shape[1] * q.shape[-1]) ** -0.5, "none": 1.0, "tokens": k.shape[2] ** -0.5}
    scores = q @ k.swapaxes(-1, -2) * scales.get(how, q.shape[-1] ** -0.5)
    if how == "scores":
        return np.asarray(scores @ v)
    return np.asarray(ma.softmax(scores, axis=-2 if how == "queries" else -1) @ v)


def _merged(heads: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """Rows of all heads, from the heads with their axes in an order."""
    batch, n_heads, seq, size = heads.shape
    return np.asarray(heads.transpose(order).reshape(batch, seq, n_heads * size))


def right(inputs: Inputs) -> np.ndarray:
    """The heads of each token side by side."""
    return _merged(_heads(inputs), (0, 2, 1, 3))


def _rows(
    inputs: Inputs, *, how: str = "right", order: tuple[int, ...] = (0, 2, 1, 3), of: str = "all"
) -> np.ndarray:
    """The rows, or what another attention or another order of axes makes of them."""
    heads = _heads(inputs, how)
    batch, n_heads, seq, size = heads.shape
    if of == "reshaped":
        heads = heads.reshape(batch, seq, n_heads, size).swapaxes(1, 2)
        return np.asarray(heads.reshape(batch, n_heads * seq, size).reshape(batch, seq, -1))
    chosen = {"reversed": heads[:, ::-1], "text": heads[:1], "head": heads[:, :1],
              "mean": heads.mean(axis=1, keepdims=True)}  # fmt: skip
    return _merged(np.broadcast_to(chosen.get(of, heads), heads.shape), order)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"order": (0, 1, 2, 3)},
     "Your reshape alone keeps the numbers in memory order, all tokens of head 0 first. Row 0 "
     "should hold token 0 of every head."),
    ({"order": (0, 2, 3, 1)},
     "Your rows belong to the right tokens, but you interleave the heads number by number. "
     "All of head 0's numbers come first, then head 1's."),
    ({"order": (0, 1, 3, 2)},
     "You swapped tokens and the numbers of a head. Swap heads and tokens instead."),
    ({"order": (0, 3, 2, 1)},
     "You swapped heads and the numbers of a head. Swap heads and tokens instead."),
    ({"order": (2, 0, 1, 3)}, "Batch and tokens changed places. The batch stays the first axis."),
    ({"of": "reversed"},
     "Your heads are in reverse order. Head 0 comes first, or W_o meets the wrong rows."),
    ({"of": "mean"},
     "You averaged the heads. Each keeps its own place in the row, and W_o mixes them."),
    ({"of": "reshaped"},
     "You reshape first, which mixes the tokens, and moving axes afterwards can't undo it. Move "
     "the axis of the heads first."),
    ({"of": "text"}, "All your texts get the result of the first. Each text of the batch has its "
     "own."),
    ({"of": "head"}, "You put head 0 in all places. Each head has its own place."),
    ({"how": "across"},
     "You let the heads of one token attend to each other. Tokens attend to tokens, so swap the "
     "axes after the attention."),
    ({"how": "queries"},
     "Your softmax now runs over the queries. It was right before: the weights of each query "
     "sum to 1."),
    ({"how": "wide"},
     "Your scale is now that of all heads together. It was right before: a score is a sum over "
     "the head_dim products of one head."),
    ({"how": "tokens"}, "Your scale now comes from the number of tokens. That line was right "
     "before."),
    ({"how": "none"}, "Your scores are no longer scaled. That line was right before."),
    ({"how": "scores"}, "You lost the softmax, so scores are used as weights."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the rows would be with one idea missing, or two."""
    return with_pairs(partial(_rows, inputs), MISTAKES)


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Say whether the attention is right and only its numbers are elsewhere."""
    moved = np.allclose(np.sort(outputs["out"], axis=None), np.sort(right(inputs), axis=None))
    words = "All numbers of the heads are there, but some are in the wrong place."
    return words if moved else None


EXERCISE = Exercise(
    id="lost_rows",
    page="multihead",
    title="Right with one head",
    kind="bug",
    groups={"edges": 3},
    minutes=10,
    difficulty=2,
    stage="transfer",
    assessed=True,
    section="Putting the heads together",
    complaint=Complaint(
        "heads",
        "With one head, it trains well. With eight, nothing crashes, and the loss stays higher.",
        "[transformer-from-scratch, pull request 6]("
        "https://github.com/jsbaan/transformer-from-scratch/pull/6): heads were merged "
        "without swapping the axes first, and the training test still passed.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Let the values say where they come from, for example 10 · head + token, and print what "
        "comes out. Which rows hold numbers of the wrong token?",
        "A reshape never moves a number in memory. Before heads and numbers can become one axis, "
        "the two axes have to be next to each other.",
    ),
    common_errors=(
        "You test with one head or one token, where both orders are the same.",
        "You swap the wrong pair of axes. The shapes fit then too.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
