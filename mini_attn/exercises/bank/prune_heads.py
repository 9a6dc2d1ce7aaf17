"""Write the pruning of heads: smaller matrices that compute the same without them."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs

TEXT = """
Take heads out of a layer for good. The four matrices are as in exercise 1; `keep` is an array
with the numbers of the heads that stay, in the order in which they shall stand. Return the four
smaller matrices `W_q, W_k, W_v, W_o`. A layer with them computes what the large one computes with
the other heads left out of the sum.
"""
STARTER = '''
def prune_heads(W_q, W_k, W_v, W_o, n_heads, keep):
    """The matrices of the heads that stay."""
    raise NotImplementedError
'''


def _case(
    rng: np.random.Generator, d_model: int, n_heads: int, size: int, keep: list[int]
) -> Inputs:
    W_q, W_k, W_v = rng.standard_normal((3, d_model, n_heads * size))
    W_o = rng.standard_normal((n_heads * size, d_model))
    matrices = {"W_q": W_q, "W_k": W_k, "W_v": W_v, "W_o": W_o}
    return {**matrices, "n_heads": n_heads, "keep": np.array(keep)}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: keep the middle two of four. The property: heads in the order that is given."""
    numbers = np.arange(32.0).reshape(4, 8)
    by_hand = {"W_q": numbers, "W_k": numbers + 100, "W_v": numbers + 200, "W_o": numbers.T + 300,
               "n_heads": 4, "keep": np.array([1, 2])}  # fmt: skip
    return {
        "by hand": [by_hand],
        "random": [_case(rng, 6, 3, 2, [0, 2]), _case(rng, 8, 4, 3, [1, 2]),
                   _case(rng, 6, 5, 2, [0, 1, 4])],
        "property": [_case(rng, 6, 3, 2, [2, 0]), _case(rng, 4, 4, 3, [3, 1, 2])],
        "edges": [_case(rng, 4, 2, 2, [0, 1]), _case(rng, 3, 1, 5, [0]), _case(rng, 4, 4, 1, [2])],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Four matrices, as wide as the heads that stay."""
    d_model, width = inputs["W_q"].shape
    kept = width // inputs["n_heads"] * len(inputs["keep"])
    square = dict.fromkeys(("W_q", "W_k", "W_v"), ((d_model, kept), "f"))
    return {**square, "W_o": ((kept, d_model), "f")}


def _blocks(matrix: np.ndarray, n_heads: int, keep: np.ndarray, style: str) -> np.ndarray:
    """Rows of the heads in ``keep``, by the right cut or a wrong one; rows are the width."""
    if style == "dealt out":
        cut = matrix.reshape(-1, n_heads, matrix.shape[1])
        return cut[:, keep].reshape(-1, matrix.shape[1])
    cut = matrix.reshape(n_heads, -1, matrix.shape[1])
    others = np.array([h for h in range(n_heads) if h not in keep.tolist()], dtype=int)
    chosen = {"right": keep, "removed": others, "sorted": np.sort(keep),
              "first": np.arange(len(keep))}[style]  # fmt: skip
    return cut[chosen].reshape(-1, matrix.shape[1])


STYLES = {
    "removed": "These are the heads that should go: `keep` names the heads that stay.",
    "sorted": "The heads stand in ascending order. Give them in the order of `keep`, in all four "
    "matrices alike.",
    "first": "These are the first heads. `keep` says which heads stay, not how many.",
    "dealt out": "These are single columns far apart. The columns of head h stand together: "
    "h * head_dim to (h + 1) * head_dim.",
}


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea that one of the matrices lacks."""
    n_heads, keep = inputs["n_heads"], inputs["keep"]
    for name, got in outputs.items():
        flip = name != "W_o"
        given = inputs[name].T if flip else inputs[name]  # rows are the width of all heads
        rows = got.T if flip else got
        if np.array_equal(rows, _blocks(given, n_heads, keep, "right")):
            continue
        guesses = [(_blocks(given, n_heads, keep, style), idea) for style, idea in STYLES.items()]
        if idea := explain(rows, guesses, np.array_equal):
            return f"{name}: {idea}"
        if np.allclose(rows * len(keep) / n_heads, _blocks(given, n_heads, keep, "right")):
            return (
                f"{name} was scaled up to make up for the heads that went. The others' part of "
                "the sum stays what it was: change nothing in it."
            )
        what = "columns" if flip else "rows"
        return (
            f"{name} should hold the {what} of the heads {keep.tolist()} and no others, unchanged."
        )
    return None


EXERCISE = Exercise(
    id="prune_heads",
    page="multihead",
    title="Take heads out",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=12,
    difficulty=2,
    assessed=True,
    section="Pruning and tying",
    text=TEXT,
    standalone=(
        "The four matrices are as in exercise 1;",
        "`W_q`, `W_k`, `W_v` are `(d_model, n_heads * head_dim)` and `W_o` is `(n_heads * "
        "head_dim, d_model)`, as in multi-head attention;",
    ),
    starter=STARTER,
    hints=(
        "A head owns columns of W_q, W_k and W_v, and rows of W_o. Everything else stays.",
        "With head_dim = width // n_heads, collect the indices h * head_dim to "
        "(h + 1) * head_dim for each h of keep, and index the columns, or the rows, with them.",
    ),
    common_errors=(
        "Leaving W_o as it is: the rows of the heads that went have nothing to meet.",
        "Setting a head's matrices to zero: the output is right, and nothing is saved.",
    ),
    cases=cases,
    expected=expected,
    judge=judge,
)
