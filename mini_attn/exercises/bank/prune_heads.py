"""Write the pruning of heads: smaller matrices that compute the same without them."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Remove heads from a layer for good. The four matrices are as in exercise 1; `keep` is an array with
the indices of the heads that stay, in the order they should have. Return the four smaller matrices
`W_q, W_k, W_v, W_o`. A layer with them should compute what the large one computes if you leave the
other heads out of the sum.
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
    if style.startswith("dealt out"):
        cut = matrix.reshape(-1, n_heads, matrix.shape[1])[:, keep]
        return (cut.swapaxes(0, 1) if "by head" in style else cut).reshape(-1, matrix.shape[1])
    cut = matrix.reshape(n_heads, -1, matrix.shape[1])
    others = np.array([h for h in range(n_heads) if h not in keep.tolist()], dtype=int)
    chosen = {"right": keep, "removed": others, "sorted": np.sort(keep),
              "first": np.arange(len(keep)), "reversed": keep[::-1],
              "last": n_heads - len(keep) + np.arange(len(keep)),
              "from 1": keep - 1}[style]  # fmt: skip
    return cut[chosen].reshape(-1, matrix.shape[1])


STYLES = {
    "removed": "You kept the heads that should go. `keep` names the heads that stay.",
    "sorted": "Your heads are in ascending order. Give them in the order of `keep`, in all four "
    "matrices.",
    "first": "You kept the first heads. `keep` says which heads stay, not how many.",
    "reversed": "Your heads are in reverse. Give them in the order of `keep`.",
    "from 1": "Each of your heads is the one before. Heads are counted from 0.",
    "last": "You kept the last heads. `keep` says which heads stay, not how many.",
    "dealt out": "You took single columns far apart. The columns of head h are next to each "
    "other: h * head_dim to (h + 1) * head_dim.",
    "dealt out, by head": "You took single columns far apart. The columns of head h are next to "
    "each other: h * head_dim to (h + 1) * head_dim.",
}


def _matrices(inputs: Inputs, style: str = "right") -> dict[str, np.ndarray]:
    """All four matrices, cut in one way."""
    n_heads, keep = inputs["n_heads"], inputs["keep"]
    cut = {n: _blocks(inputs[n].T, n_heads, keep, style).T for n in ("W_q", "W_k", "W_v")}
    return {**cut, "W_o": _blocks(inputs["W_o"], n_heads, keep, style)}


def right(inputs: Inputs) -> dict[str, np.ndarray]:
    """The columns, and in W_o the rows, of the heads that stay."""
    return _matrices(inputs)


def slips(inputs: Inputs) -> Slips:
    """Return what one of the matrices would be with one idea missing."""
    sizes = {n: array.shape for n, array in right(inputs).items()}
    found: list[tuple[dict[str, np.ndarray] | None, str]] = []
    for style, idea in STYLES.items():
        for name, matrix in _matrices(inputs, style).items():
            fits = matrix.shape == sizes[name]
            found.append(({name: matrix} if fits else None, f"{name}: {idea}"))
    columns = [n for n in sizes if n != "W_o"]
    for name, other in permutations(columns, 2):
        found.append(({name: right(inputs)[other]},
            f"Your {name} holds columns of {other}. Each matrix keeps its own."))  # fmt: skip
    larger = inputs["n_heads"] / len(inputs["keep"])
    for name, matrix in right(inputs).items():
        found.append(({name: matrix * larger},
            f"You scaled {name} up to make up for the heads that went. The part of the others "
            "in the sum stays the same, so don't change it."))  # fmt: skip
    return found


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say which heads the first wrong matrix should hold."""
    wanted = right(inputs)
    name = next(n for n in outputs if not np.array_equal(outputs[n], wanted[n]))
    what = "rows" if name == "W_o" else "columns"
    return f"{name} should hold the {what} of the heads {inputs['keep'].tolist()}, unchanged."


EXERCISE = Exercise(
    id="prune_heads",
    page="multihead",
    title="Remove heads",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=12,
    difficulty=2,
    stage="transfer",
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
        "You leave W_o unchanged, but the rows of the heads that went have nothing to meet.",
        "You set a head's matrices to zero. The output is right, but you save nothing.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
